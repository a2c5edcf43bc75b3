/* HELLO: cookies, places in the table, WELCOME. */
#include "proto/peers_internal.h"

#include <string.h>

static uint64_t epoch_of(struct instant now)
{
    return (uint64_t)now.ns / (COOKIE_EPOCH_SECS * (uint64_t)NS_PER_S);
}

static struct text address_of(const struct peer *peer)
{
    return (struct text){(const char *)peer->address, sizeof(peer->address)};
}

static void send_challenge(struct peers *peers, const struct request *request, uint64_t nonce)
{
    struct message_challenge challenge = {.nonce = nonce};
    struct envelope envelope;

    cookie_make(peers->options.secret, address_of(request->from), nonce, epoch_of(request->now),
                challenge.cookie);
    envelope_begin(&envelope, FRAME_CHALLENGE, request->header.request_id, request->key);
    message_put_challenge(&envelope.writer, &challenge);
    peers_send(peers, request->from, &envelope, NULL);
}

/* Has the sender shown that it receives at its address? If not, a cookie is on its way to that address. */
static enum peers_input check_cookie(struct peers *peers, const struct request *request,
                                     const struct message_hello *hello)
{
    if (request->from->stream)
        return PEERS_INPUT_TAKEN;
    if (hello->has_cookie && cookie_check(peers->options.secret, address_of(request->from), hello->nonce,
                                          epoch_of(request->now), hello->cookie))
        return PEERS_INPUT_TAKEN;
    send_challenge(peers, request, hello->nonce);
    return hello->has_cookie ? PEERS_INPUT_BAD_COOKIE : PEERS_INPUT_TAKEN;
}

/* Facts go along where they fit the datagram; else the first REPLY brings them, whose chunks can be resent.
 */
static void put_welcome(struct peers *peers, const struct session *session, struct envelope *envelope)
{
    struct message_welcome welcome = {
        .nonce = session->client_nonce,
        .token = session->token,
        .server_nonce = session->server_nonce,
        .node = peers->options.node,
        .version = session->version,
        .idle_timeout_ms = (uint32_t)(peers->options.idle_timeout_ns / NS_PER_MS),
        .software = peers->options.software,
    };
    size_t room = ENVELOPE_SIZE - CHUNK_HEADER_SIZE;
    struct writer length = writer_counting();

    if (!session->peer.stream && session->payload_size < room)
        room = session->payload_size;
    peers->events.on_facts(peers->events.userdata, &welcome.facts_hash, &welcome.facts);
    message_put_welcome(&length, &welcome);
    if (FRAME_HEADER_SIZE + SEAL_OVERHEAD + length.pos > room)
        welcome.facts = (struct reader){0};
    message_put_welcome(&envelope->writer, &welcome);
}

static void send_welcome(struct peers *peers, const struct request *request, struct session *session)
{
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_WELCOME, request->header.request_id, request->key);
    put_welcome(peers, session, &envelope);
    peers_send(peers, &session->peer, &envelope, NULL);
}

/* The session that this HELLO has already made, whose WELCOME was lost. */
static struct session *find_made(struct peers *peers, const struct request *request, uint64_t nonce)
{
    for (size_t i = 0; i < peers->options.max_connections; i++) {
        struct session *session = &peers->sessions[i];

        if (session->used && session->client_nonce == nonce && peer_equal(&session->peer, request->from))
            return session;
    }
    return NULL;
}

/* Of two sessions, the one that is missed less: one that was never used, else the one that asked longest ago.
 */
static bool is_idler(const struct session *a, const struct session *b)
{
    if (a->proved != b->proved)
        return !a->proved;
    return a->last_query.ns < b->last_query.ns;
}

/* May the session go for another? */
static bool is_spare(const struct session *session, struct instant now)
{
    return !session->proved || instant_since_ns(now, session->last_query) >= PEERS_BUSY_NS;
}

/* A free place; the idlest session of the source, or of all, makes one where there is none. */
static struct session *make_place(struct peers *peers, const struct request *request)
{
    struct session *free_place = NULL, *idlest = NULL, *idlest_of_source = NULL, *victim;
    size_t of_source = 0;

