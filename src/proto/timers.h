/*
 * Timers without a clock: a heap of moments, so that an owner with thousands of sessions needs one timer of
 * its event loop. Fixed capacity, no allocation after creation; the timers themselves lie in their owners.
 */
#ifndef PROTO_TIMERS_H
#define PROTO_TIMERS_H

#include "core/clock.h"

#include <stddef.h>

/* What timers_next() says where nothing is set: so far away that it never comes. */
#define TIMERS_NEVER ((struct instant){INT64_MAX / 2})

struct timer {
    struct instant when;
    size_t place_plus_1; /* in the heap; 0: not set. All zero is a timer that is not set */
};

struct timers {
    struct timer **heap; /* owned */
    size_t count, cap;
};

/* Room for `cap` timers that are set at the same time. Returns 0 or -ENOMEM. */
int timers_init(struct timers *timers, size_t cap);
void timers_deinit(struct timers *timers);

/* Sets a timer or moves it. A timer must be cleared before its memory goes. */
void timers_set(struct timers *timers, struct timer *timer, struct instant when);
void timers_clear(struct timers *timers, struct timer *timer);

/* When the earliest is due; TIMERS_NEVER if none is set. */
struct instant timers_next(const struct timers *timers);

/* Takes out and returns a timer that is due at `now`, the earliest first; NULL if none is. */
struct timer *timers_pop(struct timers *timers, struct instant now);

#endif
