/* What the tests of net/ share: a loop that runs until something has happened, with a deadline. */
#ifndef TESTS_LOOP_SUPPORT_H
#define TESTS_LOOP_SUPPORT_H

#include "net/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define PATIENCE_MS 10000u /* nothing here takes long; a loaded machine may */

#define TURN_MS 5u /* a turn of the loop lasts no longer: what happens in its first half is seen soon */

static inline void turn_over(uv_timer_t *timer)
{
    (void)timer;
}

/* Runs the loop until *done is true; false if that took too long. */
static inline bool run_until(uv_loop_t *loop, const bool *done, unsigned limit_ms)
{
    struct instant limit = instant_add_ns(clock_now(), limit_ms * NS_PER_MS);
    uv_timer_t turn;

    uv_timer_init(loop, &turn);
    uv_timer_start(&turn, turn_over, TURN_MS, TURN_MS);
    while (!*done && instant_since_ns(limit, clock_now()) > 0)
        uv_run(loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&turn, NULL);
    uv_run(loop, UV_RUN_NOWAIT);
    return *done;
}

#define assert_happens(loop, flag) assert_true(run_until(loop, flag, PATIENCE_MS))

/* Lets the loop run for a while in which something must not happen. */
static inline void run_for(uv_loop_t *loop, unsigned ms)
{
    const bool never = false;

    run_until(loop, &never, ms);
}

#endif
