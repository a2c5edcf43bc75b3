/*
 * The network interfaces of this host, read by rtnetlink, and the choice among them for multicast. A list is
 * a snapshot; struct net_interface_watch tells when to read a new one.
 */
#ifndef NET_INTERFACES_H
#define NET_INTERFACES_H

#include "net/address.h"

#include <net/if.h>
#include <uv.h>

#define NET_INTERFACES_CAP           1024u /* beyond: ignored (hosts with thousands of container links) */
#define NET_INTERFACE_ADDRESSES_CAP  8u    /* IPv4 addresses kept of one interface */
#define NET_INTERFACES_MULTICAST_CAP 16u   /* chosen for multicast, loopback not counted */

enum net_interface_kind {
    NET_INTERFACE_PLAIN = 0, /* hardware, VLAN, bond, InfiniBand ... */
    NET_INTERFACE_LOOPBACK,
    NET_INTERFACE_VETH,
    NET_INTERFACE_BRIDGE,
    NET_INTERFACE_VIRTUAL, /* tun, tap, dummy, vxlan: a bridge with only such ports serves guests */
};

struct net_interface {
    uint32_t index;
    char name[IF_NAMESIZE];
    enum net_interface_kind kind;
    bool up;               /* administratively up and with a carrier */
    bool multicast;        /* IFF_MULTICAST */
    uint32_t master;       /* index of the bridge or bond that it is part of; 0: none */
    bool bridge_port;      /* its traffic belongs to a bridge */
    bool container_bridge; /* a bridge that no real interface is a port of */
    size_t ipv4_count;
    struct net_address ipv4[NET_INTERFACE_ADDRESSES_CAP]; /* port 0 */
};

struct net_interface_list {
    struct net_interface *entries; /* owned; by index */
    size_t count;
};

/* Reads all interfaces. Returns 0 or -errno. The list is freed by net_interface_list_deinit(). */
int net_interface_list_read(struct net_interface_list *ret_list);
void net_interface_list_deinit(struct net_interface_list *list);

/* Where a group is joined: an interface and the address to send from. */
struct net_multicast_place {
    uint32_t index;
    char name[IF_NAMESIZE];
    struct net_address address; /* port 0 */
};

struct net_multicast_choice {
    struct net_multicast_place places[NET_INTERFACES_MULTICAST_CAP + 1];
    size_t count;
    size_t left_out; /* fit, but beyond the cap */
    size_t missing;  /* configured addresses that no up interface has */
};

/*
 * Chooses by design: with `outbound_count` > 0 exactly the up interfaces that carry these addresses (of any
 * kind: whoever names an address means it); else up to 16 up interfaces with IPv4 and multicast that are no
 * bridge port, veth or container bridge, lowest index first, and loopback. Pure.
 */
void net_interfaces_choose(const struct net_interface_list *list, const struct net_address *outbound,
                           size_t outbound_count, struct net_multicast_choice *ret_choice);

struct net_interface_watch;

/*
 * Calls on_change some milliseconds after the kernel reported changed links or addresses (bursts become one
 * call), and every `rescan_ms` in any case. Returns 0 or -errno; without netlink only the re-scan is left.
 */
int net_interface_watch_open(uv_loop_t *loop, unsigned rescan_ms, void (*on_change)(void *userdata),
                             void *userdata, struct net_interface_watch **ret_watch);
void net_interface_watch_close(struct net_interface_watch *watch);

#endif
