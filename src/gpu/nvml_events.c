/*
 * Events: Xid errors and changes of the MIG layout, read with time-out 0 from one event set.
 * Nothing here is worth a device's state: where events are refused, there are none.
 */
#include "gpu/nvml_source.h"

#include <string.h>

#define EVENTS_PER_READ 64 /* a storm must not keep the thread */

static struct nvml_device *find_by_handle(struct nvml_source *source, const void *handle)
{
    for (uint32_t i = 0; handle && i < source->gpu_count; i++)
        if (source->gpus[i]->handle == handle)
            return source->gpus[i];
    return NULL;
}

static void register_device(struct nvml_source *source, struct nvml_device *gpu)
{
    uint64_t supported = 0, wanted;
    int code;

    gpu->events_on = gpu->handle; /* asked once per handle, whatever the answer */
    code = nvml_device_call(source, gpu, event_types, &supported);
    /* One type too many, and none is registered. */
    wanted = supported & (NVML_EVENT_XID | NVML_EVENT_MIG_CHANGE);
    if (code != NVML_SUCCESS || !wanted)
        return;
    code = nvml_device_call(source, gpu, register_events, wanted, source->event_set);
    if (code == NVML_SUCCESS && wanted & NVML_EVENT_XID && !field_has(&gpu->model.values, FIELD_XID_COUNT))
        field_set(&gpu->model.values, FIELD_XID_COUNT, 0);
}

static bool prepare_set(struct nvml_source *source)
{
    int code;

    if (source->event_set)
        return true;
    if (source->events_refused)
        return false;
    code = nvml_call(source, -1, event_set_create, &source->event_set);
    if (code != NVML_SUCCESS || !source->event_set) {
        source->event_set = NULL;
        source->events_refused = true;
        return false;
    }
    for (uint32_t i = 0; i < source->gpu_count; i++)
        source->gpus[i]->events_on = NULL;
    return true;
}

static void take_event(struct nvml_source *source, const struct nvml_event_data *event)
{
    struct nvml_device *gpu = find_by_handle(source, event->device);
    struct field_values *values;
    int64_t count = 0;

    if (!gpu)
        return;
    values = &gpu->model.values;
    if (event->type & NVML_EVENT_MIG_CHANGE)
        gpu->mig_due = true;
    if (event->type & NVML_EVENT_XID) {
        field_get(values, FIELD_XID_COUNT, &count);
        field_set(values, FIELD_XID_COUNT, count + 1);
        field_set(values, FIELD_XID_LAST, (int64_t)event->data);
        field_set(values, FIELD_XID_LAST_UNIX_US, clock_wall_us());
    }
}

void nvml_events_read(struct nvml_source *source)
{
    if (!prepare_set(source))
        return;
    for (uint32_t i = 0; i < source->gpu_count; i++) {
        struct nvml_device *gpu = source->gpus[i];

        if (gpu->model.state == DEVICE_OK && gpu->events_on != gpu->handle)
            register_device(source, gpu);
    }
    for (unsigned i = 0; i < EVENTS_PER_READ; i++) {
        struct nvml_event_data event;
        int code;

        memset(&event, 0xFF, sizeof(event)); /* the old call leaves the instance ids alone */
        code = nvml_call(source, -1, event_wait, source->event_set, &event, 0);
        if (code == NVML_SUCCESS) {
            take_event(source, &event);
            continue;
        }
        /* The set died with an earlier initialisation. */
        if (code == NVML_ERROR_INVALID_ARGUMENT || code == NVML_ERROR_UNINITIALIZED)
            source->event_set = NULL;
        return;
    }
}
