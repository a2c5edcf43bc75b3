#include "lab.h"

#include "proto/timers.h"
#include "proto/view_client.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static char askers[LAB_ANSWERS];

static int setup(void **state)
{
    static struct lab lab;

    lab_open(&lab);
    *state = &lab;
    return 0;
}

static int teardown(void **state)
{
    lab_close(*state);
    return 0;
}

static struct lab_server *find(struct lab *lab, unsigned host, const char *name)
{
    struct lab_server *server = lab_start(lab, host, 30000, name);

    lab_announce(lab, server);
    lab_run(lab, 20 * NS_PER_MS);
    return server;
}

/* Takes the answer apart; returns how many nodes it has. */
static size_t nodes_of(const struct lab_answer *answer, uint64_t request_id, struct message_view_end *ret_end)
{
    struct view_answer *view;
    struct reader reader = reader_over(answer->bytes.bytes, answer->bytes.len);
    size_t count;
    int r = VIEW_ANSWER_MORE;

    assert_int_equal(view_answer_new(&view), 0);
    view_answer_begin(view, request_id);
    while (r == VIEW_ANSWER_MORE) {
        const uint8_t *frame = reader.bytes + reader.pos;
        struct frame_header header;

        assert_int_equal(frame_read_header(&reader, &header), FRAME_OK);
        read_bytes(&reader, header.body_len);
        r = view_answer_take(view, frame, FRAME_HEADER_SIZE + header.body_len);
    }
    assert_int_equal(r, VIEW_ANSWER_COMPLETE);
    assert_int_equal(reader_left(&reader), 0);
    view_answer_nodes(view, &count);
    if (ret_end)
        *ret_end = *view_answer_end(view);
    view_answer_free(view);
    return count;
}

static int64_t took_ms(const struct lab_answer *answer, struct instant began)
{
    return instant_since_ns(answer->at, began) / NS_PER_MS;
}

static void all_nodes_are_asked_at_once(void **state)
{
    struct lab *lab = *state;
    struct instant began;
    struct lab_answer *answer;

    for (unsigned i = 1; i <= 5; i++)
        find(lab, i, (const char *[]){"", "a", "b", "c", "d", "e"}[i]);
    began = lab->now;
    lab_ask(lab, NULL, &askers[0]);
    answer = lab_wait(lab, &askers[0]);
    assert_non_null(answer);
    assert_int_equal(nodes_of(answer, 1, NULL), 5);
    assert_true(took_ms(answer, began) <= 3);
}

static void equal_questions_are_joined(void **state)
{
    struct lab *lab = *state;
    struct lab_server *server = find(lab, 1, "gpu1");

    for (unsigned i = 0; i < 10; i++)
        lab_ask(lab, NULL, &askers[i]);
    for (unsigned i = 0; i < 10; i++)
        assert_non_null(lab_wait(lab, &askers[i]));
    assert_int_equal(server->queries, 1);
    assert_int_equal(questions_counters(lab->questions)->joined, 9);
    assert_int_equal(questions_counters(lab->questions)->answers, 1);
    /* Different ones are not, but ask the node no more. */
    lab_run(lab, LAB_TTL_NS);
    lab_ask(lab, NULL, &askers[10]);
    lab_ask(lab, "gpu1", &askers[11]);
    assert_non_null(lab_wait(lab, &askers[10]));
    assert_non_null(lab_wait(lab, &askers[11]));
    assert_int_equal(server->queries, 2);
    assert_int_equal(questions_counters(lab->questions)->joined, 9);
    assert_int_equal(questions_under_way(lab->questions), 0);
}

static void values_are_kept_for_the_time_to_live(void **state)
{
    struct lab *lab = *state;
    struct lab_server *server = find(lab, 1, "gpu1");

    for (unsigned i = 0; i < 60; i++) { /* every 10 ms for 600 ms */
        lab_ask(lab, NULL, &askers[i]);
        lab_run(lab, 10 * NS_PER_MS);
        assert_non_null(lab_wait(lab, &askers[i]));
    }
    assert_in_range(server->queries, 13, 16);
}

static void only_wanted_nodes_are_asked(void **state)
{
    struct lab *lab = *state;
    struct lab_server *one = find(lab, 1, "gpu1"), *two = find(lab, 2, "gpu2");
    struct message_view_end end;

    lab_ask(lab, "gpu2", &askers[0]);
    assert_int_equal(nodes_of(lab_wait(lab, &askers[0]), 1, &end), 1);
    assert_int_equal(one->queries, 0);
    assert_int_equal(two->queries, 1);
    assert_int_equal(end.known, 2);
    assert_int_equal(end.matched, 1);
    assert_false(end.flags & VIEW_INEXACT);
    lab_ask(lab, "pu2", &askers[1]);
    nodes_of(lab_wait(lab, &askers[1]), 1, &end);
    assert_true(end.flags & VIEW_INEXACT);
    lab_ask(lab, "nobody", &askers[2]);
    assert_int_equal(nodes_of(lab_wait(lab, &askers[2]), 1, &end), 0);
}

