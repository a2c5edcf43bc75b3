#include "backend/paths.h"

#include "core/cleanup.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

/* The service's user, from the local files: a name service that hangs must not keep us from starting. */
static uid_t service_uid(void)
{
    _cleanup_(cleanup_fclose) FILE *file = fopen("/etc/passwd", "re");
    struct passwd *entry;

    while (file && (entry = fgetpwent(file)))
        if (strcmp(entry->pw_name, PATHS_SERVICE_USER) == 0)
            return entry->pw_uid;
    return (uid_t)-1;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

struct paths_context paths_context_now(const char *option, const char *config_option)
{
    return (struct paths_context){
        .uid = geteuid(),
        .service_uid = service_uid(),
        .option = option,
        .config_named = config_option || variable("CLUSTAT_CONFIG"),
        .socket_named = variable("CLUSTAT_BACKEND_SOCKET"),
        .runtime_dir = variable("XDG_RUNTIME_DIR"),
        .state_home = variable("XDG_STATE_HOME"),
        .home = variable("HOME"),
    };
}

/* a followed by b, on the heap; NULL without memory. */
static char *join(const char *a, const char *b)
{
    char *joined = NULL;

    return asprintf(&joined, "%s%s", a, b) < 0 ? NULL : joined;
}

static bool is_service(const struct paths_context *context)
{
    return context->uid == 0 || context->uid == context->service_uid;
}

/* True if the configuration's value of this key is meant for whoever runs us. */
static bool counts(const struct config *config, const struct paths_context *context, enum config_key key)
{
    return is_service(context) || (context->config_named && config_is_set(config, key));
}

static int choose_socket(const struct config *config, const struct paths_context *context,
                         struct paths *paths, struct buffer *why)
{
    struct sockaddr_un address;

    if (context->option) {
        paths->socket = strdup(context->option);
    } else if (context->socket_named) {
        paths->socket = strdup(context->socket_named);
    } else if (counts(config, context, CONFIG_KEY_UDS_PATH)) {
        paths->socket = strdup(config->services.uds_path);
    } else if (context->runtime_dir) {
        paths->socket = join(context->runtime_dir, "/clustat/client.sock");
    } else {
        buffer_put_string(why,
                          "nowhere to put the socket: XDG_RUNTIME_DIR is not set; name a path with --uds");
        return -EINVAL;
    }
    if (!paths->socket)
        return -ENOMEM;
    if (paths->socket[0] != '/' || strlen(paths->socket) >= sizeof(address.sun_path)) {
        buffer_printf(why, "the socket cannot be at %s: allowed is an absolute path of at most %zu bytes",
                      paths->socket, sizeof(address.sun_path) - 1);
        return -EINVAL;
    }
    return 0;
}

static int choose_state(const struct config *config, const struct paths_context *context, struct paths *paths)
{
    if (counts(config, context, CONFIG_KEY_STATE_DIR)) {
        paths->state_dir = strdup(config->services.state_dir);
    } else if (context->state_home && context->state_home[0] == '/') {
        paths->state_dir = join(context->state_home, "/clustat");
    } else if (context->home) {
        paths->state_dir = join(context->home, "/.local/state/clustat");
    } else {
        paths->state_dir = strdup(""); /* nothing is kept */
    }
    return paths->state_dir ? 0 : -ENOMEM;
}

int paths_choose(const struct config *config, const struct paths_context *context, struct paths *ret_paths,
                 struct buffer *why)
{
    struct paths paths = {.service = is_service(context)};
    int r = choose_socket(config, context, &paths, why);

    if (r == 0)
        r = choose_state(config, context, &paths);
    if (r < 0) {
        paths_deinit(&paths);
        return r;
    }
    *ret_paths = paths;
    return 0;
}

/* Makes a folder and those above it that are missing. Returns 0 or -errno. */
static int make_folder(const char *path, mode_t mode)
{
    _cleanup_(cleanup_free) char *copy = strdup(path);
    struct stat info;

    if (!copy)
        return -ENOMEM;
    for (char *slash = copy + 1;; slash++) {
        char at = *slash;

        if (at && at != '/')
            continue;
        *slash = '\0';
        if (mkdir(copy, mode) < 0 && errno != EEXIST)
            return -errno;
        if (stat(copy, &info) < 0)
            return -errno;
        if (!S_ISDIR(info.st_mode))
            return -ENOTDIR;
        *slash = at;
        if (!at)
            return 0;
    }
}

static int make_folder_or_say(const struct paths *paths, const char *folder, struct buffer *why)
{
    int r = make_folder(folder, paths->service ? 0755 : 0700);

    if (r < 0)
        buffer_printf(why, "the folder %s cannot be made: %s", folder, strerror(-r));
    return r;
}

int paths_make_socket_folder(const struct paths *paths, struct buffer *why)
{
    _cleanup_(cleanup_free) char *folder = strdup(paths->socket);
    char *slash = folder ? strrchr(folder, '/') : NULL;

    if (!slash)
        return -ENOMEM;
    *slash = '\0';
    return *folder ? make_folder_or_say(paths, folder, why) : 0;
}

int paths_make_state_folder(const struct paths *paths, struct buffer *why)
{
    return paths->state_dir[0] ? make_folder_or_say(paths, paths->state_dir, why) : 0;
}

void paths_deinit(struct paths *paths)
{
    free(paths->socket);
    free(paths->state_dir);
    *paths = (struct paths){0};
}
