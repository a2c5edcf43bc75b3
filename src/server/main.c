/* clustat-server: tells the state of a node's GPUs. */
#include "clustat_version.h"
#include "config/key_file.h"
#include "core/cleanup.h"
#include "server/control_client.h"
#include "server/options.h"
#include "server/privileges.h"
#include "server/server.h"

#include <errno.h>
#include <grp.h>
#include <string.h>

enum exit_status {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
};

static void print(FILE *file, const struct buffer *out)
{
    struct text text = buffer_text(out);

    fwrite(text.bytes, 1, text.len, file);
}

static int print_help(void)
{
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;

    options_put_help(&out);
    print(stdout, &out);
    return EXIT_DONE;
}

static int complain_usage(const struct buffer *why)
{
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;

    options_put_usage(&out);
    print(stderr, &out);
    fprintf(stderr, "clustat-server: %.*s\n", (int)why->len, buffer_text(why).bytes);
    return EXIT_USAGE;
}

static int keygen(const struct options *options)
{
    _cleanup_(buffer_deinit) struct buffer why = BUFFER_EMPTY;
    gid_t gid = (gid_t)-1;

    if (options->key_group) {
        const struct group *group = getgrnam(options->key_group);

        if (!group) {
            fprintf(stderr, "clustat-server: there is no group %s\n", options->key_group);
            return EXIT_FAILED;
        }
        gid = group->gr_gid;
    }
    if (key_file_make(options->key_path, gid, &why) == 0)
        return EXIT_DONE;
    fprintf(stderr, "clustat-server: %.*s\n", (int)why.len, buffer_text(&why).bytes);
    return EXIT_FAILED;
}

/* Start-up errors reach the person who typed the command: they go to stderr as they are. */
static int load(const struct options *options, struct settings *ret_settings)
{
    _cleanup_(config_report_deinit) struct config_report report = {.errors = BUFFER_EMPTY};
    int r = settings_load(options->config_path, ret_settings, &report);

    print(stderr, &report.warnings);
    print(stderr, &report.errors);
    return r;
}

static int check_config(const struct options *options)
{
    _cleanup_(settings_deinit) struct settings settings;

    if (load(options, &settings) < 0)
        return EXIT_FAILED;
    printf("%s: %s\n", settings.config.path,
           settings.config.file_found ? "good"
                                      : "not there: all keys have "
                                        "their defaults");
    return EXIT_DONE;
}

static int serve(const struct options *options)
{
    static struct server server; /* large */
    struct settings settings;
    int r;

    if (load(options, &settings) < 0) {
        settings_deinit(&settings);
        return EXIT_FAILED;
    }
    log_init("clustat-server", options->debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    r = server_open(options, &settings, &server);
    if (r == 0)
        r = privileges_drop();
    if (r == 0) {
        server_ready(&server);
        server_run(&server);
    }
    if (!server_close(&server))
        _exit(r < 0 ? EXIT_FAILED : EXIT_DONE);
    return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char *argv[])
{
    _cleanup_(buffer_deinit) struct buffer why = BUFFER_EMPTY;
    struct options options;

    if (sampler_is_child(argv))
        return sampler_main(argc, argv);
    if (options_parse(argc, argv, &options, &why) < 0)
        return complain_usage(&why);
    if (seal_start() < 0) {
        fprintf(stderr, "clustat-server: libsodium cannot be used on this machine\n");
        return EXIT_FAILED;
    }
    switch (options.action) {
    case ACTION_SERVE:
        return serve(&options);
    case ACTION_CHECK_CONFIG:
        return check_config(&options);
    case ACTION_STATUS:
    case ACTION_PAUSE:
    case ACTION_RESUME:
        return control_client_run(&options);
    case ACTION_KEYGEN:
        return keygen(&options);
    case ACTION_HELP:
        return print_help();
    case ACTION_VERSION:
        printf("clustat-server %s\n", CLUSTAT_VERSION);
        return EXIT_DONE;
    }
    return EXIT_USAGE;
}
