/*
 * The responder: both sockets, and the sessions behind them (proto/peers.h). Bytes come in, answers go out;
 * what they say is made in server/questions.h.
 */
#ifndef SERVER_RESPONDER_H
#define SERVER_RESPONDER_H

#include "net/cidr.h"
#include "net/udp.h"
#include "proto/peers.h"
#include "server/questions.h"
#include "server/streams.h"

struct responder_options {
    int take_udp_fd, take_tcp_fd;
    struct message_node node;
    size_t max_connections;
    size_t reply_bytes; /* as in proto/peers.h; 0: its default */
    int64_t idle_timeout_ns;
    unsigned udp_mtu;                  /* 0: the route's */
    const struct seal_keys *keys;      /* borrowed until responder_set_keys() */
    const struct net_cidr_list *allow; /* borrowed; may change at any time */
    struct latest *latest;             /* borrowed */
    struct sampling *sampling;         /* borrowed */
};

struct responder;

/* Returns 0 or -errno; then *ret_responder (NULL without memory) is to be closed and freed all the same. Both
 * descriptors are taken over in any case. */
int responder_open(uv_loop_t *loop, const struct responder_options *options,
                   struct responder **ret_responder);

/* Ends everything at once. NULL, and what responder_open() left behind on an error, are accepted. Free it
 * when the loop has turned once more. */
void responder_close(struct responder *responder);
void responder_free(struct responder *responder);

/* Says goodbye to all sessions; nothing is answered any more. */
void responder_stop(struct responder *responder);

/* A newer snapshot is there: questions that wait for one are answered. */
void responder_snapshot_came(struct responder *responder);

void responder_set_keys(struct responder *responder, const struct seal_keys *keys);

/* Sends a datagram from the server's own port (announces by unicast). */
void responder_send_to(struct responder *responder, const struct net_address *to, const uint8_t *bytes,
                       size_t len);

/* For `clustat-server status`. */
const struct peers *responder_peers(const struct responder *responder);
const struct net_udp *responder_udp(const struct responder *responder);
const struct streams *responder_streams(const struct responder *responder);

#endif
