#include "net/loop.h"

#include "core/log.h"

#include <assert.h>
#include <errno.h>

static void timer_fired(uv_timer_t *handle)
{
    struct net_timer *timer = handle->data;

    /* libuv compares whole milliseconds of a cached clock, so it can be a fraction early. */
    if (instant_since_ns(timer->due, clock_now()) > 0) {
        net_timer_set(timer, timer->due);
        return;
    }
    timer->firing = true;
    timer->on_due(timer->userdata);
    timer->firing = false;
}

void net_timer_init(struct net_timer *timer, uv_loop_t *loop, void (*on_due)(void *userdata), void *userdata)
{
    *timer = (struct net_timer){.on_due = on_due, .userdata = userdata, .open = true};
    uv_timer_init(loop, &timer->handle);
    timer->handle.data = timer;
}

void net_timer_set(struct net_timer *timer, struct instant when)
{
    int wait_ms = clock_poll_timeout_ms(clock_now(), when);

    assert(timer->open);
    timer->due = when;
    /* libuv runs a timer that is due at once in the same pass, so one that sets itself would keep sockets
     * waiting. */
    if (timer->firing && wait_ms == 0)
        wait_ms = 1;
    uv_update_time(timer->handle.loop);
    uv_timer_start(&timer->handle, timer_fired, (uint64_t)wait_ms, 0);
}

void net_timer_stop(struct net_timer *timer)
{
    if (timer->open)
        uv_timer_stop(&timer->handle);
}

void net_timer_deinit(struct net_timer *timer)
{
    if (!timer->open)
        return;
    timer->open = false;
    uv_close((uv_handle_t *)&timer->handle, NULL);
}

static void count_open(uv_handle_t *handle, void *userdata)
{
    unsigned *count = userdata;

    *count += uv_is_closing(handle) ? 0 : 1;
}

static void drain_timed_out(uv_timer_t *handle)
{
    uv_stop(handle->loop);
}

int net_loop_drain(uv_loop_t *loop, unsigned timeout_ms)
{
    uv_timer_t limit;
    unsigned open = 0;

    uv_timer_init(loop, &limit);
    uv_timer_start(&limit, drain_timed_out, timeout_ms, 0);
    uv_unref((uv_handle_t *)&limit);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&limit, NULL);
    uv_run(loop, UV_RUN_NOWAIT);
    if (uv_loop_close(loop) == 0)
        return 0;
    uv_walk(loop, count_open, &open);
    log_debug("event loop: %u handles still open at the end", open);
    return -EBUSY;
}
