#include "proto/envelope.h"

#include <assert.h>

void envelope_begin(struct envelope *envelope, uint8_t type, uint64_t request_id, const struct seal_key *key)
{
    struct frame_header header = {.version = FRAME_VERSION, .type = type, .request_id = request_id};

    envelope->key = key;
    envelope->writer =
        writer_over(envelope->bytes + CHUNK_HEADER_SIZE, sizeof(envelope->bytes) - CHUNK_HEADER_SIZE);
    envelope->mark = seal_begin(&envelope->writer, &header, key);
}

void envelope_nonce(const struct random_source *random, uint64_t sequence, uint8_t ret_nonce[SEAL_NONCE_SIZE])
{
    uint8_t bytes[16];
    struct writer writer = writer_over(bytes, sizeof(bytes));

    write_u64(&writer, random_next(random));
    write_u64(&writer, random_next(random));
    seal_nonce(bytes, sequence ? sequence : random_next(random), ret_nonce);
}

struct text envelope_end(struct envelope *envelope, const struct envelope_way *way)
{
    uint8_t nonce[SEAL_NONCE_SIZE], *frame = envelope->bytes + CHUNK_HEADER_SIZE;
    struct chunk_sender sender;
    size_t len;
    int r;

    if (envelope->key)
        envelope_nonce(way->random, way->sequence, nonce);
    seal_end(&envelope->writer, envelope->mark, envelope->key, way->direction, nonce);
    assert(!envelope->writer.failed);
    len = envelope->writer.pos;
    if (way->stream)
        return (struct text){(const char *)frame, len};
    r = chunk_sender_init(&sender, frame, len, way->frame_id, len);
    assert(r == 0);
    chunk_sender_get(&sender, 0, envelope->bytes);
    return (struct text){(const char *)envelope->bytes, CHUNK_HEADER_SIZE + len};
}

enum envelope_outcome envelope_read(const uint8_t *frame, size_t len, const struct seal_keys *keys,
                                    struct envelope_frame *ret_frame)
{
    struct reader reader = reader_over(frame, len);
    int outcome = frame_read_header(&reader, &ret_frame->header);

    if (outcome == FRAME_BAD_VERSION)
        return ENVELOPE_OTHER_VERSION;
    if (outcome != FRAME_OK || ret_frame->header.body_len != reader_left(&reader))
        return ENVELOPE_BAD_FRAME;
    ret_frame->sealed = ret_frame->header.flags & FRAME_SEALED;
    ret_frame->body = reader;
    if (!ret_frame->sealed && seal_first_key(keys))
        return ENVELOPE_UNSEALED;
    if (ret_frame->sealed && !seal_first_key(keys))
        return ENVELOPE_SEALED;
    return ENVELOPE_OK;
}

const struct seal_key *envelope_open(const struct seal_keys *keys, enum seal_direction direction,
                                     uint8_t *frame, size_t len, struct reader *ret_body)
{
    uint64_t sequence;

    for (unsigned i = 0; i < keys->count; i++)
        if (seal_open(&keys->keys[i], 1, direction, frame, len, ret_body, &sequence) == SEAL_OK)
            return &keys->keys[i];
    return NULL;
}
