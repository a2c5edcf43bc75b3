/*
 * A snapshot: everything known of one node at one moment.
 *
 * The snapshot owns its three arrays and nothing else; all texts are borrowed from whoever filled it: the
 * sampler's own tables, or the frame it was decoded from. Fill it again after snapshot_clear().
 */
#ifndef MODEL_SNAPSHOT_H
#define MODEL_SNAPSHOT_H

#include "model/device.h"
#include "model/process.h"

/* Design, section 11: what one node may have. */
#define SNAPSHOT_MAX_DEVICES   128
#define SNAPSHOT_MAX_ENTRIES   16384 /* 8,192 processes, each on two lists */
#define SNAPSHOT_MAX_PROCESSES 8192

/* Why the node as a whole has no (fresh) devices. Numbers on the wire: append only. */
enum node_fault {
    NODE_FAULT_NONE,
    NODE_FAULT_LIBRARY_MISSING,   /* fault_text: what was tried */
    NODE_FAULT_LIBRARY_STUB,      /* a CUDA toolkit stub was found instead of the driver's library */
    NODE_FAULT_LIBRARY_UNUSABLE,  /* it lacks symbols that every driver has, or cannot be loaded */
    NODE_FAULT_DRIVER_NOT_LOADED, /* NVML 9 */
    NODE_FAULT_VERSION_MISMATCH,  /* NVML 18; fault_text: both versions where known */
    NODE_FAULT_INIT,              /* another code of an init call: fault_code */
    NODE_FAULT_DEVICE_COUNT,      /* the device count cannot be had: fault_code */
    NODE_FAULT_HUNG,              /* a driver call does not return */
    NODE_FAULT_PAUSED,            /* by the administrator */
    NODE_FAULT_KINDS
};

enum node_flag {
    NODE_FIRST_ROUND_DONE = 1 << 0, /* every group of every device was tried at least once */
    NODE_PROC_HIDDEN = 1 << 1,      /* /proc is mounted with hidepid and we are not exempt */
    NODE_PID_NAMESPACE = 1 << 2,    /* we live in a pid namespace of our own: host processes have no names */
};

/* A driver (or /proc) call that has been running since before the snapshot. */
struct pending_call {
    struct text name;    /* absent: none */
    int32_t device;      /* position of the GPU (its index), -1 if the call has none */
    uint64_t running_us; /* at the snapshot's time */
};

struct snapshot {
    uint64_t sequence;     /* grows with every snapshot of a sampler */
    int64_t taken_unix_us; /* wall clock, for display */
    unsigned flags;        /* enum node_flag */
    enum node_fault fault;
    int32_t fault_code;     /* the vendor's return code behind the fault, 0 if none */
    struct text fault_text; /* details for a person; absent if none */

    struct text hostname;       /* the kernel's node name, or what overrides it */
    struct text driver_version; /* absent if the call failed */
    struct text nvml_version;

    struct pending_call pending;
    uint32_t driver_time_ppm;   /* share of wall time spent in driver calls, last 10 s, in millionths */
    uint32_t unnamed_processes; /* entries whose process cannot be seen from here (namespace, hidepid) */
    uint32_t commands_cut;      /* command lines shortened to keep the frame's size */
    uint32_t entries_left_out;  /* beyond the caps above */
    uint64_t host_age_us;       /* age of the oldest host-side process reading; AGE_NEVER if none */

    struct device *devices; /* owned arrays */
    uint32_t device_count, device_cap;
    struct process_entry *entries;
    uint32_t entry_count, entry_cap;
    struct process *processes;
    uint32_t process_count, process_cap;
};

/* Makes an empty snapshot without arrays. */
void snapshot_init(struct snapshot *snapshot);

/* Frees the arrays. Accepts a snapshot that was only zeroed. */
void snapshot_deinit(struct snapshot *snapshot);

/* Empties it; keeps the arrays' memory. */
void snapshot_clear(struct snapshot *snapshot);

/*
 * Makes the arrays at least this large, keeping their content.
 * Returns 0, -ENOMEM, or -E2BIG above SNAPSHOT_MAX_* (nothing changed).
 */
int snapshot_reserve(struct snapshot *snapshot, uint32_t devices, uint32_t entries, uint32_t processes);

/* The process of an entry, or NULL if nothing is known of it. */
const struct process *snapshot_process(const struct snapshot *snapshot, const struct process_entry *entry);

/* The age of the oldest reading of a group over all devices that were read, or AGE_NEVER if none was. */
uint64_t snapshot_group_age_us(const struct snapshot *snapshot, enum field_group group);

#endif
