/*
 * Frames of one datagram on their way out, and what comes in on its way to being understood: what sessions
 * and discovery have in common. Private to src/proto/.
 */
#ifndef PROTO_ENVELOPE_H
#define PROTO_ENVELOPE_H

#include "proto/peer.h"
#include "wire/chunk.h"
#include "wire/seal.h"

#define ENVELOPE_SIZE 2048u /* the longest datagram written here */

/* A frame being written. Between begin and end the body is appended to `writer`. */
struct envelope {
    uint8_t bytes[ENVELOPE_SIZE]; /* room for a chunk's header, then the frame */
    struct writer writer;
    size_t mark;
    const struct seal_key *key;
};

/* key: seals; NULL leaves the frame plain. It must live until envelope_end(). */
void envelope_begin(struct envelope *envelope, uint8_t type, uint64_t request_id, const struct seal_key *key);

/* How a finished frame travels and is sealed. */
struct envelope_way {
    const struct random_source *random;
    enum seal_direction direction;
    uint64_t sequence; /* under a session's key; 0: under the key file's, where the number is random */
    bool stream;       /* a bare frame; else a datagram */
    uint32_t frame_id; /* of the datagram */
};

/* The bytes to be sent, which lie in the envelope. */
struct text envelope_end(struct envelope *envelope, const struct envelope_way *way);

/* A nonce: sequence 0 takes a random number. */
void envelope_nonce(const struct random_source *random, uint64_t sequence,
                    uint8_t ret_nonce[SEAL_NONCE_SIZE]);

/* What became of a frame at the rungs that all share. */
enum envelope_outcome {
    ENVELOPE_OK,
    ENVELOPE_BAD_FRAME,
    ENVELOPE_OTHER_VERSION, /* header is written */
    ENVELOPE_UNSEALED,      /* header is written: plain, where keys are set */
    ENVELOPE_SEALED,        /* header is written: sealed, where none are */
};

struct envelope_frame {
    struct frame_header header;
    bool sealed;        /* body is still to be opened */
    struct reader body; /* of a plain frame */
};

/* Reads the header of a whole frame and checks that its length and its being sealed are as they must be. */
enum envelope_outcome envelope_read(const uint8_t *frame, size_t len, const struct seal_keys *keys,
                                    struct envelope_frame *ret_frame);

/* Opens a frame that is sealed under one of the file's keys. Returns that key, or NULL. */
const struct seal_key *envelope_open(const struct seal_keys *keys, enum seal_direction direction,
                                     uint8_t *frame, size_t len, struct reader *ret_body);

#endif
