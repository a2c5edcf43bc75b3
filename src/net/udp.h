/*
 * The UDP data path: one non-blocking socket on the loop, read and written in batches (recvmmsg, sendmmsg).
 * It knows which of our addresses a datagram came to, so that an answer can leave from that same address:
 * hosts with several networks need that. Nothing here blocks; a wake-up handles a bounded number of
 * datagrams, so that a flood cannot starve timers; what cannot be sent at once waits in a bounded queue or is
 * counted and dropped.
 */
#ifndef NET_UDP_H
#define NET_UDP_H

#include "net/address.h"

#include <uv.h>

#define NET_UDP_PAYLOAD_MAX     65507u     /* RFC 768 over IPv4: 65535 - 20 - 8 */
#define NET_UDP_RECEIVE_BUDGET  256u       /* datagrams handled per wake-up */
#define NET_UDP_QUEUE_DATAGRAMS 4096u      /* waiting to be sent: more are dropped */
#define NET_UDP_QUEUE_BYTES     (4u << 20) /* the same in bytes; memory is touched only when used */

struct net_datagram {
    struct net_address peer; /* who sent it, or whom it goes to */
    struct net_address
        local;            /* our address (port: the socket's); family NONE when sending: the kernel chooses */
    uint32_t interface;   /* index it came by; sending: 0 lets the route decide */
    const uint8_t *bytes; /* borrowed; on receipt only for the time of the callback */
    size_t len;
};

struct net_udp_events {
    /* A datagram came. It may call net_udp_send() and net_udp_close(). */
    void (*on_datagram)(void *userdata, const struct net_datagram *datagram);
    /* May be NULL: all datagrams of one wake-up have been handed over; queued answers leave after it. */
    void (*on_batch_end)(void *userdata);
    void *userdata;
};

struct net_udp_options {
    int fd;                   /* a bound UDP socket (taken over: closed by us also on failure), or -1 */
    struct net_address bind;  /* with fd -1: where to bind. Family NONE: every address, IPv6 and IPv4 on one
                                 socket (IPv4 alone where there is no IPv6); port 0: any free one */
    int receive_buffer_bytes; /* asked for by SO_RCVBUF; 0: the system's default. See below for the granted
                                 size */
};

/* Since the socket was opened. */
struct net_udp_counters {
    uint64_t received;
    uint64_t received_bytes;
    uint64_t truncated;      /* longer than NET_UDP_PAYLOAD_MAX or cut: dropped */
    uint64_t kernel_dropped; /* the receive buffer was full (SO_RXQ_OVFL) */
    uint64_t sent;
    uint64_t sent_bytes;
    uint64_t queue_dropped; /* our send queue was full */
    uint64_t send_failed;   /* refused by the kernel: no route, firewall, too long for the path */
    uint64_t send_waits;    /* times that sending had to wait for the kernel (EAGAIN, ENOBUFS) */
};

struct net_udp;

/* Returns 0 or -errno of socket(2), bind(2), setsockopt(2). *events is copied. */
int net_udp_open(uv_loop_t *loop, const struct net_udp_options *options, const struct net_udp_events *events,
                 struct net_udp **ret_udp);

/* Stops at once; what waits to be sent is tried once and dropped. No event follows. NULL is accepted. */
void net_udp_close(struct net_udp *udp);

/* Outcomes of net_udp_send() beside 0 and -errno. */
enum net_udp_outcome {
    NET_UDP_QUEUE_FULL = 1, /* dropped and counted */
};

/*
 * Queues a copy of the datagram; it leaves at the end of this wake-up, or before the loop waits again. To
 * answer, pass on peer, local and interface 0 of the received one. A `local` that no packet can come from
 * (multicast) is ignored. Errors of the network are counted only: UDP promises nothing.
 * Returns 0, NET_UDP_QUEUE_FULL, -EMSGSIZE (len > NET_UDP_PAYLOAD_MAX) or -EINVAL (no peer family or port).
 */
int net_udp_send(struct net_udp *udp, const struct net_datagram *datagram);

/* Sends what is queued now, as far as the kernel takes it. */
void net_udp_flush(struct net_udp *udp);

/* Datagrams waiting to be sent. */
size_t net_udp_queued(const struct net_udp *udp);

/* The address that the socket is bound to. */
struct net_address net_udp_local(const struct net_udp *udp);

/* SO_RCVBUF as granted: bytes of kernel memory (bookkeeping included: a small datagram costs about 768). */
size_t net_udp_receive_buffer(const struct net_udp *udp);

/* Borrowed; counts on. */
const struct net_udp_counters *net_udp_counters(const struct net_udp *udp);

#define NET_MTU_FALLBACK 1200u  /* what every path is taken to carry */
#define NET_MTU_MIN      576u   /* RFC 791: every host must take this much */
#define NET_MTU_MAX      65535u /* length field of IPv4 */

/*
 * The MTU of the route to a peer: IP_MTU of a connected UDP socket (nothing is sent), within
 * NET_MTU_MIN..NET_MTU_MAX; NET_MTU_FALLBACK where the kernel does not know. `configured` (udp_mtu) is
 * returned unchanged if it is not 0. Costs a few system calls: ask once per session.
 */
unsigned net_path_mtu(const struct net_address *peer, unsigned configured);

#endif
