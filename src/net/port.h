/*
 * The choice of a server's ports: bound once, kept, and never announced before they are ours. TCP sockets
 * listen already when they are handed out, UDP sockets are bound without address sharing, so nobody else can
 * take them.
 */
#ifndef NET_PORT_H
#define NET_PORT_H

#include "net/address.h"

struct net_port_options {
    struct net_address bind; /* where; family NONE: every address, IPv6 and IPv4. The port is ignored */
    uint16_t udp_port;       /* 0: from the range */
    uint16_t tcp_port;       /* 0: the same number as UDP if it is free, else from the range */
    uint16_t range_first;
    uint16_t range_last; /* >= range_first */
};

struct net_port_pair {
    int udp_fd; /* bound; owned by the receiver */
    int tcp_fd; /* listening; owned by the receiver */
    uint16_t udp_port;
    uint16_t tcp_port;
    bool first_taken; /* the range's first port was not free: clients with static nodes expect it */
};

/* Which request failed, for the message. */
struct net_port_problem {
    const char *protocol; /* "udp" or "tcp" */
    uint16_t port;        /* the fixed port; 0: nothing free in the whole range */
};

/*
 * Binds both. With two free choices: the first number of the range that is free for both; if no number is,
 * the first free one of each. Returns 0; -EADDRINUSE (*ret_problem says what; may be NULL); -EACCES
 * (privileged port); or -errno.
 */
int net_port_open(const struct net_port_options *options, struct net_port_pair *ret_pair,
                  struct net_port_problem *ret_problem);

/*
 * Listens on one TCP address (family NONE: every address; port 0: any free one). Returns 0 and a descriptor,
 * or -errno.
 */
int net_port_listen_tcp(const struct net_address *bind, int *ret_fd);

#define NET_PORT_HOLDER_CAP 128

/*
 * Says who holds a port, as far as /proc tells: "pid 812 (python3), uid 1000" or "uid 1000". An empty string
 * if it is not known. `protocol`: "udp" or "tcp". Returns buf.
 */
char *net_port_holder(const char *protocol, uint16_t port, char buf[static NET_PORT_HOLDER_CAP]);

#endif
