/*
 * From a snapshot to what is printed: the options become the renderer's, users get their names, the user
 * filter is applied, and the bytes of one picture come out.
 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "cli/color.h"
#include "cli/options.h"
#include "cli/selection.h"
#include "model/view.h"
#include "render/render.h"

#define SHOW_NAMES_NS (500 * NS_PER_MS) /* how long a picture waits for user names */

struct show {
    const struct options *options;
    const char *program; /* "gpustat" or "clustat" */
    struct render_options render;
    struct users *users;
    struct number_list ids;   /* --id */
    struct number_list uids;  /* -user */
    struct snapshot filtered; /* what -user leaves */
    uint32_t unowned;         /* processes whose user nobody could tell, so that -user left them out */
    struct text wrong;        /* what is wrong between us and the sampler; absent if nothing. Borrowed */
    bool stale;               /* the snapshot is older than it should be */
    uint64_t age_us;          /* of the snapshot */
};

/*
 * latency_display: services.latency_display, where no option says otherwise. options and environment outlive
 * the result. Returns 0 or -ENOMEM.
 */
int show_init(struct show *ret_show, const struct options *options,
              const struct color_environment *environment, bool latency_display);
void show_deinit(struct show *show);

/* Has the names of a snapshot's users looked up. */
void show_want_names(struct show *show, const struct snapshot *snapshot, struct instant now);

/*
 * Appends one picture of these nodes, in this order. ret_ends: as render_options.ret_node_ends. Errors stick
 * in out.
 */
void show_put_view(const struct show *show, const struct view_node *nodes, size_t count, size_t *ret_ends,
                   struct buffer *out);

/*
 * Waits until the names of the snapshot's users are known, `wait_ns` at most (0: takes what is known), and
 * applies the user filter. Returns 0 or -ENOMEM.
 */
int show_prepare(struct show *show, const struct snapshot *snapshot, int64_t wait_ns);

/* The snapshot that is shown: the given one, or what -user left of it. */
const struct snapshot *show_filtered(const struct show *show, const struct snapshot *snapshot);

/*
 * Appends one picture of the snapshot, or of a node of which nothing is known yet (NULL). Errors stick in
 * out.
 */
void show_put(const struct show *show, const struct snapshot *snapshot, struct buffer *out);

#endif
