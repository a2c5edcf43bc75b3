/*
 * Event sets: which devices are registered for what since when, and which of the scenario's events each set
 * has given already. The library's lock is held for all of it.
 */
#pragma once

#include "scenario.h"

struct event_set;

/* What every device supports: single and double bit errors, Xid, MIG changes. */
#define EVENT_TYPES_SUPPORTED UINT64_C(0x10B)

/* Makes a set and its handle, a number that never comes again. NULL when memory is out. */
void *event_set_new(const struct scenario *scenario);

/* The set behind a handle, NULL if there is none. */
struct event_set *event_set_find(const void *handle);

void event_set_free(struct event_set *set);

/* Registers the device at `position` for `types` from `t` on. Returns 0 or -ENOMEM. */
int event_set_register(struct event_set *set, uint32_t position, uint64_t types, double t);

/*
 * Takes the oldest event that is due at `t` and not given yet. If there is none, returns NULL with the time
 * of the next one in *ret_next, infinity if no more will come.
 */
const struct event *event_set_take(struct event_set *set, double t, double *ret_next);

/* Frees all sets; forgets them without touching them (in a forked child). */
void event_sets_clear(void);
void event_sets_forget(void);
