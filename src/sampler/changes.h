/*
 * What changed between two pictures and matters to the schedule: a device that is another one or has come
 * back is read at once, one whose memory in use jumped gets its process lists read.
 */
#ifndef SAMPLER_CHANGES_H
#define SAMPLER_CHANGES_H

#include "sampler/schedule.h"

struct changes {
    uint32_t device_count;
    uint64_t identity[SNAPSHOT_MAX_DEVICES]; /* a hash of who it is and whether it works */
    bool known[SNAPSHOT_MAX_DEVICES];        /* memory_bytes: in use when the process lists were read */
    int64_t memory_bytes[SNAPSHOT_MAX_DEVICES];
};

/* Forgets everything; the next picture is where counting begins. */
void changes_init(struct changes *changes);

/* The process lists of the device at a position were read: the next picture's memory is what it started from.
 */
void changes_lists_read(struct changes *changes, uint32_t position);

/* Compares a picture with the former one and tells the schedule. */
void changes_apply(struct changes *changes, const struct snapshot *snapshot, struct schedule *schedule,
                   struct instant now);

#endif
