/* Loss, doubling, overtaking and damage: every value right, in time, and no session ends of it. */
#include "sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#define SERVERS   3u
#define QUESTIONS 2000u

/* Readings that take so many datagrams. */
static size_t bytes_for(unsigned chunks)
{
    size_t payload = chunk_payload_size(SIM_MTU);

    return chunks == 1 ? 700 : chunks * payload - payload / 2;
}

struct result {
    int64_t p99_reply_ns, p99_question_ns;
    double in_time; /* share of replies */
    uint64_t wrong, silent, sessions;
};

static struct result ask_often(double loss, unsigned chunks, struct seal_keys *keys)
{
    struct sim *sim = sim_new(SERVERS + 1);
    struct sim_server servers[SERVERS];
    struct sim_backend backend;
    struct sim_server_options of_server = {
        .quiet = true, .reply_bytes = bytes_for(chunks), .facts_bytes = 6000, .keys = keys};
    struct sim_backend_options of_backend = {.quiet = true, .rows_max = SERVERS, .keys = keys};
    struct result result;
    size_t asked = 0;

    sim->faults = sim_bad(loss);
    sim_backend_init(&backend, sim, SERVERS, &of_backend);
    for (uint32_t i = 0; i < SERVERS; i++) {
        sim_server_init(&servers[i], sim, i, &of_server);
        sim_backend_add_static(&backend, (struct sim_address){i, SIM_SERVER_PORT});
    }
    sim_run_for(sim, NS_PER_S);
    for (unsigned i = 0; i < QUESTIONS; i++) {
        sim_backend_ask_and_wait(&backend);
        sim_run_for(sim, 50 * NS_PER_MS);
    }
    asked = backend.replies.count + backend.lates;
    result = (struct result){
        .p99_reply_ns = sim_quantile(&backend.replies, 0.99),
        .p99_question_ns = sim_quantile(&backend.questions, 0.99),
        .in_time = (double)backend.replies.count / (double)asked,
        .wrong = backend.wrong,
        .silent = backend.silent,
        .sessions = client_set_counters(backend.set)->sessions,
    };
    printf("# loss %g, %u chunks: p99 of a reply %.2f ms, of a question %.2f ms, in time %.4f, window %s\n",
           loss, chunks, (double)result.p99_reply_ns / 1e6, (double)result.p99_question_ns / 1e6,
           result.in_time, keys ? "sealed" : "plain");
    sim_backend_deinit(&backend);
    for (uint32_t i = 0; i < SERVERS; i++)
        sim_server_deinit(&servers[i]);
    sim_free(sim);
    return result;
}

static void check(struct result result)
{
    assert_int_equal(result.wrong, 0);
    assert_int_equal(result.silent, 0);
    assert_int_equal(result.sessions, SERVERS);
}

static void no_loss(void **state)
{
    struct result result = ask_often(0, 1, NULL);

    (void)state;
    check(result);
    assert_true(result.in_time == 1);
    assert_true(result.p99_question_ns <= 15 * NS_PER_MS); /* 1 % is damaged on the way all the same */
}

static void loss_5_one_chunk(void **state)
{
    struct result result = ask_often(0.05, 1, NULL);

    (void)state;
    check(result);
    assert_true(result.p99_question_ns <= 30 * NS_PER_MS);
}

static void loss_5_forty_chunks(void **state)
{
    struct result result = ask_often(0.05, 40, NULL);

    (void)state;
    check(result);
    assert_true(result.p99_question_ns <= 60 * NS_PER_MS);
}

static void loss_20(void **state)
{
    struct result one = ask_often(0.20, 1, NULL), forty = ask_often(0.20, 40, NULL);

    (void)state;
    check(one);
    check(forty);
    assert_true(one.in_time >= 0.95);
    assert_true(forty.in_time >= 0.95);
}

static void sealed(void **state)
{
    struct seal_keys keys = {.count = 1};
    uint8_t bytes[SEAL_KEY_SIZE] = {1, 2, 3};
    struct result result;

    (void)state;
    seal_key_set(&keys.keys[0], bytes);
    result = ask_often(0.05, 40, &keys);
    check(result);
    assert_true(result.p99_question_ns <= 60 * NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_loss), cmocka_unit_test(loss_5_one_chunk), cmocka_unit_test(loss_5_forty_chunks),
        cmocka_unit_test(loss_20), cmocka_unit_test(sealed),
    };

    if (seal_start() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
