/*
 * What a scenario says at a time, where that is more than one value: memory figures and process lists. Shared
 * by the library and by fake-nvml-dump, so that the oracle cannot drift from the answers.
 */
#pragma once

#include "scenario.h"

#define EVALUATE_MEMORY_UNKNOWN UINT64_MAX /* "na": NVML's own sign for it */

/* Bytes. used + reserved + free = total unless that would make `free` negative; then it is 0. */
struct memory_figures {
    uint64_t total;
    uint64_t used;
    uint64_t reserved;
    uint64_t free;
    uint64_t used_with_reserved; /* `used` of the old call */
};

/* The memory of the device, or of its MIG device if `mig` is not NULL. Returns NVML's code. */
int evaluate_memory(const struct device *device, const struct mig_device *mig, double t,
                    struct memory_figures *ret_figures);

/* Free BAR1 is total - used, at least 0. Returns NVML's code. */
int evaluate_bar1(const struct bar1 *bar1, double t, uint64_t *ret_total, uint64_t *ret_used);

/* The rates call's two figures; needs `gpu`, while an absent `memory` counts as 0. Returns NVML's code. */
int evaluate_rates(const struct utilization *utilization, double t, uint32_t *ret_gpu, uint32_t *ret_memory);

/*
 * True if the entry is listed at `t` in a list of one of `types` (of enum process_type; 0: in whichever list
 * or none) of the device, or of its MIG device if `mig` is not NULL.
 */
bool evaluate_is_listed(const struct process *process, unsigned types, const struct mig_device *mig,
                        double t);

/* What the entry holds, EVALUATE_MEMORY_UNKNOWN for "na" and for a return code. */
uint64_t evaluate_process_memory(const struct process *process, double t);

/* What an entry uses of the device, percent. Entries without `sm` show up in no such list. */
struct process_sample {
    uint32_t sm, mem_util, enc, dec;
};

/* The figures of an entry with `sm`. Returns NVML's code. */
int evaluate_process_sample(const struct process *process, double t, struct process_sample *ret_sample);

/* The return code of the lists of `types`: the first that is not 0. */
int evaluate_process_code(const struct device *device, unsigned types, double t);

/* The name of a MIG device; `room` holds it if it is made from the parent's. Returns NVML's code. */
#define EVALUATE_NAME_SIZE 512
int evaluate_mig_name(const struct device *device, const struct mig_device *mig, double t,
                      char room[static EVALUATE_NAME_SIZE], const char **ret_name);

/* True while the current MIG mode is on. */
bool evaluate_mig_is_on(const struct device *device, double t);
