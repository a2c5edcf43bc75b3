/* Reading small files whole, with a bound. Paths are relative to a directory descriptor, as in openat(2). */
#ifndef CORE_FILE_H
#define CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads a file from its beginning into buf, at most `cap` bytes. dir_fd: AT_FDCWD for an ordinary path.
 * *ret_len == cap means that there may be more. Returns 0 or a negative errno.
 */
int file_read(int dir_fd, const char *path, char *buf, size_t cap, size_t *ret_len);

/*
 * Reads a file of any length, keeping at most `max` bytes. *ret_bytes is on the heap (the caller frees it;
 * NULL when *ret_len is 0); *ret_cut says that there was more.
 * Returns 0, -ENOMEM or another negative errno.
 */
int file_read_long(int dir_fd, const char *path, size_t max, char **ret_bytes, size_t *ret_len,
                   bool *ret_cut);

#endif
