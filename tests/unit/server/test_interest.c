#include "server/interest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define AT(ms) ((struct instant){NS_PER_S + (ms)*NS_PER_MS})

static void assert_told(struct interest_outcome outcome, int64_t interval_ms)
{
    assert_true(outcome.tell);
    assert_int_equal(outcome.interval_ns, interval_ms * NS_PER_MS);
}

static void the_first_after_a_pause_is_the_first(void **state)
{
    struct interest interest = {.told_ns = 0};

    (void)state;
    assert_false(interest_is_watched(&interest, AT(0)));
    assert_true(interest_note(&interest, 0, AT(0)).first);
    assert_false(interest_note(&interest, 0, AT(1)).first);
    assert_false(interest_note(&interest, 0, AT(9000)).first);
    assert_false(interest_note(&interest, 0, AT(18000)).first);
    assert_true(interest_is_watched(&interest, AT(27999)));
    assert_false(interest_is_watched(&interest, AT(28000)));
    assert_true(interest_note(&interest, 0, AT(28000)).first);
}

static void the_fastest_watcher_sets_the_pace(void **state)
{
    struct interest interest = {.told_ns = 0};

    (void)state;
    assert_told(interest_note(&interest, 2000 * NS_PER_MS, AT(0)), 2000);
    assert_told(interest_note(&interest, 50 * NS_PER_MS, AT(10)), 50);
    assert_told(interest_note(&interest, 2000 * NS_PER_MS, AT(100)), 50);
    assert_told(interest_note(&interest, 0, AT(200)), 50); /* who asks once gets what is there */
    assert_told(interest_note(&interest, 2000 * NS_PER_MS, AT(2000)), 50);
    /* The fast one has gone. */
    assert_told(interest_note(&interest, 2000 * NS_PER_MS, AT(2061)), 2000);
    assert_told(interest_note(&interest, 0, AT(2100)), 2000);
    assert_told(interest_note(&interest, 0, AT(7000)), 0);
}

static void the_sampler_is_not_told_the_same_at_once(void **state)
{
    struct interest interest = {.told_ns = 0};
    unsigned told = 0;

    (void)state;
    for (int64_t ms = 0; ms < 1000; ms++)
        told += interest_note(&interest, 50 * NS_PER_MS, AT(ms)).tell;
    assert_int_equal(told, 200);
    assert_false(interest_note(&interest, 50 * NS_PER_MS, AT(999)).tell);
    assert_told(interest_note(&interest, 40 * NS_PER_MS, AT(999)), 40);
    assert_false(interest_note(&interest, 50 * NS_PER_MS, AT(999)).tell);
    assert_told(interest_note(&interest, 50 * NS_PER_MS, AT(1004)), 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_after_a_pause_is_the_first),
        cmocka_unit_test(the_fastest_watcher_sets_the_pace),
        cmocka_unit_test(the_sampler_is_not_told_the_same_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
