/* A simulated backend: the real clients, prober and liveness, and a table of rows as simple as can be. */
#include "sim.h"

#include <assert.h>
#include <stdlib.h>

#define DEADLINE_NS (100 * NS_PER_MS)
#define IDLE_NS     (10 * NS_PER_S)

static struct instant now_of(const struct sim_backend *backend)
{
    return backend->agent.sim->now;
}

static struct sim_row *free_row(struct sim_backend *backend)
{
    for (size_t i = 0; i < backend->row_cap; i++)
        if (!backend->rows[i].used)
            return &backend->rows[i];
    return NULL;
}

static void drop_row(struct sim_row *row)
{
    client_free(row->client);
    *row = (struct sim_row){0};
}

static struct sim_row *add_row(struct sim_backend *backend, struct sim_address server)
{
    struct sim_row *row = free_row(backend);
    struct peer peer = sim_peer(server);

    if (!row)
        return NULL;
    *row = (struct sim_row){.backend = backend, .used = true, .candidate = -1, .last_state = NODE_WARMING};
    liveness_init(&row->liveness, now_of(backend));
    if (client_new(backend->set, &peer, row, &row->client) < 0) {
        *row = (struct sim_row){0};
        return NULL;
    }
    return row;
}

struct sim_row *sim_backend_add_static(struct sim_backend *backend, struct sim_address server)
{
    struct sim_row *row = add_row(backend, server);

    assert(row);
    row->is_static = true;
    client_start(row->client, now_of(backend));
    sim_refresh(&backend->agent);
    return row;
}

struct sim_row *sim_backend_find(struct sim_backend *backend, const uint8_t identity[IDENTITY_SIZE])
{
    for (size_t i = 0; i < backend->row_cap; i++) {
        struct sim_row *row = &backend->rows[i];

        if (row->used && row->candidate < 0 && row->has_node &&
            memcmp(row->node.identity, identity, IDENTITY_SIZE) == 0)
            return row;
    }
    return NULL;
}

static void note_state(struct sim_row *row)
{
    enum node_state state = liveness_state(&row->liveness, now_of(row->backend), IDLE_NS).state;

    if (state == row->last_state)
        return;
    row->backend->states++;
    row->backend->downs += state == NODE_DOWN;
    row->last_state = state;
}

size_t sim_backend_count(const struct sim_backend *backend, enum node_state state)
{
    size_t count = 0;

    for (size_t i = 0; i < backend->row_cap; i++) {
        struct sim_row *row = &backend->rows[i];

        count += row->used && row->candidate < 0 &&
                 liveness_state(&row->liveness, now_of(backend), IDLE_NS).state == state;
    }
    return count;
}

/* ---- events of clients ---- */

static void on_send(void *userdata, struct client *client, const uint8_t *bytes, size_t len)
{
    struct sim_backend *backend = userdata;

    sim_send(&backend->agent, SIM_CLIENT_PORT, sim_address(client_peer(client)), bytes, len);
}

/* A candidate has become a session: it takes the place of an older row of its node. */
static void adopt(struct sim_row *row)
{
    struct sim_backend *backend = row->backend;
    struct sim_row *old = sim_backend_find(backend, row->node.identity);

    prober_done(backend->prober, now_of(backend), (unsigned)row->candidate);
    row->candidate = -1;
    if (!old)
        return;
    row->liveness = old->liveness;
    row->last_state = old->last_state;
    row->is_static = old->is_static;
    if (old->waited)
        backend->unanswered--;
    drop_row(old);
}

static void on_welcome(void *userdata, struct client *client, const struct message_welcome *welcome)
{
    struct sim_row *row = client_owner(client);

    (void)userdata;
    row->facts_hash = reader_left(&welcome->facts) ? welcome->facts_hash : 0;
}

static void on_state(void *userdata, struct client *client, enum client_state state, enum client_why why)
{
    struct sim_backend *backend = userdata;
    struct sim_row *row = client_owner(client);

    backend->silent += why == CLIENT_WHY_SILENT;
    if (state == CLIENT_STOPPED)
        liveness_stopped(&row->liveness, now_of(backend));
    if (state != CLIENT_UP)
        return;
    row->node = *client_node(client);
    row->has_node = true;
    if (row->candidate >= 0)
        adopt(row);
    note_state(row);
}

static bool pattern_is_right(struct reader readings, uint32_t *ret_node, uint64_t *ret_when)
{
    *ret_node = read_u32(&readings);
    *ret_when = read_u64(&readings);
    while (reader_left(&readings)) {
        uint8_t expected = (uint8_t)(readings.pos * 31 + *ret_node + *ret_when);

        if (read_u8(&readings) != expected)
            return false;
    }
    return !readings.failed;
}

