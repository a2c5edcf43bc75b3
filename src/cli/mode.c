#include "cli/mode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_PATH   "/etc/clustat/client.toml"
#define SOCKET_FOLDER "/run/clustat"

static bool is_set(const char *value)
{
    return value && *value;
}

static bool has_socket_folder(const char *runtime_dir)
{
    char path[4096];

    if (is_set(runtime_dir) && snprintf(path, sizeof(path), "%s/clustat", runtime_dir) < (int)sizeof(path) &&
        access(path, F_OK) == 0)
        return true;
    return access(SOCKET_FOLDER, F_OK) == 0;
}

void mode_environment_read(struct mode_environment *ret_environment)
{
    const char *config = getenv("CLUSTAT_CONFIG"), *runtime_dir = getenv("XDG_RUNTIME_DIR");

    *ret_environment = (struct mode_environment){
        .local = getenv("CLUSTAT_LOCAL"),
        .nvml_lib = getenv("CLUSTAT_NVML_LIB"),
        .backend_socket = getenv("CLUSTAT_BACKEND_SOCKET"),
        .has_config = access(is_set(config) ? config : CONFIG_PATH, F_OK) == 0,
        .runtime_dir = runtime_dir,
        .has_socket_folder = has_socket_folder(runtime_dir),
    };
}

bool mode_has_backend(const struct options *options, const struct mode_environment *environment)
{
    return options->socket || is_set(environment->backend_socket) || environment->has_config ||
           environment->has_socket_folder;
}

enum mode mode_choose(const struct options *options, const struct mode_environment *environment)
{
    if (options->local)
        return MODE_LOCAL;
    if (options->socket || options->forget || options->list_nodes)
        return MODE_BACKEND;
    if (is_set(environment->nvml_lib) || (is_set(environment->local) && strcmp(environment->local, "0") != 0))
        return MODE_LOCAL;
    if (!mode_has_backend(options, environment))
        return MODE_LOCAL;
    return options->as_gpustat && !options->nodes ? MODE_LOCAL_FIRST : MODE_BACKEND;
}

void mode_socket_places(const struct options *options, const struct mode_environment *environment,
                        const char *uds_path, struct socket_places *ret_places)
{
    *ret_places = (struct socket_places){0};
    if (options->socket || is_set(environment->backend_socket)) {
        ret_places->paths[ret_places->count++] =
            options->socket ? options->socket : environment->backend_socket;
        ret_places->is_named = true;
        return;
    }
    if (is_set(environment->runtime_dir) &&
        snprintf(ret_places->own, sizeof(ret_places->own), "%s/clustat/client.sock",
                 environment->runtime_dir) < (int)sizeof(ret_places->own))
        ret_places->paths[ret_places->count++] = ret_places->own;
    ret_places->paths[ret_places->count++] = uds_path;
}
