#include "lab.h"

#include "net/peer_address.h"
#include "wire/snapshot_codec.h"
#include "wire/snapshot_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAY_NS  NS_PER_MS
#define STEP_NS (NS_PER_MS / 2)

struct lab_datagram {
    struct lab_datagram *next;
    struct net_address from, to;
    struct instant when;
    size_t len;
    uint8_t bytes[];
};

static const struct net_address backend_address = {
    .family = NET_FAMILY_IPV4, .port = 5000, .bytes = {10, 0, 1, 1}};

static uint64_t next_random(void *userdata)
{
    struct lab *lab = userdata;

    lab->random = lab->random * 6364136223846793005u + 1442695040888963407u;
    return lab->random ^ lab->random >> 29;
}

struct net_address lab_address(unsigned host, uint16_t port)
{
    return net_address_ipv4(0x0a000000u + host, port);
}

static void put(struct lab *lab, const struct net_address *from, const struct net_address *to,
                const uint8_t *bytes, size_t len)
{
    struct lab_datagram *datagram = malloc(sizeof(*datagram) + len), **at = &lab->queue;

    assert(datagram);
    *datagram =
        (struct lab_datagram){.from = *from, .to = *to, .when = instant_add_ns(lab->now, WAY_NS), .len = len};
    memcpy(datagram->bytes, bytes, len);
    while (*at)
        at = &(*at)->next;
    *at = datagram;
}

/* ---- servers ---- */

static void server_send(void *userdata, const struct peer *peer, const uint8_t *bytes, size_t len)
{
    struct lab_server *server = userdata;
    struct net_address local = net_peer_local(peer), to = net_peer_address(peer);

    put(server->lab, &local, &to, bytes, len);
}

static bool server_allow(void *userdata, const struct peer *peer)
{
    (void)userdata;
    (void)peer;
    return true;
}

static struct snapshot_parts parts_of(const struct lab_server *server)
{
    struct snapshot_parts parts;
    int r = snapshot_split(reader_over(server->body, server->body_len), &parts);

    assert(r == 0);
    (void)r;
    return parts;
}

static void server_query(void *userdata, const struct peers_query *query)
{
    struct lab_server *server = userdata;
    struct snapshot_parts parts = parts_of(server);
    struct message_reply reply = {
        .facts_hash = snapshot_facts_hash(parts.facts),
        .process_generation = 1,
        .readings = parts.readings,
    };

    server->queries++;
    if (query->facts_hash != reply.facts_hash)
        reply.facts = parts.facts;
    if (query->process_generation != 1)
        reply.process_facts = parts.process_facts;
    peers_answer(server->peers, server->lab->now, &query->ticket, &reply);
}

static void server_facts(void *userdata, uint64_t *ret_hash, struct reader *ret_facts)
{
    struct lab_server *server = userdata;

    *ret_facts = parts_of(server).facts;
    *ret_hash = snapshot_facts_hash(*ret_facts);
}

static size_t server_mtu(void *userdata, const struct peer *peer)
{
    (void)userdata;
    (void)peer;
    return 1500;
}

static void encode_body(struct lab_server *server)
{
    struct snapshot snapshot;
    struct writer writer;

    snapshot_init(&snapshot);
    snapshot.hostname = text_from_string(server->name);
    server->body_len = snapshot_encoded_max(&snapshot);
    server->body = malloc(server->body_len);
    assert(server->body);
    writer = writer_over(server->body, server->body_len);
    snapshot_encode(&snapshot, &writer);
    assert(!writer.failed);
    server->body_len = writer.pos;
    snapshot_deinit(&snapshot);
}

static void open_peers(struct lab_server *server)
{
    struct peers_options options = {
        .random = {.next = next_random, .userdata = server->lab},
        .node = server->node,
        .software = TEXT_LITERAL("test"),
        .max_connections = 8,
        .idle_timeout_ns = 2 * LAB_IDLE_NS,
    };
    struct peers_events events = {
        .on_send = server_send,
        .on_allow = server_allow,
        .on_query = server_query,
        .on_facts = server_facts,
        .on_mtu = server_mtu,
        .userdata = server,
    };
    int r = peers_new(&options, &events, &server->peers);

    assert(r == 0);
    (void)r;
    server->silent = false;
}

struct lab_server *lab_start(struct lab *lab, unsigned host, uint16_t port, const char *name)
{
    struct lab_server *server = lab->servers;

