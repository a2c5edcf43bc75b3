/* QUERY, RESEND, PING and GOODBYE of a session, and the replies, kept for a second to be sent again. */
#include "proto/peers_internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

void peers_keep_alive(struct peers *peers, struct session *session, struct instant now)
{
    session->last_heard = now;
    timers_set(&peers->timers, &session->timer, instant_add_ns(now, peers->options.idle_timeout_ns));
}

/* ---- replies ---- */

/* The kept reply, if nothing has been written over it and it is not too old. */
static const uint8_t *kept_bytes(const struct peers *peers, const struct session *session, struct instant now)
{
    const struct kept_reply *kept = &session->kept;

    if (!kept->used || instant_since_ns(now, kept->made) >= PEERS_RESEND_NS ||
        peers->ring_written - kept->at > peers->ring_cap)
        return NULL;
    return peers->ring + kept->at % peers->ring_cap;
}

/* Makes room for a frame of at most `max` bytes in one piece. */
static uint8_t *ring_room(struct peers *peers, size_t max)
{
    size_t place = peers->ring_written % peers->ring_cap;

    if (peers->ring_cap - place < max)
        peers->ring_written += peers->ring_cap - place;
    return peers->ring + peers->ring_written % peers->ring_cap;
}

/* missing: a bit per chunk, NULL: all. */
static void send_chunks(struct peers *peers, struct session *session, const uint8_t *missing)
{
    struct chunk_sender *sender = &session->kept.sender;
    uint8_t datagram[CHUNK_HEADER_SIZE + UINT16_MAX];

    for (uint32_t i = 0; i < sender->chunks; i++) {
        struct text payload;

        if (missing && !(missing[i / 8] >> i % 8 & 1))
            continue;
        payload = chunk_sender_get(sender, i, datagram);
        memcpy(datagram + CHUNK_HEADER_SIZE, payload.bytes, payload.len);
        peers->events.on_send(peers->events.userdata, &session->peer, datagram,
                              CHUNK_HEADER_SIZE + payload.len);
    }
}

/* Writes the frame of a reply into the ring. Returns its length, or 0 if it does not fit. */
static size_t write_reply(struct peers *peers, struct session *session, const struct message_reply *reply,
                          uint8_t **ret_frame)
{
    struct frame_header header = {
        .version = FRAME_VERSION,
        .type = FRAME_REPLY,
        .request_id = session->waiting_request,
    };
    const struct seal_key *key = session->sealed ? &session->key : NULL;
    struct writer writer, count = writer_counting();
    uint8_t nonce[SEAL_NONCE_SIZE];
    size_t max, mark;

    message_put_reply(&count, reply);
    max = FRAME_HEADER_SIZE + SEAL_OVERHEAD + count.pos;
    if (max > CHUNK_FRAME_MAX)
        return 0;
    *ret_frame = ring_room(peers, max);
    writer = writer_over(*ret_frame, max);
    mark = seal_begin(&writer, &header, key);
    message_put_reply(&writer, reply);
    if (key)
        envelope_nonce(&peers->options.random, ++session->sequence, nonce);
    seal_end(&writer, mark, key, SEAL_TO_BACKEND, nonce);
    return writer.failed ? 0 : writer.pos;
}

static int keep_and_send(struct peers *peers, struct session *session, struct instant now,
                         const struct message_reply *reply)
{
    struct kept_reply *kept = &session->kept;
    uint8_t *frame;
    size_t len = write_reply(peers, session, reply, &frame);

    kept->used = false;
    if (!len)
        return -EMSGSIZE;
    if (session->peer.stream) {
        peers->events.on_send(peers->events.userdata, &session->peer, frame, len);
        return 0;
    }
    if (chunk_sender_init(&kept->sender, frame, len, peers->frame_id++, session->payload_size) < 0)
        return -EMSGSIZE;
    kept->request_id = session->waiting_request;
    kept->at = peers->ring_written;
    kept->made = now;
    kept->used = true;
    peers->ring_written += len;
    send_chunks(peers, session, NULL);
    return 0;
}

