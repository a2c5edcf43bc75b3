/*
 * What the command line wants: -n, --forget, --id and -user, taken apart, with a complaint about what is
 * wrong in them. Each function returns an exit status; EXIT_SHOWN if all is well or the option was not given.
 */
#ifndef CLI_WANTED_H
#define CLI_WANTED_H

#include "cli/show.h"
#include "model/node_filter.h"

/* -n. *ret_filter is to be freed; NULL: all nodes. */
int wanted_nodes(const struct show *show, struct node_filter **ret_filter);

/* --forget. */
int wanted_forgotten(const struct show *show);

/* --id, into show->ids. */
int wanted_ids(struct show *show);

/* -user, into show->uids; names are looked up for some seconds, since there is no answer without them. */
int wanted_users(struct show *show);

#endif
