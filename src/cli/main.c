/*
 * clustat, also called as gpustat: shows the GPUs. Wiring only: options, mode, sampler, picture, exit status.
 */
#include "cli/cluster_run.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/local_run.h"
#include "cli/mode.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "cli/show.h"
#include "clustat_version.h"
#include "core/cleanup.h"

#include <signal.h>

/* Everything that showing the devices depends on. */
struct context {
    struct show *show;
    const struct color_environment *environment;
    struct sampler_options sampling;
};

/* A machine with GPUs whose backend knows nobody: its own rows, and a line that says so. */
static int show_local_instead(void *context_pointer, const struct watch_runner *runner)
{
    const struct context *context = context_pointer;
    struct show *show = context->show;
    int status = local_run(show, context->environment, &context->sampling, true, runner);

    if (status == EXIT_SHOWN && !show->options->interval_ns)
        output_complain(show->program, "%s", CLUSTER_LOCAL_INSTEAD_TEXT);
    return status;
}

static int show_devices(const struct options *options, const char *program)
{
    _cleanup_(config_deinit) struct config config = {0};
    _cleanup_(show_deinit) struct show show = {0};
    struct socket_places sockets;
    struct color_environment environment;
    struct mode_environment places;
    struct context context = {&show, &environment, {0}};
    struct cluster_instead instead = {show_local_instead, &context};
    enum mode mode;
    int status;

    if (options->json && options->interval_ns) {
        if (options->as_gpustat)
            output_write(STDERR_FILENO,
                         TEXT_LITERAL("Error: --json and --interval/-i can't be used together.\n"));
        else
            output_complain(program, "--json and -i cannot be used together");
        return EXIT_FAILED;
    }
    color_environment_read(&environment);
    mode_environment_read(&places);
    if (settings_load(program, &places, &config) < 0 ||
        show_init(&show, options, &environment, config.services.latency_display) < 0)
        return output_out_of_memory(program);
    context.sampling = settings_sampling(&config, &places);
    mode_socket_places(options, &places, config.services.uds_path, &sockets);
    mode = mode_choose(options, &places);
    if (mode != MODE_BACKEND) {
        status = local_run(&show, &environment, &context.sampling, mode == MODE_LOCAL_FIRST, NULL);
        if (status != LOCAL_RUN_NO_DRIVER)
            return status;
    }
    return cluster_run(&show, &environment, &config, &sockets, &instead);
}

static int run(const char *program, const struct options *options)
{
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;

    switch (options->action) {
    case ACTION_HELP:
        help_put(&out, program);
        return output_print(program, &out);
    case ACTION_VERSION:
        buffer_printf(&out, "%s %s\n", program, CLUSTAT_VERSION);
        return output_print(program, &out);
    case ACTION_PRINT_COMPLETION:
        completion_put(&out, options->completion, program);
        return output_print(program, &out);
    case ACTION_SHOW:
        break;
    }
    return show_devices(options, program);
}

int main(int argc, char *argv[])
{
    _cleanup_(buffer_deinit) struct buffer error = BUFFER_EMPTY;
    bool as_gpustat = argc > 0 && options_called_as_gpustat(argv[0]);
    const char *program = as_gpustat ? "gpustat" : "clustat";
    struct options options;
    int r;

    if (argc > 0 && sampler_is_child(argv))
        return sampler_main(argc, argv);
    output_init();
    signal(SIGPIPE, SIG_DFL); /* whoever started us may have ignored it; `clustat | head -1` must end */
    r = options_parse(as_gpustat, argv + 1, argc > 0 ? (size_t)argc - 1 : 0, &options, &error);
    if (r < 0)
        return output_out_of_memory(program);
    if (r == OPTIONS_USAGE)
        return help_report_usage(program, buffer_text(&error));
    return run(program, &options);
}
