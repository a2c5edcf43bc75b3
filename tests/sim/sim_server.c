/* A simulated server: the real table of sessions and announcer, and readings that tell who made them and
 * when. */
#include "sim.h"

#include <assert.h>
#include <stdlib.h>

static uint8_t scratch[1u << 20];

static void on_send(void *userdata, const struct peer *peer, const uint8_t *bytes, size_t len)
{
    struct sim_server *server = userdata;

    sim_send(&server->agent, server->port, sim_address(peer), bytes, len);
}

static bool on_allow(void *userdata, const struct peer *peer)
{
    const struct sim_server *server = userdata;

    return sim_address(peer).node + 1 != server->banned;
}

/* Readings: the node's number, the moment, then a pattern that follows from both. */
static struct reader make_readings(struct sim_server *server)
{
    struct writer writer = writer_over(scratch, sizeof(scratch));
    uint64_t when = (uint64_t)server->agent.sim->now.ns;

    write_u32(&writer, server->agent.node);
    write_u64(&writer, when);
    while (writer.pos < server->reply_bytes)
        write_u8(&writer, (uint8_t)(writer.pos * 31 + server->agent.node + when));
    return reader_over(scratch, writer.pos);
}

static struct reader make_facts(struct sim_server *server)
{
    static uint8_t facts[64u << 10];

    memset(facts, (int)(server->agent.node & 0xff), server->facts_bytes);
    return reader_over(facts, server->facts_bytes);
}

static void on_query(void *userdata, const struct peers_query *query)
{
    struct sim_server *server = userdata;
    struct message_reply reply = {.facts_hash = server->node.instance | 1};

    server->queries++;
    reply.readings = make_readings(server);
    if (query->facts_hash != reply.facts_hash)
        reply.facts = make_facts(server);
    assert(peers_answer(server->peers, server->agent.sim->now, &query->ticket, &reply) == 0);
}

static void on_facts(void *userdata, uint64_t *ret_hash, struct reader *ret_facts)
{
    struct sim_server *server = userdata;

    *ret_hash = server->node.instance | 1;
    *ret_facts = make_facts(server);
}

static size_t on_mtu(void *userdata, const struct peer *peer)
{
    (void)userdata;
    (void)peer;
    return SIM_MTU;
}

static int on_announce(void *userdata, const uint8_t *bytes, size_t len)
{
    struct sim_server *server = userdata;

    sim_send_group(&server->agent, bytes, len);
    return 0;
}

static void on_answer(void *userdata, const struct peer *prober, const uint8_t *bytes, size_t len)
{
    struct sim_server *server = userdata;

    sim_send(&server->agent, SIM_GROUP_PORT, sim_address(prober), bytes, len);
}

static void on_trouble(void *userdata, unsigned attempts, int error)
{
    (void)userdata;
    (void)attempts;
    (void)error;
}

static void on_datagram(void *owner, const struct peer *from, uint16_t to_port, const uint8_t *bytes,
                        size_t len)
{
    struct sim_server *server = owner;

    if (!server->peers)
        return;
    if (to_port == server->port)
        peers_datagram(server->peers, server->agent.sim->now, from, bytes, len);
    else if (to_port == SIM_GROUP_PORT && server->announcer)
        announcer_datagram(server->announcer, server->agent.sim->now, from, bytes, len);
}

static void on_tick(void *owner)
{
    struct sim_server *server = owner;

    if (server->peers)
        peers_tick(server->peers, server->agent.sim->now);
    if (server->announcer)
        announcer_tick(server->announcer, server->agent.sim->now);
}

static struct instant next(void *owner)
{
    const struct sim_server *server = owner;
    struct instant when = server->peers ? peers_next(server->peers) : TIMERS_NEVER;

    return server->announcer ? instant_earlier(when, announcer_next(server->announcer)) : when;
}

static void start_peers(struct sim_server *server)
{
    static const struct peers_events events = {
        .on_send = on_send,
        .on_allow = on_allow,
        .on_query = on_query,
        .on_facts = on_facts,
        .on_mtu = on_mtu,
    };
    struct peers_events mine = events;
    struct peers_options options = {
        .random = server->agent.sim->source,
        .node = server->node,
        .software = TEXT_LITERAL("0.1.0"),
        .max_connections = server->max_connections,
        .reply_bytes = 2 * (1u << 20) + 4096,
        .idle_timeout_ns = 10 * NS_PER_S,
        .keys = server->keys,
    };

    mine.userdata = server;
    for (unsigned i = 0; i < COOKIE_SECRET_SIZE; i++)
        options.secret[i] = (uint8_t)random_u64(&server->agent.sim->random);
    assert(peers_new(&options, &mine, &server->peers) == 0);
}

static void start_announcer(struct sim_server *server)
{
    struct announcer_events events = {
        .on_announce = on_announce,
        .on_answer = on_answer,
        .on_trouble = on_trouble,
        .userdata = server,
    };
    struct announcer_options options = {
        .random = server->agent.sim->source,
        .node = server->node,
        .sequence = (uint64_t)server->agent.sim->now.ns,
        .udp_port = server->port,
        .hostname = TEXT_LITERAL("a-node-with-a-long-name.cluster.example.org"),
        .keys = server->keys,
        .retry_limit = 5,
    };

    assert(announcer_new(&options, &events, server->agent.sim->now, &server->announcer) == 0);
}

static void begin(struct sim_server *server)
{
    server->node.instance = random_u64(&server->agent.sim->random) | 1;
    start_peers(server);
    if (server->agent.in_group)
        start_announcer(server);
}

static void end(struct sim_server *server)
{
    peers_free(server->peers);
    announcer_free(server->announcer);
    server->peers = NULL;
    server->announcer = NULL;
}

void sim_server_init(struct sim_server *server, struct sim *sim, uint32_t node,
                     const struct sim_server_options *options)
{
    struct writer writer;

    *server = (struct sim_server){
        .agent = {.sim = sim,
                  .node = node,
                  .owner = server,
                  .on_datagram = on_datagram,
                  .on_tick = on_tick,
                  .next = next,
                  .in_group = !options->quiet},
        .keys = options->keys,
        .reply_bytes = options->reply_bytes,
        .facts_bytes = options->facts_bytes,
        .max_connections = options->max_connections ? options->max_connections : 64,
        .port = SIM_SERVER_PORT,
    };
    writer = writer_over(server->node.identity, IDENTITY_SIZE);
    write_u64(&writer, node * UINT64_C(0x9e3779b97f4a7c15) + 1);
    write_u64(&writer, node);
    begin(server);
    sim_add(sim, &server->agent);
}

void sim_server_deinit(struct sim_server *server)
{
    end(server);
    sim_remove(server->agent.sim, &server->agent);
}

void sim_server_restart(struct sim_server *server)
{
    end(server);
    begin(server);
    sim_refresh(&server->agent);
}

void sim_server_stop(struct sim_server *server)
{
    peers_stop(server->peers, server->agent.sim->now);
    if (server->announcer)
        announcer_stop(server->announcer, server->agent.sim->now);
    end(server);
    sim_refresh(&server->agent);
}
