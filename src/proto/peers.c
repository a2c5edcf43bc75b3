/* The table itself, what leaves it, and its time. The ladder of what comes in is in peers_input.c. */
#include "proto/peers.h"

#include "proto/peers_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Rates. A backend that watches at 50 ms with some loss asks 30 times a second, and eight may live on one
 * host; a handshake is two HELLOs, and a login node with many backends may lose them all at once.
 */
#define SOURCES 1024u
static const struct rate_options handshake_rate = {20, 64, 2000, 4000, SOURCES};
static const struct rate_options request_rate = {2000, 4000, 0, 0, SOURCES};
static const struct rate_options refusal_rate = {2, 8, 200, 400, SOURCES};
static const struct rate_options log_rate = {1.0 / 600, 1, 0.1, 20, SOURCES};

void peers_free(struct peers *peers)
{
    if (!peers)
        return;
    for (size_t i = 0; peers->sessions && i < peers->options.max_connections; i++)
        seal_key_wipe(&peers->sessions[i].key);
    rate_free(peers->handshakes);
    rate_free(peers->requests);
    rate_free(peers->refusals);
    rate_free(peers->log_lines);
    timers_deinit(&peers->timers);
    free(peers->sessions);
    free(peers->ring);
    free(peers);
}

static int allocate(struct peers *peers)
{
    int r = timers_init(&peers->timers, peers->options.max_connections);

    peers->sessions = calloc(peers->options.max_connections, sizeof(*peers->sessions));
    peers->ring = malloc(peers->ring_cap);
    if (r == 0)
        r = rate_new(&handshake_rate, &peers->handshakes);
    if (r == 0)
        r = rate_new(&request_rate, &peers->requests);
    if (r == 0)
        r = rate_new(&refusal_rate, &peers->refusals);
    if (r == 0)
        r = rate_new(&log_rate, &peers->log_lines);
    return r < 0 || peers->sessions == NULL || peers->ring == NULL ? -ENOMEM : 0;
}

int peers_new(const struct peers_options *options, const struct peers_events *events,
              struct peers **ret_peers)
{
    struct peers *peers;
    int r;

    if (!options->max_connections || options->max_connections > PEERS_SESSIONS_MAX ||
        (options->reply_bytes && options->reply_bytes < 2 * CHUNK_FRAME_MAX))
        return -EINVAL;
    peers = calloc(1, sizeof(*peers));
    if (!peers)
        return -ENOMEM;
    peers->options = *options;
    peers->events = *events;
    if (!peers->options.per_source)
        peers->options.per_source = PEERS_PER_SOURCE;
    peers->ring_cap = options->reply_bytes ? options->reply_bytes : PEERS_REPLIES_BYTES;
    peers->frame_id = (uint32_t)random_next(&options->random);
    r = allocate(peers);
    if (r < 0) {
        peers_free(peers);
        return r;
    }
    *ret_peers = peers;
    return 0;
}

/* A session's place is the lower part of its token. */
struct session *peers_find_token(struct peers *peers, uint64_t token)
{
    struct session *session =
        &peers->sessions[(token & (PEERS_SESSIONS_MAX - 1)) % peers->options.max_connections];

    return session->used && session->token == token ? session : NULL;
}

/* The session ends. Says nothing to the peer. */
void peers_forget(struct peers *peers, struct session *session, enum peers_change change)
{
    struct peer peer = session->peer;
    bool was_proved = session->proved;

    timers_clear(&peers->timers, &session->timer);
    seal_key_wipe(&session->key);
    *session = (struct session){0};
    peers->count--;
    peers->counters.sessions_idle += change == PEERS_SESSION_IDLE;
    peers->counters.sessions_dropped += change == PEERS_SESSION_DROPPED;
    if (was_proved && peers->events.on_session)
        peers->events.on_session(peers->events.userdata, &peer, change);
}

/* session: whose key has sealed it; NULL: the file's, or none. */
void peers_send(struct peers *peers, const struct peer *to, struct envelope *envelope,
                struct session *session)
{
    struct envelope_way way = {
        .random = &peers->options.random,
        .direction = SEAL_TO_BACKEND,
        .sequence = session && session->sealed ? ++session->sequence : 0,
        .stream = to->stream != 0,
        .frame_id = peers->frame_id++,
    };
    struct text bytes = envelope_end(envelope, &way);

    peers->events.on_send(peers->events.userdata, to, (const uint8_t *)bytes.bytes, bytes.len);
}

static void put_refusal(struct envelope *envelope, const struct seal_key *key, uint64_t echo,
                        enum refuse_reason reason)
{
    struct message_refuse refuse = {
        .echo = echo,
        .reason = (uint8_t)reason,
        .version_min = PROTOCOL_VERSION_MIN,
        .version_max = PROTOCOL_VERSION_MAX,
    };

