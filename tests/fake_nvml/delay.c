#include "delay.h"

#include <time.h>

#define NS_PER_S 1000000000

/* A sleep ends late by the timer slack (50 us) and the scheduler's delay: what is left to spinning covers
 * both. */
#define SPIN_NS 200000

int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void sleep_until(int64_t when_ns)
{
    struct timespec when = {.tv_sec = when_ns / NS_PER_S, .tv_nsec = when_ns % NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) != 0)
        ; /* interrupted by a signal */
}

void delay_for(int64_t duration_ns)
{
    if (duration_ns <= 0)
        return;
    int64_t end_ns = monotonic_ns() + duration_ns;
    if (duration_ns > SPIN_NS)
        sleep_until(end_ns - SPIN_NS);
    while (monotonic_ns() < end_ns)
        ;
}

int64_t delay_from(double number, double unit_ns)
{
    double ns = number * unit_ns;
    return ns < 4e18 ? (int64_t)ns : INT64_MAX / 2;
}
