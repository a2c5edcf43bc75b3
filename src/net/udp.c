#include "net/udp.h"

#include "core/cleanup.h"
#include "net/datagram_queue.h"
#include "net/packet_info.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define RECEIVE_BATCH   32u
#define RECEIVE_SIZE    65536u /* longer than any datagram, so that a cut one is known as such */
#define SEND_BATCH      64u
#define SEND_BUDGET     1024u /* datagrams per flush; the rest follows when the loop has turned */
#define ENOBUFS_WAIT_MS 1u    /* a full device queue reports no readiness: try again soon */

struct net_udp {
    uv_loop_t *loop;
    uv_poll_t poll;
    uv_prepare_t before_wait; /* runs while something is queued */
    uv_timer_t retry;
    unsigned open_handles; /* the memory goes with the last */
    bool closed;
    int fd;
    int family;
    bool wants_write; /* EAGAIN: waiting for UV_WRITABLE */
    bool holds_off;   /* ENOBUFS: waiting for the timer */
    struct net_address local;
    size_t receive_buffer;
    struct net_udp_events events;
    struct net_udp_counters counters;
    uint32_t overflow; /* SO_RXQ_OVFL as last seen; wraps */
    struct datagram_queue queue;
    uint8_t *receive_bytes; /* owned; RECEIVE_BATCH * RECEIVE_SIZE */
};

/* --- Receiving --- */

struct receive_batch {
    struct mmsghdr messages[RECEIVE_BATCH];
    struct iovec parts[RECEIVE_BATCH];
    struct sockaddr_storage names[RECEIVE_BATCH];
    _Alignas(struct cmsghdr) uint8_t controls[RECEIVE_BATCH][PACKET_INFO_CONTROL_CAP];
};

static int receive_messages(struct net_udp *udp, struct receive_batch *batch)
{
    int count;

    for (size_t i = 0; i < RECEIVE_BATCH; i++) {
        batch->parts[i] = (struct iovec){udp->receive_bytes + i * RECEIVE_SIZE, RECEIVE_SIZE};
        batch->messages[i].msg_hdr = (struct msghdr){
            .msg_name = &batch->names[i],
            .msg_namelen = sizeof(batch->names[i]),
            .msg_iov = &batch->parts[i],
            .msg_iovlen = 1,
            .msg_control = batch->controls[i],
            .msg_controllen = sizeof(batch->controls[i]),
        };
    }
    do {
        count = recvmmsg(udp->fd, batch->messages, RECEIVE_BATCH, MSG_DONTWAIT, NULL);
    } while (count < 0 && errno == EINTR);
    return count;
}

static void hand_over(struct net_udp *udp, struct mmsghdr *message)
{
    struct net_datagram datagram = {.bytes = message->msg_hdr.msg_iov->iov_base, .len = message->msg_len};
    uint32_t overflow = udp->overflow;

    packet_info_read(&message->msg_hdr, udp->local.port, &datagram, &overflow);
    udp->counters.kernel_dropped += overflow - udp->overflow;
    udp->overflow = overflow;
    if ((message->msg_hdr.msg_flags & MSG_TRUNC) || datagram.len > NET_UDP_PAYLOAD_MAX ||
        net_address_from_sockaddr(message->msg_hdr.msg_name, message->msg_hdr.msg_namelen, &datagram.peer) <
            0) {
        udp->counters.truncated++;
        return;
    }
    udp->counters.received++;
    udp->counters.received_bytes += datagram.len;
    udp->events.on_datagram(udp->events.userdata, &datagram);
}

static void receive_all(struct net_udp *udp)
{
    struct receive_batch batch;

    for (unsigned handled = 0; handled < NET_UDP_RECEIVE_BUDGET; handled += RECEIVE_BATCH) {
        int count = receive_messages(udp, &batch);

        for (int i = 0; i < count && !udp->closed; i++)
            hand_over(udp, &batch.messages[i]);
        if (count < (int)RECEIVE_BATCH || udp->closed)
            break;
    }
    if (!udp->closed && udp->events.on_batch_end)
        udp->events.on_batch_end(udp->events.userdata);
}

/* --- Sending --- */

static void watch_socket(struct net_udp *udp);