int peers_answer(struct peers *peers, struct instant now, const struct peers_ticket *ticket,
                 const struct message_reply *reply)
{
    struct session *session = peers_find_token(peers, ticket->token);
    struct message_reply filled = *reply;

    if (!session || !session->waits || session->waiting_request != ticket->request_id)
        return 1;
    session->waits = false;
    filled.token = session->token;
    peers->counters.replies++;
    return keep_and_send(peers, session, now, &filled);
}

/* ---- requests ---- */

static enum peers_input on_query(struct peers *peers, struct session *session, const struct request *request)
{
    struct peers_query ask = {.peer = &session->peer};
    uint64_t id = request->header.request_id;
    struct message_query query;

    if (message_get_query(request->body, &query) < 0)
        return PEERS_INPUT_BAD_MESSAGE;
    session->last_query = request->now;
    if (session->waits && session->waiting_request == id)
        return PEERS_INPUT_TAKEN; /* asked again; the owner is at it */
    if (session->kept.used && session->kept.request_id == id && kept_bytes(peers, session, request->now)) {
        peers->counters.resends++;
        send_chunks(peers, session, NULL);
        return PEERS_INPUT_TAKEN;
    }
    peers->counters.queries++;
    session->queries++;
    session->waits = true;
    session->waiting_request = id;
    ask.ticket = (struct peers_ticket){session->token, id};
    ask.facts_hash = query.facts_hash;
    ask.process_generation = query.process_generation;
    ask.interval_us = query.interval_us;
    peers->events.on_query(peers->events.userdata, &ask);
    return PEERS_INPUT_TAKEN;
}

static enum peers_input on_resend(struct peers *peers, struct session *session, const struct request *request)
{
    struct message_resend resend;

    if (message_get_resend(request->body, &resend) < 0)
        return PEERS_INPUT_BAD_MESSAGE;
    if (!kept_bytes(peers, session, request->now) || session->kept.request_id != resend.request_id ||
        session->kept.sender.chunks != resend.chunks)
        return PEERS_INPUT_STALE;
    peers->counters.resends++;
    send_chunks(peers, session, resend.missing);
    return PEERS_INPUT_TAKEN;
}

static enum peers_input on_ping(struct peers *peers, struct session *session, const struct request *request)
{
    struct message_ping ping;
    struct envelope envelope;

    if (message_get_ping(request->body, &ping) < 0)
        return PEERS_INPUT_BAD_MESSAGE;
    peers->counters.pings++;
    envelope_begin(&envelope, FRAME_PONG, request->header.request_id, session->sealed ? &session->key : NULL);
    message_put_pong(&envelope.writer, &ping);
    peers_send(peers, &session->peer, &envelope, session);
    return PEERS_INPUT_TAKEN;
}

static enum peers_input on_goodbye(struct peers *peers, struct session *session)
{
    peers_forget(peers, session, PEERS_SESSION_GOODBYE);
    return PEERS_INPUT_TAKEN;
}

/*
 * Every such body begins with the token. A plain frame shows by it whose it is; a sealed one must carry that
 * of the session whose key has opened it. A session belongs to one address.
 */
static struct session *session_of(struct peers *peers, const struct request *request)
{
    struct reader body = request->body;
    struct session *session = peers_find_token(peers, read_u64(&body));

    if (!session || body.failed || !peer_equal(&session->peer, request->from))
        return NULL;
    return request->sealed ? (session == request->session ? session : NULL)
                           : (session->sealed ? NULL : session);
}

enum peers_input peers_on_session_frame(struct peers *peers, const struct request *request)
{
    struct session *session = session_of(peers, request);

    if (!session) {
        peers_refuse(peers, request, REFUSE_UNKNOWN_SESSION);
        return PEERS_INPUT_UNKNOWN;
    }
    peers_proved(peers, session);
    peers_keep_alive(peers, session, request->now);
    switch (request->header.type) {
    case FRAME_QUERY:
        return on_query(peers, session, request);
    case FRAME_RESEND:
        return on_resend(peers, session, request);
    case FRAME_PING:
        return on_ping(peers, session, request);
    default:
        assert(request->header.type == FRAME_GOODBYE);
        return on_goodbye(peers, session);
    }
}
