/*
 * What a node said last, as a snapshot's bytes: put together from the parts that replies bring
 * (wire/snapshot_parts.h), forwarded, and never decoded here. Belongs to its node in the cache.
 */
#ifndef BACKEND_PICTURE_H
#define BACKEND_PICTURE_H

#include "core/clock.h"
#include "core/cursor.h"
#include "wire/message.h"

struct picture {
    uint8_t *bytes; /* owned; NULL: nothing was received. Readings, facts and process facts, in this order */
    size_t readings_len, facts_len, process_len;
    uint64_t facts_hash;         /* of the facts that we have; 0: none */
    uint64_t process_generation; /* of the process facts; 0: none */
    struct instant taken;        /* when the snapshot was made, or earlier. Means something with readings */
};

void picture_deinit(struct picture *picture);

/* Bytes that it holds. */
static inline size_t picture_size(const struct picture *picture)
{
    return picture->readings_len + picture->facts_len + picture->process_len;
}

static inline bool picture_has_readings(const struct picture *picture)
{
    return picture->readings_len > 0;
}

/* The whole body of a snapshot; empty without readings. Borrowed until the picture changes. */
struct reader picture_body(const struct picture *picture);

/* The facts alone, as they came; may be empty. */
struct reader picture_facts(const struct picture *picture);

/* New facts (of a WELCOME). Readings stay. Returns 0, -EBADMSG or -ENOMEM (nothing changed). */
int picture_take_facts(struct picture *picture, uint64_t hash, struct reader facts);

/* Another run of the server: its process facts count anew, what is shown stays. */
void picture_server_restarted(struct picture *picture);

/* Outcomes of picture_take_reply(). */
enum picture_outcome {
    PICTURE_TAKEN = 0,
    PICTURE_WARMING = 1,   /* the server has read nothing yet */
    PICTURE_ASK_AGAIN = 2, /* it builds on facts that we do not have: they are forgotten, so that the next
                            * question asks for everything */
};

/*
 * A reply with readings. asked_at: when the question was sent; nothing in the reply is older than it says, at
 * that moment. Returns an enum picture_outcome, -EBADMSG (a whole snapshot that cannot be read) or -ENOMEM;
 * the old picture stays on everything but PICTURE_TAKEN.
 */
int picture_take_reply(struct picture *picture, const struct message_reply *reply, struct instant asked_at);

/* Drops everything, to save memory. */
void picture_drop(struct picture *picture);

#endif
