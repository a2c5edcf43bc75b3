#include "net/resolve.h"

#include "loop_support.h"

#include <errno.h>
#include <string.h>

struct asker {
    bool done;
    unsigned answers;
    int error;
    size_t count;
    struct net_address first;
    struct net_resolver *to_close;
};

static void take_answer(void *userdata, const struct net_resolve_answer *answer)
{
    struct asker *asker = userdata;

    asker->answers++;
    asker->error = answer->error;
    asker->count = answer->count;
    if (answer->count)
        asker->first = answer->addresses[0];
    assert_non_null(answer->text);
    assert_true((answer->error == 0) == (answer->count > 0));
    asker->done = true;
    net_resolver_close(asker->to_close);
}

struct fixture {
    uv_loop_t loop;
    struct net_resolver *resolver;
};

static void open_fixture(struct fixture *fixture)
{
    uv_loop_init(&fixture->loop);
    assert_int_equal(net_resolver_open(&fixture->loop, &fixture->resolver), 0);
}

static void close_fixture(struct fixture *fixture)
{
    net_resolver_close(fixture->resolver);
    assert_int_equal(net_loop_drain(&fixture->loop, PATIENCE_MS), 0);
}

static void numeric_addresses_are_answered_from_the_loop(void **state)
{
    struct fixture fixture;
    struct asker asker = {0};
    struct net_address expected;

    (void)state;
    open_fixture(&fixture);
    assert_int_equal(
        net_resolve(fixture.resolver, TEXT_LITERAL("10.1.2.3"), 30000, 100, take_answer, &asker, NULL), 0);
    assert_int_equal(asker.answers, 0);
    assert_happens(&fixture.loop, &asker.done);
    net_address_parse(TEXT_LITERAL("10.1.2.3:30000"), 0, &expected);
    assert_true(net_address_equal(&asker.first, &expected));
    close_fixture(&fixture);
}

static void localhost_is_found_and_kept(void **state)
{
    struct fixture fixture;
    struct asker askers[3] = {{0}};

    (void)state;
    open_fixture(&fixture);
    for (uint16_t i = 0; i < 2; i++) /* the second joins the first's lookup */
        assert_int_equal(net_resolve(fixture.resolver, TEXT_LITERAL("localhost"), (uint16_t)(1000 + i),
                                     PATIENCE_MS, take_answer, &askers[i], NULL),
                         0);
    for (uint16_t i = 0; i < 2; i++) {
        assert_happens(&fixture.loop, &askers[i].done);
        assert_int_equal(askers[i].error, 0);
        assert_true(net_address_is_loopback(&askers[i].first));
        assert_int_equal(askers[i].first.family, NET_FAMILY_IPV4);
        assert_int_equal(askers[i].first.port, 1000 + i);
        assert_int_equal(askers[i].answers, 1);
    }
    /* From the cache: within a deadline that no thread could keep. */
    assert_int_equal(
        net_resolve(fixture.resolver, TEXT_LITERAL("localhost"), 7, 0, take_answer, &askers[2], NULL), 0);
    assert_happens(&fixture.loop, &askers[2].done);
    assert_int_equal(askers[2].error, 0);
    assert_int_equal(askers[2].first.port, 7);
    close_fixture(&fixture);
}

static void names_that_cannot_be_are_refused(void **state)
{
    struct fixture fixture;
    struct asker asker = {0};
    char name[300];

    (void)state;
    memset(name, 'a', sizeof(name));
    open_fixture(&fixture);
    assert_int_equal(net_resolve(fixture.resolver, TEXT_LITERAL(""), 1, 1, take_answer, &asker, NULL),
                     -EINVAL);
    assert_int_equal(net_resolve(fixture.resolver, TEXT_LITERAL("a\0b"), 1, 1, take_answer, &asker, NULL),
                     -EINVAL);
    assert_int_equal(net_resolve(fixture.resolver, (struct text){name, 254}, 1, 1, take_answer, &asker, NULL),
                     -EINVAL);
    assert_int_equal(net_resolve(fixture.resolver, TEXT_ABSENT, 1, 1, take_answer, &asker, NULL), -EINVAL);
    close_fixture(&fixture);
}

