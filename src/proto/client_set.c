/* The table of clients, their one timer, and what leaves them. What comes in is in client_input.c. */
#include "proto/client_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define REASSEMBLY_SLOTS       128u
#define REASSEMBLY_PER_CLIENT  4u
#define REASSEMBLY_BYTES       (8u << 20)
#define REASSEMBLY_LIFETIME_NS NS_PER_S

void client_set_free(struct client_set *set)
{
    if (!set)
        return;
    assert(!set->count);
    reassembly_free(set->reassembly);
    timers_deinit(&set->timers);
    free(set->chains);
    free(set);
}

int client_set_new(const struct client_set_options *options, const struct client_events *events,
                   struct client_set **ret_set)
{
    static const struct reassembly_options assembling = {
        .slots = REASSEMBLY_SLOTS,
        .slots_per_owner = REASSEMBLY_PER_CLIENT,
        .memory_bytes = REASSEMBLY_BYTES,
        .lifetime_ns = REASSEMBLY_LIFETIME_NS,
    };
    struct client_set *set = calloc(1, sizeof(*set));
    int r;

    assert(options->clients_max && options->clients_max <= CLIENT_SET_MAX);
    if (!set)
        return -ENOMEM;
    set->options = *options;
    set->events = *events;
    set->frame_id = (uint32_t)random_next(&options->random);
    window_init(&set->window, options->receive_buffer_bytes);
    set->chain_count = 1;
    while (set->chain_count < options->clients_max)
        set->chain_count *= 2;
    set->chains = calloc(set->chain_count, sizeof(struct client *));
    r = set->chains ? timers_init(&set->timers, options->clients_max) : -ENOMEM;
    if (r == 0)
        r = reassembly_new(&assembling, &set->reassembly);
    if (r < 0) {
        client_set_free(set);
        return r;
    }
    *ret_set = set;
    return 0;
}

/* A plain session may not go on where a key was set, and the other way round. */
static void shake_if_mismatched(struct client *client, struct instant now)
{
    bool sealed = seal_first_key(client->set->options.keys) != NULL;

    if (client->state == CLIENT_UP && client->session.sealed != sealed)
        client_shake(client, now, CLIENT_WHY_ASKED);
    client_schedule(client);
}

void client_set_keys(struct client_set *set, struct instant now, const struct seal_keys *keys)
{
    client_enter(set);
    set->options.keys = keys;
    for (size_t i = 0; i < set->chain_count; i++)
        for (struct client *client = set->chains[i], *next; client; client = next) {
            next = client->chain_next;
            shake_if_mismatched(client, now);
        }
    client_leave(set, now);
}

void client_set_times(struct client_set *set, int64_t heartbeat_ns, int64_t idle_timeout_ns)
{
    set->options.heartbeat_ns = heartbeat_ns;
    set->options.idle_timeout_ns = idle_timeout_ns;
}

const struct client_counters *client_set_counters(const struct client_set *set)
{
    return &set->counters;
}

/* Every call from outside is bracketed by these two, so that events may free clients. */
void client_enter(struct client_set *set)
{
    set->depth++;
}

static void free_zombies(struct client_set *set)
{
    while (set->zombies) {
        struct client *client = set->zombies;

        set->zombies = client->chain_next;
        seal_key_wipe(&client->session.key);
        free(client);
    }
}

/* Whose turn it is in the window: a client has two waiters, of which one is in use. */
static void grant(struct window_waiter *waiter, struct instant now)
{
    struct client *client = waiter->owner;

    if (waiter == &client->shake.waiter)
        client_shake_granted(client, now);
    else
        client_question_granted(client, now);
    client_schedule(client);
}

void client_leave(struct client_set *set, struct instant now)
{
    struct window_waiter *waiter;

    /* Places that became free go to those who wait for them. */
    while (set->depth == 1 && (waiter = window_next(&set->window)))
        grant(waiter, now);
    if (--set->depth == 0)
        free_zombies(set);
}

static struct client **chain_of(struct client_set *set, const struct peer *peer)
{
    return &set->chains[peer_hash(peer) & (set->chain_count - 1)];
}

struct client *client_find(struct client_set *set, const struct peer *peer)
{
    struct client *client = *chain_of(set, peer);

    while (client && !peer_equal(&client->peer, peer))
        client = client->chain_next;
    return client;
}

int client_new(struct client_set *set, const struct peer *peer, void *owner, struct client **ret_client)
{
    struct client **chain = chain_of(set, peer), *client;

    if (client_find(set, peer))
        return -EEXIST;
    if (set->count >= set->options.clients_max)
        return -ENOSPC;
    client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    client->set = set;
    client->peer = *peer;
    client->owner = owner;
    client->number = ++set->numbers;
    client->question.chunks = 1;
    client->question.waiter.owner = client->shake.waiter.owner = client;
    client->chain_next = *chain;
    *chain = client;
    set->count++;
    *ret_client = client;
    return 0;
}

static void count_unreached(struct client *client, bool unreached)
{
    if (unreached == client->counted)
        return;
    client->counted = unreached;
    client->set->unreached += unreached ? 1 : (size_t)-1;
}