static int send_batch(struct net_udp *udp)
{
    struct mmsghdr messages[SEND_BATCH];
    struct iovec parts[SEND_BATCH];
    struct sockaddr_storage names[SEND_BATCH];
    _Alignas(struct cmsghdr) uint8_t controls[SEND_BATCH][PACKET_INFO_CONTROL_CAP];
    size_t count = udp->queue.count < SEND_BATCH ? udp->queue.count : SEND_BATCH;

    for (size_t i = 0; i < count; i++) {
        struct net_datagram datagram = datagram_queue_peek(&udp->queue, i);

        parts[i] = (struct iovec){(void *)(uintptr_t)datagram.bytes, datagram.len};
        messages[i] = (struct mmsghdr){.msg_hdr = {
                                           .msg_name = &names[i],
                                           .msg_iov = &parts[i],
                                           .msg_iovlen = 1,
                                           .msg_control = controls[i],
                                       }};
        packet_info_write(&messages[i].msg_hdr, udp->family, &datagram);
    }
    int sent = sendmmsg(udp->fd, messages, (unsigned)count, MSG_DONTWAIT);
    if (sent < 0)
        return -errno;
    for (int i = 0; i < sent; i++)
        udp->counters.sent_bytes += messages[i].msg_len;
    udp->counters.sent += (uint64_t)sent;
    return sent;
}

static void retry_after_hold(uv_timer_t *timer)
{
    struct net_udp *udp = timer->data;

    udp->holds_off = false;
    net_udp_flush(udp);
}

/* The kernel did not take the first waiting datagram. */
static void handle_send_error(struct net_udp *udp, int error)
{
    switch (error) {
    case -EINTR:
        return;
    case -EAGAIN:
        udp->counters.send_waits++;
        udp->wants_write = true;
        return;
    case -ENOBUFS:
    case -ENOMEM:
        udp->counters.send_waits++;
        udp->holds_off = true;
        uv_timer_start(&udp->retry, retry_after_hold, ENOBUFS_WAIT_MS, 0);
        return;
    default: /* this datagram can never leave: the ones behind it can */
        udp->counters.send_failed++;
        datagram_queue_pop(&udp->queue, 1);
    }
}

void net_udp_flush(struct net_udp *udp)
{
    bool waited = udp->wants_write;
    unsigned budget = SEND_BUDGET;

    if (udp->closed || udp->holds_off)
        return;
    udp->wants_write = false;
    while (udp->queue.count && !udp->wants_write && !udp->holds_off && budget > 0) {
        int sent = send_batch(udp);

        if (sent > 0)
            datagram_queue_pop(&udp->queue, (size_t)sent);
        else
            handle_send_error(udp, sent);
        budget -= budget < SEND_BATCH ? budget : SEND_BATCH;
    }
    if (udp->queue.count && !udp->holds_off)
        udp->wants_write = true;
    if (!udp->queue.count || udp->wants_write || udp->holds_off)
        uv_prepare_stop(&udp->before_wait);
    if (waited != udp->wants_write)
        watch_socket(udp);
}

static void flush_before_wait(uv_prepare_t *handle)
{
    net_udp_flush(handle->data);
}

int net_udp_send(struct net_udp *udp, const struct net_datagram *datagram)
{
    if (datagram->len > NET_UDP_PAYLOAD_MAX)
        return -EMSGSIZE;
    if (datagram->peer.family == NET_FAMILY_NONE || datagram->peer.port == 0)
        return -EINVAL;
    if (!datagram_queue_push(&udp->queue, datagram)) {
        udp->counters.queue_dropped++;
        return NET_UDP_QUEUE_FULL;
    }
    if (!udp->wants_write && !udp->holds_off)
        uv_prepare_start(&udp->before_wait, flush_before_wait);
    return 0;
}

/* --- Life --- */

static void socket_ready(uv_poll_t *handle, int status, int events)
{
    struct net_udp *udp = handle->data;

    if (status < 0) {
        /* libuv stopped watching because of a pending socket error: taking it clears it. */
        int error;
        socklen_t len = sizeof(error);

        getsockopt(udp->fd, SOL_SOCKET, SO_ERROR, &error, &len);
        watch_socket(udp);
        return;
    }
    if (events & UV_READABLE)
        receive_all(udp);
    if (!udp->closed && (udp->queue.count || udp->wants_write))
        net_udp_flush(udp);
}

static void watch_socket(struct net_udp *udp)
{
    uv_poll_start(&udp->poll, UV_READABLE | (udp->wants_write ? UV_WRITABLE : 0), socket_ready);
}

/* Any address: IPv6 and IPv4 on one socket, or IPv4 alone where the kernel has no IPv6. */
static int open_bound_socket(const struct net_address *bind_to, int *ret_fd)
{
    struct sockaddr_storage storage;
    struct net_address address = *bind_to;
    _cleanup_(cleanup_close) int fd = -1;
    int family = address.family == NET_FAMILY_IPV4 ? AF_INET : AF_INET6;
    socklen_t len;

    fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (address.family == NET_FAMILY_NONE) {
        const int off = 0;

        address.family = NET_FAMILY_IPV6;
        if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
            return -errno;
    }
    len = net_address_to_sockaddr(&address, &storage);
    if (bind(fd, (struct sockaddr *)&storage, len) < 0)
        return -errno;
    *ret_fd = steal_fd(&fd);
    return 0;
}

