#include "lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

static struct node *expect_row(struct lab *lab, const char *name)
{
    struct node *node = lab_row(lab, name);

    if (!node)
        fail_msg("there is no row %s", name);
    return node;
}

/* Asks all, and sees that the row is in this state. */
static void expect_state(struct lab *lab, const char *name, enum node_state expected)
{
    enum node_state state;

    lab->answer_count = 0;
    lab_run(lab, LAB_TTL_NS);
    lab_ask(lab, NULL, lab);
    assert_non_null(lab_wait(lab, lab));
    buffer_deinit(&lab->answers[0].bytes);
    lab->answer_count = 0;
    state = lab_state(lab, expect_row(lab, name));
    if (state != expected)
        fail_msg("%s has state %d, not %d", name, state, expected);
}

static struct lab_server *find(struct lab *lab, unsigned host, const char *name)
{
    struct lab_server *server = lab_start(lab, host, 30000, name);

    assert_int_equal(lab_announce(lab, server), CLUSTER_CANDIDATE_TRIED);
    lab_run(lab, 20 * NS_PER_MS);
    return server;
}

static void an_announce_becomes_a_row_by_a_handshake(void **state)
{
    struct lab *lab = *state;
    struct lab_server ghost = {.lab = lab, .address = lab_address(9, 30000), .name = "ghost"};

    lab_announce(lab, &ghost);
    lab_run(lab, 5 * NS_PER_S);
    assert_int_equal(cluster_count(lab->cluster), 0);
    find(lab, 1, "gpu1");
    expect_state(lab, "gpu1", NODE_UP);
    assert_int_equal(lab->candidates_done, 1);
    assert_int_equal(cluster_count(lab->cluster), 1);
    assert_true(strncmp(expect_row(lab, "gpu1")->connection_id, "conn-", 5) == 0);
}

static void a_given_up_candidate_leaves_nothing(void **state)
{
    struct lab *lab = *state;
    struct lab_server ghost = {.lab = lab, .address = lab_address(9, 30000), .name = "ghost"};
    struct message_announce announce = {.udp_port = 30000};

    cluster_try_candidate(lab->cluster, lab->now, &ghost.address, 77, &announce);
    assert_int_equal(cluster_endpoints(lab->cluster), 1);
    cluster_drop_candidate(lab->cluster, 77);
    lab_run(lab, NS_PER_MS);
    assert_int_equal(cluster_endpoints(lab->cluster), 0);
}

static void a_host_with_two_addresses_is_one_node(void **state)
{
    struct lab *lab = *state;
    struct lab_server *server = find(lab, 1, "gpu1");
    struct net_address first = server->address;

    expect_state(lab, "gpu1", NODE_UP);
    server->second = lab_address(101, 30000);
    server->address = server->second; /* announced there */
    lab_announce(lab, server);
    server->address = first;
    lab_run(lab, 50 * NS_PER_MS);
    assert_int_equal(cluster_count(lab->cluster), 1);
    assert_true(net_address_equal(&expect_row(lab, "gpu1")->address, &first));
    /* And when the first way fails, the second is taken, without another row. */
    server->address = lab_address(200, 1);
    expect_state(lab, "gpu1", NODE_STALE);
    lab_run(lab, 3 * NS_PER_S);
    expect_state(lab, "gpu1", NODE_UP);
    assert_int_equal(cluster_count(lab->cluster), 1);
    assert_true(net_address_equal(&expect_row(lab, "gpu1")->address, &server->second));
}

static void a_restart_on_another_port_is_the_same_row(void **state)
{
    struct lab *lab = *state;
    struct lab_server *server = find(lab, 1, "gpu1");
    char id[NODE_CONNECTION_ID_CAP];

    expect_state(lab, "gpu1", NODE_UP);
    memcpy(id, expect_row(lab, "gpu1")->connection_id, sizeof(id));
    lab_restart(server, 1, 30005); /* without a goodbye */
    lab_announce(lab, server);
    lab_run(lab, 500 * NS_PER_MS);
    assert_int_equal(lab_rows(lab, "gpu1"), 1);
    expect_state(lab, "gpu1", NODE_UP);
    assert_int_equal(expect_row(lab, "gpu1")->address.port, 30005);
    assert_string_equal(expect_row(lab, "gpu1")->connection_id, id);
    lab_stop(server);
    lab_run(lab, 20 * NS_PER_MS);
    assert_int_equal(lab_state(lab, expect_row(lab, "gpu1")), NODE_STOPPED);
    lab_restart(server, 1, 30006);
    lab_announce(lab, server);
    expect_state(lab, "gpu1", NODE_UP);
    assert_int_equal(cluster_count(lab->cluster), 1);
}

