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

/* Numbers on the wire: append only. The bodies from 16 on are those of wire/message.h. */
enum frame_type {
    FRAME_SNAPSHOT = 1, /* sampler -> parent: body is a snapshot */
    FRAME_INTEREST = 2, /* parent -> sampler: somebody watches; body: varint microseconds between pictures */

    FRAME_HELLO = 16,     /* sessions, backend -> server unless said otherwise */
    FRAME_CHALLENGE = 17, /* server -> backend */
    FRAME_WELCOME = 18,   /* server -> backend */
    FRAME_REFUSE = 19,    /* server -> backend */
    FRAME_QUERY = 20,
    FRAME_REPLY = 21, /* server -> backend */
    FRAME_RESEND = 22,
    FRAME_GOODBYE = 23, /* either way */
    FRAME_PING = 24,    /* either way */
    FRAME_PONG = 25,    /* either way */

    FRAME_ANNOUNCE = 32, /* discovery: server -> backends */
    FRAME_PROBE = 33,    /* backend -> servers */

    FRAME_VIEW_QUERY = 48, /* local API: CLI -> backend */
    FRAME_VIEW_NODE = 49,  /* backend -> CLI, one per node */
    FRAME_VIEW_END = 50,   /* backend -> CLI */
    FRAME_API_ERROR = 51,  /* backend -> CLI */
    FRAME_FORGET = 52,     /* CLI -> backend */
    FRAME_FORGOTTEN = 53,  /* backend -> CLI */
};

/* Flags of a frame; receivers ignore bits that they do not know. */
enum frame_flag {
    FRAME_SEALED = 1 << 0, /* the body is sealed: wire/seal.h */
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

/*
 * Begins a frame whose body the caller appends: header.body_len is filled in by frame_end(), which also fails
 * the writer if the body is longer than FRAME_BODY_MAX. `mark` is the value that frame_begin() returned.
 */
size_t frame_begin(struct writer *writer, const struct frame_header *header);
void frame_end(struct writer *writer, size_t mark);

/* Reads a header and moves the reader behind it (only on FRAME_OK). Returns an enum frame_outcome. */
int frame_read_header(struct reader *reader, struct frame_header *ret_header);

#endif
