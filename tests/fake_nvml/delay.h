/* Time: the monotonic clock, and waiting as exactly as a driver call of known length needs. */
#pragma once

#include <stdint.h>

/* CLOCK_MONOTONIC. */
int64_t monotonic_ns(void);

/*
 * Returns when `duration_ns` have passed. Short waits spin, because a sleep is never exact to microseconds;
 * longer ones sleep until shortly before their end. Signals do not shorten it.
 */
void delay_for(int64_t duration_ns);

/* Nanoseconds of a number of micro- or milliseconds from a scenario; what does not fit becomes INT64_MAX / 2.
 */
int64_t delay_from(double number, double unit_ns);
