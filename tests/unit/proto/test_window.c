/* Places for answers: as many as the buffer holds, first come first served, fewer where that helps. */
#include "proto_helpers.h"

#include "proto/window.h"

static struct instant at_ms(int64_t ms)
{
    return (struct instant){NS_PER_S + ms * NS_PER_MS};
}

static void sized_by_the_buffer(void **state)
{
    struct window window;

    (void)state;
    window_init(&window, 212992);
    assert_true(window.max >= 60 && window.max <= 92); /* 92 fit */
    window_init(&window, 0);
    assert_int_equal(window.max, WINDOW_MIN);
    window_init(&window, SIZE_MAX);
    assert_int_equal(window.max, WINDOW_MAX);
}

static void first_come_first_served(void **state)
{
    struct window window;
    struct window_waiter waiters[6] = {0};

    (void)state;
    window_init(&window, 0); /* 4 places */
    assert_true(window_ask(&window, &waiters[0], 3));
    assert_false(window_ask(&window, &waiters[1], 2));
    assert_false(window_ask(&window, &waiters[2], 1)); /* would fit, but must not overtake */
    assert_null(window_next(&window));
    window_came(&window, at_ms(0), &waiters[0]);
    assert_ptr_equal(window_next(&window), &waiters[1]);
    assert_null(window_next(&window));
    assert_int_equal(window.in_use, 4);
    window_leave(&window, &waiters[0]);
    assert_ptr_equal(window_next(&window), &waiters[2]);
    assert_null(window_next(&window));
    assert_int_equal(window.in_use, 3);
    window_leave(&window, &waiters[1]);
    window_leave(&window, &waiters[1]); /* twice does no harm */
    window_came(&window, at_ms(0), &waiters[1]);
    assert_int_equal(window.in_use, 1);
}

static void leaving_the_line(void **state)
{
    struct window window;
    struct window_waiter waiters[3] = {0};

    (void)state;
    window_init(&window, 0);
    assert_true(window_ask(&window, &waiters[0], 4));
    assert_false(window_ask(&window, &waiters[1], 1));
    assert_false(window_ask(&window, &waiters[2], 1));
    window_leave(&window, &waiters[1]);
    window_leave(&window, &waiters[0]);
    assert_ptr_equal(window_next(&window), &waiters[2]);
    assert_null(window_next(&window));
}

/* One who needs more than there are gets them all, when nobody else has any. */
static void too_much_is_all(void **state)
{
    struct window window;
    struct window_waiter small = {0}, large = {0};

    (void)state;
    window_init(&window, 0);
    assert_true(window_ask(&window, &small, 1));
    assert_false(window_ask(&window, &large, 1000));
    window_came(&window, at_ms(0), &small);
    assert_ptr_equal(window_next(&window), &large);
    assert_int_equal(large.held, WINDOW_MIN);
}

/* Rounds of 20 ms in which every datagram beyond `capacity` at a time is lost, and `noise` of all. */
static void play(struct window *window, struct random *random, unsigned capacity, unsigned noise_percent,
                 int64_t *ms, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        struct window_waiter waiters[WINDOW_MAX / 16] = {0};
        unsigned asked = 0;

        while (asked < WINDOW_MAX / 16 && window_ask(window, &waiters[asked], 1))
            asked++;
        if (asked < WINDOW_MAX / 16)
            window_leave(window, &waiters[asked]);
        for (unsigned k = 0; k < asked; k++)
            if (k < capacity && random_below(random, 100) >= noise_percent)
                window_came(window, at_ms(*ms), &waiters[k]);
            else
                window_lost(window, at_ms(*ms), &waiters[k]);
        *ms += 25;
    }
}

static void shrinks_where_that_helps(void **state)
{
    struct random random = random_from_environment();
    struct window window;
    unsigned lowest = UINT32_MAX, sum = 0;
    int64_t ms = 0;

    (void)state;
    window_init(&window, 212992);
    for (unsigned i = 0; i < 100; i++) {
        play(&window, &random, 40, 0, &ms, 10);
        lowest = window.limit < lowest ? window.limit : lowest;
        sum += i >= 50 ? window.limit : 0;
    }
    assert_true(lowest >= 20);
    assert_true(sum / 50 < 60 && sum / 50 >= 25); /* around what fits */
}

static void noise_does_not_shrink(void **state)
{
    struct random random = random_from_environment();
    struct window window;
    unsigned below = 0;
    int64_t ms = 0;

    (void)state;
    window_init(&window, 212992);
    for (unsigned i = 0; i < 4000; i++) {
        play(&window, &random, 1000, 20, &ms, 1);
        below += window.limit < window.max * 9 / 10;
    }
    assert_true(below < 800); /* trials are short, and get rarer */
}

static void overflow_halves(void **state)
{
    struct window window;

    (void)state;
    window_init(&window, 212992);
    window_overflowed(&window, at_ms(0));
    assert_int_equal(window.limit, window.max / 2);
    for (unsigned i = 0; i < 20; i++)
        window_overflowed(&window, at_ms(i));
    assert_int_equal(window.limit, WINDOW_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sized_by_the_buffer),      cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(leaving_the_line),         cmocka_unit_test(too_much_is_all),
        cmocka_unit_test(shrinks_where_that_helps), cmocka_unit_test(noise_does_not_shrink),
        cmocka_unit_test(overflow_halves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
