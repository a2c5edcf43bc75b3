/*
 * One multicast group on all interfaces that it is wanted on: for each a socket bound to the group's address
 * and port (so that several programs on a host can share it), with IP_MULTICAST_ALL off and the arrival
 * interface checked. Interfaces that come and go are followed.
 *
 * Everything leaves from the group's port, the one port to open in a firewall. A program that awaits answers
 * (the backend) also owns that port for unicast; where another program of this host already does, its probes
 * leave from a port of their own, and answers to the probe's source port reach it all the same. So answers
 * always go to `peer` of the received datagram, port included.
 */
#ifndef NET_MULTICAST_H
#define NET_MULTICAST_H

#include "net/interfaces.h"
#include "net/udp.h"

#define NET_MULTICAST_PAYLOAD_MAX 1400u /* longer ones are not sent; longer received ones are dropped */
#define NET_MULTICAST_RESCAN_MS   30000u

enum net_multicast_news {
    NET_MULTICAST_JOINED = 0,
    NET_MULTICAST_LEFT,        /* the interface went away, down, or lost its address */
    NET_MULTICAST_JOIN_FAILED, /* told once per interface and error; tried again at every change and re-scan
                                */
    NET_MULTICAST_LEFT_OUT,    /* more than 16 interfaces fit: `error` is how many are left out */
    NET_MULTICAST_NO_OUTBOUND, /* configured addresses that no interface has now: `error` is how many */
    NET_MULTICAST_PORT_SHARED, /* another program owns the group's port for unicast: we use one of our own */
};

struct net_multicast_event {
    enum net_multicast_news news;
    struct net_multicast_place place; /* of the first three */
    int error;                        /* -errno or a count, see above */
};

struct net_multicast_events {
    /* By a group socket or by the unicast socket (then `local` is no multicast address). */
    void (*on_datagram)(void *userdata, const struct net_datagram *datagram);
    /* May be NULL. Something to log. After a JOINED the owner announces or probes again. */
    void (*on_news)(void *userdata, const struct net_multicast_event *event);
    void *userdata;
};

struct net_multicast_options {
    struct net_address group;           /* IPv4 multicast address with port */
    const struct net_address *outbound; /* configured addresses; copied */
    size_t outbound_count;              /* at most NET_INTERFACES_MULTICAST_CAP */
    uint8_t ttl;                        /* 0: never leaves the host */
    bool unicast;                       /* also receive unicast on the group's port (the backend) */
    unsigned rescan_ms;                 /* 0: NET_MULTICAST_RESCAN_MS */
};

struct net_multicast_counters {
    uint64_t received;
    uint64_t wrong_interface; /* came by another interface than the socket's: dropped */
    uint64_t truncated;
    uint64_t sent;
    uint64_t send_failed;
};

struct net_multicast;

/*
 * Opens and joins on the interfaces there are; it succeeds without any (they may appear). News of the first
 * round is told from the loop's first turn, not from within this call.
 * Returns 0, -EINVAL (no IPv4 multicast group or port, too many outbound addresses) or -errno.
 */
int net_multicast_open(uv_loop_t *loop, const struct net_multicast_options *options,
                       const struct net_multicast_events *events, struct net_multicast **ret_multicast);

/* Leaves all groups. No event follows. NULL is accepted. */
void net_multicast_close(struct net_multicast *multicast);

/* Sends to the group on every joined interface. Returns how many took it (0 if there is none), or -EMSGSIZE.
 */
int net_multicast_send(struct net_multicast *multicast, const void *bytes, size_t len);

/*
 * Sends to one address (answer to a probe, `announce_to`) from the group's port; `local` and `interface` as
 * in struct net_datagram. Without a unicast socket it leaves from a group socket, if any is joined. Returns
 * 0, -EMSGSIZE, or -errno of sendmsg(2) (-ENETDOWN without any socket). Never waits.
 */
int net_multicast_send_to(struct net_multicast *multicast, const struct net_datagram *datagram);

/* The interfaces joined now; borrowed until the next turn of the loop. */
size_t net_multicast_places(const struct net_multicast *multicast,
                            const struct net_multicast_place **ret_places);

const struct net_multicast_counters *net_multicast_counters(const struct net_multicast *multicast);

#endif
