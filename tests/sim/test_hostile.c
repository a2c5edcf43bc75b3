/* Forged, replayed, unsealed and senseless traffic: counted, bounded, without effect. */
#include "sim.h"

#include "proto/envelope.h"
#include "support/any_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define SERVERS 4u
#define BACKEND SERVERS
#define NOBODY  1000u /* nodes from here on do not exist */

struct cluster {
    struct sim *sim;
    struct sim_server servers[SERVERS];
    struct sim_backend backend;
};

static void start(struct cluster *cluster, struct seal_keys *of_servers, struct seal_keys *of_backend)
{
    struct sim_server_options server = {.reply_bytes = 2000, .facts_bytes = 3000, .keys = of_servers};
    struct sim_backend_options backend = {.rows_max = 1024, .keys = of_backend};

    *cluster = (struct cluster){.sim = sim_new(SERVERS + 2)};
    for (uint32_t i = 0; i < SERVERS; i++)
        sim_server_init(&cluster->servers[i], cluster->sim, i, &server);
    sim_backend_init(&cluster->backend, cluster->sim, BACKEND, &backend);
    sim_run_for(cluster->sim, 2 * NS_PER_S);
    sim_backend_ask_and_wait(&cluster->backend);
}

static void stop(struct cluster *cluster)
{
    sim_backend_deinit(&cluster->backend);
    for (unsigned i = 0; i < SERVERS; i++)
        sim_server_deinit(&cluster->servers[i]);
    sim_free(cluster->sim);
}

static void check_untouched(struct cluster *cluster)
{
    sim_backend_ask_and_wait(&cluster->backend);
    assert_int_equal(sim_backend_count(&cluster->backend, NODE_UP), SERVERS);
    assert_int_equal(client_set_counters(cluster->backend.set)->sessions, SERVERS);
    assert_int_equal(cluster->backend.lates, 0);
    assert_int_equal(cluster->backend.wrong, 0);
}

static const struct sim_address group_of_backend = {BACKEND, SIM_GROUP_PORT};
static const struct sim_address client_of_backend = {BACKEND, SIM_CLIENT_PORT};

static void forge(struct cluster *cluster, struct sim_address from, struct sim_address to,
                  struct envelope *envelope, enum seal_direction direction)
{
    struct envelope_way way = {
        .random = &cluster->sim->source,
        .direction = direction,
        .frame_id = (uint32_t)random_u64(&cluster->sim->random),
    };
    struct text bytes = envelope_end(envelope, &way);

    sim_forge(cluster->sim, from, to, (const uint8_t *)bytes.bytes, bytes.len);
}

static void forge_announce(struct cluster *cluster, uint32_t from_node, const struct message_node *node)
{
    struct message_announce announce = {.node = *node,
                                        .udp_port = SIM_SERVER_PORT,
                                        .sequence = UINT64_MAX,
                                        .hostname = TEXT_LITERAL("gpu01")};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_ANNOUNCE, 0, NULL);
    message_put_announce(&envelope.writer, &announce);
    forge(cluster, (struct sim_address){from_node, SIM_GROUP_PORT}, group_of_backend, &envelope,
          SEAL_TO_BACKEND);
}

