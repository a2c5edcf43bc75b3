/*
 * Nodes that the configuration names: their addresses are looked up, all of them, and again now and then. One
 * that has not answered yet has a row all the same (a placeholder), so that nobody misses it.
 */
#ifndef BACKEND_STATIC_NODES_H
#define BACKEND_STATIC_NODES_H

#include "backend/cluster.h"
#include "backend/settings.h"

#include <uv.h>

struct static_nodes;

/* Nothing is looked up before static_nodes_set(). Returns 0 or -errno. */
int static_nodes_open(uv_loop_t *loop, struct cluster *cluster, struct static_nodes **ret_nodes);

/* These are the nodes from now on: those that were there before go on undisturbed. Returns 0 or -ENOMEM. */
int static_nodes_set(struct static_nodes *nodes, struct instant now, const struct settings_static *statics,
                     size_t count);

/* Looks names up again whose time has come, and sees which placeholders are needed. Call it once a second. */
void static_nodes_sweep(struct static_nodes *nodes, struct instant now);

/* struct cluster_events, on_rows: this row is gone. */
void static_nodes_row_gone(struct static_nodes *nodes, const struct node *node);

/* A row is about to be forgotten: if a static node stands behind it, it gets no placeholder until it answers.
 */
void static_nodes_hide(struct static_nodes *nodes, const struct node *node);

size_t static_nodes_count(const struct static_nodes *nodes);

/* Closes the resolver; then frees. Accept NULL. Before cluster_free(). */
void static_nodes_close(struct static_nodes *nodes);
void static_nodes_free(struct static_nodes *nodes);

#endif
