/*
 * The sockets of net/multicast.h: one bound to the group for each interface, and one for unicast on the
 * group's port. Internal to net/.
 */
#ifndef NET_GROUP_SOCKET_H
#define NET_GROUP_SOCKET_H

#include "net/multicast.h"

struct group_socket;

struct group_socket_events {
    void (*on_datagram)(void *userdata, const struct net_datagram *datagram);
    void *userdata;
    struct net_multicast_counters *counters;
};

/* Binds to the group and joins it at `place`. Returns 0 or -errno. *events is copied. */
int group_socket_open(uv_loop_t *loop, const struct net_address *group,
                      const struct net_multicast_place *place, uint8_t ttl,
                      const struct group_socket_events *events, struct group_socket **ret_socket);

/*
 * Opens the unicast socket: on the group's port, of which one socket of this host can be the owner.
 * Returns 0, -EADDRINUSE (it has an owner) or -errno.
 */
int group_socket_open_owner(uv_loop_t *loop, const struct net_address *group, uint8_t ttl,
                            const struct group_socket_events *events, struct group_socket **ret_socket);

/* The same on a port of its own. */
int group_socket_open_unowned(uv_loop_t *loop, uint8_t ttl, const struct group_socket_events *events,
                              struct group_socket **ret_socket);

/* Stops at once. NULL is accepted. */
void group_socket_close(struct group_socket *socket);

/* Sends one datagram now. Returns 0 or -errno; counted. */
int group_socket_send(struct group_socket *socket, const struct net_datagram *datagram);

#endif
