/*
 * The bytes of NVML's process lists. The length of an entry follows from neither the symbol's name nor the
 * driver's version with certainty (drivers 535.43 to 535.86 wrote 32 bytes from a call that writes 24
 * before and after), so it is found out from what a call wrote: the buffer is filled with a pattern first and
 * has room for the longest entries, and the end of what was written, or else the plausible pids, decide.
 */
#ifndef GPU_NVML_PROCESS_LIST_H
#define GPU_NVML_PROCESS_LIST_H

#include "model/process.h"

#include <stdbool.h>
#include <stddef.h>

#define PROCESS_STRIDE_MAX   32
#define PROCESS_LIST_CANARY  0xA5
#define PROCESS_PID_MAX      4194304 /* the kernel's PID_MAX_LIMIT on 64-bit systems */
#define PROCESS_LIST_CAP_MIN 128
#define PROCESS_LIST_CAP_MAX 4096 /* the driver itself lists at most 950 processes in a call */

/* False for what some libraries list although no process can have it (0, more than the kernel's limit). */
static inline bool process_pid_is_plausible(uint32_t pid)
{
    return pid > 0 && pid <= PROCESS_PID_MAX;
}

/* Bytes of an entry as a call of this name should write them: 16 without suffix, else 24. */
unsigned process_stride_expected(const char *call);

/*
 * The length of an entry, from what a call wrote.
 * bytes, size: the whole buffer, filled with PROCESS_LIST_CANARY before the call; room for `count` entries of
 *   PROCESS_STRIDE_MAX bytes at least.
 * count: entries that the call says it wrote, > 0.
 * expected: what to take if the bytes do not tell.
 * *ret_sure: whether the result can be kept for further calls.
 */
unsigned process_stride_detect(const uint8_t *bytes, size_t size, uint32_t count, unsigned expected,
                               bool *ret_sure);

/* Reads the entry at `at`, `stride` bytes (16, 24 or 32). Percentages and the host's part are unknown. */
struct process_entry process_entry_decode(const uint8_t *at, unsigned stride, unsigned list);

/* A driver's percentage as the model keeps it: above 100 is 100; PERCENT_ABSENT if it is garbage. */
uint8_t process_percent(uint32_t percent);

#endif
