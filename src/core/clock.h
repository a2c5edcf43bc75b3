/*
 * Time. All logic uses `struct instant`, nanoseconds of CLOCK_MONOTONIC, passed in as an argument; the wall
 * clock is for display only.
 */
#ifndef CORE_CLOCK_H
#define CORE_CLOCK_H

#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

struct instant {
    int64_t ns;
};

/* The present moment. Never fails. */
struct instant clock_now(void);

/* Microseconds since 1970 (UTC) by the wall clock, for display. */
int64_t clock_wall_us(void);

/* a - b in nanoseconds; negative if a is earlier. */
static inline int64_t instant_since_ns(struct instant a, struct instant b)
{
    return a.ns - b.ns;
}

/* a moved by ns nanoseconds (may be negative). */
static inline struct instant instant_add_ns(struct instant a, int64_t ns)
{
    return (struct instant){a.ns + ns};
}

static inline struct instant instant_earlier(struct instant a, struct instant b)
{
    return a.ns < b.ns ? a : b;
}

/*
 * Milliseconds from now until `when` as poll(2) wants them: rounded up, 0 when it has passed, at most
 * 24 hours.
 */
int clock_poll_timeout_ms(struct instant now, struct instant when);

#endif
