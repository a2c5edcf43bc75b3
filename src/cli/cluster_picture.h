/* One picture of the cluster: the nodes, and below them what is wrong and what is not shown. */
#ifndef CLI_CLUSTER_PICTURE_H
#define CLI_CLUSTER_PICTURE_H

#include "cli/cluster.h"
#include "cli/cluster_view.h"

struct cluster_picture {
    struct cluster_view view; /* of the answer shown last */
    bool names_waited;        /* a picture has waited for user names */
    bool is_local_instead;    /* it knows no node, and other rows stand above the notes */
};

void cluster_picture_deinit(struct cluster_picture *picture);

/*
 * Takes the cluster's last answer as it looks at `now`; is_late: it should have been renewed long ago. Waits
 * for names of users at the first call, half a second at most. Returns 0 or -ENOMEM.
 */
int cluster_picture_take(struct cluster_picture *picture, const struct cluster *cluster, struct show *show,
                         struct instant now, bool is_late);

/* Appends the nodes, in the form that the options ask for. Errors stick in out. */
void cluster_picture_put(const struct cluster_picture *picture, const struct cluster *cluster,
                         const struct show *show, struct buffer *out);

/* Appends the lines for a terminal: the trouble, the footer. */
void cluster_picture_put_notes(const struct cluster_picture *picture, const struct cluster *cluster,
                               const struct show *show, struct buffer *out);

#endif
