/*
 * The frame: one message of any kind on UDP, TCP, the sampler's socketpair and the Unix socket.
 * docs/protocol.md, "Frame". Big-endian; every length is checked before anything is allocated for it.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include "core/cursor.h"

#define FRAME_MAGIC       0x434C5354u /* "CLST" */
#define FRAME_VERSION     1
#define FRAME_HEADER_SIZE 20         /* magic 4, version 1, type 1, flags 2, request id 8, body length 4 */
#define FRAME_BODY_MAX    (1u << 20) /* 1 MiB */

/* Numbers on the wire: append only. Types of the network follow with the cluster. */
enum frame_type {
    FRAME_SNAPSHOT = 1, /* sampler -> parent, and later server -> backend -> CLI: body is a snapshot */
    FRAME_INTEREST = 2, /* parent -> sampler: somebody watches; body: varint microseconds between pictures */
};

struct frame_header {
    uint8_t version;
    uint8_t type;
    uint16_t flags;
    uint64_t request_id; /* 0 if not an answer */
    uint32_t body_len;
};

/* Outcomes of frame_read_header(), one per rung of the ladder. */
enum frame_outcome {
    FRAME_OK = 0,
    FRAME_SHORT = 1, /* fewer than FRAME_HEADER_SIZE bytes yet */
    FRAME_BAD_MAGIC = 2,
    FRAME_BAD_VERSION = 3, /* *ret_header is written: the answer names both versions */
    FRAME_TOO_LONG = 4,    /* body_len > FRAME_BODY_MAX */
};

/* Appends a header. */
void frame_write_header(struct writer *writer, const struct frame_header *header);

/* Reads a header and moves the reader behind it (only on FRAME_OK). Returns an enum frame_outcome. */
int frame_read_header(struct reader *reader, struct frame_header *ret_header);

#endif
