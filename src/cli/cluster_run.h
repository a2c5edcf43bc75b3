/* The cluster from end to end: whatever the backend is asked for, once or watched. */
#ifndef CLI_CLUSTER_RUN_H
#define CLI_CLUSTER_RUN_H

#include "cli/cluster.h"
#include "cli/watch.h"
#include "config/config.h"

/* What shows something else where the backend knows no node. */
struct cluster_instead {
    /*
     * Returns an exit status, or a negative number if there is nothing else to show either. Where it watches,
     * `runner` does so for it, with both sources.
     */
    int (*show)(void *context, const struct watch_runner *runner);
    void *context;
};

/*
 * Asks the backend at one of these places and shows its answer, or forgets the nodes that --forget names.
 * Returns the exit status.
 */
int cluster_run(struct show *show, const struct color_environment *environment, const struct config *config,
                const struct socket_places *places, const struct cluster_instead *instead);

#endif
