/* Buckets fill and empty; the table stays as large as it was made, whoever comes. */
#include "proto_helpers.h"

#include "proto/rate.h"

static struct instant at_ms(int64_t ms)
{
    return (struct instant){NS_PER_S + ms * NS_PER_MS};
}

static void burst_then_rate(void **state)
{
    struct rate_options options = {.per_second = 10, .burst = 5, .sources = 8};
    struct rate *rate;

    (void)state;
    assert_int_equal(rate_new(&options, &rate), 0);
    for (unsigned i = 0; i < 5; i++)
        assert_true(rate_take(rate, at_ms(0), 1));
    assert_false(rate_take(rate, at_ms(0), 1));
    assert_false(rate_has(rate, at_ms(99), 1));
    assert_true(rate_has(rate, at_ms(101), 1));
    assert_true(rate_take(rate, at_ms(101), 1)); /* looking did not take it */
    assert_false(rate_take(rate, at_ms(102), 1));
    assert_true(rate_take(rate, at_ms(102), 2)); /* another source has its own */
    for (unsigned i = 0; i < 5; i++)
        assert_true(rate_take(rate, at_ms(100000), 1)); /* no more than a burst is saved up */
    assert_false(rate_take(rate, at_ms(100000), 1));
    rate_free(rate);
}

static void total_limits_all(void **state)
{
    struct rate_options options = {
        .per_second = 10, .burst = 5, .total_per_second = 20, .total_burst = 8, .sources = 100};
    struct rate *rate;
    unsigned taken = 0;

    (void)state;
    assert_int_equal(rate_new(&options, &rate), 0);
    for (unsigned i = 0; i < 1000; i++)
        taken += rate_take(rate, at_ms(0), i);
    assert_int_equal(taken, 8);
    for (unsigned i = 0; i < 1000; i++)
        taken += rate_take(rate, at_ms(100), 5000 + i);
    assert_int_equal(taken, 10);
    rate_free(rate);
}

static void table_is_bounded(void **state)
{
    struct rate_options options = {.per_second = 0.001, .burst = 2, .sources = 64};
    struct random random = random_from_environment();
    struct rate *rate;

    (void)state;
    assert_int_equal(rate_new(&options, &rate), 0);
    assert_true(rate_take(rate, at_ms(0), 42) && rate_take(rate, at_ms(0), 42));
    for (unsigned i = 0; i < 100000; i++) {
        rate_take(rate, at_ms(i), random_u64(&random) | 64);
        /* Who keeps coming is not forgotten. */
        if (i % 32 == 0)
            assert_false(rate_take(rate, at_ms(i), 42));
        assert_true(rate_sources(rate) <= 64);
    }
    assert_int_equal(rate_sources(rate), 64);
    assert_true(rate_forgotten(rate) > 90000);
    rate_free(rate);
}

static void time_may_stand_still_or_go_back(void **state)
{
    struct rate_options options = {.per_second = 1, .burst = 1, .sources = 1};
    struct rate *rate;

    (void)state;
    assert_int_equal(rate_new(&options, &rate), 0);
    assert_true(rate_take(rate, at_ms(5000), 1));
    assert_false(rate_take(rate, at_ms(1000), 1));
    assert_false(rate_take(rate, at_ms(5000), 1));
    assert_true(rate_take(rate, at_ms(6000), 1));
    rate_free(rate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(burst_then_rate),
        cmocka_unit_test(total_limits_all),
        cmocka_unit_test(table_is_bounded),
        cmocka_unit_test(time_may_stand_still_or_go_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
