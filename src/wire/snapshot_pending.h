/*
 * Says in an encoded snapshot which call has not returned, for a sampler that cannot say it itself any more.
 * docs/protocol.md, "Node readings".
 */
#ifndef WIRE_SNAPSHOT_PENDING_H
#define WIRE_SNAPSHOT_PENDING_H

#include "core/cursor.h"
#include "model/snapshot.h"

/* How much longer the readings can get. */
#define SNAPSHOT_PENDING_MAX (255u + 32u)

/*
 * Appends `readings` (the part with section 4, see wire/snapshot_parts.h) with this pending call in place of
 * what it says there; all other bytes stay. The writer must not write over the readings; its error sticks.
 * Returns 0, or -EBADMSG if section 4 is missing or malformed.
 */
int snapshot_put_pending(struct reader readings, const struct pending_call *call, struct writer *writer);

#endif
