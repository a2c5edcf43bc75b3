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

static bool has_socket_folder(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char path[4096];

    if (is_set(runtime) && snprintf(path, sizeof(path), "%s/clustat", runtime) < (int)sizeof(path) &&
        access(path, F_OK) == 0)
        return true;
    return access(SOCKET_FOLDER, F_OK) == 0;
}

void mode_environment_read(struct mode_environment *ret_environment)
{
    const char *config = getenv("CLUSTAT_CONFIG");

    *ret_environment = (struct mode_environment){
        .local = getenv("CLUSTAT_LOCAL"),
        .nvml_lib = getenv("CLUSTAT_NVML_LIB"),
        .backend_socket = getenv("CLUSTAT_BACKEND_SOCKET"),
        .has_config = access(is_set(config) ? config : CONFIG_PATH, F_OK) == 0,
        .has_socket_folder = has_socket_folder(),
    };
}

bool mode_has_backend(const struct options *options, const struct mode_environment *environment)
{
    return options->socket || is_set(environment->backend_socket) || environment->has_config ||
           environment->has_socket_folder;
}

enum mode mode_choose(const struct options *options, const struct mode_environment *environment)
{
    if (options->local || is_set(environment->nvml_lib))
        return MODE_LOCAL;
    if (is_set(environment->local) && strcmp(environment->local, "0") != 0)
        return MODE_LOCAL;
    if (options->as_gpustat && !options->nodes && !options->socket)
        return MODE_LOCAL;
    return mode_has_backend(options, environment) ? MODE_BACKEND : MODE_LOCAL;
}
