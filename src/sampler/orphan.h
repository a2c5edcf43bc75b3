/*
 * Samplers that hang in the kernel although their parent is gone, counted per user.
 *
 * One that merely sleeps in a call can end itself when its time has come, and does not count: a person may
 * ask again and again. One that the kernel does not let go must not become many.
 *
 * Such a sampler listens on an abstract Unix socket with a well-known name, which goes when the process goes
 * (in state D: when the call returns, whatever was sent to it). So counting costs two connect(2) instead of
 * a look at every process of the machine, and works for a process that nobody can end.
 */
#ifndef SAMPLER_ORPHAN_H
#define SAMPLER_ORPHAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* As many places there are; when both are taken, no further sampler is started. */
#define ORPHANS_AT_MOST 2

/* How many orphans of this user hang now. */
uint32_t orphan_count(uid_t uid);

/* True if the kernel holds this process's main thread now (state D, or busy). */
bool orphan_is_held(void);

/*
 * Declares this process an orphan. Returns a descriptor to keep open, -EBUSY if all places are taken, or the
 * errno of the socket.
 */
int orphan_declare(uid_t uid);

#endif
