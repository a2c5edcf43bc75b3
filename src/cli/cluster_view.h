/*
 * An answer of the backend as it is shown now: in natural order of the host names, aged by the time that has
 * passed since it came, cut down to what -user leaves. Kept from picture to picture, so that its memory is
 * used again. Pure, but for the names of users that it has looked up.
 */
#ifndef CLI_CLUSTER_VIEW_H
#define CLI_CLUSTER_VIEW_H

#include "cli/show.h"
#include "proto/view_client.h"

struct cluster_view {
    struct view_node *nodes;           /* owned */
    struct view_node_details *details; /* owned; of the same nodes */
    size_t *ends;                      /* owned; room for render_options.ret_node_ends */
    struct cluster_view_item *items;   /* owned; for sorting */
    struct snapshot *filtered;         /* owned; what -user leaves of each node */
    size_t count, cap;
    size_t emptied;       /* nodes of the answer without a process of those users: not among `nodes` */
    size_t silent;        /* of `nodes`: have no values, so nothing but a header */
    uint64_t unowned;     /* processes that -user left out because nobody can tell whose they are */
    uint32_t process_max; /* of any node: whether there are names to wait for */
};

/* Accepts a view that was only zeroed. */
void cluster_view_deinit(struct cluster_view *view);

/*
 * Makes the view. late_us: how old the answer is. is_late: that is more than it should be, so a node that was
 * up then is shown as stale. `answer` must outlive the view's use. Returns 0 or -ENOMEM (the view is then
 * empty).
 */
int cluster_view_make(struct cluster_view *view, struct show *show, const struct view_answer *answer,
                      uint64_t late_us, bool is_late);

/* Host name, else address, else connection id: what a node is called and sorted by. */
struct text cluster_view_name(const struct view_node *node);

/* The first index of --id that no node has, although some node has shown its devices; -1: there is none. */
int64_t cluster_view_missing_id(const struct cluster_view *view, const struct number_list *ids);

#endif
