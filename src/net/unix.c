#include "net/unix.h"

#include "core/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define LISTEN_BACKLOG 128
#define LOCK_TRIES     100 /* of LOCK_PAUSE_MS each: one second */
#define LOCK_PAUSE_MS  10

static int fill_address(const char *path, struct sockaddr_un *ret_address)
{
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(ret_address->sun_path))
        return -ENAMETOOLONG;
    memcpy(ret_address->sun_path, path, strlen(path));
    return path[0] ? 0 : -EINVAL;
}

/* The lock goes with the descriptor, so a killed process leaves none behind. */
static int lock_directory(const char *path, int *ret_fd)
{
    char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    _cleanup_(cleanup_close) int fd = -1;

    memcpy(directory, path, len);
    directory[len] = '\0';
    fd = open(len ? directory : (slash ? "/" : "."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            *ret_fd = steal_fd(&fd);
            return 0;
        }
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -errno;
        poll(NULL, 0, LOCK_PAUSE_MS);
    }
    return -EBUSY;
}

static void read_holder(int fd, struct net_unix_holder *holder)
{
    struct ucred credentials;
    socklen_t len = sizeof(credentials);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &len) == 0)
        *holder = (struct net_unix_holder){.pid = credentials.pid, .uid = credentials.uid};
}

/* 0: nobody listens there; -EADDRINUSE: somebody does; or -errno. */
static int probe_listener(const struct sockaddr_un *address, struct net_unix_holder *holder)
{
    _cleanup_(cleanup_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0) {
        read_holder(fd, holder);
        return -EADDRINUSE;
    }
    if (errno == ECONNREFUSED || errno == ENOENT)
        return 0;
    /* EAGAIN: the backlog is full, so there is a listener. */
    return errno == EAGAIN ? -EADDRINUSE : -errno;
}

/* Makes the path free, if that is ours to do. */
static int clear_path(const struct sockaddr_un *address, struct net_unix_holder *holder)
{
    struct stat status;
    int r;

    if (lstat(address->sun_path, &status) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(status.st_mode))
        return -EEXIST;
    r = probe_listener(address, holder);
    if (r < 0)
        return r;
    if (status.st_uid != geteuid())
        return -EEXIST;
    return unlink(address->sun_path) < 0 && errno != ENOENT ? -errno : 0;
}

static int bind_and_listen(const struct sockaddr_un *address, mode_t mode, struct net_unix_socket *ret_socket)
{
    _cleanup_(cleanup_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct stat status;

    if (fd < 0 || bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
        return -errno;
    if (chmod(address->sun_path, mode) < 0 || lstat(address->sun_path, &status) < 0 ||
        listen(fd, LISTEN_BACKLOG) < 0) {
        int r = -errno;

        unlink(address->sun_path);
        return r;
    }
    *ret_socket =
        (struct net_unix_socket){.dev = status.st_dev, .ino = status.st_ino, .changed = status.st_ctim};
    memcpy(ret_socket->path, address->sun_path, sizeof(ret_socket->path));
    ret_socket->fd = steal_fd(&fd);
    return 0;
}

int net_unix_listen(const char *path, mode_t mode, struct net_unix_socket *ret_socket,
                    struct net_unix_holder *ret_holder)
{
    struct net_unix_holder holder = {.pid = 0, .uid = (uid_t)-1};
    _cleanup_(cleanup_close) int lock = -1;
    struct sockaddr_un address;
    int r = fill_address(path, &address);

    if (r == 0)
        r = lock_directory(path, &lock);
    if (r == 0)
        r = clear_path(&address, &holder);
    if (r == -EADDRINUSE && ret_holder)
        *ret_holder = holder;
    if (r == 0)
        r = bind_and_listen(&address, mode, ret_socket);
    return r;
}

static bool is_our_file(const struct net_unix_socket *socket)
{
    struct stat status;

    return socket->path[0] && lstat(socket->path, &status) == 0 && status.st_dev == socket->dev &&
           status.st_ino == socket->ino && status.st_ctim.tv_sec == socket->changed.tv_sec &&
           status.st_ctim.tv_nsec == socket->changed.tv_nsec;
}

void net_unix_socket_deinit(struct net_unix_socket *socket)
{
    if (is_our_file(socket))
        unlink(socket->path);
    cleanup_close(&socket->fd);
    *socket = (struct net_unix_socket){.fd = -1};
}
