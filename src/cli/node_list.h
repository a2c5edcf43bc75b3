/* `clustat nodes`: a line per node, for whoever asks which of them answer. */
#ifndef CLI_NODE_LIST_H
#define CLI_NODE_LIST_H

#include "cli/cluster_view.h"

/*
 * Appends the list, aligned, under a line of headings (unless render->no_header). Errors stick in out.
 */
void node_list_put(const struct cluster_view *view, const struct render_options *render, int64_t now_unix_us,
                   struct buffer *out);

/* The same as JSON (docs/json.md). */
void node_list_put_json(const struct cluster_view *view, const struct message_view_end *end,
                        int64_t now_unix_us, struct buffer *out);

#endif
