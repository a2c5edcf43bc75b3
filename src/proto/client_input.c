/* The ladder of what comes in: datagrams and frames of servers, on their way to those who deal with them. */
#include "proto/client_internal.h"

static enum client_input dispatch(struct client *client, struct instant now,
                                  const struct frame_header *header, struct reader body,
                                  const struct seal_key *file_key, unsigned chunks)
{
    bool sealed = header->flags & FRAME_SEALED;
    bool of_session = !sealed || !file_key; /* a plain one may be of either kind */

    if (header->type == FRAME_REFUSE)
        return client_on_refuse(client, now, body);
    if (!sealed || file_key) {
        if (header->type == FRAME_CHALLENGE)
            return client_on_challenge(client, now, body);
        if (header->type == FRAME_WELCOME)
            return client_on_welcome(client, now, body, file_key);
    }
    if (of_session && header->type == FRAME_REPLY)
        return client_on_reply(client, now, header->request_id, body, chunks);
    if (of_session && header->type == FRAME_PONG)
        return client_on_pong(client, now, body);
    if (of_session && header->type == FRAME_GOODBYE)
        return client_on_goodbye(client, now, body);
    return CLIENT_INPUT_BAD_TYPE;
}

/* A sealed frame: of the session, or else under a key of the file. */
static enum client_input open_and_dispatch(struct client *client, struct instant now,
                                           const struct frame_header *header, uint8_t *frame, size_t len,
                                           unsigned chunks)
{
    struct client_session *session = &client->session;
    const struct seal_key *file_key = NULL;
    struct reader body;
    uint64_t sequence;

    if (session->sealed &&
        seal_open(&session->key, 1, SEAL_TO_BACKEND, frame, len, &body, &sequence) == SEAL_OK) {
        if (!replay_accept(&session->replay, sequence))
            return CLIENT_INPUT_REPLAYED;
    } else {
        file_key = envelope_open(client->set->options.keys, SEAL_TO_BACKEND, frame, len, &body);
        if (!file_key)
            return CLIENT_INPUT_BAD_SEAL;
    }
    return dispatch(client, now, header, body, file_key, chunks);
}

/* A plain refusal where all must be sealed changes nothing, but is worth telling. */
static void note_plain_refusal(struct client *client, const struct envelope_frame *in)
{
    struct message_refuse refuse;

    if (client->state == CLIENT_SHAKING && in->header.type == FRAME_REFUSE &&
        message_get_refuse(in->body, &refuse) == 0 && refuse.reason == REFUSE_SEALED_ONLY &&
        refuse.echo == client->shake.nonce)
        client->seal_mismatch = true;
}

static enum client_input take_frame(struct client *client, struct instant now, uint8_t *frame, size_t len,
                                    unsigned chunks)
{
    struct envelope_frame in;

    switch (envelope_read(frame, len, client->set->options.keys, &in)) {
    case ENVELOPE_OK:
        return in.sealed ? open_and_dispatch(client, now, &in.header, frame, len, chunks)
                         : dispatch(client, now, &in.header, in.body, NULL, chunks);
    case ENVELOPE_OTHER_VERSION:
        if (client->state == CLIENT_SHAKING)
            client->their_frame_version = in.header.version;
        return CLIENT_INPUT_OTHER_VERSION;
    case ENVELOPE_UNSEALED:
        note_plain_refusal(client, &in);
        return CLIENT_INPUT_UNSEALED;
    case ENVELOPE_SEALED:
        client->seal_mismatch = client->state == CLIENT_SHAKING;
        return CLIENT_INPUT_SEALED;
    case ENVELOPE_BAD_FRAME:
        break;
    }
    return CLIENT_INPUT_BAD_FRAME;
}

static enum client_input take_chunk(struct client *client, struct instant now, const struct chunk *chunk)
{
    struct reassembly_frame frame;

    switch (reassembly_add(client->set->reassembly, now, client->number, chunk, &frame)) {
    case REASSEMBLY_WHOLE:
        return take_frame(client, now, frame.bytes, frame.len, chunk->chunks);
    case REASSEMBLY_PART:
        client_question_progress(client, now);
        return CLIENT_INPUT_PART;
    case REASSEMBLY_DUPLICATE:
        return CLIENT_INPUT_DUPLICATE;
    default:
        return CLIENT_INPUT_CONFLICT;
    }
}

static enum client_input take_datagram(struct client_set *set, struct instant now, struct client *client,
                                       const uint8_t *bytes, size_t len)
{
    enum client_input input;
    struct chunk chunk;
    int outcome = chunk_read(reader_over(bytes, len), &chunk);

    if (outcome == CHUNK_BAD_VERSION) {
        if (client->state == CLIENT_SHAKING)
            client->their_frame_version = bytes[2];
        return CLIENT_INPUT_OTHER_VERSION;
    }
    if (outcome != CHUNK_OK)
        return CLIENT_INPUT_BAD_CHUNK;
    client_enter(set);
    input = take_chunk(client, now, &chunk);
    client_schedule(client);
    client_leave(set, now);
    return input;
}

enum client_input client_set_datagram(struct client_set *set, struct instant now, const struct peer *from,
                                      const uint8_t *bytes, size_t len)
{
    struct client *client = client_find(set, from);
    enum client_input input = client ? take_datagram(set, now, client, bytes, len) : CLIENT_INPUT_STRANGER;

    set->counters.input[input]++;
    return input;
}

enum client_input client_stream_frame(struct client *client, struct instant now, uint8_t *frame, size_t len)
{
    struct client_set *set = client->set;
    enum client_input input;

    client_enter(set);
    input = take_frame(client, now, frame, len, 1);
    set->counters.input[input]++;
    client_schedule(client);
    client_leave(set, now);
    return input;
}
