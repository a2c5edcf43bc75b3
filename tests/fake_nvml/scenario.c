#include "scenario.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader.h"
#include "scenario_device.h"

#define DEFAULT_PROFILE        "r580"
#define DEFAULT_DRIVER_VERSION "580.95.05"
#define DEFAULT_NVML_VERSION   "13.580.95.05"
#define DEFAULT_CUDA           13000

static const char *const profile_list[] = {"r418",    "r450_51", "r470", "r510",
                                           "r535_54", "r535_98", "r550", "r580"};

static void read_profile(struct reader *reader, struct json *root, const char *wanted,
                         struct scenario *scenario)
{
    struct json *node = reader_member(reader, root, "profile");
    scenario->profile = node ? reader_text_of(reader, node) : DEFAULT_PROFILE;
    if (!scenario->profile)
        return;
    bool known = false;
    for (size_t i = 0; i < sizeof(profile_list) / sizeof(profile_list[0]); i++)
        known |= strcmp(profile_list[i], scenario->profile) == 0;
    if (!known)
        reader_fail(reader, node, "this profile is unknown");
    if (!wanted || strcmp(wanted, scenario->profile) == 0)
        return;
    char reason[100];
    snprintf(reason, sizeof(reason), "the scenario is for profile %s, this library is %s", scenario->profile,
             wanted);
    reader_fail(reader, node ? node : root, reason);
}

static void read_driver(struct reader *reader, struct json *root, struct driver *driver)
{
    static const struct value_key keys[] = {
        {"version", offsetof(struct driver, version), VALUE_TYPE_TEXT, KEY_OPTIONAL},
    };
    struct json *from = reader_object(reader, reader_member(reader, root, "driver"));
    reader_values(reader, from, keys, 1, driver);
    if (driver->version.kind == VALUE_ABSENT)
        driver->version = (struct value){.kind = VALUE_TEXT, .text = DEFAULT_DRIVER_VERSION};
    driver->nvml = reader_text(reader, from, "nvml", DEFAULT_NVML_VERSION);
    driver->cuda = (int)reader_whole(reader, from, "cuda", 0, INT32_MAX, DEFAULT_CUDA);
    driver->init_rc = (int)reader_whole(reader, from, "init_rc", 0, 999, 0);
    driver->init_ms = reader_number(reader, from, "init_ms", 0, 0);
    reader_finish_object(reader, from);
}

static void read_devices(struct reader *reader, struct json *root, struct scenario *scenario)
{
    struct json *list = reader_list(reader, reader_required(reader, root, "devices"));
    if (!list)
        return;
    if (list->count > SCENARIO_DEVICE_COUNT_MAX) {
        reader_fail(reader, list, "has more than 64 members");
        return;
    }
    scenario->devices = arena_take_array(reader->arena, list->count, sizeof(*scenario->devices));
    for (struct json *node = list->first; node && scenario->devices; node = node->next) {
        struct device *device = &scenario->devices[scenario->device_count];
        scenario_read_device(reader, node, (uint32_t)scenario->device_count, device);
        if (reader_failed(reader) || reader->arena->failed)
            return;
        for (size_t i = 0; i < scenario->device_count; i++)
            if (strcmp(scenario->devices[i].id, device->id) == 0)
                reader_fail(reader, node, "the id is that of another device");
        scenario->device_count++;
    }
}

/* The position of the device that `node` names by its id. */
static uint32_t read_device_id(struct reader *reader, const struct json *node,
                               const struct scenario *scenario)
{
    const char *id = reader_text_of(reader, node);
    for (uint32_t i = 0; id && i < scenario->device_count; i++)
        if (strcmp(scenario->devices[i].id, id) == 0)
            return i;
    reader_fail(reader, node, "no device has this id");
    return 0;
}

/* "forever", or "ms:N" as a latency. */
static void read_hang(struct reader *reader, const struct json *node, struct fault *fault)
{
    const char *hang = reader_text_of(reader, node);
    if (!hang)
        return;
    if (strcmp(hang, "forever") == 0) {
        fault->kind = FAULT_HANG_FOREVER;
        return;
    }
    size_t digits = strncmp(hang, "ms:", 3) == 0 ? strspn(hang + 3, "0123456789") : 0;
    if (digits == 0 || digits > 9 || hang[3 + digits] != '\0')
        reader_fail(reader, node, "must be \"forever\" or \"ms:N\"");
    else
        fault->latency_us = (double)strtoul(hang + 3, NULL, 10) * 1000;
}

static void read_fault(struct reader *reader, struct json *node, const struct scenario *scenario,
                       struct fault *fault)
{
    struct json *from = reader_object(reader, node);
    fault->at_s = reader_number(reader, from, "at_s", -SCENARIO_FOR_EVER, 0);
    fault->until_s = reader_number(reader, from, "until_s", -SCENARIO_FOR_EVER, SCENARIO_FOR_EVER);
    struct json *device = reader_member(reader, from, "device");
    fault->device = device ? (int)read_device_id(reader, device, scenario) : -1;
    fault->function_glob = reader_text(reader, from, "fn", "*");
    struct json *rc = reader_member(reader, from, "rc");
    struct json *latency = reader_member(reader, from, "latency_us");
    struct json *hang = reader_member(reader, from, "hang");
    if (from && !rc + !latency + !hang != 2)
        reader_fail(reader, from, "exactly one of \"rc\", \"latency_us\" and \"hang\" is needed");
    fault->kind = rc ? FAULT_RC : FAULT_LATENCY;
    if (rc)
        fault->rc = (int)reader_whole_of(reader, rc, 1, 999);
    if (latency)
        fault->latency_us = reader_number(reader, from, "latency_us", 0, 0);
    if (hang)
        read_hang(reader, hang, fault);
    reader_finish_object(reader, from);
}

