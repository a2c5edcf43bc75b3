/* What a row says about its node, and when. */
#include "proto_helpers.h"

#include "proto/liveness.h"

#define IDLE_NS (10 * NS_PER_S)

static struct instant at_ms(int64_t ms)
{
    return (struct instant){100 * NS_PER_S + ms * NS_PER_MS};
}

static void check(struct liveness *liveness, int64_t now_ms, enum node_state state, int64_t since_ms)
{
    struct liveness_state found = liveness_state(liveness, at_ms(now_ms), IDLE_NS);

    assert_int_equal(found.state, state);
    assert_int_equal(found.since.ns, at_ms(since_ms).ns);
}

static void first_answer(void **state)
{
    struct liveness liveness;

    (void)state;
    liveness_init(&liveness, at_ms(0));
    check(&liveness, 5000, NODE_WARMING, 0);
    assert_true(liveness_worth_waiting(&liveness, at_ms(5000), IDLE_NS));
    liveness_heard(&liveness, at_ms(5000));
    check(&liveness, 5000, NODE_WARMING, 0);
    liveness_answered(&liveness, at_ms(5001), true);
    check(&liveness, 6000, NODE_UP, 5001);
}

/* Stale until an answer in time, not until any sign of life. */
static void late(void **state)
{
    struct liveness liveness;

    (void)state;
    liveness_init(&liveness, at_ms(0));
    liveness_answered(&liveness, at_ms(10), true);
    liveness_asked(&liveness, at_ms(1000));
    check(&liveness, 1050, NODE_UP, 10);
    liveness_late(&liveness, at_ms(1100));
    check(&liveness, 1100, NODE_STALE, 10);
    assert_false(liveness_worth_waiting(&liveness, at_ms(1100), IDLE_NS));
    liveness_heard(&liveness, at_ms(1150));
    check(&liveness, 1150, NODE_STALE, 10);
    liveness_answered(&liveness, at_ms(1300), false);
    check(&liveness, 1300, NODE_STALE, 1300);
    liveness_answered(&liveness, at_ms(1400), true);
    check(&liveness, 1400, NODE_UP, 1400);
    assert_true(liveness_worth_waiting(&liveness, at_ms(1400), IDLE_NS));
}

static void down(void **state)
{
    struct liveness liveness;

    (void)state;
    liveness_init(&liveness, at_ms(0));
    liveness_answered(&liveness, at_ms(10), true);
    check(&liveness, 3600000, NODE_UP, 10); /* nobody asked: that does not count against it */
    liveness_asked(&liveness, at_ms(3600000));
    liveness_late(&liveness, at_ms(3600100));
    liveness_asked(&liveness, at_ms(3605000));
    check(&liveness, 3609999, NODE_STALE, 10);
    check(&liveness, 3610000, NODE_DOWN, 10);
    liveness_heard(&liveness, at_ms(3620000)); /* a pong is no answer */
    check(&liveness, 3620000, NODE_DOWN, 10);
    liveness_answered(&liveness, at_ms(3620100), false);
    check(&liveness, 3620100, NODE_STALE, 3620100);
}

static void never_there(void **state)
{
    struct liveness liveness;

    (void)state;
    liveness_init(&liveness, at_ms(0));
    liveness_asked(&liveness, at_ms(0));
    check(&liveness, 9999, NODE_WARMING, 0);
    liveness_late(&liveness, at_ms(100));
    assert_false(liveness_worth_waiting(&liveness, at_ms(200), IDLE_NS));
    check(&liveness, 10000, NODE_DOWN, 0);
}

static void stopped(void **state)
{
    struct liveness liveness;

    (void)state;
    liveness_init(&liveness, at_ms(0));
    liveness_answered(&liveness, at_ms(10), true);
    liveness_stopped(&liveness, at_ms(500));
    check(&liveness, 500, NODE_STOPPED, 500);
    liveness_asked(&liveness, at_ms(1000));
    liveness_late(&liveness, at_ms(1100));
    check(&liveness, 90000, NODE_STOPPED, 500); /* silence is what is expected of it */
    assert_false(liveness_worth_waiting(&liveness, at_ms(90000), IDLE_NS));
    liveness_heard(&liveness, at_ms(100000));
    liveness_answered(&liveness, at_ms(100001), true);
    check(&liveness, 100001, NODE_UP, 100001);
}

static void recalled(void **state)
{
    struct liveness liveness;

    (void)state;
    liveness_init(&liveness, at_ms(0));
    liveness_recall(&liveness, at_ms(-50000), false);
    check(&liveness, 0, NODE_WARMING, -50000);
    assert_true(liveness_worth_waiting(&liveness, at_ms(0), IDLE_NS));
    liveness_asked(&liveness, at_ms(0));
    liveness_late(&liveness, at_ms(100));
    check(&liveness, 100, NODE_STALE, -50000);
    assert_false(liveness_worth_waiting(&liveness, at_ms(100), IDLE_NS));
    check(&liveness, 10000, NODE_DOWN, -50000);
    liveness_answered(&liveness, at_ms(10001), true);
    check(&liveness, 10001, NODE_UP, 10001);
    liveness_init(&liveness, at_ms(0));
    liveness_recall(&liveness, at_ms(-50000), true);
    check(&liveness, 0, NODE_STOPPED, -50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_answer), cmocka_unit_test(late),    cmocka_unit_test(down),
        cmocka_unit_test(never_there),  cmocka_unit_test(stopped), cmocka_unit_test(recalled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
