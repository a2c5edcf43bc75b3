/* The cluster from end to end: whatever the backend is asked for, once or watched. */
#ifndef CLI_CLUSTER_RUN_H
#define CLI_CLUSTER_RUN_H

#include "cli/cluster.h"
#include "cli/show.h"
#include "config/config.h"

/* What shows something else where the backend knows no node. */
struct cluster_instead {
    /* Returns an exit status, or a negative number if there is nothing else to show either. */
    int (*show)(void *context);
    void *context;
};

/*
 * Asks the backend at one of these places and shows its answer, or forgets the nodes that --forget names.
 * Returns the exit status.
 */
int cluster_run(struct show *show, const struct color_environment *environment, const struct config *config,
                const struct socket_places *places, const struct cluster_instead *instead);

#endif
