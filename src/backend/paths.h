/*
 * Where the socket and the state lie. Two kinds of backend: the service (run by root or by the user clustat)
 * has /run/clustat and /var/lib/clustat, anybody else $XDG_RUNTIME_DIR/clustat and $XDG_STATE_HOME/clustat.
 */
#ifndef BACKEND_PATHS_H
#define BACKEND_PATHS_H

#include "config/config.h"

#include <sys/types.h>

#define PATHS_SERVICE_USER "clustat"

/* What the choice depends on. */
struct paths_context {
    uid_t uid;                /* effective */
    uid_t service_uid;        /* of PATHS_SERVICE_USER; (uid_t)-1: there is none */
    const char *option;       /* --uds, or NULL */
    bool config_named;        /* --config or CLUSTAT_CONFIG; else it is the system's file, whose paths are not
                               * for ordinary users */
    const char *socket_named; /* CLUSTAT_BACKEND_SOCKET, as the CLI reads it; NULL or "": unset */
    const char *runtime_dir, *state_home, *home; /* the variables XDG_RUNTIME_DIR, XDG_STATE_HOME, HOME */
};

/* Strings are owned. */
struct paths {
    char *socket;
    char *state_dir; /* "": nothing is kept */
    bool service;    /* everybody may reach the socket; else the folders are for their owner alone */
};

/* The context of this process: its users and environment. The strings are borrowed. */
struct paths_context paths_context_now(const char *option, const char *config_option);

/*
 * Chooses. Returns 0, -EINVAL with a line in `why` (no XDG_RUNTIME_DIR, a path that is too long), or -ENOMEM.
 */
int paths_choose(const struct config *config, const struct paths_context *context, struct paths *ret_paths,
                 struct buffer *why);

/* Make the folders where they are missing. Return 0 or -errno, with a line in `why`. */
int paths_make_socket_folder(const struct paths *paths, struct buffer *why);
int paths_make_state_folder(const struct paths *paths, struct buffer *why);

void paths_deinit(struct paths *paths);

#endif