void client_free(struct client *client)
{
    struct client_set *set;
    struct client **at;

    if (!client || client->gone)
        return;
    set = client->set;
    for (at = chain_of(set, &client->peer); *at != client;)
        at = &(*at)->chain_next;
    *at = client->chain_next;
    set->count--;
    client_session_end(client);
    client->question.asking = false;
    count_unreached(client, false);
    timers_clear(&set->timers, &client->timer);
    client->state = CLIENT_OFF;
    client->gone = true;
    client->chain_next = set->zombies;
    set->zombies = client;
    if (!set->depth)
        free_zombies(set);
}

void *client_owner(const struct client *client)
{
    return client->owner;
}

const struct peer *client_peer(const struct client *client)
{
    return &client->peer;
}

enum client_state client_state(const struct client *client)
{
    return client->state;
}

const struct message_node *client_node(const struct client *client)
{
    return client->has_node ? &client->node : NULL;
}

void client_change(struct client *client, enum client_state state, enum client_why why)
{
    client->state = state;
    count_unreached(client, state == CLIENT_SHAKING || state == CLIENT_STOPPED || state == CLIENT_OPENING);
    client->set->events.on_state(client->set->events.userdata, client, state, why);
}

/* Begins a frame: under the session's key if it has that and the type is one of a session's. */
void client_begin(struct client *client, struct envelope *envelope, uint8_t type, uint64_t request_id)
{
    const struct seal_key *key = seal_first_key(client->set->options.keys);

    if (type != FRAME_HELLO)
        key = client->session.sealed ? &client->session.key : NULL;
    envelope_begin(envelope, type, request_id, key);
}

void client_send(struct client *client, struct envelope *envelope)
{
    struct client_set *set = client->set;
    struct envelope_way way = {
        .random = &set->options.random,
        .direction = SEAL_TO_SERVER,
        .stream = client->peer.stream != 0,
        .frame_id = set->frame_id++,
    };
    struct text bytes;

    if (envelope->key == &client->session.key)
        way.sequence = ++client->session.sequence;
    bytes = envelope_end(envelope, &way);
    set->events.on_send(set->events.userdata, client, (const uint8_t *)bytes.bytes, bytes.len);
    if (set->events.on_asked && !client->gone)
        set->events.on_asked(set->events.userdata, client);
}

void client_sign_of_life(struct client *client)
{
    if (client->set->events.on_heard)
        client->set->events.on_heard(client->set->events.userdata, client);
}

/* Something of the session came: it lives. */
void client_heard(struct client *client, struct instant now)
{
    int64_t heartbeat_ns = client->session.heartbeat_ns;

    client->session.last_heard = now;
    /* Spread, as a thousand sessions may have begun together. */
    client->session.ping_next =
        instant_add_ns(now, heartbeat_ns - random_under(&client->set->options.random, heartbeat_ns / 4 + 1));
    client->session.ping_delay_ns = 0;
    client->session.ping_stamp = 0;
    client_sign_of_life(client);
}

/* RFC 6298, with its weights. */
void client_measured(struct client *client, struct instant now, int64_t round_trip_ns)
{
    int64_t error;

    if (round_trip_ns < 1)
        round_trip_ns = 1;
    client->delay_us = (uint64_t)(round_trip_ns + NS_PER_US - 1) / (uint64_t)NS_PER_US;
    client->delay_measured = now;
    if (!client->round_trip_ns) {
        client->round_trip_ns = round_trip_ns;
        client->variation_ns = round_trip_ns / 2;
        return;
    }
    error = round_trip_ns - client->round_trip_ns;
    client->variation_ns += ((error < 0 ? -error : error) - client->variation_ns) / 4;
    client->round_trip_ns += error / 8;
    if (client->round_trip_ns < 1)
        client->round_trip_ns = 1;
}

bool client_delay(const struct client *client, uint64_t *ret_delay_us, struct instant *ret_measured)
{
    if (!client->round_trip_ns)
        return false;
    *ret_delay_us = client->delay_us;
    *ret_measured = client->delay_measured;
    return true;
}

/* ---- time ---- */

static bool is_shaking(const struct client *client)
{
    return client->state == CLIENT_SHAKING || client->state == CLIENT_REFUSED ||
           client->state == CLIENT_STOPPED || client->state == CLIENT_OPENING;
}

/* Sets the client's timer to whatever it has to do next. */
void client_schedule(struct client *client)
{
    struct timers *timers = &client->set->timers;
    struct instant next = client_question_next(client);

    if (client->gone)
        return;
    if (is_shaking(client))
        next = instant_earlier(next, client->shake.next);
    if (client->state == CLIENT_UP)
        next = instant_earlier(next, client_session_next(client));
    if (next.ns == TIMERS_NEVER.ns)
        timers_clear(timers, &client->timer);
    else
        timers_set(timers, &client->timer, next);
}

struct instant client_set_next(const struct client_set *set)
{
    return timers_next(&set->timers);
}

void client_set_tick(struct client_set *set, struct instant now)
{
    struct timer *timer;

    client_enter(set);
    reassembly_expire(set->reassembly, now);
    while ((timer = timers_pop(&set->timers, now))) {
        struct client *client = (struct client *)((char *)timer - offsetof(struct client, timer));

        if (is_shaking(client) && client->shake.next.ns <= now.ns)
            client_shake_due(client, now);
        if (client->state == CLIENT_UP)
            client_session_due(client, now);
        client_question_due(client, now);
        client_schedule(client);
    }
    client_leave(set, now);
}

void client_set_overflowed(struct client_set *set, struct instant now)
{
    window_overflowed(&set->window, now);
}
