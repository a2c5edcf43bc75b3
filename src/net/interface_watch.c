#include "core/cleanup.h"
#include "net/interfaces.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>

#define SETTLE_MS 20u /* after the first report of a burst */

struct net_interface_watch {
    uv_poll_t poll;
    uv_timer_t settle;
    uv_timer_t rescan;
    unsigned open_handles;
    int fd; /* -1: no netlink, only the re-scan */
    bool closed;
    void (*on_change)(void *userdata);
    void *userdata;
};

static void tell(uv_timer_t *timer)
{
    struct net_interface_watch *watch = timer->data;

    watch->on_change(watch->userdata);
}

static void start_watching(struct net_interface_watch *watch);

/* What changed does not matter: the whole list is read again. A full buffer (ENOBUFS) means a change as well.
 */
static void netlink_ready(uv_poll_t *handle, int status, int events)
{
    struct net_interface_watch *watch = handle->data;
    char waste[8192];
    ssize_t n;

    (void)events;
    do {
        n = recv(watch->fd, waste, sizeof(waste), MSG_DONTWAIT);
    } while (n > 0 || (n < 0 && (errno == EINTR || errno == ENOBUFS)));
    if (status < 0)
        start_watching(watch);
    if (!uv_is_active((uv_handle_t *)&watch->settle))
        uv_timer_start(&watch->settle, tell, SETTLE_MS, 0);
}

static void start_watching(struct net_interface_watch *watch)
{
    uv_poll_start(&watch->poll, UV_READABLE, netlink_ready);
}

static int open_netlink(int *ret_fd)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR};
    _cleanup_(cleanup_close) int fd =
        socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    *ret_fd = steal_fd(&fd);
    return 0;
}

int net_interface_watch_open(uv_loop_t *loop, unsigned rescan_ms, void (*on_change)(void *userdata),
                             void *userdata, struct net_interface_watch **ret_watch)
{
    struct net_interface_watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return -ENOMEM;
    *watch = (struct net_interface_watch){
        .fd = -1, .on_change = on_change, .userdata = userdata, .open_handles = 2};
    uv_timer_init(loop, &watch->settle);
    uv_timer_init(loop, &watch->rescan);
    watch->settle.data = watch;
    watch->rescan.data = watch;
    uv_timer_start(&watch->rescan, tell, rescan_ms, rescan_ms);
    if (open_netlink(&watch->fd) == 0 && uv_poll_init(loop, &watch->poll, watch->fd) == 0) {
        watch->poll.data = watch;
        watch->open_handles++;
        start_watching(watch);
    } else {
        cleanup_close(&watch->fd);
        watch->fd = -1;
    }
    *ret_watch = watch;
    return 0;
}

static void handle_closed(uv_handle_t *handle)
{
    struct net_interface_watch *watch = handle->data;

    if (--watch->open_handles == 0)
        free(watch);
}

void net_interface_watch_close(struct net_interface_watch *watch)
{
    if (!watch || watch->closed)
        return;
    watch->closed = true;
    uv_close((uv_handle_t *)&watch->settle, handle_closed);
    uv_close((uv_handle_t *)&watch->rescan, handle_closed);
    if (watch->fd >= 0) {
        uv_close((uv_handle_t *)&watch->poll, handle_closed);
        close(steal_fd(&watch->fd));
    }
}
