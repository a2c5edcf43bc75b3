/*
 * The listening Unix socket of a daemon: made so that two instances never fight about one path. A socket file
 * is removed only if it is a socket, is owned by us, and nobody listens on it. Starting instances take turns
 * through a lock (flock) on the directory. Connections are streams (net/stream.h) with SO_PEERCRED in their
 * peer.
 */
#ifndef NET_UNIX_H
#define NET_UNIX_H

#include <sys/types.h>
#include <time.h>

struct net_unix_holder {
    pid_t pid; /* who listens on the path; 0: not known */
    uid_t uid; /* (uid_t)-1: not known */
};

struct net_unix_socket {
    int fd;         /* listening, non-blocking, close-on-exec; owned until handed to net_listener_open() */
    char path[108]; /* sizeof sun_path */
    unsigned long long dev; /* of the file we made, so that only that one is removed ... */
    unsigned long long ino;
    struct timespec changed; /* ... also where its inode number has been given out again */
};

/*
 * Binds and listens at `path`, with `mode` for the file (0666: whoever can reach the directory may ask). The
 * directory must exist.
 * Returns 0; -EADDRINUSE if another process listens there (*ret_holder says who; may be NULL); -EEXIST if the
 * path is something else than a socket of ours; -ENAMETOOLONG; -EBUSY if another start holds the directory's
 * lock for more than a second; or -errno.
 */
int net_unix_listen(const char *path, mode_t mode, struct net_unix_socket *ret_socket,
                    struct net_unix_holder *ret_holder);

/* Removes the file if it is still ours, and closes fd if it was not handed on (fd >= 0). */
void net_unix_socket_deinit(struct net_unix_socket *socket);

#endif
