/*
 * Answers: a selection of rows as frames for the CLI, or as clustat's JSON on one line. Snapshots are
 * forwarded as they came; they are decoded only where the question needs it (for some users only, without
 * values, JSON).
 */
#ifndef BACKEND_ANSWER_H
#define BACKEND_ANSWER_H

#include "backend/cluster.h"
#include "host/users.h"
#include "model/node_filter.h"

struct answer_question {
    const struct node_filter *filter; /* NULL: all nodes */
    unsigned flags;                   /* enum view_query_flag */
    const uint32_t *uids;             /* uid_count of them; 0: of all users */
    size_t uid_count;
};

/* What the rows do not know. */
struct answer_facts {
    struct node_clock clock;
    size_t left_out; /* nodes beyond max_connections */
    bool warming;    /* discovery has only begun */
    struct users *users;
};

/*
 * Marks in selected[i], for each of cluster_rows(), whether the filter wants it. Returns how many it wants,
 * or -ENOMEM.
 */
int answer_select(struct cluster *cluster, const struct node_filter *filter, bool *selected,
                  bool *ret_inexact);

/*
 * Appends a VIEW_NODE for each node and VIEW_END, all with request id 0: answer_set_request_id() fills it in
 * for each asker. Errors stick in `out`.
 */
void answer_put_frames(struct cluster *cluster, const struct answer_question *question,
                       const struct answer_facts *facts, struct buffer *out);

/* Sets the request id of all frames in these bytes. */
void answer_set_request_id(struct buffer *frames, uint64_t request_id);

/* Appends the line of JSON, with its newline. */
void answer_put_json(struct cluster *cluster, const struct answer_question *question,
                     const struct answer_facts *facts, struct buffer *out);

/* Appends the lines of LIST: a line per node, its members separated by tabs, and an empty line. */
void answer_put_list(struct cluster *cluster, const struct answer_facts *facts, struct buffer *out);

#endif
