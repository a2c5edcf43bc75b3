/* The ladder: every request goes down it, and leaves at the first rung that does not hold. */
#include "proto/peers_internal.h"

#include <string.h>

static const char *const input_names[PEERS_INPUTS] = {
    [PEERS_INPUT_TAKEN] = "taken",
    [PEERS_INPUT_BAD_CHUNK] = "bad_chunk",
    [PEERS_INPUT_BAD_FRAME] = "bad_frame",
    [PEERS_INPUT_OTHER_VERSION] = "other_version",
    [PEERS_INPUT_NOT_ALLOWED] = "not_allowed",
    [PEERS_INPUT_RATE] = "rate",
    [PEERS_INPUT_UNSEALED] = "unsealed",
    [PEERS_INPUT_SEALED] = "sealed",
    [PEERS_INPUT_BAD_SEAL] = "bad_seal",
    [PEERS_INPUT_REPLAYED] = "replayed",
    [PEERS_INPUT_BAD_TYPE] = "bad_type",
    [PEERS_INPUT_BAD_MESSAGE] = "bad_message",
    [PEERS_INPUT_BAD_COOKIE] = "bad_cookie",
    [PEERS_INPUT_FULL] = "full",
    [PEERS_INPUT_UNKNOWN] = "unknown_session",
    [PEERS_INPUT_STALE] = "stale_resend",
};

const char *peers_input_name(enum peers_input input)
{
    return input_names[input];
}

/* Refuses, and says which rung it was. */
static enum peers_input refused(struct peers *peers, const struct request *request, enum refuse_reason reason,
                                enum peers_input input)
{
    peers_refuse(peers, request, reason);
    return input;
}

/* The session whose key has this id and opens the frame; its peer must be the sender. */
static enum peers_input open_of_session(struct peers *peers, struct request *request, uint8_t *frame,
                                        size_t len)
{
    const uint8_t *id = seal_peek_key_id(reader_over(frame + FRAME_HEADER_SIZE, len - FRAME_HEADER_SIZE));
    uint64_t sequence;

    for (size_t i = 0; id && i < peers->options.max_connections; i++) {
        struct session *session = &peers->sessions[i];

        if (!session->used || !session->sealed || memcmp(session->key.id, id, SEAL_KEY_ID_SIZE) != 0 ||
            !peer_equal(&session->peer, request->from) ||
            seal_open(&session->key, 1, SEAL_TO_SERVER, frame, len, &request->body, &sequence) != SEAL_OK)
            continue;
        if (!replay_accept(&session->replay, sequence))
            return PEERS_INPUT_REPLAYED;
        request->session = session;
        return PEERS_INPUT_TAKEN;
    }
    return PEERS_INPUT_UNKNOWN;
}

static bool is_session_type(uint8_t type)
{
    return type == FRAME_QUERY || type == FRAME_RESEND || type == FRAME_PING || type == FRAME_GOODBYE;
}

/* Opens what is sealed; afterwards request->body can be read. */
static enum peers_input open_seal(struct peers *peers, struct request *request, uint8_t *frame, size_t len)
{
    enum peers_input input;

    if (!request->sealed)
        return PEERS_INPUT_TAKEN;
    if (!is_session_type(request->header.type)) {
        request->key = envelope_open(peers->options.keys, SEAL_TO_SERVER, frame, len, &request->body);
        return request->key ? PEERS_INPUT_TAKEN : PEERS_INPUT_BAD_SEAL;
    }
    input = open_of_session(peers, request, frame, len);
    return input == PEERS_INPUT_UNKNOWN ? refused(peers, request, REFUSE_UNKNOWN_SESSION, input) : input;
}

static bool take_rate(struct peers *peers, const struct request *request)
{
    struct rate *rate = request->header.type == FRAME_HELLO ? peers->handshakes : peers->requests;

    return rate_take(rate, request->now, request->from->source);
}

static enum peers_input take_frame(struct peers *peers, struct instant now, const struct peer *from,
                                   uint8_t *frame, size_t len)
{
    struct request request = {.now = now, .from = from, .frame_len = len};
    struct envelope_frame in = {0};
    enum envelope_outcome outcome = envelope_read(frame, len, peers->options.keys, &in);
    enum peers_input input;

    if (outcome == ENVELOPE_BAD_FRAME)
        return PEERS_INPUT_BAD_FRAME;
    request.header = in.header;
    request.body = in.body;
    request.sealed = outcome == ENVELOPE_OK && in.sealed;
    if (!peers->events.on_allow(peers->events.userdata, from))
        return refused(peers, &request, REFUSE_NOT_ALLOWED, PEERS_INPUT_NOT_ALLOWED);
    if (outcome == ENVELOPE_OTHER_VERSION)
        return refused(peers, &request, REFUSE_VERSION, PEERS_INPUT_OTHER_VERSION);
    if (outcome == ENVELOPE_UNSEALED)
        return refused(peers, &request, REFUSE_SEALED_ONLY, PEERS_INPUT_UNSEALED);
    if (!take_rate(peers, &request))
        return refused(peers, &request, REFUSE_RATE, PEERS_INPUT_RATE);
    if (outcome == ENVELOPE_SEALED)
        return refused(peers, &request, REFUSE_SEALED_ONLY, PEERS_INPUT_SEALED);
    if (request.header.type != FRAME_HELLO && !is_session_type(request.header.type))
        return PEERS_INPUT_BAD_TYPE;
    input = open_seal(peers, &request, frame, len);
    if (input != PEERS_INPUT_TAKEN)
        return input;
    return request.header.type == FRAME_HELLO ? peers_on_hello(peers, &request)
                                              : peers_on_session_frame(peers, &request);
}

static enum peers_input take_datagram(struct peers *peers, struct instant now, const struct peer *from,
                                      const uint8_t *bytes, size_t len)
{
    struct chunk chunk;
    int outcome = chunk_read(reader_over(bytes, len), &chunk);

    if (outcome == CHUNK_BAD_VERSION) {
        struct request request = {.now = now, .from = from, .frame_len = len - CHUNK_HEADER_SIZE};

        if (peers->events.on_allow(peers->events.userdata, from))
            peers_refuse(peers, &request, REFUSE_VERSION);
        return PEERS_INPUT_OTHER_VERSION;
    }
    if (outcome != CHUNK_OK || chunk.chunks != 1 || chunk.payload_len > sizeof(peers->frame))
        return PEERS_INPUT_BAD_CHUNK;
    memcpy(peers->frame, chunk.payload, chunk.payload_len);
    return take_frame(peers, now, from, peers->frame, chunk.payload_len);
}

enum peers_input peers_datagram(struct peers *peers, struct instant now, const struct peer *from,
                                const uint8_t *bytes, size_t len)
{
    enum peers_input input = take_datagram(peers, now, from, bytes, len);

    peers->counters.input[input]++;
    return input;
}

enum peers_input peers_stream_frame(struct peers *peers, struct instant now, const struct peer *from,
                                    uint8_t *frame, size_t len)
{
    enum peers_input input = take_frame(peers, now, from, frame, len);

    peers->counters.input[input]++;
    return input;
}
