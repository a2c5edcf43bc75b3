/*
 * All nodes and the addresses that they are asked at. Here is decided what is a row of its own: a node is an
 * identity (wire/message.h), however many addresses it has, and only a finished handshake makes one. Two live
 * instances of an identity are two rows, flagged; an address that another node answers at belongs to that one
 * from then on.
 *
 * No I/O and no clock: datagrams, connections and the time are passed in, what is to be sent comes out by
 * events, so that tests can play everything. One thread.
 */
#ifndef BACKEND_CLUSTER_H
#define BACKEND_CLUSTER_H

#include "backend/endpoint.h"
#include "backend/node.h"
#include "core/event_log.h"

#define CLUSTER_FORGET_NS     (INT64_C(7) * 24 * 3600 * NS_PER_S) /* silence after which a node is forgotten */
#define CLUSTER_CACHE_BYTES   (256u << 20)                        /* of all pictures together */
#define CLUSTER_ADDRESSES_MAX 8u                                  /* endpoints of one node that are kept */

struct cluster_events {
    /* As in proto/client.h. */
    void (*on_send)(void *userdata, struct endpoint *endpoint, const uint8_t *bytes, size_t len);
    void (*on_open)(void *userdata, struct endpoint *endpoint);
    /* TCP: the connection is of no more use; endpoint->stream is to be ended and set to NULL. */
    void (*on_close)(void *userdata, struct endpoint *endpoint);
    /* The node's question was answered, or its deadline has passed; or nothing is to be waited for. */
    void (*on_settled)(void *userdata, struct node *node);
    /* A row has come or gone (its slot may be given out again). */
    void (*on_rows)(void *userdata, struct node *node, bool gone);
    /* What the known-nodes file says has changed. */
    void (*on_changed)(void *userdata);
    /* The handshake with this candidate of discovery has ended. */
    void (*on_candidate_done)(void *userdata, unsigned candidate);
    void *userdata;
};

struct cluster_options {
    struct random_source random;
    uint64_t instance;
    uint64_t seed; /* of address hashes */
    bool tcp;
    size_t nodes_max; /* connecting.max_connections */
    size_t receive_buffer_bytes;
    int64_t heartbeat_ns, idle_timeout_ns;
    int64_t deadline_ns; /* services.node_deadline_ms: for questions of our own */
    const struct seal_keys *keys;
};

struct cluster;

/* Returns 0 or -ENOMEM. */
int cluster_new(const struct cluster_options *options, const struct cluster_events *events,
                struct cluster **ret_cluster);
void cluster_free(struct cluster *cluster); /* accepts NULL */

/* When cluster_tick() is due. */
struct instant cluster_next(const struct cluster *cluster);
void cluster_tick(struct cluster *cluster, struct instant now);

/* Frees what was given up. Call it when no event is being handled, at each turn of the loop. */
void cluster_settle(struct cluster *cluster, struct instant now);

/* Once a second: states that changed without anybody asking, and nodes to forget. */
void cluster_sweep(struct cluster *cluster, const struct node_clock *clock);

/* SIGHUP. */
void cluster_set_keys(struct cluster *cluster, struct instant now, const struct seal_keys *keys);
void cluster_set_times(struct cluster *cluster, int64_t deadline_ns, int64_t heartbeat_ns,
                       int64_t idle_timeout_ns);

/* What came from the network; returns what became of it. */
enum client_input cluster_datagram(struct cluster *cluster, struct instant now, const struct peer *from,
                                   const uint8_t *bytes, size_t len);
void cluster_stream_opened(struct endpoint *endpoint, struct instant now);
void cluster_stream_closed(struct endpoint *endpoint, struct instant now);
enum client_input cluster_stream_frame(struct endpoint *endpoint, struct instant now, uint8_t *frame,
                                       size_t len);
void cluster_overflowed(struct cluster *cluster, struct instant now);

const struct client_counters *cluster_counters(const struct cluster *cluster);

/* ---- rows ---- */

size_t cluster_count(const struct cluster *cluster);

/* Slots are below this. */
size_t cluster_slots(const struct cluster *cluster);

/* All rows in the order of display: natural by host name, then by address. Borrowed until rows change. */
struct node *const *cluster_rows(struct cluster *cluster);

/* True if there is a session with this very run of the node, and it answers. */
bool cluster_is_live(const struct cluster *cluster, const struct message_node *node);

/* The i-th identity with a live session, for a probe's digest; false behind the last. Fastest in order. */
bool cluster_live_identity(struct cluster *cluster, size_t i, uint8_t ret_identity[IDENTITY_SIZE]);

/* A node of the known-nodes file; it is tried at once. */
void cluster_recall(struct cluster *cluster, const struct node_clock *clock, const struct known_node *known);

/*
 * Asks a node, or joins the question that is on its way: on_settled follows at the latest at the deadline,
 * though not for a node without any address.
 */
void cluster_ask(struct cluster *cluster, struct node *node, struct instant now, struct instant deadline,
                 uint32_t interval_us);

/* True if an answer should wait for this node's (up to its deadline). */
bool cluster_worth_waiting(struct cluster *cluster, struct node *node, struct instant now);

/* True if the node's last question has no reply yet. */
bool cluster_is_asking(const struct node *node);

/* Removes a row and gives up its addresses, but for those of static nodes. */
void cluster_forget(struct cluster *cluster, struct node *node);

/* Nobody asks: closes all sessions. They come back when a node is asked. */
void cluster_rest(struct cluster *cluster, struct instant now);

/* Somebody asks again: tries all addresses whose node is not known yet. */
void cluster_wake(struct cluster *cluster, struct instant now);

/* The program ends: says goodbye to all. */
void cluster_stop(struct cluster *cluster, struct instant now);

/* Nodes that were seen in the last minutes and have no row, since there is no place for more. */
size_t cluster_left_out(struct cluster *cluster, struct instant now);

/* Bytes of all pictures; endpoints that exist. */
size_t cluster_picture_bytes(const struct cluster *cluster);
size_t cluster_endpoints(const struct cluster *cluster);

/* ---- addresses ---- */

/*
 * The address of a static node: tried for as long as it is used (static_uses). node: its placeholder, or
 * NULL. Returns the endpoint, or NULL (no memory, or far too many).
 */
struct endpoint *cluster_use_address(struct cluster *cluster, struct instant now,
                                     const struct net_address *address, struct node *placeholder);
void cluster_unuse_address(struct cluster *cluster, struct endpoint *endpoint);

/* An address in use whose node is gone gets a placeholder again. */
void cluster_use_again(struct cluster *cluster, struct endpoint *endpoint, struct node *placeholder);

/* A row for a static node that has not answered. NULL: no place or memory. name: host, as configured; id:
 * "host:port". */
struct node *cluster_add_placeholder(struct cluster *cluster, struct instant now, const char *hostname,
                                     const char *id);

enum cluster_candidate {
    CLUSTER_CANDIDATE_TRIED = 0, /* on_candidate_done follows */
    CLUSTER_CANDIDATE_OLD = 1,   /* the address is known, and was reminded */
    CLUSTER_CANDIDATE_FULL = 2,  /* no place for another node; counted */
};

/* A server that discovery heard of, at this address. */
enum cluster_candidate cluster_try_candidate(struct cluster *cluster, struct instant now,
                                             const struct net_address *address, unsigned number,
                                             const struct message_announce *announce);

/* Discovery has given the candidate up. */
void cluster_drop_candidate(struct cluster *cluster, unsigned number);

#endif
