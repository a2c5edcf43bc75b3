/*
 * Process lists: the growth protocol around a buffer that is kept, and an entry length that is found out
 * (nvml_process_list.h). All entries of all lists are kept; views merge them.
 */
#include "gpu/nvml_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A list can grow between the call that says its length and the next one. */
#define LIST_TRIES 3

int nvml_process_buffer_reserve(struct nvml_source *source, uint32_t entries)
{
    uint8_t *larger;

    if (entries < PROCESS_LIST_CAP_MIN)
        entries = PROCESS_LIST_CAP_MIN;
    if (entries <= source->process_cap)
        return 0;
    larger = realloc(source->process_bytes, (size_t)entries * PROCESS_STRIDE_MAX);
    if (!larger)
        return -ENOMEM;
    source->process_bytes = larger;
    source->process_cap = entries;
    return 0;
}

static int call_list(struct nvml_source *source, struct nvml_device *device, enum process_list list,
                     uint32_t *count)
{
    switch (list) {
    case LIST_COMPUTE:
        return nvml_device_call(source, device, compute_processes, count, source->process_bytes);
    case LIST_GRAPHICS:
        return nvml_device_call(source, device, graphics_processes, count, source->process_bytes);
    case LIST_MPS:
        return nvml_device_call(source, device, mps_processes, count, source->process_bytes);
    case LIST_COUNT:
        break;
    }
    return NVML_ERROR_FUNCTION_NOT_FOUND;
}

static const char *list_call_name(const struct nvml_source *source, enum process_list list)
{
    static const size_t places[LIST_COUNT] = {
        [LIST_COMPUTE] = NVML_SYMBOL(compute_processes),
        [LIST_GRAPHICS] = NVML_SYMBOL(graphics_processes),
        [LIST_MPS] = NVML_SYMBOL(mps_processes),
    };

    return source->library.resolved.name[places[list]];
}

/* Fills the buffer with a list; *ret_count entries. Returns the vendor's code, or -ENOMEM. */
static int fetch_list(struct nvml_source *source, struct nvml_device *device, enum process_list list,
                      uint32_t *ret_count)
{
    uint32_t wanted = PROCESS_LIST_CAP_MIN;
    int code = NVML_ERROR_INSUFFICIENT_SIZE;

    for (unsigned tries = 0; tries < LIST_TRIES && code == NVML_ERROR_INSUFFICIENT_SIZE; tries++) {
        uint32_t count;

        if (nvml_process_buffer_reserve(source, wanted) < 0)
            return -ENOMEM;
        if (!source->process_stride[list])
            memset(source->process_bytes, PROCESS_LIST_CANARY,
                   (size_t)source->process_cap * PROCESS_STRIDE_MAX);
        count = source->process_cap;
        code = call_list(source, device, list, &count);
        if (code == NVML_SUCCESS) {
            *ret_count = count < source->process_cap ? count : source->process_cap;
            return code;
        }
        wanted = count + 8 > source->process_cap * 2 ? count + 8 : source->process_cap * 2;
        if (count > PROCESS_LIST_CAP_MAX - 8 || wanted > PROCESS_LIST_CAP_MAX)
            wanted = PROCESS_LIST_CAP_MAX;
    }
    return code;
}

static unsigned find_stride(struct nvml_source *source, enum process_list list, uint32_t count)
{
    unsigned stride = source->process_stride[list];
    bool sure;

    if (stride || count == 0)
        return stride;
    stride = process_stride_detect(source->process_bytes, (size_t)source->process_cap * PROCESS_STRIDE_MAX,
                                   count, process_stride_expected(list_call_name(source, list)), &sure);
    if (sure)
        source->process_stride[list] = stride;
    return stride;
}

static int reserve_fresh(struct nvml_source *source, uint32_t more)
{
    uint32_t want = source->fresh_count + more;
    struct process_entry *larger;

    if (want <= source->fresh_cap)
        return 0;
    larger = reallocarray(source->fresh, want, sizeof(*larger));
    if (!larger)
        return -ENOMEM;
    source->fresh = larger;
    source->fresh_cap = want;
    return 0;
}

/* Reads one list behind the fresh entries that are already there. Returns 0 or -ENOMEM. */
static int read_list(struct nvml_source *source, struct nvml_device *device, enum process_list list,
                     struct instant now)
{
    uint32_t count = 0;
    unsigned stride;
    int code;

    if (nvml_is_refused(device, NVML_READING_LISTS + list))
        return 0; /* its code stands */
    if (!list_call_name(source, list)) {
        device->model.list_code[list] = LIST_CODE_ABSENT;
        return 0;
    }
    code = fetch_list(source, device, list, &count);
    if (code < 0)
        return code;
    device->model.list_code[list] = code;
    nvml_values_note(device, NVML_READING_LISTS + list, code, now);
    if (code != NVML_SUCCESS)
        return 0;
    if (list == LIST_MPS)
        device->mps_seen |= count > 0;
    if (reserve_fresh(source, count) < 0)
        return -ENOMEM;
    stride = find_stride(source, list, count);
    for (uint32_t i = 0; i < count; i++) {
        struct process_entry entry =
            process_entry_decode(source->process_bytes + (size_t)i * stride, stride, list);

        if (process_pid_is_plausible(entry.pid))
            source->fresh[source->fresh_count++] = entry;
    }
    return 0;
}

/* The device gets the fresh entries, all at once: while the lists are read, the former ones are shown. */
static void show_fresh(struct nvml_source *source, struct nvml_device *device)
{
    struct process_entry *entries = device->entries;
    uint32_t cap = device->entry_cap;

    device->entries = source->fresh;
    device->entry_count = source->fresh_count;
    device->entry_cap = source->fresh_cap;
    source->fresh = entries;
    source->fresh_count = 0;
    source->fresh_cap = cap;
}

int nvml_processes_read(struct nvml_source *source, struct nvml_device *device, struct instant now)
{
    int r;

    nvml_values_expire(device, now);
    source->fresh_count = 0;
    r = read_list(source, device, LIST_COMPUTE, now);
    if (r < 0)
        return r;
    r = read_list(source, device, LIST_GRAPHICS, now);
    if (r < 0)
        return r;
    /* A list costs milliseconds and MPS is rare: where it was empty, look again once a minute. */
    if (device->mps_seen || instant_since_ns(now, device->mps_ask_at) >= 0) {
        device->mps_ask_at = instant_add_ns(now, NVML_ASK_AGAIN_NS);
        r = read_list(source, device, LIST_MPS, now);
        if (r < 0)
            return r;
    }
    show_fresh(source, device);
    r = nvml_process_load_read(source, device, now);
    if (r < 0)
        return r;
    device->was_read[GROUP_PROCESSES] = true;
    device->read_at[GROUP_PROCESSES] = now;
    return 0;
}
