#include "net/group_socket.h"

#include "core/cleanup.h"
#include "net/packet_info.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define RECEIVE_BUDGET 64u /* datagrams per wake-up and socket */

struct group_socket {
    uv_poll_t poll;
    int fd;
    uint32_t interface; /* the only one that datagrams may come by; 0: any (unicast) */
    uint16_t port;
    bool closed;
    struct group_socket_events events;
};

/* --- Receiving --- */

static ssize_t receive_one(struct group_socket *group, uint8_t *bytes, size_t cap,
                           struct net_datagram *ret_datagram, bool *ret_cut)
{
    _Alignas(struct cmsghdr) uint8_t control[PACKET_INFO_CONTROL_CAP];
    struct sockaddr_storage name;
    struct iovec part = {bytes, cap};
    struct msghdr message = {
        .msg_name = &name,
        .msg_namelen = sizeof(name),
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    ssize_t len = recvmsg(group->fd, &message, MSG_DONTWAIT);

    if (len < 0)
        return -errno;
    *ret_datagram = (struct net_datagram){.bytes = bytes, .len = (size_t)len};
    packet_info_read(&message, group->port, ret_datagram, NULL);
    *ret_cut =
        (message.msg_flags & MSG_TRUNC) ||
        net_address_from_sockaddr((struct sockaddr *)&name, message.msg_namelen, &ret_datagram->peer) < 0;
    return len;
}

static void hand_over(struct group_socket *group, const struct net_datagram *datagram, bool cut)
{
    struct net_multicast_counters *counters = group->events.counters;

    if (cut) {
        counters->truncated++;
    } else if (group->interface && datagram->interface != group->interface) {
        counters->wrong_interface++;
    } else {
        counters->received++;
        group->events.on_datagram(group->events.userdata, datagram);
    }
}

static void watch_socket(struct group_socket *group);

static void socket_ready(uv_poll_t *handle, int status, int events)
{
    struct group_socket *group = handle->data;
    uint8_t bytes[NET_MULTICAST_PAYLOAD_MAX];

    (void)events;
    if (status < 0) {
        int error;
        socklen_t len = sizeof(error);

        getsockopt(group->fd, SOL_SOCKET, SO_ERROR, &error, &len); /* takes the error that made libuv stop */
        watch_socket(group);
    }
    for (unsigned i = 0; i < RECEIVE_BUDGET && !group->closed; i++) {
        struct net_datagram datagram;
        bool cut = false;
        ssize_t len = receive_one(group, bytes, sizeof(bytes), &datagram, &cut);

        if (len == -EAGAIN)
            return;
        if (len >= 0)
            hand_over(group, &datagram, cut);
    }
}

static void watch_socket(struct group_socket *group)
{
    uv_poll_start(&group->poll, UV_READABLE, socket_ready);
}

/* --- Opening --- */

static int set_number(int fd, int option, int value)
{
    return setsockopt(fd, IPPROTO_IP, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* Without this, a socket gets the datagrams of all groups that any program of this host has joined. */
static int configure_multicast(int fd, uint8_t ttl)
{
    int r = set_number(fd, IP_MULTICAST_ALL, 0);

    if (r == 0)
        r = set_number(fd, IP_MULTICAST_LOOP, 1);
    if (r == 0)
        r = set_number(fd, IP_MULTICAST_TTL, ttl);
    return r < 0 ? r : packet_info_enable(fd, AF_INET);
}

static int bind_socket(int fd, const struct net_address *address, bool shared)
{
    const int on = 1;
    struct sockaddr_storage storage;
    socklen_t len = net_address_to_sockaddr(address, &storage);

    if (shared && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return -errno;
    return bind(fd, (struct sockaddr *)&storage, len) < 0 ? -errno : 0;
}

static int open_udp(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    return fd < 0 ? -errno : fd;
}

static int join_group(int fd, const struct net_address *group, const struct net_multicast_place *place)
{
    struct ip_mreqn request = {.imr_ifindex = (int)place->index};

    memcpy(&request.imr_multiaddr, group->bytes, 4);
    memcpy(&request.imr_address, place->address.bytes, 4);
    if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request)) < 0 ||
        setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof(request)) < 0)
        return -errno;
    return 0;
}

