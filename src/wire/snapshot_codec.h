/*
 * A snapshot as the body of a frame, and back. docs/protocol.md, "Snapshot", describes every byte.
 *
 * Encoded once, in the sampler; decoded once, where it is looked at. Pure functions: no I/O, no clock, no
 * allocation. A body is a row of sections; what changes hardly ever (facts) and what changes always
 * (readings) stand in sections of their own. New members go at the end of their record; older readers skip
 * what they do not know, be it a member, a field, a section, a flag or a state.
 */
#ifndef WIRE_SNAPSHOT_CODEC_H
#define WIRE_SNAPSHOT_CODEC_H

#include "core/cursor.h"
#include "model/snapshot.h"

/* The longest texts on the wire, in bytes. The encoder cuts longer ones, a decoder refuses them. */
#define SNAPSHOT_TEXT_MAX         255 /* every text but these: */
#define SNAPSHOT_FAULT_TEXT_MAX   1024
#define SNAPSHOT_COMMAND_LINE_MAX (128u << 10)

/*
 * The encoded size of this snapshot, in bytes. After snapshot_fit() it is at most SNAPSHOT_BODY_MAX,
 * so a buffer of that size always does.
 */
size_t snapshot_encoded_max(const struct snapshot *snapshot);

/*
 * Appends the encoded snapshot. The writer's error sticks if there is no room. Each device's range of entries
 * must lie inside the array; entries that belong to no device are not written, and the others are written in
 * the devices' order, so that first_entry may differ after decoding.
 */
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
 * What this version does not know becomes what docs/protocol.md, "States of newer writers" says.
 */
int snapshot_decode(struct reader body, struct snapshot *snapshot);

#endif
