/*
 * What a simulated node reports. Every figure follows from the node's and the device's number, so that a test
 * can work out what must be shown (tests/system/cluster.py does); only the temperature moves with time.
 */
#ifndef CLUSTER_SIM_PICTURE_H
#define CLUSTER_SIM_PICTURE_H

#include "core/cursor.h"
#include "model/snapshot.h"

struct picture_options {
    uint32_t node; /* from 1 */
    uint32_t devices;
    uint32_t processes; /* on each device */
    struct text hostname;
    uint64_t sequence; /* 1, 2 ...: moves the temperature, too */
};

struct picture; /* memory for one, used again and again */

/* For pictures of at most this size. Returns 0 or a negative errno. */
int picture_new(uint32_t devices, uint32_t processes, struct picture **ret_picture);
void picture_free(struct picture *picture); /* NULL is accepted */

/* Makes an encoded snapshot; it is there until the next one is made. */
struct reader picture_make(struct picture *picture, const struct picture_options *options);

#endif
