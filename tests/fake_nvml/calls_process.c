/* Calls that list processes and what they use. */
#include "call.h"

#include <string.h>
#include <time.h>

#include "nvml_structs.h"
#include "profile.h"

#define SAMPLE_COUNT_SUGGESTED 100 /* what a caller without a buffer is told to bring */
#define ARCHITECTURE_HOPPER    9

/* The next entry of the list of `types` from *at on, which is moved behind it; NULL at the end. */
static const struct process *next_listed(const struct call *call, unsigned types, size_t *at)
{
    while (*at < call->device->process_count) {
        const struct process *process = &call->device->processes[(*at)++];
        if (evaluate_is_listed(process, types, call->mig, call->t))
            return process;
    }
    return NULL;
}

static uint32_t count_listed(const struct call *call, unsigned types)
{
    uint32_t count = 0;
    size_t at = 0;
    while (next_listed(call, types, &at))
        count++;
    return count;
}

/*
 * The protocol of all lists. True if the caller's buffer takes `need` entries, which are to be written then;
 * *count holds the need afterwards.
 */
static bool fits(struct call *call, uint32_t need, uint32_t *count)
{
    bool enough = *count >= need;
    *count = need;
    if (!enough)
        call->rc = NVML_INSUFFICIENT_SIZE;
    return enough;
}

/* Writes the listed processes in entries of `size` bytes. */
static void write_entries(const struct call *call, unsigned types, unsigned char *to, size_t size)
{
    const struct process *process;
    size_t at = 0;
    while ((process = next_listed(call, types, &at))) {
        struct nvml_process_detail entry = {
            .pid = process->pid,
            .used_memory = evaluate_process_memory(process, call->t),
            .gi = process->gi,
            .ci = process->ci,
        };
        memcpy(to, &entry, size);
        to += size;
    }
}

static int list(const char *function, const void *device, unsigned types, uint32_t *count, void *entries,
                size_t size)
{
    struct call call = call_begin(function);
    if (call_any_device(&call, device) && call_require(&call, count) &&
        call_require_that(&call, entries || *count == 0)) {
        call.rc = evaluate_process_code(call.device, types, call.t);
        if (call.rc == NVML_SUCCESS && fits(&call, count_listed(&call, types), count))
            write_entries(&call, types, entries, size);
    }
    return call_end(&call);
}

