/*
 * Datagrams: a frame on UDP travels as 1 to 1,024 chunks, each with a header of 28 bytes that says where it
 * belongs and carries the checksums of its own payload and of its neighbours'. docs/protocol.md, "Datagram".
 *
 * All chunks but the last are equally long, so that each tells by itself where in the frame it lies. The
 * neighbours' checksums let a receiver tell chunks of one frame from those of another that has the same
 * number by accident or by malice: both sides of every seam must agree.
 */
#ifndef WIRE_CHUNK_H
#define WIRE_CHUNK_H

#include "core/cursor.h"
#include "wire/frame.h"

#define CHUNK_MAGIC       0xC1A7u
#define CHUNK_VERSION     1
#define CHUNK_HEADER_SIZE 28
#define CHUNK_MAX         1024 /* chunks of a frame */
#define CHUNK_FRAME_MAX   (FRAME_HEADER_SIZE + FRAME_BODY_MAX)

/* What IPv4 and UDP put before a datagram of ours (20 + 8); see chunk_payload_size(). */
#define CHUNK_IP_UDP_SIZE 28

/* The smallest payload with which any frame fits CHUNK_MAX chunks; with less, long frames are refused. */
#define CHUNK_PAYLOAD_FOR_ALL ((CHUNK_FRAME_MAX + CHUNK_MAX - 1) / CHUNK_MAX)

/* Payload bytes per datagram at this MTU (in bytes, IP header included; at least 68, capped at 65,535). */
size_t chunk_payload_size(size_t mtu);

/* A frame on its way out. Borrows the frame, which stays as it is until the last chunk is sent or resent. */
struct chunk_sender {
    const uint8_t *frame;
    uint32_t frame_len;
    uint32_t frame_id; /* the sender's counter; a resent chunk keeps it */
    uint32_t chunk_size;
    uint32_t chunks;
    struct {
        uint32_t chunk_plus_1; /* 0: empty */
        uint32_t crc;
    } known[3]; /* checksums of the chunks computed last: in ascending order each is computed once */
};

/*
 * Prepares a frame (header and body, at least FRAME_HEADER_SIZE bytes) for datagrams of at most payload_size
 * bytes of payload. Returns 0, or -EMSGSIZE if it needs more than CHUNK_MAX of them or is longer than
 * CHUNK_FRAME_MAX.
 */
int chunk_sender_init(struct chunk_sender *sender, const void *frame, size_t frame_len, uint32_t frame_id,
                      size_t payload_size);

/*
 * Writes the header of one chunk (chunk < sender->chunks) and returns its payload, which follows the header
 * in the datagram and is borrowed from the frame.
 */
struct text chunk_sender_get(struct chunk_sender *sender, uint32_t chunk,
                             uint8_t ret_header[CHUNK_HEADER_SIZE]);

/* A chunk as received. */
struct chunk {
    uint32_t frame_id;
    uint16_t chunk, chunks;
    uint32_t frame_len;
    uint32_t chunk_size; /* of every chunk but the last; of a frame in one chunk: its length */
    uint32_t offset;     /* of the payload in the frame */
    uint32_t crc_before, crc, crc_after;
    const uint8_t *payload; /* borrowed from the datagram */
    uint32_t payload_len;
};

/* Outcomes of chunk_read(), one per rung of the ladder, for counters. */
enum chunk_outcome {
    CHUNK_OK = 0,
    CHUNK_SHORT = 1,       /* no whole header, or no payload behind it */
    CHUNK_BAD_MAGIC = 2,   /* not ours */
    CHUNK_BAD_VERSION = 3, /* only the version is looked at */
    CHUNK_BAD_COUNT = 4,   /* no chunks, more than CHUNK_MAX, or a number beyond the count */
    CHUNK_BAD_LENGTH = 5,  /* the frame is too short or too long, or this payload does not fit it */
    CHUNK_BAD_ENDS = 6,    /* a checksum before the first or behind the last chunk */
    CHUNK_BAD_CRC = 7,     /* damaged on the way */
    CHUNK_OUTCOMES
};

/* Reads a whole datagram. Returns an enum chunk_outcome; *ret_chunk is written only on CHUNK_OK. */
int chunk_read(struct reader datagram, struct chunk *ret_chunk);

/* True if both can be chunks of one frame: same number, length, count and size, and agreeing checksums where
 * they are neighbours or the same. */
bool chunk_same_frame(const struct chunk *a, const struct chunk *b);

#endif
