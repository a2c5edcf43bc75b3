/* Calls about MIG devices. */
#include "call.h"

#include "nvml_structs.h"

#define BYTES_PER_MB_SHIFT 20

static void answer_mig_mode(struct call *call, uint32_t *ret_current, uint32_t *ret_pending)
{
    uint32_t current, pending;
    const struct mig *mig = call->device->mig;
    call->rc = mig ? value_u32(&mig->mode_current, call->t, &current) : NVML_NOT_SUPPORTED;
    if (call->rc == NVML_SUCCESS)
        call->rc = value_u32(&mig->mode_pending, call->t, &pending);
    if (call->rc != NVML_SUCCESS)
        return;
    *ret_current = current;
    *ret_pending = pending;
}

NVML_CALL(nvmlDeviceGetMigMode, const void *device, uint32_t *ret_current, uint32_t *ret_pending)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_current) && call_require(&call, ret_pending))
        answer_mig_mode(&call, ret_current, ret_pending);
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetMaxMigDeviceCount, const void *device, uint32_t *ret_count)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_count))
        *ret_count = evaluate_mig_is_on(call.device, call.t) ? call.device->mig->max : 0;
    return call_end(&call);
}

static void answer_mig_handle(struct call *call, uint32_t index, void **ret_device)
{
    const struct mig *mig = call->device->mig;
    call->rc = mig ? NVML_NOT_FOUND : NVML_NOT_SUPPORTED;
    if (!evaluate_mig_is_on(call->device, call->t) || !call_require_that(call, index < mig->max))
        return;
    for (uint32_t i = 0; i < mig->device_count; i++)
        if (mig->devices[i].index == index) {
            *ret_device = library_mig_handle((uint32_t)call->position, i);
            call->rc = NVML_SUCCESS;
        }
}

NVML_CALL(nvmlDeviceGetMigDeviceHandleByIndex, const void *device, uint32_t index, void **ret_device)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_device))
        answer_mig_handle(&call, index, ret_device);
    return call_end(&call);
}

/* A call that only a MIG device's handle answers; a whole device's gets 3. */
static bool call_mig(struct call *call, const void *handle)
{
    if (!call_any_device(call, handle))
        return false;
    if (!call->mig)
        call->rc = NVML_NOT_SUPPORTED;
    return call->mig;
}

NVML_CALL(nvmlDeviceGetGpuInstanceId, const void *device, uint32_t *ret_id)
{
    struct call call = call_begin(__func__);
    if (call_mig(&call, device) && call_require(&call, ret_id))
        *ret_id = call.mig->gi;
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetComputeInstanceId, const void *device, uint32_t *ret_id)
{
    struct call call = call_begin(__func__);
    if (call_mig(&call, device) && call_require(&call, ret_id))
        *ret_id = call.mig->ci;
    return call_end(&call);
}

NVML_CALL(nvmlDeviceIsMigDeviceHandle, const void *device, uint32_t *ret_is_mig)
{
    struct call call = call_begin(__func__);
    if (call_any_device(&call, device) && call_require(&call, ret_is_mig))
        *ret_is_mig = call.mig ? 1 : 0;
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, const void *device, void **ret_device)
{
    struct call call = call_begin(__func__);
    if (call_mig(&call, device) && call_require(&call, ret_device)) {
        call.rc = value_code(&call.device->handle, call.t);
        if (call.rc == NVML_SUCCESS)
            *ret_device = library_device_handle((uint32_t)call.position);
    }
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetAttributes_v2, const void *device, struct nvml_device_attributes *ret_attributes)
{
    struct call call = call_begin(__func__);
    if (call_mig(&call, device) && call_require(&call, ret_attributes)) {
        struct memory_figures figures;
        call.rc = evaluate_memory(call.device, call.mig, call.t, &figures);
        if (call.rc == NVML_SUCCESS)
            *ret_attributes =
                (struct nvml_device_attributes){.sms = call.mig->sms,
                                                .gi_slices = call.mig->gi_slices,
                                                .ci_slices = call.mig->ci_slices,
                                                .memory_mb = figures.total >> BYTES_PER_MB_SHIFT};
    }
    return call_end(&call);
}