static void a_restart_on_the_same_port_goes_unnoticed(void **state)
{
    struct lab *lab = *state;
    struct lab_server *server = find(lab, 1, "gpu1");

    expect_state(lab, "gpu1", NODE_UP);
    lab_run(lab, 1200 * NS_PER_MS); /* a session that ends within a second would be followed by a pause */
    lab_restart(server, 1, 30000);
    expect_state(lab, "gpu1", NODE_UP);
    assert_int_equal(cluster_count(lab->cluster), 1);
    assert_int_equal(expect_row(lab, "gpu1")->instance, server->node.instance);
}

static void an_address_that_moves_belongs_to_the_new_host(void **state)
{
    struct lab *lab = *state;
    struct lab_server *old = find(lab, 1, "old");

    expect_state(lab, "old", NODE_UP);
    lab_kill(old);
    lab_start(lab, 1, 30000, "new");
    lab_run(lab, 4 * NS_PER_S);
    expect_state(lab, "new", NODE_UP);
    expect_state(lab, "old", NODE_DOWN);
    assert_int_equal(cluster_count(lab->cluster), 2);
    /* The old one is found again elsewhere. */
    lab_restart(old, 2, 30000);
    lab_announce(lab, old);
    lab_run(lab, 50 * NS_PER_MS);
    expect_state(lab, "old", NODE_UP);
    assert_int_equal(cluster_count(lab->cluster), 2);
}

static void two_live_instances_are_two_flagged_rows(void **state)
{
    struct lab *lab = *state;
    struct lab_server *first = find(lab, 1, "twin"), *second;
    char id[NODE_CONNECTION_ID_CAP], other[NODE_CONNECTION_ID_CAP + 2];
    struct node *const *rows;

    expect_state(lab, "twin", NODE_UP);
    memcpy(id, expect_row(lab, "twin")->connection_id, sizeof(id));
    snprintf(other, sizeof(other), "%s-2", id);
    second = find(lab, 2, "twin");
    lab_run(lab, 200 * NS_PER_MS);
    assert_int_equal(lab_rows(lab, "twin"), 2);
    rows = cluster_rows(lab->cluster);
    assert_string_equal(rows[0]->connection_id, id);
    assert_string_equal(rows[1]->connection_id, other);
    assert_ptr_equal(rows[0]->twin, rows[1]);
    assert_ptr_equal(rows[1]->twin, rows[0]);
    for (unsigned i = 0; i < 5; i++) { /* nothing flaps, whoever announces himself */
        lab_announce(lab, i % 2 ? first : second);
        lab_run(lab, 500 * NS_PER_MS);
        assert_int_equal(lab_rows(lab, "twin"), 2);
    }
    lab_kill(first);
    lab_run(lab, 4 * NS_PER_S);
    assert_int_equal(lab_rows(lab, "twin"), 1);
    assert_string_equal(expect_row(lab, "twin")->connection_id, id);
    assert_null(expect_row(lab, "twin")->twin);
    assert_true(net_address_equal(&expect_row(lab, "twin")->address, &second->address));
}

static void one_name_on_two_hosts_is_two_nodes(void **state)
{
    struct lab *lab = *state;
    struct lab_server *second;

    find(lab, 1, "gpu");
    second = lab_start(lab, 2, 30000, "gpu");
    second->node.identity[15] ^= 1; /* of another machine */
    lab_restart(second, 2, 30000);
    lab_announce(lab, second);
    lab_run(lab, 20 * NS_PER_MS);
    expect_state(lab, "gpu", NODE_UP);
    assert_int_equal(lab_rows(lab, "gpu"), 2);
    assert_null(cluster_rows(lab->cluster)[0]->twin);
}

