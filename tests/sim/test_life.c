/* Hours in the life of a cluster: deaths, stops, restarts, cut cables, and loss all the time. */
#include "sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#define SERVERS  8u
#define BACKENDS 3u

struct cluster {
    struct sim *sim;
    struct sim_server servers[SERVERS];
    struct sim_backend backends[BACKENDS];
    unsigned backend_count;
};

static void start(struct cluster *cluster, bool quiet, unsigned backends)
{
    struct sim_server_options of_server = {.quiet = quiet, .reply_bytes = 3000, .facts_bytes = 4000};
    struct sim_backend_options of_backend = {.quiet = quiet, .rows_max = 64};

    *cluster = (struct cluster){.sim = sim_new(SERVERS + BACKENDS), .backend_count = backends};
    for (uint32_t i = 0; i < SERVERS; i++)
        sim_server_init(&cluster->servers[i], cluster->sim, i, &of_server);
    for (uint32_t i = 0; i < backends; i++)
        sim_backend_init(&cluster->backends[i], cluster->sim, SERVERS + i, &of_backend);
    for (uint32_t i = 0; quiet && i < SERVERS; i++)
        sim_backend_add_static(&cluster->backends[0], (struct sim_address){i, SIM_SERVER_PORT});
}

static void stop(struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->backend_count; i++)
        sim_backend_deinit(&cluster->backends[i]);
    for (unsigned i = 0; i < SERVERS; i++)
        sim_server_deinit(&cluster->servers[i]);
    sim_free(cluster->sim);
}

/* Two questions: the first may find a node late, which the second then finds back. */
static void ask_twice(struct sim_backend *backend)
{
    for (unsigned i = 0; i < 2; i++) {
        sim_backend_ask_and_wait(backend);
        sim_run_for(backend->agent.sim, 100 * NS_PER_MS);
    }
}

static void found_at_once(void **state)
{
    struct cluster cluster;

    (void)state;
    start(&cluster, false, 2);
    sim_run_for(cluster.sim, 300 * NS_PER_MS);
    for (unsigned i = 0; i < 2; i++) {
        sim_backend_ask_and_wait(&cluster.backends[i]);
        assert_int_equal(sim_backend_count(&cluster.backends[i], NODE_UP), SERVERS);
        assert_int_equal(cluster.backends[i].lates, 0);
    }
    stop(&cluster);
}

/* Another run of the same server: found by the next question where there is no discovery at all. */
static void restarted(void **state)
{
    struct cluster cluster;
    struct sim_row *row;

    (void)state;
    start(&cluster, true, 1);
    sim_run_for(cluster.sim, NS_PER_S);
    ask_twice(&cluster.backends[0]);
    sim_run_for(cluster.sim, 3 * NS_PER_S);
    sim_server_restart(&cluster.servers[3]);
    sim_backend_ask_and_wait(&cluster.backends[0]);
    assert_int_equal(cluster.backends[0].lates, 0);
    row = sim_backend_find(&cluster.backends[0], cluster.servers[3].node.identity);
    assert_non_null(row);
    assert_true(row->node.instance == cluster.servers[3].node.instance);
    assert_int_equal(sim_backend_count(&cluster.backends[0], NODE_UP), SERVERS);
    assert_int_equal(cluster.backends[0].wrong, 0);
    stop(&cluster);
}

static void stopped_and_started(void **state)
{
    struct cluster cluster;

    (void)state;
    for (unsigned quiet = 0; quiet < 2; quiet++) {
        start(&cluster, quiet, 1);
        sim_run_for(cluster.sim, NS_PER_S);
        ask_twice(&cluster.backends[0]);
        sim_server_stop(&cluster.servers[5]);
        sim_run_for(cluster.sim, 10 * NS_PER_MS);
        assert_int_equal(sim_backend_count(&cluster.backends[0], NODE_STOPPED), 1);
        sim_run_for(cluster.sim, 3600 * NS_PER_S);
        assert_int_equal(sim_backend_count(&cluster.backends[0], NODE_STOPPED), 1);
        sim_server_restart(&cluster.servers[5]);
        sim_run_for(cluster.sim, NS_PER_S);
        ask_twice(&cluster.backends[0]);
        assert_int_equal(sim_backend_count(&cluster.backends[0], NODE_UP), SERVERS);
        stop(&cluster);
    }
}

static void silent_death(void **state)
{
    struct cluster cluster;

    (void)state;
    start(&cluster, true, 1);
    sim_run_for(cluster.sim, NS_PER_S);
    ask_twice(&cluster.backends[0]);
    cluster.servers[1].agent.cut = true;
    sim_backend_ask_and_wait(&cluster.backends[0]); /* waits for its deadline, once */
    assert_true(sim_quantile(&cluster.backends[0].questions, 1) <= 110 * NS_PER_MS);
    cluster.backends[0].questions.count = 0;
    for (unsigned i = 0; i < 250; i++) {
        sim_backend_ask_and_wait(&cluster.backends[0]);
        sim_run_for(cluster.sim, 50 * NS_PER_MS);
    }
    assert_true(sim_quantile(&cluster.backends[0].questions, 1) <= 20 * NS_PER_MS);
    assert_int_equal(sim_backend_count(&cluster.backends[0], NODE_DOWN), 1);
    cluster.servers[1].agent.cut = false;
    sim_run_for(cluster.sim, NS_PER_S);
    ask_twice(&cluster.backends[0]);
    assert_int_equal(sim_backend_count(&cluster.backends[0], NODE_UP), SERVERS);
    stop(&cluster);
}

