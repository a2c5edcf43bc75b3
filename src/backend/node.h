/*
 * A node as the backend knows it: a row of every answer. Made when a handshake succeeds, from the known-nodes
 * file, or as a placeholder for a static node that has not answered yet; lives until it is forgotten.
 * Rows are kept by backend/cluster.h.
 */
#ifndef BACKEND_NODE_H
#define BACKEND_NODE_H

#include "backend/known_nodes.h"
#include "backend/picture.h"
#include "core/buffer.h"
#include "model/node_filter.h"
#include "proto/liveness.h"

struct endpoint;

#define NODE_CONNECTION_ID_CAP 40

struct node {
    unsigned slot; /* place in the cluster's table; given out again only after the node is gone */
    bool is_placeholder;
    uint8_t identity[IDENTITY_SIZE]; /* of a placeholder: zeros */
    bool has_instance;               /* false: known from the file only */
    uint64_t instance;
    unsigned rank; /* 1; of two live instances of one identity the later is 2, and so on */
    char connection_id[NODE_CONNECTION_ID_CAP];
    char hostname[KNOWN_HOSTNAME_MAX + 1]; /* "" if it was never told */
    char software[KNOWN_SOFTWARE_MAX + 1];
    struct net_address address; /* the one used last; family NONE: none yet */
    uint16_t udp_port, tcp_port;
    struct endpoint *endpoint;  /* that answered last: owned by the cluster; NULL: none yet */
    struct endpoint *endpoints; /* all of the node, linked by node_next */
    struct liveness liveness;
    struct picture picture;
    bool unreadable;         /* its last reply could not be read */
    bool asked_once;         /* and that question is over: a node has one chance to make an answer wait */
    bool has_asked;          /* asked_at means something */
    bool has_answer;         /* the question of asked_at was answered */
    struct instant asked_at; /* last */
    struct instant deadline; /* of that question */
    uint32_t interval_us;    /* and who asks how often */
    enum node_state told;    /* state as the log knows it */
    char why_unresolved[64]; /* of a placeholder: what the name service said; else "" */
    const struct node *twin; /* another live instance of this identity; NULL: none */
};

/* The connection id of an identity: the first 10 hex digits, "-2" and so on behind it for later ranks. */
void node_set_connection_id(struct node *node);

/* That of a placeholder, from "host:port". */
void node_set_placeholder_id(struct node *node, const char *name);

/* Takes over names and versions from the facts that the picture has. True: the host name has changed. */
bool node_take_names(struct node *node);

/* "gpu7 (10.0.0.7:30000)", for the log. Returns buf. */
#define NODE_LABEL_CAP (KNOWN_HOSTNAME_MAX + NET_ADDRESS_TEXT_CAP + 8)
char *node_label(const struct node *node, char buf[static NODE_LABEL_CAP]);

/* The backend's moment in both clocks, taken once for an answer. */
struct node_clock {
    struct instant now;
    int64_t unix_us;
    int64_t idle_timeout_ns;
};

/* Texts that a row's view borrows, for as long as the row is shown. */
struct node_texts {
    char address[NET_ADDRESS_TEXT_CAP];
    struct buffer error;
};

/*
 * What an answer says of the node, without its snapshot. `texts` must be empty or used before; its error is
 * freed by the caller.
 */
void node_fill_view(struct node *node, const struct node_clock *clock, struct node_texts *texts,
                    struct message_view_node *ret_view);

/*
 * Appends a snapshot body that holds the node alone, without devices: its name, driver and fault. For answers
 * without values, and for nodes that have none.
 */
void node_put_bare_body(const struct node *node, struct buffer *out);

/* Names to select the node by. Borrowed from the node and `address`. */
struct node_names node_names_of(const struct node *node, char address[static NET_ADDRESS_TEXT_CAP]);

/* For the known-nodes file: false if there is nothing to be kept (a placeholder). */
bool node_to_known(const struct node *node, const struct node_clock *clock, struct known_node *ret_known);

void node_free(struct node *node); /* accepts NULL */

#endif