static void a_known_node_is_there_at_once(void **state)
{
    struct lab *lab = *state;
    struct node_clock clock = {lab->now, 1700000000000000, LAB_IDLE_NS};
    struct known_node known = {
        .hostname = "gpu1", .udp_port = 30000, .address_count = 2, .answered_unix_us = 1699999000000000};
    struct known_node written;

    memcpy(known.identity, "gpu1\0\0\0\0\0\0\0\0\0\0\0", IDENTITY_SIZE);
    known.addresses[0] = lab_address(77, 0);
    known.addresses[1] = lab_address(1, 0);
    lab_start(lab, 1, 30000, "gpu1");
    cluster_recall(lab->cluster, &clock, &known);
    assert_int_equal(lab_state(lab, expect_row(lab, "gpu1")), NODE_WARMING);
    expect_state(lab, "gpu1", NODE_UP);
    assert_int_equal(cluster_count(lab->cluster), 1);
    assert_true(node_to_known(expect_row(lab, "gpu1"), &clock, &written));
    assert_string_equal(written.hostname, "gpu1");
    assert_int_equal(written.address_count, 2);
    assert_true(net_address_equal(&written.addresses[0], &known.addresses[1]));
}

/* The clock was set back an hour since the file was written, or forward by a year. */
static void a_wrong_clock_forgets_nobody(void **state)
{
    struct lab *lab = *state;
    struct node_clock clock = {lab->now, 1700000000000000, LAB_IDLE_NS};
    struct known_node known = {.hostname = "a", .udp_port = 30000, .address_count = 1};

    known.addresses[0] = lab_address(50, 0);
    known.answered_unix_us = clock.unix_us + INT64_C(3600) * 1000000;
    cluster_recall(lab->cluster, &clock, &known);
    known.identity[0] = 1;
    known.hostname[0] = 'b';
    known.addresses[0] = lab_address(51, 0);
    known.answered_unix_us = clock.unix_us - INT64_C(365) * 24 * 3600 * 1000000;
    cluster_recall(lab->cluster, &clock, &known);
    lab_run(lab, 5 * NS_PER_S);
    expect_state(lab, "a", NODE_DOWN);
    expect_state(lab, "b", NODE_DOWN);
}

static void a_silent_node_is_forgotten_after_a_week(void **state)
{
    struct lab *lab = *state;
    struct lab_server *server = find(lab, 1, "gpu1");
    struct node_clock clock;

    expect_state(lab, "gpu1", NODE_UP);
    lab_kill(server);
    lab_run(lab, 3 * NS_PER_S);
    lab->now = instant_add_ns(lab->now, CLUSTER_FORGET_NS - 10 * NS_PER_S);
    clock = (struct node_clock){lab->now, 0, LAB_IDLE_NS};
    cluster_sweep(lab->cluster, &clock);
    assert_int_equal(cluster_count(lab->cluster), 1);
    lab->now = instant_add_ns(lab->now, 10 * NS_PER_S);
    clock.now = lab->now;
    cluster_sweep(lab->cluster, &clock);
    assert_int_equal(cluster_count(lab->cluster), 0);
    cluster_settle(lab->cluster, lab->now);
    assert_int_equal(cluster_endpoints(lab->cluster), 0);
}

static void a_static_node_is_a_placeholder_until_it_answers(void **state)
{
    struct lab *lab = *state;
    struct net_address address = lab_address(1, 30000);
    struct node *placeholder =
        cluster_add_placeholder(lab->cluster, lab->now, "login-name", "login-name:30000");
    struct endpoint *endpoint = cluster_use_address(lab->cluster, lab->now, &address, placeholder);
    char id[NODE_CONNECTION_ID_CAP];

    memcpy(id, placeholder->connection_id, sizeof(id));
    expect_state(lab, "login-name", NODE_WARMING);
    lab_run(lab, 2 * NS_PER_S);
    expect_state(lab, "login-name", NODE_DOWN);
    lab_start(lab, 1, 30000, "gpu1");
    lab_run(lab, 16 * NS_PER_S);
    expect_state(lab, "gpu1", NODE_UP);
    assert_int_equal(cluster_count(lab->cluster), 1);
    assert_ptr_equal(expect_row(lab, "gpu1"), placeholder);
    assert_string_not_equal(placeholder->connection_id, id);
    /* Without the configuration it is a node like any other. */
    cluster_unuse_address(lab->cluster, endpoint);
    expect_state(lab, "gpu1", NODE_UP);
}

