#include "net/port.h"

#include "core/cleanup.h"

#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#define LISTEN_BACKLOG 128

/* Binds one socket; TCP ones listen. Family NONE: IPv6 and IPv4 together. 0 or -errno. */
static int open_one(const struct net_address *bind_to, int type, uint16_t port, int *ret_fd)
{
    const int on = 1, off = 0;
    struct sockaddr_storage storage;
    struct net_address address = *bind_to;
    _cleanup_(cleanup_close) int fd = -1;
    socklen_t len;

    if (address.family == NET_FAMILY_NONE)
        address.family = NET_FAMILY_IPV6;
    address.port = port;
    len = net_address_to_sockaddr(&address, &storage);
    fd = socket(storage.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (bind_to->family == NET_FAMILY_NONE &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
        return -errno;
    /* For TCP it only means: connections of an earlier run that are dying do not block the port. */
    if (type == SOCK_STREAM && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&storage, len) < 0)
        return -errno;
    if (type == SOCK_STREAM && listen(fd, LISTEN_BACKLOG) < 0)
        return -errno;
    *ret_fd = steal_fd(&fd);
    return 0;
}

static int open_port(const struct net_address *bind_to, int type, uint16_t port, int *ret_fd)
{
    struct net_address any_ipv4 = net_address_ipv4(0, 0);
    int r = open_one(bind_to, type, port, ret_fd);

    if ((r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL) && bind_to->family == NET_FAMILY_NONE)
        r = open_one(&any_ipv4, type, port, ret_fd);
    return r;
}

int net_port_listen_tcp(const struct net_address *bind, int *ret_fd)
{
    return open_port(bind, SOCK_STREAM, bind->port, ret_fd);
}

static int fail(struct net_port_problem *ret_problem, int type, uint16_t port, int error)
{
    if (ret_problem)
        *ret_problem = (struct net_port_problem){type == SOCK_DGRAM ? "udp" : "tcp", port};
    return error;
}

/* A number that somebody else has, or that needs a privilege: the next one may do. */
static bool is_taken(int error)
{
    return error == -EADDRINUSE || error == -EACCES;
}

static int open_first_free(const struct net_port_options *options, int type, int *ret_fd, uint16_t *ret_port,
                           struct net_port_problem *ret_problem)
{
    for (uint32_t port = options->range_first; port <= options->range_last; port++) {
        int r = open_port(&options->bind, type, (uint16_t)port, ret_fd);

        if (r == 0)
            *ret_port = (uint16_t)port;
        if (!is_taken(r))
            return r < 0 ? fail(ret_problem, type, (uint16_t)port, r) : r;
    }
    return fail(ret_problem, type, 0, -EADDRINUSE);
}

/* The same number for both. 0, or -EADDRINUSE if no number of the range is free twice. */
static int open_equal_pair(const struct net_port_options *options, struct net_port_pair *pair)
{
    for (uint32_t port = options->range_first; port <= options->range_last; port++) {
        int r = open_port(&options->bind, SOCK_DGRAM, (uint16_t)port, &pair->udp_fd);

        if (r == 0) {
            r = open_port(&options->bind, SOCK_STREAM, (uint16_t)port, &pair->tcp_fd);
            if (r < 0)
                close(steal_fd(&pair->udp_fd));
        }
        if (r == 0)
            pair->udp_port = pair->tcp_port = (uint16_t)port;
        if (!is_taken(r))
            return r;
    }
    return -EADDRINUSE;
}

static int open_fixed(const struct net_port_options *options, int type, uint16_t port, int *ret_fd,
                      struct net_port_problem *ret_problem)
{
    int r = open_port(&options->bind, type, port, ret_fd);

    return r < 0 ? fail(ret_problem, type, port, r) : 0;
}

/* The second of a pair whose first is fixed or chosen: its number if it is free, else any of the range. */
static int open_partner(const struct net_port_options *options, int type, uint16_t wanted, int *ret_fd,
                        uint16_t *ret_port, struct net_port_problem *ret_problem)
{
    if (open_port(&options->bind, type, wanted, ret_fd) == 0) {
        *ret_port = wanted;
        return 0;
    }
    return open_first_free(options, type, ret_fd, ret_port, ret_problem);
}

static int open_pair(const struct net_port_options *options, struct net_port_pair *pair,
                     struct net_port_problem *ret_problem)
{
    int r;

    pair->udp_port = options->udp_port;
    pair->tcp_port = options->tcp_port;
    if (!options->udp_port && !options->tcp_port) {
        r = open_equal_pair(options, pair);
        if (r != -EADDRINUSE)
            return r < 0 ? fail(ret_problem, SOCK_DGRAM, options->range_first, r) : 0;
        r = open_first_free(options, SOCK_DGRAM, &pair->udp_fd, &pair->udp_port, ret_problem);
        return r < 0 ? r : open_first_free(options, SOCK_STREAM, &pair->tcp_fd, &pair->tcp_port, ret_problem);
    }
    if (options->udp_port) {
        r = open_fixed(options, SOCK_DGRAM, options->udp_port, &pair->udp_fd, ret_problem);
        if (r < 0)
            return r;
    }
    if (options->tcp_port) {
        r = open_fixed(options, SOCK_STREAM, options->tcp_port, &pair->tcp_fd, ret_problem);
        if (r < 0)
            return r;
    }
    if (!options->udp_port)
        return open_partner(options, SOCK_DGRAM, options->tcp_port, &pair->udp_fd, &pair->udp_port,
                            ret_problem);
    if (!options->tcp_port)
        return open_partner(options, SOCK_STREAM, options->udp_port, &pair->tcp_fd, &pair->tcp_port,
                            ret_problem);
    return 0;
}

int net_port_open(const struct net_port_options *options, struct net_port_pair *ret_pair,
                  struct net_port_problem *ret_problem)
{
    struct net_port_pair pair = {.udp_fd = -1, .tcp_fd = -1};
    int r = open_pair(options, &pair, ret_problem);

    if (r < 0) {
        cleanup_close(&pair.udp_fd);
        cleanup_close(&pair.tcp_fd);
        return r;
    }
    pair.first_taken = !options->udp_port && pair.udp_port != options->range_first;
    *ret_pair = pair;
    return 0;
}