    for (size_t i = 0; i < peers->options.max_connections; i++) {
        struct session *session = &peers->sessions[i];

        if (!session->used) {
            free_place = free_place ? free_place : session;
            continue;
        }
        if (!idlest || is_idler(session, idlest))
            idlest = session;
        if (session->peer.source != request->from->source)
            continue;
        of_source++;
        if (!idlest_of_source || is_idler(session, idlest_of_source))
            idlest_of_source = session;
    }
    if (of_source < peers->options.per_source && free_place)
        return free_place;
    victim = of_source >= peers->options.per_source ? idlest_of_source : idlest;
    if (!is_spare(victim, request->now))
        return NULL;
    if (victim->proved)
        peers_say_goodbye(peers, victim, GOODBYE_IDLE);
    peers_forget(peers, victim, PEERS_SESSION_DROPPED);
    return victim;
}

/* A random token, whose lower part is the session's place in the table. */
static uint64_t make_token(struct peers *peers, const struct session *session)
{
    uint64_t mask = PEERS_SESSIONS_MAX - 1;
    uint64_t token = random_next(&peers->options.random) & ~mask;

    return (token ? token : mask + 1) | (uint64_t)(session - peers->sessions);
}

static struct session *make_session(struct peers *peers, const struct request *request,
                                    const struct message_hello *hello)
{
    struct session *session = make_place(peers, request);

    if (!session)
        return NULL;
    *session = (struct session){
        .used = true,
        .peer = *request->from,
        .token = make_token(peers, session),
        .client_nonce = hello->nonce,
        .server_nonce = random_next(&peers->options.random),
        .version = hello->version_max < PROTOCOL_VERSION_MAX ? hello->version_max : PROTOCOL_VERSION_MAX,
        .sealed = request->key != NULL,
        .begun = request->now,
        .last_heard = request->now,
        .last_query = request->now,
    };
    if (request->key)
        seal_key_derive(&session->key, request->key, session->client_nonce, session->server_nonce);
    session->payload_size = chunk_payload_size(peers->events.on_mtu(peers->events.userdata, request->from));
    timers_set(&peers->timers, &session->timer, instant_add_ns(request->now, peers->options.idle_timeout_ns));
    peers->count++;
    return session;
}

enum peers_input peers_on_hello(struct peers *peers, const struct request *request)
{
    struct message_hello hello;
    struct session *session;
    enum peers_input input;

    if (message_get_hello(request->body, &hello) < 0 || hello.nonce != request->header.request_id)
        return PEERS_INPUT_BAD_MESSAGE;
    if (hello.version_min > PROTOCOL_VERSION_MAX || hello.version_max < PROTOCOL_VERSION_MIN) {
        peers_refuse(peers, request, REFUSE_VERSION);
        return PEERS_INPUT_OTHER_VERSION;
    }
    input = check_cookie(peers, request, &hello);
    if (input != PEERS_INPUT_TAKEN || (!request->from->stream && !hello.has_cookie))
        return input;
    session = find_made(peers, request, hello.nonce);
    if (!session)
        session = make_session(peers, request, &hello);
    if (!session) {
        peers_refuse(peers, request, REFUSE_FULL);
        return PEERS_INPUT_FULL;
    }
    send_welcome(peers, request, session);
    return PEERS_INPUT_TAKEN;
}

/*
 * The first frame of a session came. Only now do older sessions of the peer end: a captured HELLO that is
 * sent again can make a session, but not use it.
 */
void peers_proved(struct peers *peers, struct session *session)
{
    if (session->proved)
        return;
    session->proved = true;
    peers->counters.sessions++;
    for (size_t i = 0; i < peers->options.max_connections; i++) {
        struct session *other = &peers->sessions[i];

        if (other->used && other != session && peer_equal(&other->peer, &session->peer) &&
            other->begun.ns <= session->begun.ns)
            peers_forget(peers, other, PEERS_SESSION_REPLACED);
    }
    if (peers->events.on_session)
        peers->events.on_session(peers->events.userdata, &session->peer, PEERS_SESSION_NEW);
}
