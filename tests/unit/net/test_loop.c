#include "net/loop.h"

#include "loop_support.h"

#include <errno.h>

struct fixture {
    uv_loop_t loop;
    struct net_timer timer;
    unsigned fired;
    struct instant set_to;
    struct instant fired_at;
    bool done;
    bool again;
};

static void fire(void *userdata)
{
    struct fixture *fixture = userdata;

    fixture->fired++;
    fixture->fired_at = clock_now();
    if (fixture->again)
        net_timer_set(&fixture->timer, clock_now());
    fixture->done = true;
}

static void timers_are_never_early(void **state)
{
    struct fixture fixture = {0};

    (void)state;
    uv_loop_init(&fixture.loop);
    net_timer_init(&fixture.timer, &fixture.loop, fire, &fixture);
    for (int64_t us = 0; us < 12000; us += 700) {
        fixture.done = false;
        fixture.set_to = instant_add_ns(clock_now(), us * NS_PER_US);
        net_timer_set(&fixture.timer, fixture.set_to);
        assert_happens(&fixture.loop, &fixture.done);
        assert_true(instant_since_ns(fixture.fired_at, fixture.set_to) >= 0);
    }
    fixture.fired = 0;
    net_timer_set(&fixture.timer, clock_now());
    net_timer_stop(&fixture.timer);
    run_for(&fixture.loop, 5);
    assert_int_equal(fixture.fired, 0);
    net_timer_deinit(&fixture.timer);
    net_timer_deinit(&fixture.timer);
    assert_int_equal(net_loop_drain(&fixture.loop, 1000), 0);
}

static void a_timer_that_sets_itself_lets_others_in(void **state)
{
    struct fixture fixture = {.again = true};

    (void)state;
    uv_loop_init(&fixture.loop);
    net_timer_init(&fixture.timer, &fixture.loop, fire, &fixture);
    net_timer_set(&fixture.timer, clock_now());
    uv_run(&fixture.loop, UV_RUN_NOWAIT);
    assert_true(fixture.fired <= 1);
    assert_happens(&fixture.loop, &fixture.done);
    net_timer_deinit(&fixture.timer);
    assert_int_equal(net_loop_drain(&fixture.loop, 1000), 0);
}

static void draining_tells_of_what_was_left_open(void **state)
{
    struct fixture fixture = {0};

    (void)state;
    uv_loop_init(&fixture.loop);
    net_timer_init(&fixture.timer, &fixture.loop, fire, &fixture);
    net_timer_set(&fixture.timer, instant_add_ns(clock_now(), 3600 * NS_PER_S));
    assert_int_equal(net_loop_drain(&fixture.loop, 5), -EBUSY);
    net_timer_deinit(&fixture.timer);
    assert_int_equal(net_loop_drain(&fixture.loop, 1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_are_never_early),
        cmocka_unit_test(a_timer_that_sets_itself_lets_others_in),
        cmocka_unit_test(draining_tells_of_what_was_left_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