    while (server->name[0])
        server++;
    assert(server < lab->servers + LAB_SERVERS);
    server->lab = lab;
    server->address = lab_address(host, port);
    snprintf(server->name, sizeof(server->name), "%s", name);
    memcpy(server->node.identity, server->name, sizeof(server->node.identity));
    server->node.instance = next_random(lab);
    encode_body(server);
    open_peers(server);
    return server;
}

void lab_kill(struct lab_server *server)
{
    peers_free(server->peers);
    server->peers = NULL;
}

void lab_stop(struct lab_server *server)
{
    peers_stop(server->peers, server->lab->now);
    lab_kill(server);
}

void lab_restart(struct lab_server *server, unsigned host, uint16_t port)
{
    lab_kill(server);
    server->address = lab_address(host, port);
    server->node.instance = next_random(server->lab);
    open_peers(server);
}

enum cluster_candidate lab_announce(struct lab *lab, const struct lab_server *server)
{
    static unsigned number;
    struct message_announce announce = {
        .node = server->node,
        .udp_port = server->address.port,
        .hostname = text_from_string(server->name),
    };

    return cluster_try_candidate(lab->cluster, lab->now, &server->address, ++number, &announce);
}

/* ---- the backend ---- */

static void cluster_send(void *userdata, struct endpoint *endpoint, const uint8_t *bytes, size_t len)
{
    put(userdata, &backend_address, &endpoint->address, bytes, len);
}

static void cluster_open(void *userdata, struct endpoint *endpoint)
{
    (void)userdata;
    (void)endpoint;
}

static void cluster_settled(void *userdata, struct node *node)
{
    struct lab *lab = userdata;

    questions_settled(lab->questions, lab->now, node);
}

static void cluster_rows_changed(void *userdata, struct node *node, bool gone)
{
    struct lab *lab = userdata;

    questions_rows_changed(lab->questions, lab->now, node, gone);
}

static void cluster_changed(void *userdata)
{
    struct lab *lab = userdata;

    lab->changes++;
}

static void cluster_candidate_done(void *userdata, unsigned candidate)
{
    struct lab *lab = userdata;

    (void)candidate;
    lab->candidates_done++;
}

static void take_answer(void *userdata, void *asker, enum question_form form, const void *bytes, size_t len)
{
    struct lab *lab = userdata;
    struct lab_answer *answer = &lab->answers[lab->answer_count++];

    (void)form;
    assert(lab->answer_count <= LAB_ANSWERS);
    *answer = (struct lab_answer){.asker = asker, .at = lab->now};
    buffer_put(&answer->bytes, bytes, len);
}

static struct node_clock clock_of(const struct lab *lab)
{
    return (struct node_clock){lab->now, 1700000000000000 + lab->now.ns / NS_PER_US, LAB_IDLE_NS};
}

static void fill_facts(void *userdata, struct instant now, struct answer_facts *ret_facts)
{
    struct lab *lab = userdata;

    *ret_facts =
        (struct answer_facts){.clock = clock_of(lab), .left_out = cluster_left_out(lab->cluster, now)};
}

void lab_open(struct lab *lab)
{
    struct cluster_options options = {
        .random = {.next = next_random, .userdata = lab},
        .instance = 7,
        .nodes_max = LAB_NODES_MAX,
        .receive_buffer_bytes = 212992,
        .heartbeat_ns = LAB_IDLE_NS / 5,
        .idle_timeout_ns = LAB_IDLE_NS,
        .deadline_ns = LAB_DEADLINE,
    };
    struct cluster_events events = {
        .on_send = cluster_send,
        .on_open = cluster_open,
        .on_close = cluster_open,
        .on_settled = cluster_settled,
        .on_rows = cluster_rows_changed,
        .on_changed = cluster_changed,
        .on_candidate_done = cluster_candidate_done,
        .userdata = lab,
    };
    struct questions_events question_events = {
        .on_answer = take_answer, .on_facts = fill_facts, .userdata = lab};
    struct questions_times times = {.cache_ttl_ns = LAB_TTL_NS, .deadline_ns = LAB_DEADLINE};
    int r;

    *lab = (struct lab){.now = {1000 * NS_PER_S}, .random = 42};
    r = cluster_new(&options, &events, &lab->cluster);
    assert(r == 0);
    r = questions_new(lab->cluster, &times, &question_events, &lab->questions);
    assert(r == 0);
    (void)r;
}