static void forged_announces(void **state)
{
    struct cluster cluster;
    uint64_t hellos, before;

    (void)state;
    for (unsigned one_source = 0; one_source < 2; one_source++) {
        start(&cluster, NULL, NULL);
        hellos = client_set_counters(cluster.backend.set)->hellos;
        before = sim_backend_count(&cluster.backend, NODE_UP);
        assert_int_equal(before, SERVERS);
        for (uint32_t i = 0; i < 1000; i++) {
            struct message_node node = {.instance = random_u64(&cluster.sim->random)};

            /* One has a live node's identity; the others are nobody. */
            if (i == 500)
                node = cluster.servers[1].node;
            else
                memcpy(node.identity, &i, sizeof(i));
            node.instance ^= i == 500;
            forge_announce(&cluster, one_source ? NOBODY : NOBODY + i, &node);
            sim_run_for(cluster.sim, NS_PER_MS);
            assert_true(prober_candidates(cluster.backend.prober) <= PROBER_CANDIDATES);
        }
        sim_run_for(cluster.sim, 5 * NS_PER_S);
        hellos = client_set_counters(cluster.backend.set)->hellos - hellos;
        printf("# 1,000 announces from %s: %llu HELLOs, %llu candidates\n",
               one_source ? "one source" : "1,000", (unsigned long long)hellos,
               (unsigned long long)prober_counters(cluster.backend.prober)->candidates);
        assert_true(hellos <= (one_source ? 5 * (PROBER_PER_SOURCE + 1) : 5 * 1000));
        assert_int_equal(prober_candidates(cluster.backend.prober), 0);
        check_untouched(&cluster);
        stop(&cluster);
    }
}

/* While the forger goes on, a real server still finds its way in. */
static void forged_announces_keep_nobody_out(void **state)
{
    struct cluster cluster;

    (void)state;
    start(&cluster, NULL, NULL);
    sim_server_stop(&cluster.servers[2]);
    sim_run_for(cluster.sim, NS_PER_S);
    sim_server_restart(&cluster.servers[2]);
    for (uint32_t i = 0; i < 4000; i++) {
        struct message_node node = {.instance = i};

        memcpy(node.identity, &i, sizeof(i));
        forge_announce(&cluster, NOBODY + i, &node);
        sim_run_for(cluster.sim, NS_PER_MS);
    }
    sim_backend_ask_and_wait(&cluster.backend);
    assert_int_equal(sim_backend_count(&cluster.backend, NODE_UP), SERVERS);
    stop(&cluster);
}

static void forge_goodbye(struct cluster *cluster, struct sim_address from, struct sim_address to,
                          uint64_t token)
{
    struct message_goodbye goodbye = {.token = token, .reason = GOODBYE_STOPPING};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_GOODBYE, 0, NULL);
    message_put_goodbye(&envelope.writer, &goodbye);
    forge(cluster, from, to, &envelope, to.node == BACKEND ? SEAL_TO_BACKEND : SEAL_TO_SERVER);
}

static void forged_goodbyes(void **state)
{
    struct cluster cluster;

    (void)state;
    start(&cluster, NULL, NULL);
    for (uint32_t i = 0; i < 4000; i++) {
        struct sim_address server = {i % SERVERS, SIM_SERVER_PORT};
        uint64_t token = random_u64(&cluster.sim->random);

        forge_goodbye(&cluster, server, client_of_backend, token);
        forge_goodbye(&cluster, client_of_backend, server, token);
        sim_run_for(cluster.sim, NS_PER_MS / 10);
    }
    sim_run_for(cluster.sim, 10 * NS_PER_MS);
    assert_true(client_set_counters(cluster.backend.set)->input[CLIENT_INPUT_UNEXPECTED] >= 4000);
    check_untouched(&cluster);
    stop(&cluster);
}

/* ---- no amplification ---- */

struct meter {
    uint32_t node;
    size_t to_it, from_it; /* bytes */
};

static void meter(void *userdata, struct sim_address from, struct sim_address to, const uint8_t *bytes,
                  size_t len)
{
    struct meter *meter = userdata;

    (void)bytes;
    meter->from_it += from.node == meter->node ? len : 0;
    meter->to_it += to.node == meter->node ? len : 0;
}

