#include "gpu/nvml_process_list.h"

#include "gpu/nvml_abi.h"
#include "model/device.h"

#include <string.h>

/* Readings above 100 % happen when a sampling window is short; above this they mean nothing. */
#define PERCENT_CREDIBLE 1000

static const unsigned strides[] = {16, 24, 32};
#define STRIDES (sizeof(strides) / sizeof(strides[0]))

unsigned process_stride_expected(const char *call)
{
    size_t len = strlen(call);

    return len > 3 && call[len - 3] == '_' && call[len - 2] == 'v' ? 24 : 16;
}

/* The end of what was written, rounded up to a whole word. */
static size_t written_end(const uint8_t *bytes, size_t size)
{
    while (size > 0 && bytes[size - 1] == PROCESS_LIST_CANARY)
        size--;
    return (size + 7) / 8 * 8;
}

static bool is_plausible(const uint8_t *bytes, uint32_t count, unsigned stride)
{
    for (uint32_t i = 0; i < count; i++) {
        struct process_entry entry = process_entry_decode(bytes + (size_t)i * stride, stride, 0);

        if (!process_pid_is_plausible(entry.pid))
            return false;
        /* Instance ids are small numbers; half a pid or half an amount of memory is not. */
        if (entry.gpu_instance_id != INSTANCE_NONE && entry.gpu_instance_id > UINT16_MAX)
            return false;
        if (entry.compute_instance_id != INSTANCE_NONE && entry.compute_instance_id > UINT16_MAX)
            return false;
    }
    return true;
}

unsigned process_stride_detect(const uint8_t *bytes, size_t size, uint32_t count, unsigned expected,
                               bool *ret_sure)
{
    size_t end = written_end(bytes, size);
    unsigned plausible = 0;

    for (size_t i = 0; i < STRIDES; i++) {
        /* One entry could be a longer one whose end was left alone: right for now, not to be relied on. */
        if (end == (size_t)count * strides[i] && is_plausible(bytes, count, strides[i])) {
            *ret_sure = count >= 2;
            return strides[i];
        }
    }
    *ret_sure = false;
    if (end == (size_t)count * expected || is_plausible(bytes, count, expected))
        return expected;
    for (size_t i = 0; i < STRIDES; i++)
        if (is_plausible(bytes, count, strides[i]) && !plausible)
            plausible = strides[i];
    /* Several entries that make sense at one length only settle the matter. */
    *ret_sure = plausible && count >= 2;
    return plausible ? plausible : expected;
}

struct process_entry process_entry_decode(const uint8_t *at, unsigned stride, unsigned list)
{
    struct nvml_process_v2 raw = {.gpu_instance_id = INSTANCE_NONE, .compute_instance_id = INSTANCE_NONE};

    memcpy(&raw, at, stride < sizeof(raw) ? stride : sizeof(raw));
    return (struct process_entry){
        .list = (uint8_t)list,
        .has_mem = raw.used_bytes != UINT64_MAX,
        .util_sm_percent = PERCENT_ABSENT,
        .util_memory_percent = PERCENT_ABSENT,
        .util_encoder_percent = PERCENT_ABSENT,
        .util_decoder_percent = PERCENT_ABSENT,
        .pid = raw.pid,
        .gpu_instance_id = raw.gpu_instance_id,
        .compute_instance_id = raw.compute_instance_id,
        .mem_bytes = raw.used_bytes != UINT64_MAX ? raw.used_bytes : 0,
        .process = PROCESS_UNKNOWN,
    };
}

uint8_t process_percent(uint32_t percent)
{
    if (percent > PERCENT_CREDIBLE)
        return PERCENT_ABSENT;
    return percent > 100 ? 100 : (uint8_t)percent;
}