static int open_socket(const struct net_udp_options *options, int *ret_fd)
{
    struct net_address any_ipv4 = net_address_ipv4(0, options->bind.port);
    int r = open_bound_socket(&options->bind, ret_fd);

    if ((r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL) && options->bind.family == NET_FAMILY_NONE)
        r = open_bound_socket(&any_ipv4, ret_fd);
    return r;
}

static int configure_socket(struct net_udp *udp, int receive_buffer_bytes)
{
    const int on = 1;
    const int fragment = IP_PMTUDISC_DONT;
    struct sockaddr_storage storage;
    socklen_t len = sizeof(storage);
    int granted = 0;
    int r;

    if (getsockname(udp->fd, (struct sockaddr *)&storage, &len) < 0)
        return -errno;
    udp->family = storage.ss_family;
    r = net_address_from_sockaddr((struct sockaddr *)&storage, len, &udp->local);
    if (r < 0)
        return r;
    r = packet_info_enable(udp->fd, udp->family);
    if (r < 0)
        return r;
    /* The rest is wished for, not needed: routers may fragment where a path is narrower than its first hop.
     */
    setsockopt(udp->fd, IPPROTO_IP, IP_MTU_DISCOVER, &fragment, sizeof(fragment));
    setsockopt(udp->fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
    if (receive_buffer_bytes > 0)
        setsockopt(udp->fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof(receive_buffer_bytes));
    len = sizeof(granted);
    if (getsockopt(udp->fd, SOL_SOCKET, SO_RCVBUF, &granted, &len) < 0)
        return -errno;
    udp->receive_buffer = (size_t)granted;
    return 0;
}

static int start_handles(struct net_udp *udp)
{
    int r = uv_poll_init(udp->loop, &udp->poll, udp->fd);

    if (r < 0)
        return r;
    uv_prepare_init(udp->loop, &udp->before_wait);
    uv_timer_init(udp->loop, &udp->retry);
    udp->poll.data = udp;
    udp->before_wait.data = udp;
    udp->retry.data = udp;
    udp->open_handles = 3;
    watch_socket(udp);
    return 0;
}

static void free_udp(struct net_udp *udp)
{
    if (udp->fd >= 0)
        close(udp->fd);
    datagram_queue_deinit(&udp->queue);
    free(udp->receive_bytes);
    free(udp);
}

int net_udp_open(uv_loop_t *loop, const struct net_udp_options *options, const struct net_udp_events *events,
                 struct net_udp **ret_udp)
{
    struct net_udp *udp = calloc(1, sizeof(*udp));
    int r = 0;

    if (!udp) {
        cleanup_close(&options->fd);
        return -ENOMEM;
    }
    *udp = (struct net_udp){.loop = loop, .fd = options->fd, .events = *events};
    if (udp->fd < 0)
        r = open_socket(options, &udp->fd);
    if (r == 0)
        r = configure_socket(udp, options->receive_buffer_bytes);
    if (r == 0)
        r = datagram_queue_init(&udp->queue, NET_UDP_QUEUE_DATAGRAMS, NET_UDP_QUEUE_BYTES);
    if (r == 0) {
        udp->receive_bytes = malloc((size_t)RECEIVE_BATCH * RECEIVE_SIZE);
        r = udp->receive_bytes ? start_handles(udp) : -ENOMEM;
    }
    if (r < 0) {
        free_udp(udp);
        return r;
    }
    *ret_udp = udp;
    return 0;
}

static void handle_closed(uv_handle_t *handle)
{
    struct net_udp *udp = handle->data;

    if (--udp->open_handles == 0)
        free_udp(udp);
}

void net_udp_close(struct net_udp *udp)
{
    if (!udp || udp->closed)
        return;
    udp->holds_off = false;
    net_udp_flush(udp);
    udp->closed = true;
    uv_close((uv_handle_t *)&udp->poll, handle_closed);
    uv_close((uv_handle_t *)&udp->before_wait, handle_closed);
    uv_close((uv_handle_t *)&udp->retry, handle_closed);
    /* Free the port at once; nothing polls the descriptor any more. */
    close(steal_fd(&udp->fd));
}

size_t net_udp_queued(const struct net_udp *udp)
{
    return udp->queue.count;
}

struct net_address net_udp_local(const struct net_udp *udp)
{
    return udp->local;
}

size_t net_udp_receive_buffer(const struct net_udp *udp)
{
    return udp->receive_buffer;
}

const struct net_udp_counters *net_udp_counters(const struct net_udp *udp)
{
    return &udp->counters;
}
