/*
 * Many nodes in one process: for each the real responder, with its sockets and sessions, and the real
 * discovery (server/responder.h, server/announcing.h); instead of a sampler, pictures that are made up.
 *
 * All of it stays on the loopback interface: sockets are bound to 127.0.0.1, announces leave there with a TTL
 * of 0. Nothing else can be configured, so no simulated node can show up on a real cluster's screens.
 */
#ifndef CLUSTER_SIM_FLEET_H
#define CLUSTER_SIM_FLEET_H

#include "server/announcing.h"

struct fleet_options {
    uint32_t nodes, devices, processes; /* processes: on each device */
    uint16_t first_port, last_port;     /* each node takes the next free pair */
    struct net_address group;           /* of discovery; family NONE: no multicast */
    const char *prefix;                 /* node names are this and four digits, from 0001 */
    int64_t idle_timeout_ns;            /* connecting.connection_idle_timeout */
    const char *key_file;               /* NULL: not sealed */
};

struct fleet;

/* Opens all nodes. Returns 0, or a negative errno after it was logged; then *ret_fleet is to be closed, too.
 */
int fleet_open(uv_loop_t *loop, const struct fleet_options *options, struct fleet **ret_fleet);

/* Says goodbye to everybody, as a server that is told to stop. */
void fleet_stop(struct fleet *fleet);

/* Ends all sockets at once; free it when the loop has turned once more. NULL is accepted. */
void fleet_close(struct fleet *fleet);
void fleet_free(struct fleet *fleet);

/* The first and the last node's UDP port. */
uint16_t fleet_first_port(const struct fleet *fleet);
uint16_t fleet_last_port(const struct fleet *fleet);

#endif
