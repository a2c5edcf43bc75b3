#include "gpu/nvml_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int source_start(struct source *base, struct instant now)
{
    return nvml_start(nvml_source_of(base), now);
}

static int source_check(struct source *base, struct instant now)
{
    return nvml_check(nvml_source_of(base), now);
}

static uint32_t source_device_count(const struct source *base)
{
    return ((const struct nvml_source *)(const void *)base)->device_count;
}

static int source_read(struct source *base, uint32_t position, enum field_group group, struct instant now)
{
    struct nvml_source *source = nvml_source_of(base);
    struct nvml_device *device;
    int code;

    if (position >= source->device_count)
        return SOURCE_OK;
    device = source->devices[position];
    if (device->model.state != DEVICE_OK || !device->handle)
        return SOURCE_OK;
    switch (group) {
    case GROUP_STATIC:
        code = nvml_device_read_static(source, device, now);
        if (code != NVML_SUCCESS)
            nvml_device_fail(device, code, now);
        return SOURCE_OK;
    case GROUP_HOT:
    case GROUP_WARM:
    case GROUP_SLOW:
        nvml_values_read(source, device, group, now);
        return SOURCE_OK;
    case GROUP_PROCESSES:
        return nvml_processes_read(source, device, now);
    case GROUP_COUNT:
        break;
    }
    return SOURCE_OK;
}

/* Copies as many of the device's entries as the snapshot's cap leaves room for. */
static int fill_entries(const struct nvml_device *device, struct snapshot *snapshot, struct device *shown)
{
    uint32_t count = device->entry_count, room = SNAPSHOT_MAX_ENTRIES - snapshot->entry_count;
    int r;

    if (count > room) {
        snapshot->entries_left_out += count - room;
        count = room;
    }
    r = snapshot_reserve(snapshot, 0, snapshot->entry_count + count, 0);
    if (r < 0)
        return r;
    if (count)
        memcpy(&snapshot->entries[snapshot->entry_count], device->entries,
               count * sizeof(device->entries[0]));
    shown->first_entry = snapshot->entry_count;
    shown->entry_count = count;
    snapshot->entry_count += count;
    return 0;
}

static int fill_device(const struct nvml_device *device, struct instant now, struct snapshot *snapshot)
{
    struct device *shown = &snapshot->devices[snapshot->device_count++];

    *shown = device->model;
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        int64_t age_ns = instant_since_ns(now, device->read_at[group]);

        if (device->was_read[group])
            shown->group_age_us[group] = age_ns > 0 ? (uint64_t)(age_ns / NS_PER_US) : 0;
    }
    return fill_entries(device, snapshot, shown);
}

static int source_fill(const struct source *base, struct instant now, struct snapshot *snapshot)
{
    const struct nvml_source *source = (const void *)base;
    int r;

    snapshot->fault = source->fault;
    snapshot->fault_code = source->fault_code;
    if (source->fault_text.len)
        snapshot->fault_text = buffer_text(&source->fault_text);
    if (source->driver_version[0])
        snapshot->driver_version = text_from_string(source->driver_version);
    if (source->nvml_version[0])
        snapshot->nvml_version = text_from_string(source->nvml_version);
    r = snapshot_reserve(snapshot, source->device_count, 0, 0);
    for (uint32_t i = 0; i < source->device_count && r == 0; i++)
        r = fill_device(source->devices[i], now, snapshot);
    return r;
}

static void source_free_all(struct source *base)
{
    struct nvml_source *source = nvml_source_of(base);

    for (uint32_t i = 0; i < source->gpu_count; i++)
        nvml_device_free(source->gpus[i]);
    source->gpu_count = 0;
    nvml_flatten(source); /* frees what was discarded */
    buffer_deinit(&source->fault_text);
    free(source->process_bytes);
    free(source->fresh);
    free((char *)source->options.library_path);
    free(source);
}

static void observe_nothing(void *context, const char *call, int32_t device)
{
    (void)context, (void)call, (void)device;
}

static void observe_no_end(void *context)
{
    (void)context;
}

int nvml_source_new(const struct source_options *options, struct source **ret_source)
{
    static const struct source_ops ops = {
        .name = "nvml",
        .start = source_start,
        .device_count = source_device_count,
        .read = source_read,
        .check = source_check,
        .fill = source_fill,
        .free = source_free_all,
    };
    struct nvml_source *source = calloc(1, sizeof(*source));

    if (!source)
        return -ENOMEM;
    source->base.ops = &ops;
    source->options = *options;
    if (!options->observer.begin)
        source->options.observer = (struct call_observer){observe_nothing, observe_no_end, NULL};
    if (options->library_path) {
        source->options.library_path = strdup(options->library_path);
        if (!source->options.library_path) {
            free(source);
            return -ENOMEM;
        }
    }
    *ret_source = &source->base;
    return 0;
}
