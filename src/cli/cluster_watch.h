/*
 * The backend as a source of pictures. It is asked once per picture, on one connection; never again while an
 * answer is on its way. A backend that fails is said to do so in a line and asked again.
 */
#ifndef CLI_CLUSTER_WATCH_H
#define CLI_CLUSTER_WATCH_H

#include "cli/cluster_picture.h"
#include "cli/watch.h"

struct cluster_watch {
    struct cluster *cluster; /* has an answer */
    struct show *show;
    const struct message_view_query *query;
    int64_t wait_ns;                  /* how long an answer may take */
    const struct watch_source *local; /* what is shown while the backend knows no node; NULL: nothing */
    struct cluster_picture picture;
    struct instant retry; /* no new connection before */
    uint64_t old_count;   /* cluster->answer_count when the next answer was asked for */
    bool told;            /* piped: the present trouble was said on standard error */
};

/* watch: with what is above `picture` filled in; outlives the result. */
struct watch_source cluster_watch_source(struct cluster_watch *watch);

#endif
