/*
 * Who watches, as the sampler is to be told: several backends ask at their own pace, the sampler gets one
 * pace, that of the fastest, and is not told more often than it can matter. Pure.
 */
#ifndef SERVER_INTEREST_H
#define SERVER_INTEREST_H

#include "core/clock.h"

#include <stdbool.h>

#define INTEREST_PAUSE_NS \
    (10 * NS_PER_S) /* nobody asked for this long: nobody watches (the sampler's rule) */

/* All zero: nobody ever asked. */
struct interest {
    struct instant asked; /* last */
    struct instant told;  /* the sampler, last */
    int64_t told_ns;      /* what it was told */
    int64_t fastest_ns;   /* of the watchers lately; 0: none */
    struct instant fastest_at;
};

struct interest_outcome {
    bool tell;           /* tell the sampler ... */
    int64_t interval_ns; /* ... this (0: one picture, now) */
    bool first;          /* nobody had asked for INTEREST_PAUSE_NS */
};

/* Somebody asked, and will again after `interval_ns` (0: this once). */
struct interest_outcome interest_note(struct interest *interest, int64_t interval_ns, struct instant now);

bool interest_is_watched(const struct interest *interest, struct instant now);

#endif