static void answered(struct sim_row *row)
{
    struct sim_backend *backend = row->backend;

    if (!row->waited)
        return;
    row->waited = false;
    if (--backend->unanswered == 0)
        sim_sample(&backend->questions, instant_since_ns(now_of(backend), backend->asked));
}

static void on_reply(void *userdata, struct client *client, const struct client_reply *reply)
{
    struct sim_backend *backend = userdata;
    struct sim_row *row = client_owner(client);
    uint32_t node;
    uint64_t when;

    if (!pattern_is_right(reply->message.readings, &node, &when) ||
        node != sim_address(client_peer(client)).node || (int64_t)when > now_of(backend).ns ||
        (int64_t)when < reply->asked_at.ns)
        backend->wrong++;
    row->facts_hash = reply->message.facts_hash;
    liveness_answered(&row->liveness, now_of(backend), !reply->late);
    if (row->waited && !reply->late)
        sim_sample(&backend->replies, instant_since_ns(now_of(backend), row->asked));
    answered(row);
    note_state(row);
}

static void on_late(void *userdata, struct client *client)
{
    struct sim_backend *backend = userdata;
    struct sim_row *row = client_owner(client);

    backend->lates++;
    liveness_late(&row->liveness, now_of(backend));
    answered(row);
    note_state(row);
}

static void on_heard(void *userdata, struct client *client)
{
    struct sim_row *row = client_owner(client);

    liveness_heard(&row->liveness, now_of(userdata));
}

static void on_asked(void *userdata, struct client *client)
{
    struct sim_row *row = client_owner(client);

    liveness_asked(&row->liveness, now_of(userdata));
}

/* ---- events of the prober ---- */

static int on_probe(void *userdata, const uint8_t *bytes, size_t len)
{
    struct sim_backend *backend = userdata;

    sim_send_group(&backend->agent, bytes, len);
    return 0;
}

static bool on_is_live(void *userdata, const struct message_node *node)
{
    struct sim_row *row = sim_backend_find(userdata, node->identity);

    if (row && row->backend->asleep)
        return true;
    return row && row->node.instance == node->instance && client_state(row->client) == CLIENT_UP;
}

static bool on_live(void *userdata, size_t i, uint8_t ret_identity[IDENTITY_SIZE])
{
    struct sim_backend *backend = userdata;
    static size_t at, counted;

    /* Asked for 0, 1, 2 ...: goes on where it was. */
    if (i == 0)
        at = counted = 0;
    for (; at < backend->row_cap; at++) {
        struct sim_row *row = &backend->rows[at];

        if (!row->used || row->candidate >= 0 || (!backend->asleep && client_state(row->client) != CLIENT_UP))
            continue;
        if (counted++ < i)
            continue;
        memcpy(ret_identity, row->node.identity, IDENTITY_SIZE);
        at++;
        return true;
    }
    return false;
}

static void on_candidate(void *userdata, const struct prober_candidate *candidate)
{
    struct sim_backend *backend = userdata;
    struct sim_address server = {sim_address(candidate->from).node, candidate->announce->udp_port};
    struct sim_row *row = add_row(backend, server);

    if (!row) {
        /* There is a client for this address: it only has to look again. */
        for (size_t i = 0; i < backend->row_cap; i++)
            if (backend->rows[i].used &&
                sim_address(client_peer(backend->rows[i].client)).node == server.node &&
                sim_address(client_peer(backend->rows[i].client)).port == server.port)
                client_kick(backend->rows[i].client, now_of(backend));
        prober_done(backend->prober, now_of(backend), candidate->number);
        return;
    }
    row->candidate = (int)candidate->number;
    client_start_tentative(row->client, now_of(backend));
}

static void on_give_up(void *userdata, unsigned number)
{
    struct sim_backend *backend = userdata;

    for (size_t i = 0; i < backend->row_cap; i++)
        if (backend->rows[i].used && backend->rows[i].candidate == (int)number)
            drop_row(&backend->rows[i]);
}

/* ---- the agent ---- */

static void on_datagram(void *owner, const struct peer *from, uint16_t to_port, const uint8_t *bytes,
                        size_t len)
{
    struct sim_backend *backend = owner;

    if (to_port == SIM_CLIENT_PORT)
        client_set_datagram(backend->set, now_of(backend), from, bytes, len);
    else if (to_port == SIM_GROUP_PORT && backend->prober)
        prober_datagram(backend->prober, now_of(backend), from, bytes, len);
}