/* Every type of message, hundreds of each, from an address that nobody has proved. */
static void no_amplification(void **state)
{
    struct seal_keys keys = {.count = 1};
    static uint8_t body[FRAME_BODY_MAX];
    struct cluster cluster;

    (void)state;
    seal_key_set(&keys.keys[0], (const uint8_t[SEAL_KEY_SIZE]){5, 6, 7});
    for (unsigned sealed = 0; sealed < 2; sealed++) {
        uint64_t answered = 0;

        start(&cluster, sealed ? &keys : NULL, sealed ? &keys : NULL);
        for (unsigned i = 0; i < 300 * message_type_count; i++) {
            struct meter victim = {.node = NOBODY + i};
            uint8_t type = message_types[i % message_type_count];
            struct writer writer = writer_over(body, 1500);
            struct sim_address to = {i % SERVERS, i / 7 % 2 ? SIM_SERVER_PORT : SIM_GROUP_PORT};
            struct envelope envelope;

            put_random_message(&cluster.sim->random, type, &writer);
            if (writer.failed || writer.pos > 1000)
                continue;
            envelope_begin(&envelope, type, random_u64(&cluster.sim->random),
                           sealed && i % 3 ? &keys.keys[0] : NULL);
            if (type == FRAME_HELLO) { /* its nonce is its request id */
                struct message_hello hello = {1, 1, random_u64(&cluster.sim->random), 1, i & 1, {0}};

                envelope_begin(&envelope, type, hello.nonce, envelope.key);
                message_put_hello(&envelope.writer, &hello);
            } else {
                write_bytes(&envelope.writer, body, writer.pos);
            }
            cluster.sim->on_packet = meter;
            cluster.sim->on_packet_userdata = &victim;
            forge(&cluster, (struct sim_address){victim.node, SIM_GROUP_PORT}, to, &envelope, SEAL_TO_SERVER);
            sim_run_for(cluster.sim, 300 * NS_PER_MS);
            assert_true(victim.from_it > 0);
            assert_true(victim.to_it <= victim.from_it);
            answered += victim.to_it > 0;
        }
        cluster.sim->on_packet = NULL;
        printf("# %llu strangers were answered\n", (unsigned long long)answered);
        assert_true(answered > 300); /* the check has had something to check */
        stop(&cluster);
    }
}

/* ---- floods ---- */

static void senseless(struct cluster *cluster, unsigned i)
{
    uint8_t bytes[256];
    struct random *random = &cluster->sim->random;
    size_t len = random_below(random, sizeof(bytes));
    struct sim_address to = {i % (SERVERS + 1), SIM_GROUP_PORT};
    struct sim_address from = {NOBODY + i, SIM_CLIENT_PORT};
    struct envelope envelope;

    if (i & 1)
        to.port = to.node == BACKEND ? SIM_CLIENT_PORT : SIM_SERVER_PORT;
    if (i % 5 == 0) {
        struct message_hello hello = {1, 1, random_u64(random), random_u64(random), i % 10 == 0, {1}};

        envelope_begin(&envelope, FRAME_HELLO, hello.nonce, NULL);
        message_put_hello(&envelope.writer, &hello);
        forge(cluster, from, to, &envelope, SEAL_TO_SERVER);
        return;
    }
    for (size_t k = 0; k < len; k++)
        bytes[k] = (uint8_t)random_u64(random);
    if (len > 3 && i % 3) { /* some get past the first rungs */
        bytes[0] = 0xC1;
        bytes[1] = 0xA7;
        bytes[2] = 1;
    }
    sim_forge(cluster->sim, i % 7 ? from : (struct sim_address){i % SERVERS, SIM_SERVER_PORT}, to, bytes,
              len);
}

static void flood(void **state)
{
    struct cluster cluster;
    size_t before, after;

    (void)state;
    start(&cluster, NULL, NULL);
    for (unsigned i = 0; i < 2000; i++) { /* the simulator's own tables grow here */
        senseless(&cluster, i);
        sim_run_for(cluster.sim, NS_PER_MS / 10);
    }
    sim_run_for(cluster.sim, 5 * NS_PER_S);
    before = mallinfo2().uordblks;
    for (unsigned i = 0; i < 200000; i++) {
        senseless(&cluster, i);
        sim_run_for(cluster.sim, NS_PER_MS / 10);
    }
    sim_run_for(cluster.sim, 5 * NS_PER_S);
    after = mallinfo2().uordblks;
    printf("# memory before %zu, after %zu\n", before, after);
    assert_true(after <= before + 16384); /* datagrams that happen to be under way */
    assert_int_equal(peers_sessions(cluster.servers[0].peers), 1);
    check_untouched(&cluster);
    stop(&cluster);
}

