/*
 * Small helpers around a libuv loop, used by the modules here and by the daemons. libuv's error numbers are
 * -errno on Linux, so they pass through unchanged.
 */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include "core/clock.h"

#include <stdbool.h>
#include <uv.h>

/*
 * A one-shot timer that is set to a moment of CLOCK_MONOTONIC. It may be set again from its own callback.
 * libuv's timers count whole milliseconds: it fires up to 1 ms late, never early.
 */
struct net_timer {
    uv_timer_t handle;
    void (*on_due)(void *userdata);
    void *userdata;
    struct instant due;
    bool open;
    bool firing; /* within on_due */
};

void net_timer_init(struct net_timer *timer, uv_loop_t *loop, void (*on_due)(void *userdata), void *userdata);

/* Moves the timer to `when`: at once if that has passed, but never again before the loop has looked at its
 * sockets. */
void net_timer_set(struct net_timer *timer, struct instant when);

void net_timer_stop(struct net_timer *timer);

/*
 * Ends the timer; on_due is not called any more. The memory must stay until the loop has turned once more
 * (net_loop_drain() does that); ended or zeroed timers are accepted.
 */
void net_timer_deinit(struct net_timer *timer);

/*
 * Runs the loop until every handle that was asked to close has closed, for at most `timeout_ms`, then closes
 * the loop. Call it last, after all owners have closed what they opened.
 * Returns 0, or -EBUSY if handles are still open (a bug of ours: their number is written to debug).
 */
int net_loop_drain(uv_loop_t *loop, unsigned timeout_ms);

#endif
