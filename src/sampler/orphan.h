/*
 * Samplers that hang in the driver although their parent is gone, counted per user.
 *
 * Such a sampler listens on an abstract Unix socket with a well-known name, which goes when the process goes
 * (in state D: when the call returns, whatever was sent to it). So counting costs two connect(2) instead of
 * a look at every process of the machine, and works for a process that nobody can end.
 */
#ifndef SAMPLER_ORPHAN_H
#define SAMPLER_ORPHAN_H

#include <stdint.h>
#include <sys/types.h>

/* As many places there are; when both are taken, no further sampler is started. */
#define ORPHANS_AT_MOST 2

/* How many orphans of this user hang now. */
uint32_t orphan_count(uid_t uid);

/*
 * Declares this process an orphan. Returns a descriptor to keep open, -EBUSY if all places are taken, or the
 * errno of the socket.
 */
int orphan_declare(uid_t uid);

#endif
