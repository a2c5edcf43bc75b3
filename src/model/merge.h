/*
 * What a view makes of a device's process list entries. The snapshot keeps every entry; these rules decide
 * which rows a person sees.
 */
#ifndef MODEL_MERGE_H
#define MODEL_MERGE_H

#include "model/snapshot.h"

/* One line of a view: a process on a device. */
struct process_row {
    uint32_t pid;
    const struct process *process; /* borrowed from the snapshot; NULL if nothing is known of the host side */
    unsigned lists;                /* bit (1 << enum process_list) for each list it stands on */
    bool has_mem;
    uint64_t mem_bytes;
    uint8_t util_sm_percent;  /* PERCENT_ABSENT if unknown */
    uint32_t gpu_instance_id; /* INSTANCE_NONE if not MIG */
    uint32_t compute_instance_id;
};

/*
 * gpustat's rules: the compute list, then the graphics list, the MPS list unread; a pid is shown once, its
 * first entry wins; a process that has exited (or that /proc does not show) is left out.
 * rows: room for device->entry_count rows. Returns how many were written. Order: as the driver lists them.
 */
size_t merge_gpustat(const struct snapshot *snapshot, const struct device *device, struct process_row *rows);

/*
 * clustat's rules: one row per process and instance, all lists, the largest memory figure of its entries;
 * exited ones stay. A MIG parent keeps only the entries that belong to none of its instances in the snapshot
 * (those have rows under their instance).
 */
size_t merge_clustat(const struct snapshot *snapshot, const struct device *device, struct process_row *rows);

#endif
