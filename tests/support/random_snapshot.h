/*
 * Snapshots for tests: random ones that use every member, and a comparison that names what differs.
 * The same seed gives the same snapshot everywhere.
 */
#ifndef SUPPORT_RANDOM_SNAPSHOT_H
#define SUPPORT_RANDOM_SNAPSHOT_H

#include "model/snapshot.h"

struct random {
    uint64_t state;
};

/* The seed from CLUSTAT_TEST_SEED, else from the clock; printed, so that a failure can be had again. */
struct random random_from_environment(void);

uint64_t random_u64(struct random *random);

/* 0 .. below-1; below > 0. */
uint64_t random_below(struct random *random, uint64_t below);

/*
 * Fills a cleared snapshot with up to the given numbers of everything. Members whose fact bit is missing are
 * 0, entries stand in the devices' order: it survives encoding unchanged. Texts live for ever. Aborts without
 * memory.
 */
void random_snapshot(struct random *random, struct snapshot *snapshot, uint32_t max_devices,
                     uint32_t max_entries, uint32_t max_processes);

/* NULL if both say the same, else the name of a member that differs. */
const char *snapshot_difference(const struct snapshot *a, const struct snapshot *b);

#endif