/* Nobody watches it die: down all the same, within the idle time-out of 10 s. */
static void silent_death_unwatched(void **state)
{
    struct cluster cluster;

    (void)state;
    start(&cluster, true, 1);
    sim_run_for(cluster.sim, NS_PER_S);
    ask_twice(&cluster.backends[0]);
    cluster.servers[1].agent.cut = true;
    sim_run_for(cluster.sim, 10 * NS_PER_S + NS_PER_S);
    assert_int_equal(client_set_counters(cluster.backends[0].set)->sessions_silent, 1);
    sim_run_for(cluster.sim, 5 * NS_PER_S);
    assert_int_equal(sim_backend_count(&cluster.backends[0], NODE_DOWN), 1);
    stop(&cluster);
}

/* An hour at 5 % loss in which nothing happens: no row changes, no session ends. */
static void nothing_flaps(void **state)
{
    struct cluster cluster;
    uint64_t states[BACKENDS];

    (void)state;
    start(&cluster, false, BACKENDS);
    cluster.sim->faults = sim_bad(0.05);
    sim_run_for(cluster.sim, 40 * NS_PER_S);
    for (unsigned i = 0; i < BACKENDS; i++) {
        ask_twice(&cluster.backends[i]);
        states[i] = cluster.backends[i].states;
        assert_int_equal(sim_backend_count(&cluster.backends[i], NODE_UP), SERVERS);
    }
    for (unsigned second = 0; second < 3600; second += 2) {
        for (unsigned i = 0; i < BACKENDS; i++)
            sim_backend_ask_and_wait(&cluster.backends[i]);
        sim_run_for(cluster.sim, 2 * NS_PER_S);
    }
    for (unsigned i = 0; i < BACKENDS; i++) {
        assert_int_equal(cluster.backends[i].states, states[i]);
        assert_int_equal(cluster.backends[i].silent, 0);
        assert_int_equal(cluster.backends[i].wrong, 0);
        assert_int_equal(client_set_counters(cluster.backends[i].set)->sessions, SERVERS);
    }
    stop(&cluster);
}

/* Something happens to some server. */
static void misfortune(struct cluster *cluster, unsigned *stopped, unsigned *cut)
{
    uint32_t victim = (uint32_t)random_below(&cluster->sim->random, SERVERS);
    struct sim_server *server = &cluster->servers[victim];

    switch (random_below(&cluster->sim->random, 4)) {
    case 0:
        if (server->peers)
            sim_server_restart(server);
        break;
    case 1:
        if (server->peers && !server->agent.cut) {
            sim_server_stop(server);
            *stopped |= 1u << victim;
        }
        break;
    case 2:
        server->agent.cut = true;
        *cut |= 1u << victim;
        break;
    default:
        for (uint32_t i = 0; i < SERVERS; i++) {
            if (*stopped & 1u << i)
                sim_server_restart(&cluster->servers[i]);
            cluster->servers[i].agent.cut = false;
        }
        *stopped = *cut = 0;
    }
}

static void six_hours(void **state)
{
    struct cluster cluster;
    unsigned stopped = 0, cut = 0;

    (void)state;
    start(&cluster, false, BACKENDS);
    cluster.sim->faults = sim_bad(0.05);
    for (unsigned minute = 0; minute < 360; minute++) {
        misfortune(&cluster, &stopped, &cut);
        for (unsigned i = 0; i < 6; i++) {
            sim_backend_ask_and_wait(&cluster.backends[0]);
            sim_run_for(cluster.sim, 10 * NS_PER_S);
        }
        if (minute % 20 == 0)
            sim_backend_ask_and_wait(&cluster.backends[1]);
        for (unsigned i = 0; i < BACKENDS; i++)
            sim_backend_sleep_if_idle(&cluster.backends[i]);
        assert_true(cluster.backends[0].unanswered == 0);
    }
    for (uint32_t i = 0; i < SERVERS; i++) {
        if (stopped & 1u << i)
            sim_server_restart(&cluster.servers[i]);
        cluster.servers[i].agent.cut = false;
    }
    for (unsigned i = 0; i < BACKENDS; i++)
        sim_backend_ask(&cluster.backends[i]); /* wakes those that sleep */
    sim_run_for(cluster.sim, 40 * NS_PER_S);
    for (unsigned i = 0; i < BACKENDS; i++) {
        struct sim_backend *backend = &cluster.backends[i];

        ask_twice(backend);
        assert_int_equal(backend->wrong, 0);
        assert_int_equal(sim_backend_count(backend, NODE_UP), SERVERS);
        for (uint32_t k = 0; k < SERVERS; k++) {
            struct sim_row *row = sim_backend_find(backend, cluster.servers[k].node.identity);

            assert_non_null(row);
            assert_true(row->node.instance == cluster.servers[k].node.instance);
        }
    }
    printf("# six hours: %llu datagrams\n", (unsigned long long)cluster.sim->packets);
    stop(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_at_once),
        cmocka_unit_test(restarted),
        cmocka_unit_test(stopped_and_started),
        cmocka_unit_test(silent_death),
        cmocka_unit_test(silent_death_unwatched),
        cmocka_unit_test(nothing_flaps),
        cmocka_unit_test(six_hours),
    };

    if (seal_start() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
