/*
 * The network side of the sessions: one UDP socket for all nodes, or a TCP connection for each. Carries what
 * backend/cluster.h wants sent, and hands in what comes.
 */
#ifndef BACKEND_TRANSPORT_H
#define BACKEND_TRANSPORT_H

#include "backend/cluster.h"
#include "net/udp.h"

struct transport;

/* Opens the UDP socket; for TCP nothing is opened yet. Returns 0 or -errno. */
int transport_open(uv_loop_t *loop, bool tcp, uint64_t seed, int64_t idle_timeout_ns,
                   struct transport **ret_transport);

/* From here on; must be called before the loop turns. */
void transport_set_cluster(struct transport *transport, struct cluster *cluster);

/* Bytes of SO_RCVBUF as granted (a default's where there is no UDP socket). */
size_t transport_receive_buffer(const struct transport *transport);

/* SIGHUP: of connections from now on. */
void transport_set_idle_timeout(struct transport *transport, int64_t idle_timeout_ns);

/* For struct cluster_events. */
void transport_send(struct transport *transport, struct endpoint *endpoint, const uint8_t *bytes, size_t len);
void transport_connect(struct transport *transport, struct endpoint *endpoint);
void transport_disconnect(struct transport *transport, struct endpoint *endpoint);

/* NULL without a UDP socket. */
const struct net_udp_counters *transport_counters(const struct transport *transport);

/* Closes the socket; connections are closed by cluster_free(), before transport_free(). Accept NULL. */
void transport_close(struct transport *transport);
void transport_free(struct transport *transport);

#endif
