/* An address that a node is asked at, with its session. Kept by backend/cluster.h. */
#ifndef BACKEND_ENDPOINT_H
#define BACKEND_ENDPOINT_H

#include "net/address.h"
#include "proto/client.h"

struct cluster;
struct node;

struct endpoint {
    struct cluster *cluster;
    struct net_address address;
    struct client *client; /* owned */
    void *stream;          /* the transport's, of a TCP connection; NULL: none */
    void *transport;       /* whose it is */
    struct node *node;     /* whose it is; NULL: nobody knows yet */
    struct endpoint *node_next;
    unsigned static_uses; /* by static nodes, which keep it alive */
    bool is_candidate;    /* of discovery: candidate is its number there */
    unsigned candidate;
    uint16_t udp_port, tcp_port; /* as announced; 0: not known */
    struct node *rival; /* it claims the identity of this node, of which is to be seen whether it lives */
    struct instant rival_until;
    uint8_t *facts; /* of the WELCOME, until its node is known; owned */
    size_t facts_len;
    uint64_t facts_hash;
    char software[65];
    bool doomed; /* freed at the next cluster_settle() */
};

#endif
