/* clustat-backend: finds the nodes, keeps in touch with them, answers the users of this machine. */
#include "backend/backend.h"
#include "clustat_version.h"
#include "core/cleanup.h"

#include <errno.h>
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
    fprintf(stderr, "clustat-backend: %.*s\n", (int)why->len, buffer_text(why).bytes);
    return EXIT_USAGE;
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
           settings.config.file_found ? "good" : "not there: all keys have their defaults");
    return EXIT_DONE;
}

static int serve(const struct options *options)
{
    static struct backend backend; /* large */
    struct settings settings;
    int r;

    log_init("clustat-backend", options->debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    if (load(options, &settings) < 0) {
        settings_deinit(&settings);
        return EXIT_FAILED;
    }
    r = backend_open(options, &settings, &backend);
    if (r == 0)
        backend_run(&backend);
    if (!backend_close(&backend))
        _exit(r < 0 ? EXIT_FAILED : EXIT_DONE);
    return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char *argv[])
{
    _cleanup_(buffer_deinit) struct buffer why = BUFFER_EMPTY;
    struct options options;

    if (options_parse(argc, argv, &options, &why) < 0)
        return complain_usage(&why);
    if (seal_start() < 0) {
        fprintf(stderr, "clustat-backend: libsodium cannot be used on this machine\n");
        return EXIT_FAILED;
    }
    switch (options.action) {
    case ACTION_SERVE:
        return serve(&options);
    case ACTION_CHECK_CONFIG:
        return check_config(&options);
    case ACTION_HELP:
        return print_help();
    case ACTION_VERSION:
        printf("clustat-backend %s\n", CLUSTAT_VERSION);
        return EXIT_DONE;
    }
    return EXIT_USAGE;
}