/* ---- sealed clusters ---- */

struct tape {
    struct {
        struct sim_address from, to;
        uint8_t bytes[1500];
        size_t len;
    } packets[3000];
    size_t count;
};

static void record(void *userdata, struct sim_address from, struct sim_address to, const uint8_t *bytes,
                   size_t len)
{
    struct tape *tape = userdata;

    if (tape->count == sizeof(tape->packets) / sizeof(tape->packets[0]) || to.node > BACKEND)
        return;
    tape->packets[tape->count].from = from;
    tape->packets[tape->count].to = to;
    memcpy(tape->packets[tape->count].bytes, bytes, len);
    tape->packets[tape->count++].len = len;
}

/* Everything from the first HELLO on, sent again: as it was, and with other senders. */
static void replayed(void **state)
{
    struct seal_keys keys = {.count = 1};
    struct tape *tape = calloc(1, sizeof(*tape));
    struct sim_server_options server = {.reply_bytes = 700, .facts_bytes = 500, .keys = &keys};
    struct sim_backend_options backend = {.rows_max = 64, .keys = &keys};
    const struct peers_counters *counters;
    struct cluster cluster;

    (void)state;
    assert_non_null(tape);
    seal_key_set(&keys.keys[0], (const uint8_t[SEAL_KEY_SIZE]){1, 2, 3});
    cluster = (struct cluster){.sim = sim_new(SERVERS + 2)};
    cluster.sim->on_packet = record;
    cluster.sim->on_packet_userdata = tape;
    for (uint32_t i = 0; i < SERVERS; i++)
        sim_server_init(&cluster.servers[i], cluster.sim, i, &server);
    sim_backend_init(&cluster.backend, cluster.sim, BACKEND, &backend);
    sim_run_for(cluster.sim, NS_PER_S);
    for (unsigned i = 0; i < 20; i++) {
        sim_backend_ask_and_wait(&cluster.backend);
        sim_run_for(cluster.sim, NS_PER_S);
    }
    cluster.sim->on_packet = NULL;
    for (size_t i = 0; i < tape->count; i++) {
        struct sim_address from = tape->packets[i].from;

        sim_forge(cluster.sim, from, tape->packets[i].to, tape->packets[i].bytes, tape->packets[i].len);
        sim_run_for(cluster.sim, NS_PER_MS);
        from.node += NOBODY;
        sim_forge(cluster.sim, from, tape->packets[i].to, tape->packets[i].bytes, tape->packets[i].len);
        sim_run_for(cluster.sim, NS_PER_MS);
    }
    counters = peers_counters(cluster.servers[0].peers);
    printf("# %zu datagrams again: server counted %llu replayed, backend %llu\n", tape->count,
           (unsigned long long)counters->input[PEERS_INPUT_REPLAYED],
           (unsigned long long)client_set_counters(cluster.backend.set)->input[CLIENT_INPUT_REPLAYED]);
    assert_true(counters->input[PEERS_INPUT_REPLAYED] >= 20);
    assert_true(client_set_counters(cluster.backend.set)->input[CLIENT_INPUT_REPLAYED] >= 20);
    check_untouched(&cluster);
    stop(&cluster);
    free(tape);
}

static struct client *add_static(struct cluster *cluster)
{
    return sim_backend_add_static(&cluster->backend, (struct sim_address){0, SIM_SERVER_PORT})->client;
}

/* A backend without the key, with another key, with the key of a server that has none: no session, and told.
 */