/* Takes a bound descriptor, also on failure. */
static int wrap_socket(uv_loop_t *loop, int take_fd, uint32_t interface,
                       const struct group_socket_events *events, struct group_socket **ret_socket)
{
    struct group_socket *group = calloc(1, sizeof(*group));
    struct sockaddr_in bound = {0};
    socklen_t len = sizeof(bound);
    int r = group ? uv_poll_init(loop, &group->poll, take_fd) : -ENOMEM;

    if (r < 0) {
        free(group);
        close(take_fd);
        return r;
    }
    getsockname(take_fd, (struct sockaddr *)&bound, &len);
    group->fd = take_fd;
    group->interface = interface;
    group->port = ntohs(bound.sin_port);
    group->events = *events;
    group->poll.data = group;
    watch_socket(group);
    *ret_socket = group;
    return 0;
}

int group_socket_open(uv_loop_t *loop, const struct net_address *group,
                      const struct net_multicast_place *place, uint8_t ttl,
                      const struct group_socket_events *events, struct group_socket **ret_socket)
{
    _cleanup_(cleanup_close) int fd = open_udp();
    int r;

    if (fd < 0)
        return fd;
    r = configure_multicast(fd, ttl);
    if (r == 0)
        r = bind_socket(fd, group, true);
    if (r == 0)
        r = join_group(fd, group, place);
    return r < 0 ? r : wrap_socket(loop, steal_fd(&fd), place->index, events, ret_socket);
}

/*
 * The port can only be shared with the group sockets (of this and other programs) if its socket is bound with
 * SO_REUSEADDR, but then any number of owners could be, and the kernel would give each datagram to one of
 * them. So a second socket is bound without it to the same port of 127.0.0.1 first: that fails where an owner
 * is, and keeps others out until ours is bound.
 */
static int lock_port(uint16_t port, int *ret_fd)
{
    const int on = 1;
    struct net_address loopback = net_address_ipv4(INADDR_LOOPBACK, port);
    _cleanup_(cleanup_close) int fd = open_udp();
    int r;

    if (fd < 0)
        return fd;
    r = bind_socket(fd, &loopback, false);
    if (r == -EADDRINUSE)
        return r;
    /* From here on it lets our own second socket in. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    *ret_fd = steal_fd(&fd);
    return 0;
}

static int open_unicast(uv_loop_t *loop, uint16_t port, uint8_t ttl, const struct group_socket_events *events,
                        struct group_socket **ret_socket)
{
    struct net_address any = net_address_ipv4(INADDR_ANY, port);
    _cleanup_(cleanup_close) int fd = open_udp();
    int r;

    if (fd < 0)
        return fd;
    r = configure_multicast(fd, ttl);
    if (r == 0)
        r = bind_socket(fd, &any, port != 0);
    return r < 0 ? r : wrap_socket(loop, steal_fd(&fd), 0, events, ret_socket);
}

int group_socket_open_owner(uv_loop_t *loop, const struct net_address *group, uint8_t ttl,
                            const struct group_socket_events *events, struct group_socket **ret_socket)
{
    _cleanup_(cleanup_close) int lock = -1;
    int r = lock_port(group->port, &lock);

    return r < 0 ? r : open_unicast(loop, group->port, ttl, events, ret_socket);
}

int group_socket_open_unowned(uv_loop_t *loop, uint8_t ttl, const struct group_socket_events *events,
                              struct group_socket **ret_socket)
{
    return open_unicast(loop, 0, ttl, events, ret_socket);
}

static void handle_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void group_socket_close(struct group_socket *socket)
{
    if (!socket || socket->closed)
        return;
    socket->closed = true;
    uv_close((uv_handle_t *)&socket->poll, handle_closed);
    close(steal_fd(&socket->fd));
}

int group_socket_send(struct group_socket *socket, const struct net_datagram *datagram)
{
    _Alignas(struct cmsghdr) uint8_t control[PACKET_INFO_CONTROL_CAP];
    struct sockaddr_storage name;
    struct iovec part = {(void *)(uintptr_t)datagram->bytes, datagram->len};
    struct msghdr message = {.msg_name = &name, .msg_iov = &part, .msg_iovlen = 1, .msg_control = control};

    packet_info_write(&message, AF_INET, datagram);
    if (sendmsg(socket->fd, &message, MSG_DONTWAIT) < 0) {
        socket->events.counters->send_failed++;
        return -errno;
    }
    socket->events.counters->sent++;
    return 0;
}
