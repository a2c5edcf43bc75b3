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

static inline void patience_over(void *userdata)
{
    *(bool *)userdata = true;
}

/* Runs the loop until *done is true; false if that took too long. */
static inline bool run_until(uv_loop_t *loop, const bool *done, unsigned limit_ms)
{
    bool over = false;
    struct net_timer timer;

    net_timer_init(&timer, loop, patience_over, &over);
    net_timer_set(&timer, instant_add_ns(clock_now(), limit_ms * NS_PER_MS));
    while (!*done && !over)
        uv_run(loop, UV_RUN_ONCE);
    net_timer_deinit(&timer);
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
