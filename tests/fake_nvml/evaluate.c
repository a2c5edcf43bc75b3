#include "evaluate.h"

#include <stdio.h>

#include "nvml_codes.h"

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t sum_of_processes(const struct device *device, const struct mig_device *mig, double t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < device->process_count; i++) {
        uint64_t held = evaluate_process_memory(&device->processes[i], t);
        if (held != EVALUATE_MEMORY_UNKNOWN && evaluate_is_listed(&device->processes[i], 0, mig, t))
            sum = add(sum, held);
    }
    return sum;
}

int evaluate_memory(const struct device *device, const struct mig_device *mig, double t,
                    struct memory_figures *ret_figures)
{
    const struct memory *memory = mig ? &mig->memory : &device->memory;
    struct memory_figures figures = {0};
    int rc = value_u64(&memory->total, t, &figures.total);
    if (rc == NVML_SUCCESS && memory->used_is_sum)
        figures.used = add(memory->sum_base, sum_of_processes(device, mig, t));
    else if (rc == NVML_SUCCESS)
        rc = value_u64(&memory->used, t, &figures.used);
    if (rc == NVML_SUCCESS)
        rc = value_u64(&memory->reserved, t, &figures.reserved);
    if (rc != NVML_SUCCESS)
        return rc;
    figures.used_with_reserved = add(figures.used, figures.reserved);
    if (figures.used_with_reserved < figures.total)
        figures.free = figures.total - figures.used_with_reserved;
    *ret_figures = figures;
    return NVML_SUCCESS;
}

int evaluate_bar1(const struct bar1 *bar1, double t, uint64_t *ret_total, uint64_t *ret_used)
{
    uint64_t total, used;
    int rc = value_u64(&bar1->total, t, &total);
    if (rc == NVML_SUCCESS)
        rc = value_u64(&bar1->used, t, &used);
    if (rc != NVML_SUCCESS)
        return rc;
    *ret_total = total;
    *ret_used = used;
    return NVML_SUCCESS;
}

int evaluate_rates(const struct utilization *utilization, double t, uint32_t *ret_gpu, uint32_t *ret_memory)
{
    uint32_t gpu, memory = 0;
    int rc = value_u32(&utilization->gpu, t, &gpu);
    if (rc == NVML_SUCCESS && utilization->memory.kind != VALUE_ABSENT)
        rc = value_u32(&utilization->memory, t, &memory);
    if (rc != NVML_SUCCESS)
        return rc;
    *ret_gpu = gpu;
    *ret_memory = memory;
    return NVML_SUCCESS;
}

bool evaluate_is_listed(const struct process *process, unsigned types, const struct mig_device *mig, double t)
{
    if (types && !(process->types & types))
        return false;
    if (mig && (process->gi != mig->gi || process->ci != mig->ci))
        return false;
    return process->from_s <= t && t < process->to_s;
}

uint64_t evaluate_process_memory(const struct process *process, double t)
{
    uint64_t held;
    return value_u64(&process->mem, t, &held) == NVML_SUCCESS ? held : EVALUATE_MEMORY_UNKNOWN;
}

int evaluate_process_sample(const struct process *process, double t, struct process_sample *ret_sample)
{
    struct process_sample sample;
    int rc = value_u32(&process->sm, t, &sample.sm);
    if (rc == NVML_SUCCESS)
        rc = value_u32(&process->mem_util, t, &sample.mem_util);
    if (rc == NVML_SUCCESS)
        rc = value_u32(&process->enc, t, &sample.enc);
    if (rc == NVML_SUCCESS)
        rc = value_u32(&process->dec, t, &sample.dec);
    if (rc == NVML_SUCCESS)
        *ret_sample = sample;
    return rc;
}

int evaluate_process_code(const struct device *device, unsigned types, double t)
{
    const struct process_codes *codes = &device->process_codes;
    int rc = NVML_SUCCESS;
    if (types & PROCESS_COMPUTE)
        rc = value_code(&codes->compute, t);
    if (rc == NVML_SUCCESS && types & PROCESS_GRAPHICS)
        rc = value_code(&codes->graphics, t);
    if (rc == NVML_SUCCESS && types & PROCESS_MPS)
        rc = value_code(&codes->mps, t);
    return rc;
}

int evaluate_mig_name(const struct device *device, const struct mig_device *mig, double t,
                      char room[static EVALUATE_NAME_SIZE], const char **ret_name)
{
    if (mig->name.kind != VALUE_ABSENT)
        return value_text(&mig->name, t, ret_name);
    const char *parent;
    int rc = value_text(&device->name, t, &parent);
    if (rc != NVML_SUCCESS)
        return rc;
    int length = snprintf(room, EVALUATE_NAME_SIZE, "%s MIG %s", parent, mig->profile);
    if (length < 0 || length >= EVALUATE_NAME_SIZE)
        return NVML_INSUFFICIENT_SIZE;
    *ret_name = room;
    return NVML_SUCCESS;
}

bool evaluate_mig_is_on(const struct device *device, double t)
{
    uint32_t mode = 0;
    return device->mig && value_u32(&device->mig->mode_current, t, &mode) == NVML_SUCCESS && mode != 0;
}