static void on_tick(void *owner)
{
    struct sim_backend *backend = owner;

    client_set_tick(backend->set, now_of(backend));
    if (backend->prober)
        prober_tick(backend->prober, now_of(backend));
}

static struct instant next(void *owner)
{
    struct sim_backend *backend = owner;
    struct instant when = client_set_next(backend->set);

    return backend->prober ? instant_earlier(when, prober_next(backend->prober)) : when;
}

static void start_set(struct sim_backend *backend, const struct sim_backend_options *options)
{
    struct client_events events = {
        .on_send = on_send,
        .on_state = on_state,
        .on_welcome = on_welcome,
        .on_reply = on_reply,
        .on_late = on_late,
        .on_heard = on_heard,
        .on_asked = on_asked,
        .userdata = backend,
    };
    struct client_set_options set = {
        .random = backend->agent.sim->source,
        .instance = random_u64(&backend->agent.sim->random),
        .clients_max = backend->row_cap,
        .receive_buffer_bytes =
            options->receive_buffer_bytes ? options->receive_buffer_bytes : SIM_BUFFER_BYTES,
        .heartbeat_ns = 5 * NS_PER_S,
        .idle_timeout_ns = IDLE_NS,
        .keys = options->keys,
    };

    assert(client_set_new(&set, &events, &backend->set) == 0);
}

static void start_prober(struct sim_backend *backend)
{
    struct prober_events events = {
        .on_probe = on_probe,
        .on_is_live = on_is_live,
        .on_live = on_live,
        .on_candidate = on_candidate,
        .on_give_up = on_give_up,
        .userdata = backend,
    };
    struct prober_options options = {
        .random = backend->agent.sim->source,
        .instance = random_u64(&backend->agent.sim->random),
        .keys = backend->keys,
    };

    assert(prober_new(&options, &events, now_of(backend), &backend->prober) == 0);
}

void sim_backend_init(struct sim_backend *backend, struct sim *sim, uint32_t node,
                      const struct sim_backend_options *options)
{
    *backend = (struct sim_backend){
        .agent = {.sim = sim,
                  .node = node,
                  .owner = backend,
                  .on_datagram = on_datagram,
                  .on_tick = on_tick,
                  .next = next,
                  .in_group = !options->quiet},
        .keys = options->keys,
        .row_cap = options->rows_max,
    };
    backend->rows = calloc(backend->row_cap, sizeof(*backend->rows));
    assert(backend->rows);
    start_set(backend, options);
    if (!options->quiet)
        start_prober(backend);
    sim_add(sim, &backend->agent);
}

void sim_backend_deinit(struct sim_backend *backend)
{
    for (size_t i = 0; i < backend->row_cap; i++)
        if (backend->rows[i].used)
            drop_row(&backend->rows[i]);
    client_set_free(backend->set);
    prober_free(backend->prober);
    free(backend->rows);
    free(backend->replies.ns);
    free(backend->questions.ns);
    sim_remove(backend->agent.sim, &backend->agent);
}

void sim_backend_ask(struct sim_backend *backend)
{
    struct instant now = now_of(backend);

    backend->asked = now;
    backend->asleep = false;
    if (backend->prober)
        prober_asked(backend->prober, now);
    for (size_t i = 0; i < backend->row_cap; i++) {
        struct sim_row *row = &backend->rows[i];
        struct client_query query = {
            .facts_hash = row->facts_hash, .deadline = instant_add_ns(now, DEADLINE_NS), .background = true};

        if (!row->used || row->candidate >= 0)
            continue;
        if (liveness_worth_waiting(&row->liveness, now, IDLE_NS)) {
            query.background = false;
            row->waited = true;
            row->asked = now;
            backend->unanswered++;
        }
        note_state(row);
        client_ask(row->client, now, &query);
    }
    sim_refresh(&backend->agent);
}

void sim_backend_ask_and_wait(struct sim_backend *backend)
{
    struct instant limit = instant_add_ns(now_of(backend), 2 * DEADLINE_NS);

    sim_backend_ask(backend);
    while (backend->unanswered && now_of(backend).ns < limit.ns)
        sim_run_for(backend->agent.sim, NS_PER_MS / 2);
    assert(!backend->unanswered);
}

void sim_backend_sleep_if_idle(struct sim_backend *backend)
{
    if (!backend->prober || !prober_is_idle(backend->prober, now_of(backend)))
        return;
    backend->asleep = true;
    for (size_t i = 0; i < backend->row_cap; i++)
        if (backend->rows[i].used && backend->rows[i].candidate < 0)
            client_close(backend->rows[i].client, now_of(backend), GOODBYE_IDLE);
    sim_refresh(&backend->agent);
}
