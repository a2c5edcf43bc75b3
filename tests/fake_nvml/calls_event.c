/* Calls about events. */
#include "call.h"

#include <string.h>
#include <time.h>

#include "delay.h"
#include "event_set.h"
#include "nvml_structs.h"

#define NS_PER_MS 1000000
#define NS_PER_S  1000000000

NVML_CALL(nvmlEventSetCreate, void **ret_set)
{
    struct call call = call_begin(__func__);
    if (call_system(&call) && call_require(&call, ret_set)) {
        void *set = event_set_new(call.scenario);
        if (set)
            *ret_set = set;
        else
            call.rc = NVML_MEMORY;
    }
    return call_end(&call);
}

/* Like call_system(), for a call whose handle is that of an event set. */
static bool call_event_set(struct call *call, const void *handle, struct event_set **ret_set)
{
    if (!call_initialised(call))
        return false;
    *ret_set = event_set_find(handle);
    return call_require(call, *ret_set) && call_faults(call);
}

NVML_CALL(nvmlEventSetFree, void *set)
{
    struct call call = call_begin(__func__);
    struct event_set *found;
    if (call_event_set(&call, set, &found)) {
        event_set_free(found);
        pthread_cond_broadcast(&library.changed);
    }
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetSupportedEventTypes, const void *device, uint64_t *ret_types)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_types))
        *ret_types = EVENT_TYPES_SUPPORTED;
    return call_end(&call);
}

NVML_CALL(nvmlDeviceRegisterEvents, const void *device, uint64_t types, void *set)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device)) {
        struct event_set *found = event_set_find(set);
        if (!call_require(&call, found))
            ;
        else if (types & ~EVENT_TYPES_SUPPORTED)
            call.rc = NVML_NOT_SUPPORTED; /* and nothing is registered */
        else if (event_set_register(found, (uint32_t)call.position, types, call.t) < 0)
            call.rc = NVML_MEMORY;
        pthread_cond_broadcast(&library.changed);
    }
    return call_end(&call);
}

/* Sleeps until `when_ns`, a change of the library's state, or (as any wait on a condition) for no reason. */
static void wait_unlocked(int64_t when_ns)
{
    struct timespec when = {.tv_sec = when_ns / NS_PER_S, .tv_nsec = when_ns % NS_PER_S};
    pthread_cond_timedwait(&library.changed, &library.lock, &when);
}

/* Waits for the next event of the set `handle`. The lock is given up while waiting, so all may have changed
 * then. */
static const struct event *wait_for_event(struct call *call, const void *handle, uint32_t timeout_ms)
{
    int64_t deadline_ns = monotonic_ns() + (int64_t)timeout_ms * NS_PER_MS;
    for (;;) {
        if (!call_initialised(call))
            return NULL;
        struct event_set *set = event_set_find(handle);
        if (!call_require(call, set))
            return NULL;
        int64_t now_ns = monotonic_ns();
        double next_s;
        const struct event *event = event_set_take(set, library_time(now_ns), &next_s);
        if (event)
            return event;
        if (now_ns >= deadline_ns) {
            call->rc = NVML_TIMEOUT;
            return NULL;
        }
        int64_t next_ns = library_moment(next_s);
        wait_unlocked(next_ns < deadline_ns ? next_ns : deadline_ns);
    }
}

static int wait_and_write(const char *function, void *set, void *ret_data, size_t size, uint32_t timeout_ms)
{
    struct call call = call_begin(function);
    struct event_set *found;
    if (call_event_set(&call, set, &found) && call_require(&call, ret_data)) {
        const struct event *event = wait_for_event(&call, set, timeout_ms);
        if (event) {
            struct nvml_event_data data = {.device = library_device_handle(event->device),
                                           .type = event->type,
                                           .data = event->data,
                                           .gi = event->gi,
                                           .ci = event->ci};
            memcpy(ret_data, &data, size);
        }
    }
    return call_end(&call);
}

NVML_CALL(nvmlEventSetWait, void *set, void *ret_data, uint32_t timeout_ms)
{
    return wait_and_write(__func__, set, ret_data, NVML_EVENT_DATA_V1_SIZE, timeout_ms);
}

NVML_CALL(nvmlEventSetWait_v2, void *set, void *ret_data, uint32_t timeout_ms)
{
    return wait_and_write(__func__, set, ret_data, sizeof(struct nvml_event_data), timeout_ms);
}
