/*
 * A snapshot as the body of a frame, and back. docs/protocol.md describes every byte.
 *
 * Encoded once, in the sampler; decoded once, where it is looked at. Pure functions: no I/O, no clock, no
 * allocation. New fields go at the end of their record; older readers skip what they do not know.
 */
#ifndef WIRE_SNAPSHOT_CODEC_H
#define WIRE_SNAPSHOT_CODEC_H

#include "core/cursor.h"
#include "model/snapshot.h"

/* An upper bound of the encoded size of this snapshot, in bytes. */
size_t snapshot_encoded_max(const struct snapshot *snapshot);

/* Appends the encoded snapshot. The writer's error sticks if there is no room. */
void snapshot_encode(const struct snapshot *snapshot, struct writer *writer);

/* How many items a decode of this body needs. */
struct snapshot_need {
    uint32_t devices, entries, processes;
};

/*
 * Reads the counts from an encoded body. Returns 0, or -EBADMSG if the body is malformed or asks for more
 * than SNAPSHOT_MAX_*.
 */
int snapshot_measure(struct reader body, struct snapshot_need *ret_need);

/*
 * Fills `snapshot` (cleared, with room for what snapshot_measure() said; see snapshot_reserve()).
 * Texts borrow from the body's bytes. Returns 0, or -EBADMSG (the snapshot is then cleared), or -ENOBUFS
 * if its arrays are too small. Never reads outside the body; indices between the arrays are checked.
 */
int snapshot_decode(struct reader body, struct snapshot *snapshot);

#endif