void lab_close(struct lab *lab)
{
    questions_free(lab->questions);
    cluster_free(lab->cluster);
    for (size_t i = 0; i < LAB_SERVERS; i++) {
        peers_free(lab->servers[i].peers);
        free(lab->servers[i].body);
    }
    while (lab->queue) {
        struct lab_datagram *datagram = lab->queue;

        lab->queue = datagram->next;
        free(datagram);
    }
    for (size_t i = 0; i < lab->answer_count; i++)
        buffer_deinit(&lab->answers[i].bytes);
}

/* ---- time ---- */

static struct lab_server *server_at(struct lab *lab, const struct net_address *address)
{
    for (size_t i = 0; i < LAB_SERVERS; i++) {
        struct lab_server *server = &lab->servers[i];

        if (server->peers && !server->silent &&
            (net_address_equal(&server->address, address) || net_address_equal(&server->second, address)))
            return server;
    }
    return NULL;
}

static void deliver(struct lab *lab, struct lab_datagram *datagram)
{
    struct peer peer;

    if (net_address_equal(&datagram->to, &backend_address)) {
        struct net_address any = NET_ADDRESS_NONE;

        peer = net_peer_make(&datagram->from, &any, 0, 0);
        cluster_datagram(lab->cluster, lab->now, &peer, datagram->bytes, datagram->len);
    } else {
        struct lab_server *server = server_at(lab, &datagram->to);

        peer = net_peer_make(&datagram->from, &datagram->to, 0, 0);
        if (server)
            peers_datagram(server->peers, lab->now, &peer, datagram->bytes, datagram->len);
    }
}

static void step(struct lab *lab)
{
    while (lab->queue && lab->queue->when.ns <= lab->now.ns) {
        struct lab_datagram *datagram = lab->queue;

        lab->queue = datagram->next;
        deliver(lab, datagram);
        free(datagram);
    }
    for (size_t i = 0; i < LAB_SERVERS; i++)
        if (lab->servers[i].peers && peers_next(lab->servers[i].peers).ns <= lab->now.ns)
            peers_tick(lab->servers[i].peers, lab->now);
    if (cluster_next(lab->cluster).ns <= lab->now.ns)
        cluster_tick(lab->cluster, lab->now);
    if (questions_next(lab->questions).ns <= lab->now.ns)
        questions_tick(lab->questions, lab->now);
    cluster_settle(lab->cluster, lab->now);
    if (lab->now.ns % NS_PER_S == 0) {
        struct node_clock clock = clock_of(lab);

        cluster_sweep(lab->cluster, &clock);
    }
}

void lab_run(struct lab *lab, int64_t ns)
{
    struct instant end = instant_add_ns(lab->now, ns);

    while (lab->now.ns < end.ns) {
        lab->now = instant_add_ns(lab->now, STEP_NS);
        step(lab);
    }
}

/* ---- asking and looking ---- */

void lab_ask(struct lab *lab, const char *filter, void *asker)
{
    struct question_request request = {.filter = text_from_string(filter), .form = QUESTION_FRAMES};
    struct host_list_error error;
    int r = questions_ask(lab->questions, lab->now, &request, asker, 1, &error);

    assert(r == 0);
    (void)r;
}

struct lab_answer *lab_wait(struct lab *lab, const void *asker)
{
    for (unsigned i = 0; i < 2000; i++) {
        for (size_t j = 0; j < lab->answer_count; j++)
            if (lab->answers[j].asker == asker)
                return &lab->answers[j];
        lab_run(lab, STEP_NS);
    }
    return NULL;
}

struct node *lab_row(struct lab *lab, const char *hostname)
{
    struct node *const *rows = cluster_rows(lab->cluster);

    for (size_t i = 0; i < cluster_count(lab->cluster); i++)
        if (strcmp(rows[i]->hostname, hostname) == 0)
            return rows[i];
    return NULL;
}

unsigned lab_rows(struct lab *lab, const char *hostname)
{
    struct node *const *rows = cluster_rows(lab->cluster);
    unsigned count = 0;

    for (size_t i = 0; i < cluster_count(lab->cluster); i++)
        count += strcmp(rows[i]->hostname, hostname) == 0;
    return count;
}

enum node_state lab_state(struct lab *lab, struct node *node)
{
    return liveness_state(&node->liveness, lab->now, LAB_IDLE_NS).state;
}