/* The four threads of the pool are kept busy, so that the lookup cannot begin: the deadline is kept all the
 * same. */
struct busy {
    uv_work_t work;
    uv_sem_t *gate;
};

static void wait_at_gate(uv_work_t *work)
{
    uv_sem_wait(((struct busy *)work->data)->gate);
}

static void gate_passed(uv_work_t *work, int status)
{
    (void)work;
    (void)status;
}

static void the_deadline_is_kept_and_the_late_answer_used(void **state)
{
    struct fixture fixture;
    struct asker late = {0}, cancelled = {0}, again = {0};
    struct net_resolve_request *request;
    struct busy busy[4];
    uv_sem_t gate;

    (void)state;
    open_fixture(&fixture);
    uv_sem_init(&gate, 0);
    for (int i = 0; i < 4; i++) {
        busy[i].gate = &gate;
        busy[i].work.data = &busy[i];
        uv_queue_work(&fixture.loop, &busy[i].work, wait_at_gate, gate_passed);
    }
    assert_int_equal(
        net_resolve(fixture.resolver, TEXT_LITERAL("localhost"), 1, 20, take_answer, &late, NULL), 0);
    assert_int_equal(
        net_resolve(fixture.resolver, TEXT_LITERAL("localhost"), 1, 20, take_answer, &cancelled, &request),
        0);
    net_resolve_cancel(request);
    assert_happens(&fixture.loop, &late.done);
    assert_int_equal(late.error, -ETIMEDOUT);
    assert_int_equal(
        net_resolve(fixture.resolver, TEXT_LITERAL("localhost"), 1, PATIENCE_MS, take_answer, &again, NULL),
        0);
    for (int i = 0; i < 4; i++)
        uv_sem_post(&gate);
    assert_happens(&fixture.loop, &again.done);
    assert_int_equal(again.error, 0);
    assert_int_equal(late.answers, 1);
    assert_int_equal(cancelled.answers, 0);
    close_fixture(&fixture);
    uv_sem_destroy(&gate);
}

static void closing_forgets_what_is_open(void **state)
{
    struct fixture fixture;
    struct asker asker = {0}, numeric = {0};

    (void)state;
    open_fixture(&fixture);
    assert_int_equal(
        net_resolve(fixture.resolver, TEXT_LITERAL("localhost"), 1, 1000, take_answer, &asker, NULL), 0);
    assert_int_equal(net_resolve(fixture.resolver, TEXT_LITERAL("::1"), 1, 1000, take_answer, &numeric, NULL),
                     0);
    close_fixture(&fixture);
    assert_int_equal(asker.answers + numeric.answers, 0);
}

static void a_callback_may_close_the_resolver(void **state)
{
    struct fixture fixture;
    struct asker askers[2] = {{0}};

    (void)state;
    open_fixture(&fixture);
    for (int i = 0; i < 2; i++) {
        askers[i].to_close = fixture.resolver;
        net_resolve(fixture.resolver, TEXT_LITERAL("localhost"), 1, PATIENCE_MS, take_answer, &askers[i],
                    NULL);
    }
    fixture.resolver = NULL;
    while (!askers[0].done && !askers[1].done)
        uv_run(&fixture.loop, UV_RUN_ONCE);
    close_fixture(&fixture);
    assert_int_equal(askers[0].answers + askers[1].answers, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numeric_addresses_are_answered_from_the_loop),
        cmocka_unit_test(localhost_is_found_and_kept),
        cmocka_unit_test(names_that_cannot_be_are_refused),
        cmocka_unit_test(the_deadline_is_kept_and_the_late_answer_used),
        cmocka_unit_test(closing_forgets_what_is_open),
        cmocka_unit_test(a_callback_may_close_the_resolver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
