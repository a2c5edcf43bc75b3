/* The two lists below a device: its processes and its MIG devices. */
#include "scenario_device.h"

#include <stdlib.h>
#include <string.h>

#define MIG_MAX_DEFAULT     7
#define MIG_MAX_LIMIT       128 /* far above any device; a handle has eight bits for the place */
#define MIG_PROFILE_DEFAULT "1g.10gb"

/* A number, or "env:NAME". */
static uint32_t read_pid(struct reader *reader, const struct json *node)
{
    if (!node)
        return 0;
    if (node->type != JSON_TEXT)
        return (uint32_t)reader_whole_of(reader, node, 0, UINT32_MAX);
    if (strncmp(node->text, "env:", 4) != 0) {
        reader_fail(reader, node, "must be a number or \"env:NAME\"");
        return 0;
    }
    const char *text = getenv(node->text + 4);
    if (!text) {
        reader_fail(reader, node, "the environment variable is not set");
        return 0;
    }
    size_t digits = strspn(text, "0123456789");
    unsigned long long pid = strtoull(text, NULL, 10);
    if (digits == 0 || digits > 10 || text[digits] != '\0' || pid > UINT32_MAX)
        reader_fail(reader, node, "the environment variable does not hold a decimal number");
    return (uint32_t)pid;
}

static unsigned read_types(struct reader *reader, struct json *node)
{
    struct json *list = reader_list(reader, node);
    if (!node)
        return PROCESS_COMPUTE;
    unsigned types = 0;
    for (const struct json *member = list ? list->first : NULL; member; member = member->next) {
        const char *text = member->type == JSON_TEXT ? member->text : "";
        unsigned type = strcmp(text, "C") == 0   ? PROCESS_COMPUTE
                        : strcmp(text, "G") == 0 ? PROCESS_GRAPHICS
                        : strcmp(text, "M") == 0 ? PROCESS_MPS
                                                 : 0;
        if (!type)
            reader_fail(reader, member, "must be \"C\", \"G\" or \"M\"");
        types |= type;
    }
    return types;
}

static void read_process(struct reader *reader, struct json *node, struct process *process)
{
    static const struct value_key keys[] = {
        {"sm", offsetof(struct process, sm), VALUE_TYPE_U32, KEY_OPTIONAL},
        {"mem_util", offsetof(struct process, mem_util), VALUE_TYPE_U32, KEY_ZERO},
        {"enc", offsetof(struct process, enc), VALUE_TYPE_U32, KEY_ZERO},
        {"dec", offsetof(struct process, dec), VALUE_TYPE_U32, KEY_ZERO},
    };
    struct json *from = reader_object(reader, node);
    process->pid = read_pid(reader, reader_required(reader, from, "pid"));
    process->types = read_types(reader, reader_member(reader, from, "types"));
    struct json *mem = reader_required(reader, from, "mem");
    bool na = mem && mem->type == JSON_TEXT && strcmp(mem->text, "na") == 0;
    if (mem && !na)
        process->mem = reader_value_of(reader, mem, VALUE_TYPE_U64);
    process->from_s = reader_number(reader, from, "from_s", -SCENARIO_FOR_EVER, 0);
    process->to_s = reader_number(reader, from, "to_s", -SCENARIO_FOR_EVER, SCENARIO_FOR_EVER);
    process->gi = (uint32_t)reader_whole(reader, from, "gi", 0, UINT32_MAX, SCENARIO_NO_INSTANCE);
    process->ci = (uint32_t)reader_whole(reader, from, "ci", 0, UINT32_MAX, SCENARIO_NO_INSTANCE);
    reader_values(reader, from, keys, sizeof(keys) / sizeof(keys[0]), process);
    reader_finish_object(reader, from);
}

void scenario_read_processes(struct reader *reader, struct json *node, struct device *device)
{
    struct json *list = reader_list(reader, node);
    device->processes = arena_take_array(reader->arena, list ? list->count : 0, sizeof(*device->processes));
    for (struct json *member = list ? list->first : NULL; member && device->processes; member = member->next)
        read_process(reader, member, &device->processes[device->process_count++]);
}

static uint32_t read_required_u32(struct reader *reader, struct json *from, const char *key, uint32_t max)
{
    struct json *node = reader_required(reader, from, key);
    return node ? (uint32_t)reader_whole_of(reader, node, 0, max) : 0;
}

static void read_mig_device(struct reader *reader, struct json *node, uint32_t max, struct mig_device *device)
{
    static const struct value_key keys[] = {
        {"uuid", offsetof(struct mig_device, uuid), VALUE_TYPE_TEXT, KEY_REQUIRED},
        {"name", offsetof(struct mig_device, name), VALUE_TYPE_TEXT, KEY_OPTIONAL},
    };
    struct json *from = reader_object(reader, node);
    if (from && max == 0)
        reader_fail(reader, from, "\"max\" leaves no place for a device");
    device->index = read_required_u32(reader, from, "index", max - 1);
    device->gi = read_required_u32(reader, from, "gi", UINT32_MAX);
    device->ci = read_required_u32(reader, from, "ci", UINT32_MAX);
    reader_values(reader, from, keys, sizeof(keys) / sizeof(keys[0]), device);
    scenario_read_memory(reader, reader_required(reader, from, "memory"), &device->memory);
    device->profile = reader_text(reader, from, "profile", MIG_PROFILE_DEFAULT);
    scenario_read_bar1(reader, reader_member(reader, from, "bar1"), &device->bar1);
    device->sms = (uint32_t)reader_whole(reader, from, "sms", 0, UINT32_MAX, 0);
    device->gi_slices = (uint32_t)reader_whole(reader, from, "gi_slices", 0, UINT32_MAX, 1);
    device->ci_slices = (uint32_t)reader_whole(reader, from, "ci_slices", 0, UINT32_MAX, 1);
    reader_finish_object(reader, from);
}

static void read_mig_devices(struct reader *reader, struct json *node, struct mig *mig)
{
    struct json *list = reader_list(reader, node);
    if (list && list->count > MIG_MAX_LIMIT) {
        reader_fail(reader, list, "has too many members");
        return;
    }
    mig->devices = arena_take_array(reader->arena, list ? list->count : 0, sizeof(*mig->devices));
    for (struct json *member = list ? list->first : NULL; member && mig->devices; member = member->next) {
        struct mig_device *device = &mig->devices[mig->device_count];
        read_mig_device(reader, member, mig->max, device);
        for (size_t i = 0; i < mig->device_count; i++)
            if (mig->devices[i].index == device->index)
                reader_fail(reader, member, "the index is that of another device");
        mig->device_count++;
    }
}

void scenario_read_mig(struct reader *reader, struct json *node, struct device *device)
{
    struct json *from = reader_object(reader, node);
    struct mig *mig = from ? arena_take(reader->arena, sizeof(*mig)) : NULL;
    if (!mig)
        return;
    struct value *const mode[] = {&mig->mode_current, &mig->mode_pending};
    reader_value_list(reader, reader_required(reader, from, "mode"), 2, mode);
    mig->max = (uint32_t)reader_whole(reader, from, "max", 0, MIG_MAX_LIMIT, MIG_MAX_DEFAULT);
    read_mig_devices(reader, reader_member(reader, from, "devices"), mig);
    reader_finish_object(reader, from);
    device->mig = mig;
}
