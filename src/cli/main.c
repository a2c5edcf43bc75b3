/*
 * clustat, also called as gpustat: shows the GPUs. Wiring only: options, mode, sampler, picture, exit status.
 */
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

static int show_devices(const struct options *options, const char *program)
{
    _cleanup_(config_deinit) struct config config = {0};
    _cleanup_(show_deinit) struct show show = {0};
    struct sampler_options sampling;
    struct color_environment environment;
    struct mode_environment places;

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
    if (mode_choose(options, &places) == MODE_BACKEND) {
        output_complain(program, "clustat-backend is not running: systemctl status clustat-client; "
                                 "--local shows this machine");
        return EXIT_FAILED;
    }
    if (settings_load(program, &places, &config) < 0 ||
        show_init(&show, options, &environment, config.services.latency_display) < 0)
        return output_out_of_memory(program);
    sampling = settings_sampling(&config, &places);
    return local_run(&show, &environment, &sampling, false);
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
