#include "core/clock.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

static const struct instant now = {1000 * NS_PER_S};

static int timeout_after(int64_t ns)
{
    return clock_poll_timeout_ms(now, instant_add_ns(now, ns));
}

static void timeouts_are_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(timeout_after(1), 1); /* never 0 before the moment: that would spin */
    assert_int_equal(timeout_after(NS_PER_MS), 1);
    assert_int_equal(timeout_after(NS_PER_MS + 1), 2);
    assert_int_equal(timeout_after(250 * NS_PER_MS), 250);
}

static void passed_moments_need_no_wait(void **state)
{
    (void)state;
    assert_int_equal(timeout_after(0), 0);
    assert_int_equal(timeout_after(-1), 0);
    assert_int_equal(timeout_after(-5 * NS_PER_S), 0);
    assert_int_equal(clock_poll_timeout_ms(now, (struct instant){INT64_MIN}), 0);
}

static void far_moments_are_a_day_away(void **state)
{
    (void)state;
    assert_int_equal(timeout_after(24 * 3600 * NS_PER_S), 86400000);
    assert_int_equal(timeout_after(24 * 3600 * NS_PER_S + 1), 86400000);
    assert_int_equal(clock_poll_timeout_ms(now, (struct instant){INT64_MAX}), 86400000);
}

static void instants_are_compared_and_moved(void **state)
{
    struct instant later = instant_add_ns(now, 5);

    (void)state;
    assert_true(instant_since_ns(later, now) == 5);
    assert_true(instant_since_ns(now, later) == -5);
    assert_true(instant_earlier(now, later).ns == now.ns);
    assert_true(instant_earlier(later, now).ns == now.ns);
    assert_true(instant_add_ns(later, -5).ns == now.ns);
}

static void the_monotonic_clock_does_not_go_back(void **state)
{
    struct instant last = clock_now();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct instant next = clock_now();

        assert_true(instant_since_ns(next, last) >= 0);
        last = next;
    }
}

static void the_wall_clock_is_the_systems(void **state)
{
    int64_t before = (int64_t)time(NULL), wall_s = clock_wall_us() / 1000000, after = (int64_t)time(NULL);

    (void)state;
    assert_true(wall_s >= before - 1 && wall_s <= after + 1); /* time() reads a coarser clock */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeouts_are_rounded_up),
        cmocka_unit_test(passed_moments_need_no_wait),
        cmocka_unit_test(far_moments_are_a_day_away),
        cmocka_unit_test(instants_are_compared_and_moved),
        cmocka_unit_test(the_monotonic_clock_does_not_go_back),
        cmocka_unit_test(the_wall_clock_is_the_systems),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
