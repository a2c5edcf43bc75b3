#include "sampler/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct instant at(int64_t ms)
{
    return (struct instant){ms * NS_PER_MS};
}

static void test_account_earns_its_share(void **state)
{
    struct account account;

    (void)state;
    account_init(&account, 20000, at(0));
    assert_true(account_may_spend(&account));
    account_charge(&account, 30 * NS_PER_MS); /* 20 ms were saved: 10 ms of debt */
    assert_false(account_may_spend(&account));
    assert_int_equal(account_ready_at(&account).ns, 500 * NS_PER_MS);
    account_fill(&account, at(499));
    assert_false(account_may_spend(&account));
    account_fill(&account, at(500));
    assert_true(account_may_spend(&account));
}

static void test_account_saves_one_second_at_most(void **state)
{
    struct account account;

    (void)state;
    account_init(&account, 20000, at(0));
    account_fill(&account, at(3600 * 1000));
    account_charge(&account, 20 * NS_PER_MS + 1);
    assert_false(account_may_spend(&account));
}

static void test_account_short_intervals_add_up(void **state)
{
    struct account account;

    (void)state;
    account_init(&account, 3, at(0)); /* 3 ns per ms: each step earns a fraction of a nanosecond */
    account_charge(&account, 3000 + 3);
    for (int i = 0; i <= 1000; i++)
        account_fill(&account, (struct instant){i * NS_PER_US});
    assert_true(account_may_spend(&account));
}

static void test_account_survives_extremes(void **state)
{
    struct account account;

    (void)state;
    account_init(&account, 1000000, at(0));
    account_charge(&account, INT64_MAX);
    account_charge(&account, INT64_MAX);
    assert_false(account_may_spend(&account));
    assert_true(account_ready_at(&account).ns <= 601 * NS_PER_S);
    account_fill(&account, (struct instant){INT64_MAX / 2});
    assert_true(account_may_spend(&account));
    account_fill(&account, at(0)); /* time never runs backwards, but nothing breaks if it did */
    assert_true(account_may_spend(&account));
    account_init(&account, 0, at(0));
    account_charge(&account, 2000); /* taken as one millionth: 1000 ns were saved, 1000 are owed */
    assert_int_equal(account_ready_at(&account).ns, NS_PER_S);
}

static void test_share_is_that_of_ten_seconds(void **state)
{
    struct share share;
    int64_t spent = 0;

    (void)state;
    share_init(&share, at(0), 0);
    assert_int_equal(share_update(&share, at(0), 0), 0);
    for (int ms = 10; ms <= 60000; ms += 10) {
        spent += 100 * NS_PER_US; /* 1 % */
        assert_in_range(share_update(&share, at(ms), spent), 9900, 10100);
    }
    for (int ms = 60010; ms <= 72000; ms += 10)
        share_update(&share, at(ms), spent);
    assert_int_equal(share_update(&share, at(72010), spent), 0);
    assert_int_equal(share_update(&share, at(72020), spent + 3600 * NS_PER_S), 1000000);
}

static void test_share_after_a_gap(void **state)
{
    struct share share;

    (void)state;
    share_init(&share, at(0), 0);
    share_update(&share, at(5000), 50 * NS_PER_MS);
    assert_in_range(share_update(&share, at(100000), 150 * NS_PER_MS), 1000, 2000);
    assert_in_range(share_update(&share, at(101000), 160 * NS_PER_MS), 1000, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_account_earns_its_share),
        cmocka_unit_test(test_account_saves_one_second_at_most),
        cmocka_unit_test(test_account_short_intervals_add_up),
        cmocka_unit_test(test_account_survives_extremes),
        cmocka_unit_test(test_share_is_that_of_ten_seconds),
        cmocka_unit_test(test_share_after_a_gap),
    };

    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
