/* What the files of backend/cluster.h share. */
#ifndef BACKEND_CLUSTER_INTERNAL_H
#define BACKEND_CLUSTER_INTERNAL_H

#include "backend/cluster.h"

#define LEFT_OUT_MAX 4096u
#define LEFT_OUT_NS  (120 * NS_PER_S) /* four announces */

struct left_out {
    uint8_t identity[IDENTITY_SIZE];
    struct instant seen;
};

struct cluster {
    struct cluster_options options;
    struct cluster_events events;
    struct client_set *clients;
    struct node **nodes; /* by slot; NULL: free. nodes_max places */
    size_t slots;        /* used so far */
    size_t count;
    struct node **order; /* `count` of them */
    bool order_is_old;
    struct endpoint **endpoints; /* owned */
    size_t endpoint_count, endpoint_cap, endpoint_max;
    size_t doomed; /* endpoints that wait for cluster_settle() */
    size_t rivals; /* endpoints with a rival */
    size_t picture_bytes;
    struct left_out *left_out; /* owned; LEFT_OUT_MAX */
    size_t left_out_count;
    bool is_resting;          /* within cluster_rest() */
    size_t live_i, live_slot; /* where cluster_live_identity() stopped */
    struct event_limit log_states, log_problems;
    struct instant now; /* of the call from outside that is being handled, for client events */
};

/* ---- cluster.c ---- */

/* A new row; NULL: no place (counted) or no memory. The caller fills it in and calls cluster_row_added(). */
struct node *cluster_new_row(struct cluster *cluster, struct instant now, const uint8_t *identity);
void cluster_row_added(struct cluster *cluster, struct node *node);
void cluster_remove_row(struct cluster *cluster, struct node *node);
struct node *cluster_next_of_identity(const struct cluster *cluster, const uint8_t *identity,
                                      const struct node *after);
void cluster_note_unreachable(struct cluster *cluster, struct node *node);
/* Logs a state that has changed. */
void cluster_note_state(struct cluster *cluster, struct node *node);
void cluster_note_left_out(struct cluster *cluster, struct instant now, const uint8_t *identity);

/* ---- cluster_address.c ---- */

struct endpoint *cluster_find_endpoint(const struct cluster *cluster, const struct net_address *address);
struct endpoint *cluster_add_endpoint(struct cluster *cluster, const struct net_address *address);
void cluster_attach(struct endpoint *endpoint, struct node *node);
void cluster_detach(struct endpoint *endpoint);
/* Ends its session, and the endpoint too if no static node uses it. */
void cluster_give_up(struct cluster *cluster, struct endpoint *endpoint, struct instant now);
void cluster_end_candidate(struct cluster *cluster, struct endpoint *endpoint);
bool endpoint_is_up(const struct endpoint *endpoint);

/* ---- cluster_bind.c ---- */

/* A handshake has succeeded: whose address is it? */
void cluster_bind(struct cluster *cluster, struct endpoint *endpoint, struct instant now);
/* The node was heard, or is gone: what becomes of those who claim its identity? */
void cluster_rivals_heard(struct cluster *cluster, struct node *node, struct instant now);
void cluster_rivals_silent(struct cluster *cluster, struct node *node, struct instant now);
/* Of several rows of an identity only the live ones stay. */
void cluster_check_twins(struct cluster *cluster, struct node *node);
void cluster_merge_twins(struct cluster *cluster, struct node *dead);

/* ---- cluster_session.c ---- */

extern const struct client_events cluster_client_events;

#endif