    envelope_begin(envelope, FRAME_REFUSE, echo, key);
    message_put_refuse(&envelope->writer, &refuse);
}

/*
 * Says no: seldom, and never with more bytes than were received. Sealed like the request, or under the file's
 * first key where that could not be opened. All requests carry what is to be echoed as their request id.
 */
void peers_refuse(struct peers *peers, const struct request *request, enum refuse_reason reason)
{
    const struct seal_key *key = NULL;
    struct envelope envelope;

    if (request->sealed)
        key = request->key ? request->key : seal_first_key(peers->options.keys);
    if (request->header.version == FRAME_VERSION &&
        !message_may_answer_stranger(request->header.type, FRAME_REFUSE))
        return;
    put_refusal(&envelope, key, request->header.request_id, reason);
    if (envelope.writer.pos + (key ? SEAL_TAG_SIZE : 0) > request->frame_len ||
        !rate_take(peers->refusals, request->now, request->from->source)) {
        peers->counters.refusals_kept_back++;
        return;
    }
    peers->counters.refused[reason]++;
    peers_send(peers, request->from, &envelope, NULL);
    if (peers->events.on_refused &&
        rate_take(peers->log_lines, request->now, request->from->source * 31 + (uint64_t)reason))
        peers->events.on_refused(peers->events.userdata, request->from, reason);
}

size_t peers_version_refusal(uint64_t request_id, uint8_t ret_frame[PEERS_REFUSAL_SIZE])
{
    struct envelope_way way = {.direction = SEAL_TO_BACKEND, .stream = true};
    struct envelope envelope;
    struct text bytes;

    put_refusal(&envelope, NULL, request_id, REFUSE_VERSION);
    bytes = envelope_end(&envelope, &way);
    assert(bytes.len <= PEERS_REFUSAL_SIZE);
    memcpy(ret_frame, bytes.bytes, bytes.len);
    return bytes.len;
}

void peers_stream_closed(struct peers *peers, uint64_t stream)
{
    for (size_t i = 0; i < peers->options.max_connections; i++)
        if (peers->sessions[i].used && peers->sessions[i].peer.stream == stream)
            peers_forget(peers, &peers->sessions[i], PEERS_SESSION_CLOSED);
}

struct instant peers_next(const struct peers *peers)
{
    return timers_next(&peers->timers);
}

void peers_tick(struct peers *peers, struct instant now)
{
    struct timer *timer;

    while ((timer = timers_pop(&peers->timers, now)))
        peers_forget(peers, (struct session *)((char *)timer - offsetof(struct session, timer)),
                     PEERS_SESSION_IDLE);
}

void peers_set_keys(struct peers *peers, const struct seal_keys *keys)
{
    bool sealed = seal_first_key(keys) != NULL;

    peers->options.keys = keys;
    for (size_t i = 0; i < peers->options.max_connections; i++)
        if (peers->sessions[i].used && peers->sessions[i].sealed != sealed)
            peers_forget(peers, &peers->sessions[i], PEERS_SESSION_REPLACED);
}

/* Tells the peer that its session ends. */
void peers_say_goodbye(struct peers *peers, struct session *session, enum goodbye_reason reason)
{
    struct message_goodbye goodbye = {.token = session->token, .reason = (uint8_t)reason};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_GOODBYE, 0, session->sealed ? &session->key : NULL);
    message_put_goodbye(&envelope.writer, &goodbye);
    peers_send(peers, &session->peer, &envelope, session);
}

void peers_stop(struct peers *peers, struct instant now)
{
    (void)now;
    for (size_t i = 0; i < peers->options.max_connections; i++) {
        struct session *session = &peers->sessions[i];

        if (!session->used)
            continue;
        peers_say_goodbye(peers, session, GOODBYE_STOPPING);
        peers_forget(peers, session, PEERS_SESSION_CLOSED);
    }
}

const struct peers_counters *peers_counters(const struct peers *peers)
{
    return &peers->counters;
}

size_t peers_sessions(const struct peers *peers)
{
    return peers->count;
}

size_t peers_sessions_max(const struct peers *peers)
{
    return peers->options.max_connections;
}

bool peers_session_at(const struct peers *peers, size_t i, struct peers_session *ret_session)
{
    for (size_t at = 0; at < peers->options.max_connections; at++) {
        const struct session *session = &peers->sessions[at];

        if (!session->used || i--)
            continue;
        *ret_session = (struct peers_session){&session->peer, session->queries, session->last_query,
                                              session->last_heard};
        return true;
    }
    return false;
}
