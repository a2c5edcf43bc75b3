/* Many servers: a thousand asked at once through a socket of the default size; four thousand that boot
 * together. */
#include "sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

static struct sim_server *start_servers(struct sim *sim, uint32_t count, bool quiet)
{
    struct sim_server_options options = {.quiet = quiet, .reply_bytes = 700, .facts_bytes = 1000};
    struct sim_server *servers = calloc(count, sizeof(*servers));

    assert_non_null(servers);
    for (uint32_t i = 0; i < count; i++)
        sim_server_init(&servers[i], sim, i, &options);
    return servers;
}

static void stop_servers(struct sim_server *servers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        sim_server_deinit(&servers[i]);
    free(servers);
}

/* 1,000 replies of 700 bytes at once would leave 92 in a buffer of 212,992 bytes. */
static void thousand_at_once(void **state)
{
    enum { COUNT = 1000, QUESTIONS = 20 };
    struct sim *sim = sim_new(COUNT + 1);
    struct sim_backend_options options = {.quiet = true, .rows_max = COUNT};
    struct sim_server *servers = start_servers(sim, COUNT, true);
    const struct client_counters *counters;
    struct sim_backend backend;

    (void)state;
    sim_backend_init(&backend, sim, COUNT, &options);
    for (uint32_t i = 0; i < COUNT; i++)
        sim_backend_add_static(&backend, (struct sim_address){i, SIM_SERVER_PORT});
    sim_run_for(sim, 2 * NS_PER_S);
    assert_int_equal(client_set_counters(backend.set)->sessions, COUNT);
    for (unsigned i = 0; i < QUESTIONS; i++) {
        sim_backend_ask_and_wait(&backend);
        sim_run_for(sim, 300 * NS_PER_MS);
    }
    counters = client_set_counters(backend.set);
    printf("# %u questions: %llu queries, %llu retries, %llu resends, %llu late, %llu dropped; slowest %.1f "
           "ms\n",
           QUESTIONS, (unsigned long long)counters->queries, (unsigned long long)counters->retries,
           (unsigned long long)counters->resends, (unsigned long long)backend.lates,
           (unsigned long long)backend.agent.dropped, (double)sim_quantile(&backend.questions, 1) / 1e6);
    assert_int_equal(backend.replies.count, COUNT * QUESTIONS);
    assert_int_equal(backend.lates, 0);
    assert_int_equal(backend.wrong, 0);
    assert_true((counters->retries + counters->resends) * 100 <= counters->queries);
    sim_backend_deinit(&backend);
    stop_servers(servers, COUNT);
    sim_free(sim);
}

/* The same with one in ten dead: the living do not wait for them. */
static void some_are_dead(void **state)
{
    enum { COUNT = 500 };
    struct sim *sim = sim_new(COUNT + 1);
    struct sim_backend_options options = {.quiet = true, .rows_max = COUNT};
    struct sim_server *servers = start_servers(sim, COUNT, true);
    struct sim_backend backend;

    (void)state;
    sim_backend_init(&backend, sim, COUNT, &options);
    for (uint32_t i = 0; i < COUNT; i++)
        sim_backend_add_static(&backend, (struct sim_address){i, SIM_SERVER_PORT});
    sim_run_for(sim, 2 * NS_PER_S);
    sim_backend_ask_and_wait(&backend);
    for (uint32_t i = 0; i < COUNT; i += 10)
        servers[i].agent.cut = true;
    sim_backend_ask_and_wait(&backend);
    assert_int_equal(backend.lates, COUNT / 10);
    assert_int_equal(backend.replies.count, COUNT + COUNT * 9 / 10);
    backend.questions.count = 0;
    for (unsigned i = 0; i < 20; i++) {
        sim_backend_ask_and_wait(&backend);
        sim_run_for(sim, 50 * NS_PER_MS);
    }
    printf("# with %u dead: slowest question %.1f ms\n", COUNT / 10,
           (double)sim_quantile(&backend.questions, 1) / 1e6);
    assert_true(sim_quantile(&backend.questions, 1) <= 20 * NS_PER_MS);
    assert_int_equal(sim_backend_count(&backend, NODE_STALE), COUNT / 10);
    sim_run_for(sim, 11 * NS_PER_S);
    assert_int_equal(sim_backend_count(&backend, NODE_DOWN), COUNT / 10);
    for (uint32_t i = 0; i < COUNT; i += 10)
        servers[i].agent.cut = false;
    sim_run_for(sim, 2 * NS_PER_S);
    sim_backend_ask_and_wait(&backend);
    sim_run_for(sim, 100 * NS_PER_MS);
    sim_backend_ask_and_wait(&backend);
    assert_int_equal(sim_backend_count(&backend, NODE_UP), COUNT);
    sim_backend_deinit(&backend);
    stop_servers(servers, COUNT);
    sim_free(sim);
}

