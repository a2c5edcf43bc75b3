#include "toy_nvml.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* A handle is a device's number and the generation it was given in. */
static struct toy_state state;

static void *handle_of(uint32_t device)
{
    return (void *)(uintptr_t)((state.generation + 1) << 8 | (device + 1));
}

static struct toy_device *device_of(void *handle, int *ret_code)
{
    uintptr_t value = (uintptr_t)handle;
    struct toy_device *device;

    *ret_code = 2;
    if (value >> 8 != state.generation + 1)
        return NULL;
    device = &state.devices[(value & 0xff) - 1];
    device->touched = true;
    *ret_code = device->code;
    return device->code ? NULL : device;
}

EXPORT struct toy_state *toy_nvml_state(void);
EXPORT int nvmlInit_v2(void);
EXPORT int nvmlDeviceGetCount_v2(uint32_t *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(uint32_t index, void **handle);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **handle);
EXPORT int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned len);
EXPORT int nvmlDeviceGetPciInfo(void *handle, void *info);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *handle, uint32_t *count, void *infos);

EXPORT int nvmlDeviceGetProcessUtilization(void *handle, void *samples, uint32_t *count, uint64_t since);

struct toy_state *toy_nvml_state(void)
{
    return &state;
}

int nvmlInit_v2(void)
{
    state.init_calls++;
    return state.init_code;
}

int nvmlDeviceGetCount_v2(uint32_t *count)
{
    if (state.count_code)
        return state.count_code;
    *count = state.count;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(uint32_t index, void **handle)
{
    state.lookups++;
    if (index >= state.count)
        return 2;
    for (uint32_t i = 0; i <= index; i++)
        state.devices[state.order[i]].touched = true;
    if (state.devices[state.order[index]].code)
        return state.devices[state.order[index]].code;
    *handle = handle_of(state.order[index]);
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **handle)
{
    state.lookups++;
    for (uint32_t i = 0; i < state.count; i++) {
        struct toy_device *device = &state.devices[state.order[i]];

        if (strcmp(bus_id + 4, device->bus_id) != 0) /* asked for with a domain of eight digits */
            continue;
        device->touched = true;
        if (device->code)
            return device->code;
        *handle = handle_of(state.order[i]);
        return 0;
    }
    return 6;
}

int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned len)
{
    int code;
    struct toy_device *device = device_of(handle, &code);

    if (!device)
        return code;
    strncpy(uuid, device->uuid, len);
    return 0;
}

/* The old struct: 52 bytes, of which the text is all that matters here. */
int nvmlDeviceGetPciInfo(void *handle, void *info)
{
    int code;
    struct toy_device *device = device_of(handle, &code);

    if (!device)
        return code;
    memset(info, 0, 52);
    strncpy(info, device->bus_id, 15);
    return 0;
}

static void write_entry(uint8_t *at, uint32_t pid)
{
    uint64_t used = (uint64_t)pid << 20;
    uint32_t none = UINT32_MAX;
    uint64_t protected = 0;

    memset(at, 0, state.stride);
    memcpy(at, &pid, 4);
    memcpy(at + 8, &used, 8);
    if (state.stride >= 24) {
        memcpy(at + 16, &none, 4);
        memcpy(at + 20, &none, 4);
    }
    if (state.stride >= 32)
        memcpy(at + 24, &protected, 8);
}

int nvmlDeviceGetComputeRunningProcesses_v2(void *handle, uint32_t *count, void *infos)
{
    int code;

    if (!device_of(handle, &code))
        return code;
    state.list_calls++;
    if (*count < state.pid_count) {
        *count = state.pid_count;
        state.pid_count += state.grow_by;
        return 7;
    }
    *count = state.pid_count;
    for (uint32_t i = 0; i < state.pid_count; i++)
        write_entry((uint8_t *)infos + (uint64_t)i * state.stride, state.first_pid + i);
    return 0;
}

int nvmlDeviceGetProcessUtilization(void *handle, void *samples, uint32_t *count, uint64_t since)
{
    uint32_t room = *count;
    int code;

    (void)since;
    if (!device_of(handle, &code))
        return code;
    *count = state.sample_count;
    if (room < state.sample_count)
        return 7;
    memcpy(samples, state.samples, state.sample_count * sizeof(state.samples[0]));
    return state.sample_count ? 0 : 6;
}