/* The three generations of one list. */
#define NVML_CALL_LIST(name_, types_) \
    NVML_CALL(name_, const void *device, uint32_t *count, void *entries) \
    { \
        return list(__func__, device, types_, count, entries, sizeof(struct nvml_process_v1)); \
    } \
    NVML_CALL(name_##_v2, const void *device, uint32_t *count, void *entries) \
    { \
        return list(__func__, device, types_, count, entries, sizeof(struct nvml_process_v2)); \
    } \
    NVML_CALL(name_##_v3, const void *device, uint32_t *count, void *entries) \
    { \
        return list(__func__, device, types_, count, entries, profile_process_v3_size); \
    }

NVML_CALL_LIST(nvmlDeviceGetComputeRunningProcesses, PROCESS_COMPUTE)
NVML_CALL_LIST(nvmlDeviceGetGraphicsRunningProcesses, PROCESS_GRAPHICS)
NVML_CALL_LIST(nvmlDeviceGetMPSComputeRunningProcesses, PROCESS_MPS)

static void answer_details(struct call *call, struct nvml_process_detail_list *details)
{
    static const unsigned types_of_mode[] = {PROCESS_COMPUTE, PROCESS_GRAPHICS, PROCESS_MPS,
                                             PROCESS_COMPUTE | PROCESS_GRAPHICS | PROCESS_MPS};
    if (details->version != NVML_VERSION_WORD(*details, 1)) {
        call->rc = NVML_ARGUMENT_VERSION_MISMATCH;
        return;
    }
    if (!call_require_that(call, details->mode < sizeof(types_of_mode) / sizeof(types_of_mode[0])) ||
        !call_require_that(call, details->entries || details->count == 0))
        return;
    uint32_t architecture = 0;
    call->rc = value_u32(&call->device->architecture, call->t, &architecture);
    if (call->rc == NVML_SUCCESS && architecture < ARCHITECTURE_HOPPER)
        call->rc = NVML_NOT_SUPPORTED;
    unsigned types = types_of_mode[details->mode];
    if (call->rc == NVML_SUCCESS)
        call->rc = evaluate_process_code(call->device, types, call->t);
    if (call->rc == NVML_SUCCESS && fits(call, count_listed(call, types), &details->count))
        write_entries(call, types, (unsigned char *)details->entries, sizeof(*details->entries));
}

NVML_CALL(nvmlDeviceGetRunningProcessDetailList, const void *device, struct nvml_process_detail_list *details)
{
    struct call call = call_begin(__func__);
    if (call_any_device(&call, device) && call_require(&call, details))
        answer_details(&call, details);
    return call_end(&call);
}

/* The wall clock rounded down to a sixth of a second: the rhythm in which the driver samples. */
static uint64_t sample_time_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t sixths = (uint64_t)now.tv_sec * 6 + (uint64_t)now.tv_nsec * 6 / 1000000000;
    return sixths * 1000000 / 6;
}

/* The next entry with `sm` in *ret_row; false at the end, or when a value has a code, which is then the
 * call's. */
static bool next_sample(struct call *call, size_t *at, struct nvml_process_utilization *ret_row)
{
    const struct process *process;
    do {
        process = next_listed(call, 0, at);
    } while (process && process->sm.kind == VALUE_ABSENT);
    if (!process)
        return false;
    struct process_sample sample;
    call->rc = evaluate_process_sample(process, call->t, &sample);
    if (call->rc != NVML_SUCCESS)
        return false;
    *ret_row = (struct nvml_process_utilization){
        .pid = process->pid, .sm = sample.sm, .mem = sample.mem_util, .enc = sample.enc, .dec = sample.dec};
    return true;
}

/*
 * The part that both utilisation calls share: counts the rows, applies `last_seen_us` and the protocol. True
 * if rows can be written, all of the time *ret_time_us.
 */
static bool samples_fit(struct call *call, uint64_t last_seen_us, uint32_t *count, const void *rows,
                        uint64_t *ret_time_us)
{
    struct nvml_process_utilization row;
    uint32_t need = 0;
    size_t at = 0;
    if (!rows) {
        *count = SAMPLE_COUNT_SUGGESTED;
        call->rc = NVML_INSUFFICIENT_SIZE;
        return false;
    }
    while (next_sample(call, &at, &row))
        need++;
    if (call->rc != NVML_SUCCESS)
        return false;
    *ret_time_us = sample_time_us();
    if (need == 0 || *ret_time_us <= last_seen_us) {
        call->rc = NVML_NOT_FOUND;
        return false;
    }
    return fits(call, need, count);
}

NVML_CALL(nvmlDeviceGetProcessUtilization, const void *device, struct nvml_process_sample *samples,
          uint32_t *count, uint64_t last_seen_us)
{
    struct call call = call_begin(__func__);
    uint64_t time_us;
    if (call_gpu(&call, device) && call_require(&call, count) &&
        samples_fit(&call, last_seen_us, count, samples, &time_us)) {
        struct nvml_process_utilization row;
        size_t at = 0;
        while (next_sample(&call, &at, &row))
            *samples++ = (struct nvml_process_sample){.pid = row.pid,
                                                      .timestamp_us = time_us,
                                                      .sm = row.sm,
                                                      .mem = row.mem,
                                                      .enc = row.enc,
                                                      .dec = row.dec};
    }
    return call_end(&call);
}

static void answer_utilization_info(struct call *call, struct nvml_processes_utilization *info)
{
    uint64_t time_us;
    if (info->version != NVML_VERSION_WORD(*info, 1)) {
        call->rc = NVML_ARGUMENT_VERSION_MISMATCH;
        return;
    }
    if (!samples_fit(call, info->last_seen_us, &info->count, info->entries, &time_us))
        return;
    struct nvml_process_utilization row;
    size_t at = 0;
    for (size_t i = 0; next_sample(call, &at, &row); i++) {
        row.timestamp_us = time_us;
        info->entries[i] = row;
    }
}

NVML_CALL(nvmlDeviceGetProcessesUtilizationInfo, const void *device, struct nvml_processes_utilization *info)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, info))
        answer_utilization_info(&call, info);
    return call_end(&call);
}
