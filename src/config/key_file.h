/*
 * The file behind security.key_file: read only where nobody else could have written or read it, and made so.
 * What stands in it is described in wire/seal.h.
 */
#ifndef CONFIG_KEY_FILE_H
#define CONFIG_KEY_FILE_H

#include "core/buffer.h"
#include "wire/seal.h"

#include <sys/types.h>

/*
 * Reads the keys. Refused unless it is a regular file that belongs to root or to this process's user, that
 * nobody else may write, and that others (neither owner nor group) may not read.
 *
 * Returns 0; -EINVAL (content), -EPERM (owner or permissions) or another negative errno. On an error `why`
 * gets a sentence that names the file, what was found and what is allowed; it never quotes the file.
 * *ret_keys is written only on 0; wipe it with seal_keys_wipe().
 */
int key_file_read(const char *path, struct seal_keys *ret_keys, struct buffer *why);

/*
 * Makes a key file with one fresh random key, for the owner alone (0600), or with `group` (not (gid_t)-1)
 * readable by it (0640). Never overwrites. Returns 0, -EEXIST or another negative errno; `why` as above.
 */
int key_file_make(const char *path, gid_t group, struct buffer *why);

#endif
