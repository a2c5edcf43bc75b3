/*
 * Which nodes a question is about (`-n FILTER`): a comma list of host names, host lists, `*` globs,
 * addresses, networks (CIDR) and connection ids; `!` in front excludes.
 *
 * A plain word names the node with exactly this host name, or with this first label of it, or with this
 * address or connection id. If no node is named so, it selects the nodes whose host name contains it, where a
 * digit at the word's beginning or end must not touch a further digit (`1.compute` finds node1.compute, not
 * node11.compute); the caller then says that the match was not exact.
 */
#ifndef MODEL_NODE_FILTER_H
#define MODEL_NODE_FILTER_H

#include "model/host_list.h"

#define NODE_FILTER_MAX_BYTES 65536 /* of the whole expression */
#define NODE_FILTER_MAX_ITEMS 4096

/* What a node can be found by; absent ones never match. Addresses may carry a port ("10.0.0.7:30000",
 * "[::1]:30000"). */
struct node_names {
    struct text hostname;
    struct text addr;
    struct text connection_id;
};

struct node_filter;

/* Returns 0, -EINVAL or -E2BIG with *ret_error written, or -ENOMEM. Copies the expression. */
int node_filter_new(struct text expression, struct node_filter **ret_filter,
                    struct host_list_error *ret_error);

/* Accepts NULL. */
void node_filter_free(struct node_filter *filter);

/*
 * Writes selected[i] for each of `count` nodes. An expression with exclusions only starts from all nodes.
 * *ret_inexact (may be NULL) tells whether some word found its nodes only as part of a name.
 * Returns how many nodes are selected.
 */
size_t node_filter_select(const struct node_filter *filter, const struct node_names *nodes, size_t count,
                          bool *selected, bool *ret_inexact);

#endif
