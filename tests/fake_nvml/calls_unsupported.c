/*
 * Calls that real drivers export and for which the scenario format has no key: they check what every call
 * checks and then return 3, so that a client's way of dealing with that is exercised.
 */
#include "call.h"

#define NVML_CALL_UNSUPPORTED(name_, ...) \
    NVML_CALL(name_, const void *device, __VA_ARGS__) \
    { \
        return unsupported(__func__, device); \
    }

static int unsupported(const char *function, const void *device)
{
    struct call call = call_begin(function);
    if (call_gpu(&call, device))
        call.rc = NVML_NOT_SUPPORTED;
    return call_end(&call);
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
NVML_CALL_UNSUPPORTED(nvmlDeviceGetSamples, uint32_t type, uint64_t last_seen_us, void *value_type,
                      void *count, void *samples)
NVML_CALL_UNSUPPORTED(nvmlDeviceGetMemoryErrorCounter, uint32_t type, uint32_t counter, uint32_t place,
                      void *ret_count)
NVML_CALL_UNSUPPORTED(nvmlDeviceGetNvLinkState, uint32_t link, void *ret_state)
NVML_CALL_UNSUPPORTED(nvmlDeviceGetNvLinkVersion, uint32_t link, void *ret_version)
NVML_CALL_UNSUPPORTED(nvmlDeviceGetTopologyCommonAncestor, const void *other, void *ret_level)
NVML_CALL_UNSUPPORTED(nvmlDeviceGetCpuAffinity, uint32_t count, void *ret_set)
NVML_CALL_UNSUPPORTED(nvmlDeviceGetMemoryAffinity, uint32_t count, void *ret_set, uint32_t scope)
NVML_CALL_UNSUPPORTED(nvmlDeviceGetVirtualizationMode, void *ret_mode)
NVML_CALL_UNSUPPORTED(nvmlDeviceGetConfComputeMemSizeInfo, void *ret_info)
NVML_CALL_UNSUPPORTED(nvmlDeviceGetDriverModel_v2, void *ret_current, void *ret_pending)
