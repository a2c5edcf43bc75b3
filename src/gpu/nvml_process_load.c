/*
 * Per-process utilisation. The driver keeps a ring of samples, several per process; the newest of each
 * process counts, and only what came since the last reading, for the ring also holds old ones.
 */
#include "gpu/nvml_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Samples this much older than the newest one belong to processes that do nothing now. */
#define SAMPLE_OLD_US 2000000

/* A reading without new samples keeps the figures of the last one for this long. */
#define LOADS_KEPT_NS (2 * NS_PER_S)

/* Asks for the samples since the last reading; they are in the process buffer then. */
static int fetch_samples(struct nvml_source *source, struct nvml_device *device, uint32_t *ret_count)
{
    int code = NVML_ERROR_INSUFFICIENT_SIZE;
    uint32_t wanted = PROCESS_LIST_CAP_MIN;

    for (unsigned tries = 0; tries < 3 && code == NVML_ERROR_INSUFFICIENT_SIZE; tries++) {
        uint32_t count;

        if (nvml_process_buffer_reserve(source, wanted) < 0)
            return -ENOMEM;
        count = source->process_cap;
        code = nvml_device_call(source, device, process_utilization,
                                (struct nvml_process_sample *)(void *)source->process_bytes, &count,
                                device->load_seen_us);
        *ret_count = count < source->process_cap ? count : source->process_cap;
        wanted = count > source->process_cap * 2 ? count : source->process_cap * 2;
        if (wanted > PROCESS_LIST_CAP_MAX)
            wanted = PROCESS_LIST_CAP_MAX;
    }
    return code;
}

static int reserve_loads(struct nvml_device *device, uint32_t want)
{
    struct nvml_process_load *larger;

    if (want <= device->load_cap)
        return 0;
    larger = reallocarray(device->loads, want, sizeof(*larger));
    if (!larger)
        return -ENOMEM;
    device->loads = larger;
    device->load_cap = want;
    return 0;
}

/* By pid, the newest first within a pid. */
static int compare_loads(const void *a, const void *b)
{
    const struct nvml_process_load *left = a, *right = b;

    if (left->pid != right->pid)
        return left->pid < right->pid ? -1 : 1;
    if (left->time_stamp_us != right->time_stamp_us)
        return left->time_stamp_us > right->time_stamp_us ? -1 : 1;
    return 0;
}

static int compare_pid(const void *key, const void *load)
{
    uint32_t pid = *(const uint32_t *)key, other = ((const struct nvml_process_load *)load)->pid;

    return (pid > other) - (pid < other);
}

/* Keeps one load per process, and none that is old. The loads are sorted. */
static void keep_newest(struct nvml_device *device)
{
    uint32_t kept = 0, previous = 0;

    for (uint32_t i = 0; i < device->load_count; i++) {
        struct nvml_process_load load = device->loads[i];
        bool repeated = load.pid == previous;

        previous = load.pid;
        if (!repeated && device->load_seen_us - load.time_stamp_us <= SAMPLE_OLD_US)
            device->loads[kept++] = load;
    }
    device->load_count = kept;
}

/* Leaves only what is newer than the last reading, of processes, in the buffer. False if nothing is. */
static bool drop_seen(struct nvml_source *source, struct nvml_device *device, uint32_t *count)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < *count; i++) {
        struct nvml_process_sample sample;

        memcpy(&sample, source->process_bytes + (size_t)i * sizeof(sample), sizeof(sample));
        if (!process_pid_is_plausible(sample.pid) || sample.time_stamp_us <= device->load_seen_us)
            continue;
        memcpy(source->process_bytes + (size_t)kept++ * sizeof(sample), &sample, sizeof(sample));
    }
    *count = kept;
    return kept > 0;
}

static int keep_samples(struct nvml_source *source, struct nvml_device *device, uint32_t count)
{
    device->load_count = 0;
    if (reserve_loads(device, count) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        struct nvml_process_sample sample;

        memcpy(&sample, source->process_bytes + (size_t)i * sizeof(sample), sizeof(sample));
        device->loads[device->load_count++] = (struct nvml_process_load){
            .pid = sample.pid,
            .time_stamp_us = sample.time_stamp_us,
            .sm = process_percent(sample.sm),
            .memory = process_percent(sample.memory),
            .encoder = process_percent(sample.encoder),
            .decoder = process_percent(sample.decoder),
        };
        if (sample.time_stamp_us > device->load_seen_us)
            device->load_seen_us = sample.time_stamp_us;
    }
    if (device->load_count)
        qsort(device->loads, device->load_count, sizeof(device->loads[0]), compare_loads);
    keep_newest(device);
    return 0;
}

/* The same figures on each entry of a process: the driver counts per process, not per list or context. */
static void show_loads(struct nvml_device *device)
{
    for (uint32_t i = 0; i < device->entry_count; i++) {
        struct process_entry *entry = &device->entries[i];
        const struct nvml_process_load *load = NULL;

        if (device->load_count)
            load = bsearch(&entry->pid, device->loads, device->load_count, sizeof(*load), compare_pid);
        if (!load)
            continue;
        entry->util_sm_percent = load->sm;
        entry->util_memory_percent = load->memory;
        entry->util_encoder_percent = load->encoder;
        entry->util_decoder_percent = load->decoder;
    }
}

int nvml_process_load_read(struct nvml_source *source, struct nvml_device *device, struct instant now)
{
    uint32_t count = 0;
    int code;

    if (device->parent || device->entry_count == 0 ||
        nvml_is_refused(device, NVML_READING_PROCESS_UTILIZATION))
        return 0;
    code = fetch_samples(source, device, &count);
    if (code < 0)
        return code;
    nvml_values_note(device, NVML_READING_PROCESS_UTILIZATION, code, now);
    /* Some drivers repeat what they gave before. */
    if (code == NVML_SUCCESS && !drop_seen(source, device, &count))
        code = NVML_ERROR_NOT_FOUND;
    if (code == NVML_SUCCESS) {
        device->load_read_at = now;
        if (keep_samples(source, device, count) < 0)
            return -ENOMEM;
    } else if (code != NVML_ERROR_NOT_FOUND || instant_since_ns(now, device->load_read_at) > LOADS_KEPT_NS) {
        device->load_count = 0;
        /* The ring holds ten seconds: nothing for so long may also mean that the driver's clock was set back.
         */
        if (instant_since_ns(now, device->load_read_at) > NVML_ASK_AGAIN_NS)
            device->load_seen_us = 0;
    }
    show_loads(device);
    return 0;
}
