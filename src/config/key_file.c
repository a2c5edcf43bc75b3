#include "config/key_file.h"

#include "core/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

static int fail(struct buffer *why, const char *path, int error)
{
    buffer_printf(why, "%s: %s", path, strerror(-error));
    return error;
}

/* ---- reading ---- */

static int check_trust(const char *path, const struct stat *stat, struct buffer *why)
{
    unsigned mode = (unsigned)stat->st_mode & 07777;

    if (!S_ISREG(stat->st_mode)) {
        buffer_printf(why, "%s: not a regular file", path);
        return -EPERM;
    }
    if (stat->st_uid != 0 && stat->st_uid != geteuid()) {
        buffer_printf(why, "%s: belongs to uid %u; a key file must belong to root or to uid %u", path,
                      (unsigned)stat->st_uid, (unsigned)geteuid());
        return -EPERM;
    }
    if (mode & (S_IWGRP | S_IRWXO)) {
        buffer_printf(why, "%s: mode %04o lets others %s it; allowed is 0600, or 0640 (chmod 0600 %s)", path,
                      mode, mode & (S_IWGRP | S_IWOTH) ? "write" : "read", path);
        return -EPERM;
    }
    return 0;
}

/* At most `cap` bytes, into memory that the caller wipes. */
static int read_all(int fd, char *bytes, size_t cap, size_t *ret_len)
{
    size_t len = 0;

    while (len < cap) {
        ssize_t n = read(fd, bytes + len, cap - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    *ret_len = len;
    return 0;
}

static int parse(const char *path, struct text content, struct seal_keys *ret_keys, struct buffer *why)
{
    unsigned line = 0;
    int outcome = seal_parse_keys(content, ret_keys, &line);

    if (outcome == SEAL_FILE_OK)
        return 0;
    if (line)
        buffer_printf(why, "%s:%u: %s", path, line, seal_file_problem(outcome));
    else
        buffer_printf(why, "%s: %s", path, seal_file_problem(outcome));
    return -EINVAL;
}

int key_file_read(const char *path, struct seal_keys *ret_keys, struct buffer *why)
{
    char bytes[SEAL_FILE_MAX + 1]; /* one more: too long is told as such */
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat stat;
    size_t len = 0;
    int r;

    if (fd < 0 || fstat(fd, &stat) < 0)
        return fail(why, path, -errno);
    r = check_trust(path, &stat, why);
    if (r < 0)
        return r;
    r = read_all(fd, bytes, sizeof(bytes), &len);
    if (r < 0)
        return fail(why, path, r);
    r = parse(path, (struct text){bytes, len}, ret_keys, why);
    sodium_memzero(bytes, sizeof(bytes));
    return r;
}

/* ---- making ---- */

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

static int write_key(int fd)
{
    static const char comment[] =
        "# A clustat key. It goes to every node and every login node, by a way that "
        "nobody can listen to.\n";
    uint8_t key[SEAL_KEY_SIZE];
    char line[2 * SEAL_KEY_SIZE + 2];
    int r;

    randombytes_buf(key, sizeof(key));
    sodium_bin2hex(line, sizeof(line), key, sizeof(key));
    line[2 * SEAL_KEY_SIZE] = '\n';
    r = write_all(fd, comment, sizeof(comment) - 1);
    if (r == 0)
        r = write_all(fd, line, 2 * SEAL_KEY_SIZE + 1);
    sodium_memzero(key, sizeof(key));
    sodium_memzero(line, sizeof(line));
    return r;
}

/* The group first: until then the file is the owner's alone. */
static int give_to_group(int fd, gid_t group)
{
    if (group == (gid_t)-1)
        return 0;
    return fchown(fd, (uid_t)-1, group) < 0 || fchmod(fd, 0640) < 0 ? -errno : 0;
}

int key_file_make(const char *path, gid_t group, struct buffer *why)
{
    _cleanup_(cleanup_close) int fd = -1;
    int r;

    if (seal_start() < 0)
        return fail(why, path, -ENOSYS);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST) {
        buffer_printf(why, "%s: exists already; a key is never overwritten", path);
        return -EEXIST;
    }
    if (fd < 0)
        return fail(why, path, -errno);
    r = fchmod(fd, 0600) < 0 ? -errno : 0;
    if (r == 0)
        r = write_key(fd);
    if (r == 0)
        r = give_to_group(fd, group);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (r == 0)
        return 0;
    unlink(path);
    return fail(why, path, r);
}
