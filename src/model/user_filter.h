/*
 * What a snapshot looks like to somebody who asks for some users only (`-user`): devices with a process of
 * theirs, and only those processes. A device whose process lists are not known stays, since nobody can say
 * that they are not on it; a MIG parent stays with its instances.
 */
#ifndef MODEL_USER_FILTER_H
#define MODEL_USER_FILTER_H

#include "model/snapshot.h"

#include <stddef.h>

/*
 * Fills `filtered` (initialised; its old content is dropped) with what is left of `snapshot` for these uids.
 * All texts of the copy are borrowed from the ones that `snapshot` borrows. *ret_unowned: how many entries
 * were left out because nobody could tell whose they are. Returns 0 or -ENOMEM.
 */
int user_filter_apply(const struct snapshot *snapshot, const uint32_t *uids, size_t uid_count,
                      struct snapshot *filtered, uint32_t *ret_unowned);

#endif