static void keys_that_differ(void **state)
{
    struct seal_keys one = {.count = 1}, two = {.count = 1};
    char problem[CLIENT_PROBLEM_SIZE];
    struct cluster cluster;
    struct client *client;
    struct {
        struct seal_keys *server, *backend;
        bool told;
    } cases[] = {{&one, NULL, true}, {NULL, &one, true}, {&one, &two, false}};

    (void)state;
    seal_key_set(&one.keys[0], (const uint8_t[SEAL_KEY_SIZE]){1});
    seal_key_set(&two.keys[0], (const uint8_t[SEAL_KEY_SIZE]){2});
    for (unsigned i = 0; i < 3; i++) {
        start(&cluster, cases[i].server, cases[i].backend);
        client = add_static(&cluster);
        sim_run_for(cluster.sim, 20 * NS_PER_S);
        assert_int_equal(client_set_counters(cluster.backend.set)->sessions, 0);
        client_problem(client, problem);
        printf("# %s\n", problem);
        assert_true(!cases[i].told || strstr(problem, "security.key_file"));
        stop(&cluster);
    }
}

static void rolling_change_of_keys(void **state)
{
    struct seal_keys old = {.count = 1}, both = {.count = 2};
    struct cluster cluster;

    (void)state;
    seal_key_set(&old.keys[0], (const uint8_t[SEAL_KEY_SIZE]){1});
    seal_key_set(&both.keys[0], (const uint8_t[SEAL_KEY_SIZE]){2});
    both.keys[1] = old.keys[0];
    /* The servers know both keys and seal with the new one; the backend still has the old one, and asks. */
    start(&cluster, &both, &old);
    add_static(&cluster);
    sim_run_for(cluster.sim, NS_PER_S);
    assert_int_equal(client_set_counters(cluster.backend.set)->sessions, 1);
    client_set_keys(cluster.backend.set, cluster.sim->now, &both);
    prober_set_keys(cluster.backend.prober, &both);
    prober_again(cluster.backend.prober, cluster.sim->now);
    sim_refresh(&cluster.backend.agent);
    sim_run_for(cluster.sim, 3 * NS_PER_S);
    sim_backend_ask_and_wait(&cluster.backend);
    assert_int_equal(sim_backend_count(&cluster.backend, NODE_UP), SERVERS);
    stop(&cluster);
}

/* ---- refusals ---- */

static void not_allowed(void **state)
{
    struct cluster cluster;
    char problem[CLIENT_PROBLEM_SIZE];
    struct client *client;
    uint64_t refused;

    (void)state;
    start(&cluster, NULL, NULL);
    cluster.servers[0].banned = BACKEND + 1;
    client = sim_backend_find(&cluster.backend, cluster.servers[0].node.identity)->client;
    sim_backend_ask(&cluster.backend);
    sim_run_for(cluster.sim, 200 * NS_PER_MS);
    assert_int_equal(client_state(client), CLIENT_REFUSED);
    assert_non_null(strstr(client_problem(client, problem), "security.allow"));
    for (unsigned i = 0; i < 1000; i++) {
        sim_backend_ask(&cluster.backend);
        sim_run_for(cluster.sim, 200 * NS_PER_MS);
    }
    refused = peers_counters(cluster.servers[0].peers)->refused[REFUSE_NOT_ALLOWED];
    printf("# refused %llu times in 200 s\n", (unsigned long long)refused);
    assert_true(refused > 0 && refused < 20);
    assert_int_equal(client_state(client), CLIENT_REFUSED);
    cluster.servers[0].banned = 0;
    sim_run_for(cluster.sim, 45 * NS_PER_S);
    sim_backend_ask_and_wait(&cluster.backend);
    sim_backend_ask_and_wait(&cluster.backend);
    assert_int_equal(sim_backend_count(&cluster.backend, NODE_UP), SERVERS);
    stop(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forged_announces),
        cmocka_unit_test(forged_announces_keep_nobody_out),
        cmocka_unit_test(forged_goodbyes),
        cmocka_unit_test(no_amplification),
        cmocka_unit_test(flood),
        cmocka_unit_test(replayed),
        cmocka_unit_test(keys_that_differ),
        cmocka_unit_test(rolling_change_of_keys),
        cmocka_unit_test(not_allowed),
    };

    if (seal_start() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