static void a_silent_node_delays_one_answer(void **state)
{
    struct lab *lab = *state;
    struct lab_server *silent = find(lab, 1, "gpu1");
    struct lab_answer *answer;
    struct instant began;

    find(lab, 2, "gpu2");
    lab_ask(lab, NULL, &askers[0]);
    assert_non_null(lab_wait(lab, &askers[0]));
    silent->silent = true;
    for (unsigned i = 1; i < 20; i++) {
        lab_run(lab, 50 * NS_PER_MS);
        began = lab->now;
        lab_ask(lab, NULL, &askers[i]);
        answer = lab_wait(lab, &askers[i]);
        assert_non_null(answer);
        assert_int_equal(nodes_of(answer, 1, NULL), 2);
        if (i == 1)
            assert_in_range(took_ms(answer, began), 95, 105);
        else
            assert_true(took_ms(answer, began) <= 5);
    }
    silent->silent = false;
    lab_run(lab, NS_PER_S);
    lab_ask(lab, NULL, &askers[20]);
    assert_non_null(lab_wait(lab, &askers[20]));
    lab_run(lab, 50 * NS_PER_MS);
    lab_ask(lab, NULL, &askers[21]);
    assert_non_null(lab_wait(lab, &askers[21]));
    assert_int_equal(lab_state(lab, lab_row(lab, "gpu1")), NODE_UP);
}

static void while_no_node_is_known_a_question_waits(void **state)
{
    struct lab *lab = *state;
    struct questions_discovery discovery = {
        .wait_until = instant_add_ns(lab->now, 800 * NS_PER_MS),
        .began_empty = true,
        .first_round = instant_add_ns(lab->now, 240 * NS_PER_MS),
    };
    struct instant began = lab->now;
    struct lab_answer *answer;

    questions_set_discovery(lab->questions, &discovery);
    lab_ask(lab, NULL, &askers[0]);
    lab_run(lab, 50 * NS_PER_MS);
    assert_int_equal(lab->answer_count, 0);
    find(lab, 1, "gpu1"); /* others may follow: the first round is not over */
    lab_ask(lab, NULL, &askers[1]);
    find(lab, 2, "gpu2");
    answer = lab_wait(lab, &askers[0]);
    assert_in_range(took_ms(answer, began), 240, 250);
    assert_int_equal(nodes_of(answer, 1, NULL), 2);
    assert_non_null(lab_wait(lab, &askers[1]));
}

static void waiting_for_a_first_node_ends(void **state)
{
    struct lab *lab = *state;
    struct questions_discovery discovery = {.wait_until = instant_add_ns(lab->now, 300 * NS_PER_MS),
                                            .began_empty = true};
    struct question_request watch = {.interval_us = 50000, .form = QUESTION_FRAMES};
    struct question_request impatient = {.flags = VIEW_NO_WAIT, .form = QUESTION_FRAMES};
    struct host_list_error error;
    struct instant began = lab->now;

    questions_set_discovery(lab->questions, &discovery);
    lab_ask(lab, NULL, &askers[0]);
    questions_ask(lab->questions, lab->now, &watch, &askers[1], 1, &error);
    questions_ask(lab->questions, lab->now, &impatient, &askers[2], 1, &error);
    assert_int_equal(lab->answer_count, 2); /* a watch shows what there is */
    assert_in_range(took_ms(lab_wait(lab, &askers[0]), began), 300, 302);
    began = lab->now;
    lab_ask(lab, NULL, &askers[3]);
    assert_int_equal(took_ms(lab_wait(lab, &askers[3]), began), 0);
}

static void who_has_gone_gets_no_answer(void **state)
{
    struct lab *lab = *state;

    find(lab, 1, "gpu1");
    lab_ask(lab, NULL, &askers[0]);
    lab_ask(lab, NULL, &askers[1]);
    questions_withdraw(lab->questions, &askers[0]);
    assert_non_null(lab_wait(lab, &askers[1]));
    assert_null(lab_wait(lab, &askers[0]));
    assert_int_equal(questions_next(lab->questions).ns, TIMERS_NEVER.ns);
}

static void a_forgotten_node_holds_nobody_up(void **state)
{
    struct lab *lab = *state;
    struct lab_server *server = find(lab, 1, "gpu1");

    server->silent = true;
    lab_ask(lab, NULL, &askers[0]);
    lab_run(lab, 10 * NS_PER_MS);
    cluster_forget(lab->cluster, lab_row(lab, "gpu1"));
    assert_int_equal(lab->answer_count, 1);
    assert_int_equal(nodes_of(&lab->answers[0], 1, NULL), 0);
}

static void a_bad_filter_is_refused(void **state)
{
    struct lab *lab = *state;
    struct question_request request = {.filter = TEXT_LITERAL("x[0-4294967295]"), .form = QUESTION_FRAMES};
    struct host_list_error error;

    assert_int_equal(questions_ask(lab->questions, lab->now, &request, &askers[0], 1, &error), -E2BIG);
    request.filter = TEXT_LITERAL("x[");
    assert_int_equal(questions_ask(lab->questions, lab->now, &request, &askers[0], 1, &error), -EINVAL);
    assert_int_equal(questions_under_way(lab->questions), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_nodes_are_asked_at_once),          TEST(equal_questions_are_joined),
        TEST(values_are_kept_for_the_time_to_live), TEST(only_wanted_nodes_are_asked),
        TEST(a_silent_node_delays_one_answer),      TEST(while_no_node_is_known_a_question_waits),
        TEST(waiting_for_a_first_node_ends),        TEST(who_has_gone_gets_no_answer),
        TEST(a_forgotten_node_holds_nobody_up),     TEST(a_bad_filter_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
