/*
 * The asking side of a Unix socket, for programs without an event loop: connect, send, receive whole frames,
 * each with a deadline, by poll(2) alone.
 */
#ifndef NET_UNIX_CLIENT_H
#define NET_UNIX_CLIENT_H

#include "core/buffer.h"
#include "core/clock.h"
#include "wire/frame.h"

#include <sys/types.h>

struct net_unix_client {
    int fd;         /* -1: not connected */
    uid_t peer_uid; /* of the process that listens */
    pid_t peer_pid;
    struct buffer input; /* the frame handed out last, and what came behind it */
    size_t consumed;     /* bytes of `input` handed out already */
};

#define NET_UNIX_CLIENT_CLOSED ((struct net_unix_client){.fd = -1})

/* Outcomes beside 0 and -errno. */
enum net_unix_client_outcome {
    NET_UNIX_CLIENT_UNTRUSTED = 1, /* file or listener belong to somebody else: *ret_owner says to whom */
    NET_UNIX_CLIENT_BAD_FRAME = 2, /* the other end sends something else than our frames */
};

/*
 * Connects to the socket at `path` if both the file and the listening process belong to root, to oneself or
 * to `service_uid` ((uid_t)-1: there is none). Returns 0; NET_UNIX_CLIENT_UNTRUSTED; -ENOENT (no such file),
 * -ECONNREFUSED (nobody listens), -ENOTSOCK, -ENAMETOOLONG, -ETIMEDOUT, -EACCES or another -errno.
 */
int net_unix_client_open(const char *path, uid_t service_uid, struct instant deadline,
                         struct net_unix_client *ret_client, uid_t *ret_owner);

/* Sends all bytes (whole frames). Returns 0, -ETIMEDOUT, -EPIPE or another -errno: the connection is then
 * spent. */
int net_unix_client_send(struct net_unix_client *client, const void *bytes, size_t len,
                         struct instant deadline);

/*
 * Waits for the next whole frame. *ret_frame is header and body, *ret_len bytes, borrowed until the next
 * call. Returns 0, NET_UNIX_CLIENT_BAD_FRAME, -ETIMEDOUT (ask again later: nothing is lost), -ECONNRESET if
 * the other end closed, -EINTR if a signal came (for a watch loop), or another -errno.
 */
int net_unix_client_receive(struct net_unix_client *client, struct instant deadline,
                            struct frame_header *ret_header, const uint8_t **ret_frame, size_t *ret_len);

/* Closes and frees; accepts a closed one. */
void net_unix_client_deinit(struct net_unix_client *client);

#endif
