/* Whom the command asks: this machine's driver, or the backend that knows the cluster (design, section 2). */
#ifndef CLI_MODE_H
#define CLI_MODE_H

#include "cli/options.h"

enum mode {
    MODE_LOCAL,   /* a sampler of our own */
    MODE_BACKEND, /* clustat-backend on this host */
};

/* What the choice depends on. Variables are NULL if unset. */
struct mode_environment {
    const char *local;          /* CLUSTAT_LOCAL: neither empty nor 0 means local */
    const char *nvml_lib;       /* CLUSTAT_NVML_LIB: not empty means local */
    const char *backend_socket; /* CLUSTAT_BACKEND_SOCKET: not empty names a socket */
    bool has_config;            /* there is a client.toml */
    bool has_socket_folder;     /* $XDG_RUNTIME_DIR/clustat or /run/clustat exists */
};

/* Looks at this process's variables and at the file system. */
void mode_environment_read(struct mode_environment *ret_environment);

/* True if a backend is configured at all. */
bool mode_has_backend(const struct options *options, const struct mode_environment *environment);

/*
 * --local and the variables decide; else it is the backend where one is configured. Under the name gpustat
 * this machine comes first unless nodes or a socket are named.
 */
enum mode mode_choose(const struct options *options, const struct mode_environment *environment);

#endif
