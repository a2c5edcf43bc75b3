/*
 * The state of the loaded library: one per process. Every call holds its lock from shortly after the entry to
 * shortly before the return, but for nvmlErrorString and for the waiting of nvmlEventSetWait.
 *
 * A forked child starts anew, as the real library makes it: nothing is initialised, the scenario is read
 * again at the child's own first init call, which is its time zero.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "scenario.h"

struct library {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a shutdown or an event set's end: whoever waits looks again */
    unsigned init_count;
    uint32_t generation; /* grows with each real shutdown; a handle is of one generation */
    bool loaded;         /* the file was read, well or not */
    bool broken;         /* the file was wrong: every init call returns 999 */
    bool zero_is_known;
    int64_t zero_ns; /* time zero, CLOCK_MONOTONIC */
    struct scenario scenario;
};

extern struct library library;

/*
 * Reads the scenario unless that was done. Prints the one line about a wrong one. Returns 0, 9 when no
 * scenario is named, 999 when it is wrong. The lock is held.
 */
int library_load(void);

/* Makes `now_ns` time zero, or what FAKE_NVML_EPOCH_NS says, unless time zero is known. The lock is held. */
void library_start_clock(int64_t now_ns);

/* Seconds since time zero; 0 while that is not known. */
double library_time(int64_t now_ns);

/* The moment `t` on CLOCK_MONOTONIC. */
int64_t library_moment(double t);

/* What the last shutdown does: all handles and event sets die. The lock is held. */
void library_end_generation(void);

/*
 * Handles are numbers made up here and never addresses: a client that looks behind one crashes, and every
 * number not given in this generation is refused. library_mig_handle() is of the device's MIG device number
 * `slot` in the file.
 */
void *library_device_handle(uint32_t position);
void *library_mig_handle(uint32_t position, uint32_t slot);

/* What a handle stands for; *ret_mig is NULL for a whole device. False if the handle is not valid (now). */
bool library_find_handle(const void *handle, uint32_t *ret_position, const struct mig_device **ret_mig);
