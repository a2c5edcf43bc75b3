/* Whom the command asks: this machine's driver, or the backend that knows the cluster (design, section 2). */
#ifndef CLI_MODE_H
#define CLI_MODE_H

#include "cli/options.h"

enum mode {
    MODE_LOCAL,       /* a sampler of our own */
    MODE_BACKEND,     /* clustat-backend on this host */
    MODE_LOCAL_FIRST, /* this machine if it has a driver, else the backend */
};

/* What the choice depends on. Variables are NULL if unset. */
struct mode_environment {
    const char *local;          /* CLUSTAT_LOCAL: neither empty nor 0 means local */
    const char *nvml_lib;       /* CLUSTAT_NVML_LIB: not empty means local */
    const char *backend_socket; /* CLUSTAT_BACKEND_SOCKET: not empty names a socket */
    const char *runtime_dir;    /* XDG_RUNTIME_DIR */
    bool has_config;            /* there is a client.toml */
    bool has_socket_folder;     /* $XDG_RUNTIME_DIR/clustat or /run/clustat exists */
};

/* Looks at this process's variables and at the file system. */
void mode_environment_read(struct mode_environment *ret_environment);

/* True if a backend is configured at all. */
bool mode_has_backend(const struct options *options, const struct mode_environment *environment);

/*
 * What the command line says comes first (--local, then what only a backend can do or --backend-socket), then
 * the variables; else it is the backend where one is configured. Under the name gpustat this machine comes
 * first unless nodes or a socket are named.
 */
enum mode mode_choose(const struct options *options, const struct mode_environment *environment);

/* Where a backend may listen, in the order in which the sockets are tried. */
struct socket_places {
    const char *paths[2];
    size_t count;
    bool is_named; /* the one socket was named by an option or variable */
    char own[256]; /* backs the path of the user's own backend */
};

/*
 * The socket that --backend-socket or CLUSTAT_BACKEND_SOCKET names, and no other; else that of the user's own
 * backend, then uds_path (services.uds_path). The result borrows all strings and must not be moved.
 */
void mode_socket_places(const struct options *options, const struct mode_environment *environment,
                        const char *uds_path, struct socket_places *ret_places);

#endif
