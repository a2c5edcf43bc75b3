#include "proto/discovery_common.h"

static const char *const input_names[DISCOVERY_INPUTS] = {
    [DISCOVERY_INPUT_TAKEN] = "taken",
    [DISCOVERY_INPUT_KNOWN] = "known",
    [DISCOVERY_INPUT_BAD_CHUNK] = "bad_chunk",
    [DISCOVERY_INPUT_OTHER_VERSION] = "other_version",
    [DISCOVERY_INPUT_BAD_FRAME] = "bad_frame",
    [DISCOVERY_INPUT_UNSEALED] = "unsealed",
    [DISCOVERY_INPUT_SEALED] = "sealed",
    [DISCOVERY_INPUT_BAD_SEAL] = "bad_seal",
    [DISCOVERY_INPUT_BAD_TYPE] = "bad_type",
    [DISCOVERY_INPUT_OTHER_SIDE] = "other_side",
    [DISCOVERY_INPUT_BAD_MESSAGE] = "bad_message",
    [DISCOVERY_INPUT_RATE] = "rate",
    [DISCOVERY_INPUT_FULL] = "full",
};

const char *discovery_input_name(enum discovery_input input)
{
    return input_names[input];
}

static enum discovery_input from_envelope(enum envelope_outcome outcome)
{
    switch (outcome) {
    case ENVELOPE_OK:
        return DISCOVERY_INPUT_TAKEN;
    case ENVELOPE_OTHER_VERSION:
        return DISCOVERY_INPUT_OTHER_VERSION;
    case ENVELOPE_UNSEALED:
        return DISCOVERY_INPUT_UNSEALED;
    case ENVELOPE_SEALED:
        return DISCOVERY_INPUT_SEALED;
    case ENVELOPE_BAD_FRAME:
        break;
    }
    return DISCOVERY_INPUT_BAD_FRAME;
}

enum discovery_input discovery_read(const uint8_t *bytes, size_t len, const struct seal_keys *keys,
                                    struct discovery_message *ret_message)
{
    struct envelope_frame in;
    enum discovery_input input;
    struct chunk chunk;
    int outcome = chunk_read(reader_over(bytes, len), &chunk);

    if (outcome == CHUNK_BAD_VERSION)
        return DISCOVERY_INPUT_OTHER_VERSION;
    if (outcome != CHUNK_OK || chunk.chunks != 1 || chunk.payload_len > sizeof(ret_message->frame))
        return DISCOVERY_INPUT_BAD_CHUNK;
    memcpy(ret_message->frame, chunk.payload, chunk.payload_len);
    input = from_envelope(envelope_read(ret_message->frame, chunk.payload_len, keys, &in));
    if (input != DISCOVERY_INPUT_TAKEN)
        return input;
    if (in.header.type != FRAME_PROBE && in.header.type != FRAME_ANNOUNCE)
        return DISCOVERY_INPUT_BAD_TYPE;
    if (in.sealed && !envelope_open(keys, in.header.type == FRAME_PROBE ? SEAL_TO_SERVER : SEAL_TO_BACKEND,
                                    ret_message->frame, chunk.payload_len, &in.body))
        return DISCOVERY_INPUT_BAD_SEAL;
    ret_message->type = in.header.type;
    ret_message->body = in.body;
    return DISCOVERY_INPUT_TAKEN;
}
