#include "core/file.h"

#include "core/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

/* Most files fit here, so that the common case needs one small allocation of the right size. */
#define READ_FIRST 4096

/* Reads until `cap` bytes are there or the file ends. */
static int read_up_to(int fd, char *buf, size_t cap, size_t *ret_len)
{
    size_t len = 0;

    while (len < cap) {
        ssize_t got = read(fd, buf + len, cap - len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        len += (size_t)got;
    }
    *ret_len = len;
    return 0;
}

int file_read(int dir_fd, const char *path, char *buf, size_t cap, size_t *ret_len)
{
    _cleanup_(cleanup_close) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return -errno;
    return read_up_to(fd, buf, cap, ret_len);
}

int file_read_long(int dir_fd, const char *path, size_t max, char **ret_bytes, size_t *ret_len, bool *ret_cut)
{
    _cleanup_(cleanup_close) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    _cleanup_(cleanup_free) char *bytes = NULL;
    char first[READ_FIRST];
    size_t len = 0, cap = max < SIZE_MAX ? max + 1 : max; /* one more than wanted, to see whether it is cut */
    int r;

    if (fd < 0)
        return -errno;
    r = read_up_to(fd, first, cap < READ_FIRST ? cap : READ_FIRST, &len);
    if (r < 0)
        return r;
    if (len) {
        bytes = malloc(len);
        if (!bytes)
            return -ENOMEM;
        memcpy(bytes, first, len);
    }
    for (size_t room = READ_FIRST; len == room && room < cap;) {
        size_t got, wider = cap - room < room ? cap : room * 2;
        char *grown = realloc(bytes, wider);

        if (!grown)
            return -ENOMEM;
        bytes = grown;
        r = read_up_to(fd, bytes + len, wider - len, &got);
        if (r < 0)
            return r;
        len += got;
        room = wider;
    }
    *ret_cut = len > max;
    *ret_len = len > max ? max : len;
    *ret_bytes = steal_pointer(&bytes);
    return 0;
}
