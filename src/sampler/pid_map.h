/*
 * The pids of the picture: for each, its place among the snapshot's processes and when the host last read it.
 * A hash table with open addressing; entries that no picture has named for a while are swept.
 */
#ifndef SAMPLER_PID_MAP_H
#define SAMPLER_PID_MAP_H

#include "core/clock.h"

#include <stdbool.h>

struct pid_slot {
    uint32_t pid;     /* 0: free */
    uint32_t round;   /* the last picture that named it */
    uint32_t process; /* its place in that picture, or PROCESS_UNKNOWN */
    bool was_read;
    struct instant read_at;
    uint64_t summed;        /* which device's sum of memory it was counted in, ... */
    uint64_t largest_bytes; /* ... and with how much */
};

struct pid_map {
    struct pid_slot *slots; /* owned; slot_count is a power of two, or 0 */
    uint32_t slot_count;
    uint32_t used;
};

/*
 * The slot of a pid (not 0), a new one if it is not there yet; valid until the next put or sweep.
 * NULL without memory.
 */
struct pid_slot *pid_map_put(struct pid_map *map, uint32_t pid);

/* The slot of a pid, NULL if it is not there. */
struct pid_slot *pid_map_find(const struct pid_map *map, uint32_t pid);

/* Forgets what was last named before this round. Without memory, nothing is forgotten. */
void pid_map_sweep(struct pid_map *map, uint32_t oldest_round);

void pid_map_deinit(struct pid_map *map);

#endif
