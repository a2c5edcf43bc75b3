/* Calls that count devices and find their handles. */
#include "call.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE (-1)

static int count_devices(const char *function, uint32_t *ret_count)
{
    struct call call = call_begin(function);
    if (call_system(&call) && call_require(&call, ret_count))
        *ret_count = (uint32_t)call.scenario->device_count;
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetCount, uint32_t *ret_count)
{
    return count_devices(__func__, ret_count);
}

NVML_CALL(nvmlDeviceGetCount_v2, uint32_t *ret_count)
{
    return count_devices(__func__, ret_count);
}

/*
 * The common end of the look-ups: `position` is where the device is, NOWHERE if there is none, and
 * `rc_nowhere` the code then. The faults of the device that is found apply, and its own `handle`.
 */
static bool find_device(struct call *call, int position, int rc_nowhere, const void *arguments)
{
    if (position != NOWHERE)
        call_set_device(call, (uint32_t)position);
    if (!call_faults(call) || !call_require(call, arguments))
        return false;
    call->rc = position == NOWHERE ? rc_nowhere : value_code(&call->device->handle, call->t);
    return call->rc == NVML_SUCCESS;
}

static int find_by_index(const char *function, uint32_t index, void **ret_device)
{
    struct call call = call_begin(function);
    if (call_initialised(&call)) {
        int position = index < call.scenario->device_count ? (int)index : NOWHERE;
        if (find_device(&call, position, NVML_INVALID_ARGUMENT, ret_device))
            *ret_device = library_device_handle(index);
    }
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetHandleByIndex, uint32_t index, void **ret_device)
{
    return find_by_index(__func__, index, ret_device);
}

NVML_CALL(nvmlDeviceGetHandleByIndex_v2, uint32_t index, void **ret_device)
{
    return find_by_index(__func__, index, ret_device);
}

/* Reads hex digits up to `end`; returns how many, 0 if there are none or more than 8. */
static size_t read_hex(const char **at, char end, uint32_t *ret_number)
{
    size_t digits = strspn(*at, "0123456789abcdefABCDEF");
    if (digits == 0 || digits > 8 || (*at)[digits] != end)
        return 0;
    *ret_number = (uint32_t)strtoul(*at, NULL, 16);
    *at += digits + (end != '\0');
    return digits;
}

/* The device at a PCI address with a domain of 4 or 8 digits, in capitals or not; *ret_valid: it is an
 * address. */
static int position_of_address(const struct call *call, const char *text, bool *ret_valid)
{
    uint32_t domain, bus, device, function;
    size_t digits = read_hex(&text, ':', &domain);
    *ret_valid = (digits == 4 || digits == 8) && read_hex(&text, ':', &bus) == 2 &&
                 read_hex(&text, '.', &device) == 2 && read_hex(&text, '\0', &function) == 1;
    for (size_t i = 0; *ret_valid && i < call->scenario->device_count; i++) {
        const struct pci *pci = &call->scenario->devices[i].pci;
        uint32_t own_function = (uint32_t)strtoul(pci->address + strlen(pci->address) - 1, NULL, 16);
        if (pci->domain == domain && pci->bus == bus && pci->device == device && own_function == function)
            return (int)i;
    }
    return NOWHERE;
}

static int find_by_address(const char *function, const char *address, void **ret_device)
{
    struct call call = call_begin(function);
    if (call_initialised(&call)) {
        bool valid = false;
        int position = address ? position_of_address(&call, address, &valid) : NOWHERE;
        int rc_nowhere = valid ? NVML_NOT_FOUND : NVML_INVALID_ARGUMENT;
        if (find_device(&call, position, rc_nowhere, ret_device))
            *ret_device = library_device_handle((uint32_t)position);
    }
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetHandleByPciBusId, const char *address, void **ret_device)
{
    return find_by_address(__func__, address, ret_device);
}

NVML_CALL(nvmlDeviceGetHandleByPciBusId_v2, const char *address, void **ret_device)
{
    return find_by_address(__func__, address, ret_device);
}

static bool has_text(const struct value *value, double t, const char *wanted)
{
    const char *text;
    return value_text(value, t, &text) == NVML_SUCCESS && strcmp(text, wanted) == 0;
}

/* The device, or the place of a MIG device in *ret_slot (else -1), that has the UUID. */
static int position_of_uuid(const struct call *call, const char *uuid, int *ret_slot)
{
    for (size_t i = 0; i < call->scenario->device_count; i++) {
        const struct device *device = &call->scenario->devices[i];
        *ret_slot = -1;
        if (has_text(&device->uuid, call->t, uuid))
            return (int)i;
        for (size_t j = 0; evaluate_mig_is_on(device, call->t) && j < device->mig->device_count; j++) {
            *ret_slot = (int)j;
            if (has_text(&device->mig->devices[j].uuid, call->t, uuid))
                return (int)i;
        }
    }
    return NOWHERE;
}

NVML_CALL(nvmlDeviceGetHandleByUUID, const char *uuid, void **ret_device)
{
    struct call call = call_begin(__func__);
    if (call_initialised(&call)) {
        int slot = -1;
        int position = uuid ? position_of_uuid(&call, uuid, &slot) : NOWHERE;
        int rc_nowhere = uuid ? NVML_NOT_FOUND : NVML_INVALID_ARGUMENT;
        if (find_device(&call, position, rc_nowhere, ret_device))
            *ret_device = slot < 0 ? library_device_handle((uint32_t)position)
                                   : library_mig_handle((uint32_t)position, (uint32_t)slot);
    }
    return call_end(&call);
}