static void there_is_place_for_so_many(void **state)
{
    struct lab *lab = *state;
    char name[16];

    for (unsigned i = 0; i < LAB_NODES_MAX; i++) {
        snprintf(name, sizeof(name), "gpu%u", i);
        find(lab, 1 + i, name);
    }
    assert_int_equal(cluster_count(lab->cluster), LAB_NODES_MAX);
    assert_int_equal(cluster_left_out(lab->cluster, lab->now), 0);
    assert_int_equal(lab_announce(lab, lab_start(lab, 100, 30000, "more1")), CLUSTER_CANDIDATE_FULL);
    assert_int_equal(lab_announce(lab, lab_start(lab, 101, 30000, "more2")), CLUSTER_CANDIDATE_FULL);
    assert_int_equal(cluster_left_out(lab->cluster, lab->now), 2);
    lab_run(lab, 130 * NS_PER_S);
    assert_int_equal(cluster_left_out(lab->cluster, lab->now), 0);
}

static void at_rest_no_session_is_left_and_asking_wakes(void **state)
{
    struct lab *lab = *state;
    struct lab_server *server = find(lab, 1, "gpu1");

    expect_state(lab, "gpu1", NODE_UP);
    cluster_rest(lab->cluster, lab->now);
    lab_run(lab, 20 * NS_PER_MS);
    assert_int_equal(peers_sessions(server->peers), 0);
    lab_run(lab, 30 * NS_PER_S);
    assert_int_equal(lab_state(lab, expect_row(lab, "gpu1")),
                     NODE_UP); /* nobody asked: nothing is known against it */
    cluster_wake(lab->cluster, lab->now);
    expect_state(lab, "gpu1", NODE_UP);
    assert_int_equal(peers_sessions(server->peers), 1);
}

static void rows_stand_in_natural_order(void **state)
{
    struct lab *lab = *state;
    struct node *const *rows;

    find(lab, 1, "gpu10");
    find(lab, 2, "gpu9");
    find(lab, 3, "gpu1");
    rows = cluster_rows(lab->cluster);
    assert_string_equal(rows[0]->hostname, "gpu1");
    assert_string_equal(rows[1]->hostname, "gpu9");
    assert_string_equal(rows[2]->hostname, "gpu10");
}

static void live_identities_are_counted_through(void **state)
{
    struct lab *lab = *state;
    uint8_t identity[IDENTITY_SIZE];
    struct lab_server *second;

    find(lab, 1, "gpu1");
    second = find(lab, 2, "gpu2");
    find(lab, 3, "gpu3");
    for (unsigned round = 0; round < 2; round++) {
        assert_true(cluster_live_identity(lab->cluster, 0, identity));
        assert_true(cluster_live_identity(lab->cluster, 1, identity));
        assert_memory_equal(identity, second->node.identity, IDENTITY_SIZE);
        assert_true(cluster_live_identity(lab->cluster, 2, identity));
        assert_false(cluster_live_identity(lab->cluster, 3, identity));
    }
    assert_true(cluster_is_live(lab->cluster, &second->node));
    lab_stop(second);
    lab_run(lab, 20 * NS_PER_MS);
    assert_false(cluster_is_live(lab->cluster, &second->node));
    assert_false(cluster_live_identity(lab->cluster, 2, identity));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_announce_becomes_a_row_by_a_handshake),
        TEST(a_given_up_candidate_leaves_nothing),
        TEST(a_host_with_two_addresses_is_one_node),
        TEST(a_restart_on_another_port_is_the_same_row),
        TEST(a_restart_on_the_same_port_goes_unnoticed),
        TEST(an_address_that_moves_belongs_to_the_new_host),
        TEST(two_live_instances_are_two_flagged_rows),
        TEST(one_name_on_two_hosts_is_two_nodes),
        TEST(a_known_node_is_there_at_once),
        TEST(a_wrong_clock_forgets_nobody),
        TEST(a_silent_node_is_forgotten_after_a_week),
        TEST(a_static_node_is_a_placeholder_until_it_answers),
        TEST(there_is_place_for_so_many),
        TEST(at_rest_no_session_is_left_and_asking_wakes),
        TEST(rows_stand_in_natural_order),
        TEST(live_identities_are_counted_through),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