static void four_thousand_boot(void **state)
{
    enum { COUNT = 4000, BACKENDS = 2 };
    struct sim *sim = sim_new(COUNT + BACKENDS);
    struct sim_backend_options options = {.rows_max = COUNT + 600};
    struct sim_backend backends[BACKENDS];
    struct sim_server *servers;
    double all_known_s = 0;

    (void)state;
    sim_backend_init(&backends[0], sim, COUNT, &options);
    servers = start_servers(sim, COUNT, false);
    sim_backend_init(&backends[1], sim, COUNT + 1, &options);
    for (unsigned step = 0; step < 200 && all_known_s == 0; step++) {
        sim_run_for(sim, 50 * NS_PER_MS);
        if (client_set_counters(backends[0].set)->sessions >= COUNT &&
            client_set_counters(backends[1].set)->sessions >= COUNT)
            all_known_s = (step + 1) * 0.05;
    }
    printf("# %u servers: known after %.2f s (%llu, %llu); at most %llu and %llu datagrams a second, %llu "
           "dropped\n",
           COUNT, all_known_s, (unsigned long long)client_set_counters(backends[0].set)->sessions,
           (unsigned long long)client_set_counters(backends[1].set)->sessions,
           (unsigned long long)backends[0].agent.worst_second,
           (unsigned long long)backends[1].agent.worst_second, (unsigned long long)backends[0].agent.dropped);
    assert_true(all_known_s > 0 && all_known_s <= 10);
    for (unsigned i = 0; i < BACKENDS; i++) {
        assert_true(backends[i].agent.worst_second <= 2500);
        sim_backend_deinit(&backends[i]);
    }
    stop_servers(servers, COUNT);
    sim_free(sim);
}

/* A backend on every node and nobody asks: the network falls silent. */
static void nobody_asks(void **state)
{
    enum { COUNT = 100 };
    struct sim *sim = sim_new(2 * COUNT);
    struct sim_backend_options options = {.rows_max = 2 * COUNT};
    struct sim_backend *backends = calloc(COUNT, sizeof(*backends));
    struct sim_server *servers = start_servers(sim, COUNT, false);
    uint64_t before = 0;

    (void)state;
    assert_non_null(backends);
    for (uint32_t i = 0; i < COUNT; i++)
        sim_backend_init(&backends[i], sim, COUNT + i, &options);
    sim_run_for(sim, 20 * NS_PER_S);
    for (unsigned i = 0; i < COUNT; i++) /* 64 of 100 find a place at each server */
        assert_true(client_set_counters(backends[i].set)->sessions > 0);
    for (unsigned minute = 0; minute < 20; minute++) {
        before = sim->packets;
        sim_run_for(sim, 60 * NS_PER_S);
        for (unsigned i = 0; i < COUNT; i++)
            sim_backend_sleep_if_idle(&backends[i]);
    }
    printf("# %u backends and servers, idle: %.1f datagrams a second\n", COUNT,
           (double)(sim->packets - before) / 60);
    /* An announce per server and 30 s; a probe per backend and 5 minutes, which is answered by all. */
    assert_true((sim->packets - before) / 60 <= COUNT / 30 + COUNT * COUNT / 300 * 4 + COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        sim_backend_deinit(&backends[i]);
    stop_servers(servers, COUNT);
    free(backends);
    sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousand_at_once),
        cmocka_unit_test(some_are_dead),
        cmocka_unit_test(four_thousand_boot),
        cmocka_unit_test(nobody_asks),
    };

    if (seal_start() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