static void read_faults(struct reader *reader, struct json *root, struct scenario *scenario)
{
    struct json *list = reader_list(reader, reader_member(reader, root, "faults"));
    scenario->faults = arena_take_array(reader->arena, list ? list->count : 0, sizeof(*scenario->faults));
    for (struct json *node = list ? list->first : NULL; node && scenario->faults; node = node->next)
        read_fault(reader, node, scenario, &scenario->faults[scenario->fault_count++]);
}

static void read_event(struct reader *reader, struct json *node, const struct scenario *scenario,
                       struct event *event)
{
    struct json *from = reader_object(reader, node);
    struct json *device = reader_required(reader, from, "device");
    event->device = device ? read_device_id(reader, device, scenario) : 0;
    struct json *type = reader_required(reader, from, "type");
    event->type = type ? reader_whole_of(reader, type, 1, UINT64_MAX) : 0;
    if (event->type & (event->type - 1))
        reader_fail(reader, type, "must be one bit");
    reader_required(reader, from, "at_s");
    event->at_s = reader_number(reader, from, "at_s", -SCENARIO_FOR_EVER, 0);
    event->data = reader_whole(reader, from, "data", 0, UINT64_MAX, 0);
    event->gi = (uint32_t)reader_whole(reader, from, "gi", 0, UINT32_MAX, SCENARIO_NO_INSTANCE);
    event->ci = (uint32_t)reader_whole(reader, from, "ci", 0, UINT32_MAX, SCENARIO_NO_INSTANCE);
    reader_finish_object(reader, from);
}

/* Reads them in the order of the file and keeps them by time, equal times as they came. */
static void read_events(struct reader *reader, struct json *root, struct scenario *scenario)
{
    struct json *list = reader_list(reader, reader_member(reader, root, "events"));
    scenario->events = arena_take_array(reader->arena, list ? list->count : 0, sizeof(*scenario->events));
    for (struct json *node = list ? list->first : NULL; node && scenario->events; node = node->next) {
        struct event event = {0};
        read_event(reader, node, scenario, &event);
        size_t place = scenario->event_count++;
        for (; place > 0 && scenario->events[place - 1].at_s > event.at_s; place--)
            scenario->events[place] = scenario->events[place - 1];
        scenario->events[place] = event;
    }
}

static void read_scenario(struct reader *reader, struct json *root, const char *profile,
                          struct scenario *scenario)
{
    struct json *from = reader_object(reader, root);
    struct json *version = reader_required(reader, from, "version");
    if (version)
        reader_whole_of(reader, version, 1, 1);
    read_profile(reader, from, profile, scenario);
    read_driver(reader, from, &scenario->driver);
    read_devices(reader, from, scenario);
    if (reader_failed(reader) || reader->arena->failed)
        return; /* faults and events name devices */
    read_faults(reader, from, scenario);
    read_events(reader, from, scenario);
    reader_finish_object(reader, from);
}

/* Reads all of `path` into *ret_bytes, which the caller frees. */
static int read_file(const char *path, char **ret_bytes, size_t *ret_size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return -errno;
    size_t size = 0, room = 0;
    char *bytes = NULL;
    int result = 0;
    for (;;) {
        if (size == room) {
            room = room ? room * 2 : 8192;
            char *grown = room <= SCENARIO_FILE_SIZE_MAX ? realloc(bytes, room) : NULL;
            if (!grown) {
                result = room <= SCENARIO_FILE_SIZE_MAX ? -ENOMEM : -EFBIG;
                break;
            }
            bytes = grown;
        }
        ssize_t got = read(descriptor, bytes + size, room - size);
        if (got == 0)
            break;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            result = -errno;
            break;
        }
        size += (size_t)got;
    }
    close(descriptor);
    if (result < 0) {
        free(bytes);
        return result;
    }
    *ret_bytes = bytes;
    *ret_size = size;
    return 0;
}

static void load_bytes(char *bytes, size_t size, const char *profile, struct scenario *scenario, char *error)
{
    struct arena tree = {0};
    struct json *root = NULL;
    struct json_error where = {0};
    struct reader reader = {.arena = &scenario->arena, .error = error};
    int result = json_parse(bytes, size, &tree, &root, &where);
    if (result == -EBADMSG)
        snprintf(error, SCENARIO_ERROR_SIZE, "line %zu: %s", where.line, where.reason);
    else if (result == 0)
        read_scenario(&reader, root, profile, scenario);
    if (error[0] == '\0' && (result < 0 || scenario->arena.failed))
        snprintf(error, SCENARIO_ERROR_SIZE, "out of memory");
    arena_deinit(&tree);
}

int scenario_load(const char *path, const char *profile, struct scenario *ret_scenario,
                  char ret_error[static SCENARIO_ERROR_SIZE])
{
    struct scenario scenario = {0};
    char error[SCENARIO_ERROR_SIZE] = "";
    char *bytes = NULL;
    size_t size = 0;
    int result = read_file(path, &bytes, &size);
    if (result < 0)
        snprintf(error, sizeof(error), "%s", strerror(-result));
    else
        load_bytes(bytes, size, profile, &scenario, error);
    free(bytes);
    if (error[0] == '\0') {
        *ret_scenario = scenario;
        return 0;
    }
    scenario_deinit(&scenario);
    snprintf(ret_error, SCENARIO_ERROR_SIZE, "%.250s: %.250s", path, error);
    return -1;
}

void scenario_deinit(struct scenario *scenario)
{
    arena_deinit(&scenario->arena);
    *scenario = (struct scenario){0};
}
