/*
 * A source reads the devices of one vendor. It holds the last values of every device and their moments of
 * reading; the sampler decides which group of which device is read when, and asks for a picture of it all.
 *
 * A source lives in the sampler process and is used from one thread. Its calls may block for as long as the
 * vendor's driver likes; it tells the observer before and after each vendor call (loading the library,
 * "dlopen", counts as one). One device's trouble never touches another: errors become states and absent
 * values, not failures of the step. A value whose call fails is absent from then on, never the old one.
 *
 * tests/contract/ holds what every source must do; a new vendor passes it and is done.
 */
#ifndef GPU_SOURCE_H
#define GPU_SOURCE_H

#include "core/clock.h"
#include "model/snapshot.h"

/*
 * Told around each vendor call; all zeros: nobody is. Both functions must be cheap. `call` is the exported
 * name, a string that lives for ever; `device` the GPU's index (an instance's: its GPU's), -1 if the call has
 * none.
 */
struct call_observer {
    void (*begin)(void *context, const char *call, int32_t device);
    void (*end)(void *context);
    void *context;
};

/* A set of GPU indices. */
struct device_set {
    uint64_t bits[SNAPSHOT_MAX_DEVICES / 64];
};

static inline bool device_set_has(const struct device_set *set, uint32_t index)
{
    return index < SNAPSHOT_MAX_DEVICES && (set->bits[index / 64] >> index % 64 & 1);
}

static inline void device_set_add(struct device_set *set, uint32_t index)
{
    if (index < SNAPSHOT_MAX_DEVICES)
        set->bits[index / 64] |= UINT64_C(1) << index % 64;
}

struct source_options {
    const char *library_path; /* the vendor's library; NULL: the usual places. Copied */
    const char *sysfs_root;   /* "/sys"; tests put a tree of their own here. Lives as long as the source */
    struct call_observer observer;
    struct device_set left_out; /* no vendor call is ever made for these: an earlier one hangs */
};

/* Outcomes of source_start(), source_read() and source_check(). */
enum source_outcome {
    SOURCE_OK = 0,
    SOURCE_FAULT = 1,   /* nothing can be read now; fill() says why. Call start() again later */
    SOURCE_RESTART = 2, /* only a fresh process can go on (library and driver differ, library gone bad);
                           fill() works still */
};

struct source;

struct source_ops {
    const char *name; /* "nvml" */

    /*
     * Loads the library, initialises it and lists the devices (their static group included). To be called
     * again after SOURCE_FAULT, which may then become SOURCE_RESTART: the first time a fault is told rather
     * than acted upon, so that a single question gets its answer. Returns an enum source_outcome or -ENOMEM.
     */
    int (*start)(struct source *source, struct instant now);

    /* Devices now known, MIG instances counted; positions 0 .. count-1 are stable between checks. */
    uint32_t (*device_count)(const struct source *source);

    /*
     * Reads one group of the device at a position; a no-op unless its state is DEVICE_OK. Cheap and important
     * calls come first. What the driver calls unsupported is asked again after a minute only.
     * For GROUP_PROCESSES: the compute and graphics lists, the MPS list where it ever had an entry and once
     * a minute elsewhere, and per-process utilisation. Returns an enum source_outcome or -ENOMEM.
     */
    int (*read)(struct source *source, uint32_t position, enum field_group group, struct instant now);

    /*
     * Once a second or so: events (Xid), devices added or removed, lost ones tried again (with back-off),
     * MIG layout, sleeping devices. Positions may change: GPUs stand in the driver's order, each followed by
     * its instances, then those that were removed. Returns an enum source_outcome or -ENOMEM.
     */
    int (*check)(struct source *source, struct instant now);

    /*
     * The picture at `now`: node-level versions and fault, all devices with ages, all entries (their
     * `process` is PROCESS_UNKNOWN). snapshot was cleared by the caller; texts are borrowed from the source
     * until its next call. Returns 0 or -ENOMEM.
     *
     * Asked for from the source's own thread, or from another one while that is inside a vendor call (the
     * observer's begin unlocks what its end locks): what it reads must be whole at every call.
     */
    int (*fill)(const struct source *source, struct instant now, struct snapshot *snapshot);

    /* Frees memory. Makes no vendor call: a shutdown can hang, and the process is about to end anyway. */
    void (*free)(struct source *source);
};

/* First member of every implementation. */
struct source {
    const struct source_ops *ops;
};

/*
 * NVIDIA: dlopens libnvidia-ml.so.1 in start(), not before. `options` is copied except where it says else.
 * Returns 0 or -ENOMEM; *ret_source is freed with source_free().
 */
int nvml_source_new(const struct source_options *options, struct source **ret_source);

/* Accepts NULL. */
static inline void source_free(struct source *source)
{
    if (source)
        source->ops->free(source);
}

#endif
