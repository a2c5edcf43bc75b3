#include "net/unix_client.h"

#include "core/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define READ_SIZE     (64u << 10)
#define CONNECT_PAUSE INT64_C(10) /* ms between tries while the listener's backlog is full */

static bool is_trusted(uid_t uid, uid_t service_uid)
{
    return uid == 0 || uid == geteuid() || (service_uid != (uid_t)-1 && uid == service_uid);
}

/* Waits for `events`. 0, -ETIMEDOUT, -EINTR or -errno. */
static int wait_for(int fd, short events, struct instant deadline)
{
    struct pollfd entry = {.fd = fd, .events = events};
    int r = poll(&entry, 1, clock_poll_timeout_ms(clock_now(), deadline));

    if (r < 0)
        return -errno;
    return r == 0 ? -ETIMEDOUT : 0;
}

/* A full backlog shows as EAGAIN, for which poll(2) has no event. */
static int connect_until(int fd, const struct sockaddr_un *address, struct instant deadline)
{
    while (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
        struct instant pause = instant_add_ns(clock_now(), CONNECT_PAUSE * NS_PER_MS);

        if (errno == EISCONN)
            return 0;
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
        if (instant_since_ns(clock_now(), deadline) >= 0)
            return -ETIMEDOUT;
        poll(NULL, 0, clock_poll_timeout_ms(clock_now(), instant_earlier(pause, deadline)));
    }
    return 0;
}

static int check_file(const char *path, uid_t service_uid, uid_t *ret_owner)
{
    struct stat status;

    if (stat(path, &status) < 0)
        return -errno;
    if (!S_ISSOCK(status.st_mode))
        return -ENOTSOCK;
    if (is_trusted(status.st_uid, service_uid))
        return 0;
    *ret_owner = status.st_uid;
    return NET_UNIX_CLIENT_UNTRUSTED;
}

static int check_listener(int fd, uid_t service_uid, struct ucred *ret_credentials, uid_t *ret_owner)
{
    socklen_t len = sizeof(*ret_credentials);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_credentials, &len) < 0)
        return -errno;
    if (is_trusted(ret_credentials->uid, service_uid))
        return 0;
    *ret_owner = ret_credentials->uid;
    return NET_UNIX_CLIENT_UNTRUSTED;
}

int net_unix_client_open(const char *path, uid_t service_uid, struct instant deadline,
                         struct net_unix_client *ret_client, uid_t *ret_owner)
{
    _cleanup_(cleanup_close) int fd = -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred credentials;
    int r;

    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    r = check_file(path, service_uid, ret_owner);
    if (r != 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    r = connect_until(fd, &address, deadline);
    if (r == 0)
        r = check_listener(fd, service_uid, &credentials, ret_owner);
    if (r != 0)
        return r;
    *ret_client = (struct net_unix_client){
        .fd = steal_fd(&fd),
        .peer_uid = credentials.uid,
        .peer_pid = credentials.pid,
        .input = {.max = FRAME_HEADER_SIZE + FRAME_BODY_MAX + READ_SIZE},
    };
    return 0;
}

int net_unix_client_send(struct net_unix_client *client, const void *bytes, size_t len,
                         struct instant deadline)
{
    const uint8_t *from = bytes;
    size_t sent = 0;

    while (sent < len) {
        ssize_t n = send(client->fd, from + sent, len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n >= 0) {
            sent += (size_t)n;
        } else if (errno == EAGAIN) {
            int r = wait_for(client->fd, POLLOUT, deadline);
            if (r < 0 && r != -EINTR)
                return r;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

/* Forgets what was handed out; what came behind it moves to the front. */
static void drop_consumed(struct net_unix_client *client)
{
    struct buffer *input = &client->input;

    if (client->consumed == 0)
        return;
    input->len -= client->consumed;
    memmove(input->bytes, input->bytes + client->consumed, input->len);
    client->consumed = 0;
}

/* Looks for a whole frame. FRAME_OK, FRAME_SHORT or another enum frame_outcome. */
static int take_frame(struct net_unix_client *client, struct frame_header *ret_header, size_t *ret_len)
{
    struct reader reader = reader_over(client->input.bytes, client->input.len);
    struct frame_header header;
    int r = frame_read_header(&reader, &header);

    if (r != FRAME_OK)
        return r;
    if (reader_left(&reader) < header.body_len)
        return FRAME_SHORT;
    *ret_header = header;
    *ret_len = FRAME_HEADER_SIZE + header.body_len;
    return FRAME_OK;
}

/* One read of what is there. 0, -EAGAIN, -ECONNRESET at the end, or -errno. */
static int read_more(struct net_unix_client *client)
{
    struct buffer *input = &client->input;
    int r = buffer_reserve(input, READ_SIZE);
    ssize_t n;

    if (r < 0)
        return r;
    n = recv(client->fd, input->bytes + input->len, READ_SIZE, MSG_DONTWAIT);
    if (n < 0)
        return -errno;
    input->len += (size_t)n;
    return n == 0 ? -ECONNRESET : 0;
}

int net_unix_client_receive(struct net_unix_client *client, struct instant deadline,
                            struct frame_header *ret_header, const uint8_t **ret_frame, size_t *ret_len)
{
    drop_consumed(client);
    for (;;) {
        int r = take_frame(client, ret_header, ret_len);

        if (r == FRAME_OK) {
            *ret_frame = (const uint8_t *)client->input.bytes;
            client->consumed = *ret_len;
            return 0;
        }
        if (r != FRAME_SHORT)
            return NET_UNIX_CLIENT_BAD_FRAME;
        r = read_more(client);
        if (r == -EAGAIN)
            r = wait_for(client->fd, POLLIN, deadline);
        if (r < 0)
            return r;
    }
}

void net_unix_client_deinit(struct net_unix_client *client)
{
    cleanup_close(&client->fd);
    buffer_deinit(&client->input);
    *client = NET_UNIX_CLIENT_CLOSED;
}
