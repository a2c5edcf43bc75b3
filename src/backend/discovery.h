/*
 * Discovery on the network: probes to the group, announces from it (also by unicast), and the handshakes with
 * those who announced themselves. What an announce may cause is bounded by proto/discovery.h.
 */
#ifndef BACKEND_DISCOVERY_H
#define BACKEND_DISCOVERY_H

#include "backend/cluster.h"
#include "backend/settings.h"
#include "net/multicast.h"
#include "proto/discovery.h"

#include <uv.h>

struct discovery;

struct discovery_options {
    const struct settings *settings; /* of the start: group, outbound addresses, TTL, protocol */
    struct random_source random;
    uint64_t instance, seed;
    const struct seal_keys *keys;
    struct cluster *cluster;
};

/* Works without a network too (it may appear). Returns 0 or -ENOMEM. */
int discovery_open(uv_loop_t *loop, const struct discovery_options *options,
                   struct discovery **ret_discovery);

/* Who may announce himself, from now on (SIGHUP): borrowed. NULL: everybody. */
void discovery_set_allow(struct discovery *discovery, const struct net_cidr_list *allow);
void discovery_set_keys(struct discovery *discovery, const struct seal_keys *keys);

/* Somebody asked for nodes. */
void discovery_asked(struct discovery *discovery, struct instant now);
bool discovery_is_idle(const struct discovery *discovery, struct instant now);

/* struct cluster_events: on_candidate_done. */
void discovery_done(struct discovery *discovery, unsigned candidate);

/* When the answers to the first probe (of the start, or after a rest) should have come. */
struct instant discovery_first_round(const struct discovery *discovery);
/* The same of the last probe that is sent in quick succession: from then on discovery has had its chance. */
struct instant discovery_settled(const struct discovery *discovery);
/* When it began; waiting for a first node counts from here. */
struct instant discovery_began(const struct discovery *discovery);

struct discovery_counters {
    const struct prober_counters *prober;
    const struct net_multicast_counters *multicast; /* NULL: off */
    uint64_t not_allowed;                           /* announces from outside security.allow */
    size_t candidates, interfaces;
};
struct discovery_counters discovery_counters(const struct discovery *discovery);

/* Closes sockets; then, when the loop has turned, frees. Accept NULL. */
void discovery_close(struct discovery *discovery);
void discovery_free(struct discovery *discovery);

#endif
