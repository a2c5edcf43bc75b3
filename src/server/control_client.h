/* The asking side of the control socket: `clustat-server status|pause|resume`. */
#ifndef SERVER_CONTROL_CLIENT_H
#define SERVER_CONTROL_CLIENT_H

#include "server/options.h"

/* Asks the running server and prints its answer. Returns the exit status: 0, or 1 with a line on stderr. */
int control_client_run(const struct options *options);

#endif
