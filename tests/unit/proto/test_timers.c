/* Timers come out in order, whatever was set, moved and cleared. */
#include "proto_helpers.h"

#include "proto/timers.h"

#define COUNT 200

static void in_order(void **state)
{
    struct random random = random_from_environment();
    struct timer all[COUNT] = {0}, *popped;
    struct timers timers;
    size_t expected;

    (void)state;
    assert_int_equal(timers_init(&timers, COUNT), 0);
    for (unsigned round = 0; round < 200; round++) {
        struct instant before = {0};

        expected = 0;
        for (unsigned i = 0; i < 3 * COUNT; i++) {
            struct timer *timer = &all[random_below(&random, COUNT)];

            if (random_below(&random, 4) == 0)
                timers_clear(&timers, timer);
            else
                timers_set(&timers, timer, (struct instant){(int64_t)random_below(&random, 500)});
        }
        for (unsigned i = 0; i < COUNT; i++)
            expected += all[i].place_plus_1 != 0;
        assert_int_equal(timers.count, expected);
        while ((popped = timers_pop(&timers, (struct instant){1000}))) {
            assert_true(popped->when.ns >= before.ns);
            assert_int_equal(popped->place_plus_1, 0);
            before = popped->when;
            expected--;
        }
        assert_int_equal(expected, 0);
    }
    timers_deinit(&timers);
}

static void only_when_due(void **state)
{
    struct timer timer = {0};
    struct timers timers;

    (void)state;
    assert_int_equal(timers_init(&timers, 1), 0);
    assert_true(timers_next(&timers).ns == TIMERS_NEVER.ns);
    timers_set(&timers, &timer, (struct instant){100});
    assert_true(timers_next(&timers).ns == 100);
    assert_null(timers_pop(&timers, (struct instant){99}));
    assert_ptr_equal(timers_pop(&timers, (struct instant){100}), &timer);
    assert_null(timers_pop(&timers, (struct instant){1000}));
    timers_deinit(&timers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_order), cmocka_unit_test(only_when_due)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
