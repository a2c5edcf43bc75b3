/*
 * Keeps an encoded snapshot small enough for a frame, by shortening the processes' command lines.
 * Design, section 11; docs/protocol.md, "Size".
 */
#ifndef WIRE_SNAPSHOT_FIT_H
#define WIRE_SNAPSHOT_FIT_H

#include "model/snapshot.h"
#include "wire/frame.h"

/* What a node aims at: a whole frame of 256 KiB. */
#define SNAPSHOT_BODY_TARGET ((256u << 10) - FRAME_HEADER_SIZE)

/*
 * The longest body of a snapshot: below FRAME_BODY_MAX by what messages put around it (the texts and numbers
 * of a VIEW_NODE, a seal).
 */
#define SNAPSHOT_BODY_MAX (FRAME_BODY_MAX - 4096)

/*
 * Shortens command lines, the longest first, until the body is at most `target` bytes (or all are empty).
 * Each that is shortened is marked (PROCESS_COMMAND_LINE_CUT) and counted in commands_cut; its bytes stay
 * where they are, only the length changes.
 *
 * Should the body then still be longer than SNAPSHOT_BODY_MAX, processes are dropped from the end of the
 * array; their entries stay, without a process, and are counted in unnamed_processes.
 *
 * snapshot: as it will be encoded. target: SNAPSHOT_BODY_TARGET, or up to SNAPSHOT_BODY_MAX where long
 * command lines matter more than size.
 */
void snapshot_fit(struct snapshot *snapshot, size_t target);

#endif
