/*
 * Puts frames together from chunks that come in any order, several times, damaged or not at all.
 *
 * Memory is fixed at creation: slots (a frame in the making each) and blocks of bytes, taken as chunks come
 * and not as headers claim. An owner (a session) has at most `slots_per_owner` of them. A slot lives until
 * its deadline; where there is no slot or block left, the oldest slot goes. Frames of one chunk need none.
 *
 * Both sides of every seam must agree (wire/chunk.h). Where a chunk and its stored neighbour contradict each
 * other, one of them is damaged and nobody can say which: both are dropped and count as missing.
 */
#ifndef PROTO_REASSEMBLY_H
#define PROTO_REASSEMBLY_H

#include "core/clock.h"
#include "wire/chunk.h"
#include "wire/message.h"

#define REASSEMBLY_BLOCK_SIZE 4096u
#define REASSEMBLY_SLOTS_MAX  4096u

struct reassembly_options {
    size_t slots;           /* 1 to 4,096 */
    size_t slots_per_owner; /* at least 1 */
    size_t memory_bytes;    /* for chunks, in blocks; at least CHUNK_FRAME_MAX and a block per chunk fit */
    int64_t lifetime_ns;    /* of a slot, from its first chunk */
};

/* Since creation. */
struct reassembly_counters {
    uint64_t whole;      /* frames delivered */
    uint64_t duplicates; /* chunks that were there already */
    uint64_t conflicts;  /* chunks that contradict a neighbour */
    uint64_t expired;    /* slots past their deadline */
    uint64_t evicted;    /* slots that had to go for others */
};

struct reassembly;

/* Returns 0, -EINVAL for options out of range, or -ENOMEM. */
int reassembly_new(const struct reassembly_options *options, struct reassembly **ret_reassembly);
void reassembly_free(struct reassembly *reassembly);

enum reassembly_outcome {
    REASSEMBLY_WHOLE = 0, /* *ret_frame is the frame */
    REASSEMBLY_PART = 1,  /* kept; others are missing */
    REASSEMBLY_DUPLICATE = 2,
    REASSEMBLY_CONFLICT = 3,
};

/* A whole frame: may be written to (a seal is opened in place); valid until the next call. */
struct reassembly_frame {
    uint8_t *bytes;
    size_t len;
};

/*
 * Takes a chunk that chunk_read() found good. owner: any number that stands for the sender.
 * Returns an enum reassembly_outcome.
 */
int reassembly_add(struct reassembly *reassembly, struct instant now, uint64_t owner,
                   const struct chunk *chunk, struct reassembly_frame *ret_frame);

/* What an owner's newest unfinished frame lacks. */
struct reassembly_gaps {
    uint16_t chunks;                     /* of the frame */
    uint16_t missing_count;              /* how many of them */
    uint8_t missing[MESSAGE_BITMAP_MAX]; /* as in struct message_resend */
};

/* False: it has none. Of several the one with most chunks, so that a stray one does not hide the answer. */
bool reassembly_gaps(const struct reassembly *reassembly, uint64_t owner, struct reassembly_gaps *ret_gaps);

/* Forgets what an owner has begun. */
void reassembly_forget(struct reassembly *reassembly, uint64_t owner);

/* Frees slots past their deadline; reassembly_add() does it too. */
void reassembly_expire(struct reassembly *reassembly, struct instant now);

/* Slots and bytes in use at present. */
size_t reassembly_slots_used(const struct reassembly *reassembly);
size_t reassembly_bytes_used(const struct reassembly *reassembly);

const struct reassembly_counters *reassembly_counters(const struct reassembly *reassembly);

#endif
