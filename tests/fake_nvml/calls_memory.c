/* Calls about memory and its errors, and the batch of field values. */
#include "call.h"

#include <time.h>

#include "nvml_structs.h"

NVML_CALL(nvmlDeviceGetMemoryInfo, const void *device, struct nvml_memory *ret_memory)
{
    struct call call = call_begin(__func__);
    if (call_any_device(&call, device) && call_require(&call, ret_memory)) {
        struct memory_figures figures;
        call.rc = evaluate_memory(call.device, call.mig, call.t, &figures);
        if (call.rc == NVML_SUCCESS)
            *ret_memory = (struct nvml_memory){
                .total = figures.total, .free = figures.free, .used = figures.used_with_reserved};
    }
    return call_end(&call);
}

static void answer_memory_v2(struct call *call, struct nvml_memory_v2 *memory)
{
    struct memory_figures figures;
    if (memory->version != NVML_VERSION_WORD(*memory, 2)) {
        call->rc = NVML_FUNCTION_NOT_FOUND; /* code 25 is younger than this call */
        return;
    }
    call->rc = evaluate_memory(call->device, call->mig, call->t, &figures);
    if (call->rc != NVML_SUCCESS)
        return;
    memory->total = figures.total;
    memory->reserved = figures.reserved;
    memory->free = figures.free;
    memory->used = figures.used;
}

NVML_CALL(nvmlDeviceGetMemoryInfo_v2, const void *device, struct nvml_memory_v2 *memory)
{
    struct call call = call_begin(__func__);
    if (call_any_device(&call, device) && call_require(&call, memory))
        answer_memory_v2(&call, memory);
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetBAR1MemoryInfo, const void *device, struct nvml_bar1_memory *ret_memory)
{
    struct call call = call_begin(__func__);
    if (call_any_device(&call, device) && call_require(&call, ret_memory)) {
        uint64_t total, used;
        call.rc = evaluate_bar1(call.mig ? &call.mig->bar1 : &call.device->bar1, call.t, &total, &used);
        if (call.rc == NVML_SUCCESS)
            *ret_memory = (struct nvml_bar1_memory){
                .total = total, .free = used < total ? total - used : 0, .used = used};
    }
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetEccMode, const void *device, uint32_t *ret_current, uint32_t *ret_pending)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_current) && call_require(&call, ret_pending)) {
        uint32_t current, pending;
        call.rc = value_u32(&call.device->ecc.mode_current, call.t, &current);
        if (call.rc == NVML_SUCCESS)
            call.rc = value_u32(&call.device->ecc.mode_pending, call.t, &pending);
        if (call.rc == NVML_SUCCESS) {
            *ret_current = current;
            *ret_pending = pending;
        }
    }
    return call_end(&call);
}

/* type: 0 corrected, 1 uncorrected; counter: 0 volatile, 1 aggregate. */
NVML_CALL(nvmlDeviceGetTotalEccErrors, const void *device, uint32_t type, uint32_t counter,
          uint64_t *ret_count)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_count) &&
        call_require_that(&call, type < 2 && counter < 2)) {
        const struct ecc *ecc = &call.device->ecc;
        const struct value *const values[2][2] = {
            {&ecc->volatile_corrected, &ecc->aggregate_corrected},
            {&ecc->volatile_uncorrected, &ecc->aggregate_uncorrected},
        };
        call.rc = value_u64(values[type][counter], call.t, ret_count);
    }
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetRemappedRows, const void *device, uint32_t *ret_corrected, uint32_t *ret_uncorrected,
          uint32_t *ret_pending, uint32_t *ret_failed)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_corrected) &&
        call_require(&call, ret_uncorrected) && call_require(&call, ret_pending) &&
        call_require(&call, ret_failed)) {
        const struct remapped_rows *rows = &call.device->remapped_rows;
        const struct value *const values[] = {&rows->corrected, &rows->uncorrected, &rows->pending,
                                              &rows->failed};
        uint32_t numbers[4] = {0};
        for (int i = 0; i < 4 && call.rc == NVML_SUCCESS; i++)
            call.rc = value_u32(values[i], call.t, &numbers[i]);
        if (call.rc == NVML_SUCCESS) {
            *ret_corrected = numbers[0];
            *ret_uncorrected = numbers[1];
            *ret_pending = numbers[2];
            *ret_failed = numbers[3];
        }
    }
    return call_end(&call);
}

static int64_t wall_clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Fills one field; a field without an answer gets its code and nothing else. */
static void answer_field(const struct call *call, struct nvml_field_value *field)
{
    const struct device *device = call->device;
    field->rc = NVML_NOT_SUPPORTED;
    for (size_t i = 0; i < device->field_value_count; i++) {
        const struct field_value *known = &device->field_values[i];
        if (known->id != field->field_id)
            continue;
        uint64_t number = 0;
        field->rc = value_u64(&known->value, call->t, &number);
        if (field->rc != NVML_SUCCESS)
            return;
        field->value_type = scenario_field_is_wide(known->id) ? 3 : 1;
        field->value = field->value_type == 1 && number > UINT32_MAX ? UINT32_MAX : number;
        field->timestamp_us = wall_clock_us();
        field->latency_us = 0;
    }
}

NVML_CALL(nvmlDeviceGetFieldValues, const void *device, int32_t count, struct nvml_field_value *fields)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, fields) && call_require_that(&call, count > 0)) {
        call.rc = NVML_NOT_SUPPORTED;
        for (int32_t i = 0; i < count; i++) {
            answer_field(&call, &fields[i]);
            if (fields[i].rc == NVML_SUCCESS)
                call.rc = NVML_SUCCESS;
        }
    }
    return call_end(&call);
}
