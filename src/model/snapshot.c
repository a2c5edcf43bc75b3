#include "model/snapshot.h"

#include <errno.h>
#include <stdlib.h>

void snapshot_init(struct snapshot *snapshot)
{
    *snapshot = (struct snapshot){.pending.device = -1, .host_age_us = AGE_NEVER};
}

void snapshot_deinit(struct snapshot *snapshot)
{
    free(snapshot->devices);
    free(snapshot->entries);
    free(snapshot->processes);
    snapshot_init(snapshot);
}

void snapshot_clear(struct snapshot *snapshot)
{
    struct snapshot kept = *snapshot;

    snapshot_init(snapshot);
    snapshot->devices = kept.devices;
    snapshot->device_cap = kept.device_cap;
    snapshot->entries = kept.entries;
    snapshot->entry_cap = kept.entry_cap;
    snapshot->processes = kept.processes;
    snapshot->process_cap = kept.process_cap;
}

static int grow(void **array, uint32_t *cap, uint32_t want, size_t item_size)
{
    void *larger;

    if (want <= *cap)
        return 0;
    larger = reallocarray(*array, want, item_size);
    if (!larger)
        return -ENOMEM;
    *array = larger;
    *cap = want;
    return 0;
}

int snapshot_reserve(struct snapshot *snapshot, uint32_t devices, uint32_t entries, uint32_t processes)
{
    int r;

    if (devices > SNAPSHOT_MAX_DEVICES || entries > SNAPSHOT_MAX_ENTRIES ||
        processes > SNAPSHOT_MAX_PROCESSES)
        return -E2BIG;
    r = grow((void **)&snapshot->devices, &snapshot->device_cap, devices, sizeof(struct device));
    if (r < 0)
        return r;
    r = grow((void **)&snapshot->entries, &snapshot->entry_cap, entries, sizeof(struct process_entry));
    if (r < 0)
        return r;
    return grow((void **)&snapshot->processes, &snapshot->process_cap, processes, sizeof(struct process));
}

const struct process *snapshot_process(const struct snapshot *snapshot, const struct process_entry *entry)
{
    return entry->process < snapshot->process_count ? &snapshot->processes[entry->process] : NULL;
}

uint64_t snapshot_group_age_us(const struct snapshot *snapshot, enum field_group group)
{
    uint64_t oldest = AGE_NEVER;

    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        uint64_t age = snapshot->devices[i].group_age_us[group];

        if (age != AGE_NEVER && (oldest == AGE_NEVER || age > oldest))
            oldest = age;
    }
    return oldest;
}
