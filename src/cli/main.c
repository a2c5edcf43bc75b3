/*
 * clustat, also called as gpustat: shows the GPUs. Wiring only: options, mode, sampler, picture, exit status.
 */
#include "cli/completion.h"
#include "cli/failure.h"
#include "cli/help.h"
#include "cli/local.h"
#include "cli/mode.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "cli/show.h"
#include "cli/watch.h"
#include "clustat_version.h"
#include "core/cleanup.h"
#include "model/node_filter.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/utsname.h>

enum exit_status {
    EXIT_SHOWN = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
};

static int print(const char *program, struct buffer *out)
{
    int r = buffer_error(out);

    if (r == 0)
        r = output_write(STDOUT_FILENO, buffer_text(out));
    if (r == 0)
        return EXIT_SHOWN;
    output_complain(program, "cannot write to standard output: %s", strerror(-r));
    return EXIT_FAILED;
}

static int out_of_memory(const char *program)
{
    output_complain(program, "out of memory");
    return EXIT_FAILED;
}

/* A list that is too long, or no memory for it. */
static int report_list(const char *program, const char *option, int error)
{
    output_complain(program, "%s: %s", option, strerror(-error));
    return EXIT_FAILED;
}

static int report_usage(const char *program, struct text message)
{
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;

    help_put_usage(&out, program);
    buffer_printf(&out, "%s: error: ", program);
    buffer_put_text(&out, message);
    buffer_put_char(&out, '\n');
    output_write(STDERR_FILENO, buffer_text(&out));
    return EXIT_USAGE;
}

/* ---- which node ---- */

/* In local mode there is one node: this one. Returns an exit status; EXIT_SHOWN if it is wanted. */
static int check_node_filter(const struct show *show)
{
    const char *expression = show->options->nodes;
    struct host_list_error error;
    struct node_filter *filter;
    struct utsname system;
    struct node_names names;
    bool selected, inexact;
    int r;

    if (!expression)
        return EXIT_SHOWN;
    r = node_filter_new(text_from_string(expression), &filter, &error);
    if (r == -ENOMEM)
        return out_of_memory(show->program);
    if (r < 0) {
        _cleanup_(buffer_deinit) struct buffer message = BUFFER_EMPTY;

        buffer_printf(&message, "argument -n/--node/--nodes: %s (at character %zu)", error.message,
                      error.offset + 1);
        return report_usage(show->program, buffer_text(&message));
    }
    uname(&system);
    names = (struct node_names){.hostname = text_from_string(system.nodename),
                                .connection_id = TEXT_LITERAL("local")};
    node_filter_select(filter, &names, 1, &selected, &inexact);
    node_filter_free(filter);
    if (!selected) {
        output_complain(show->program, "no node matches '%s': only this machine (%s) was asked", expression,
                        system.nodename);
        return EXIT_FAILED;
    }
    if (inexact)
        output_complain(show->program, "no node is named '%s'; taken as part of a name", expression);
    return EXIT_SHOWN;
}

/* ---- one picture ---- */

static void show_progress(void *context, unsigned seconds)
{
    char line[64];
    int len = snprintf(line, sizeof(line), "\rwaiting for the driver, %u s", seconds);

    *(bool *)context = true;
    output_write(STDERR_FILENO, (struct text){line, (size_t)len});
}

static void erase_progress(bool shown)
{
    if (shown)
        output_write(STDERR_FILENO, TEXT_LITERAL("\r                                        \r"));
}

/* Waits for the first snapshot. Returns an exit status; EXIT_SHOWN if there is something to show. */
static int wait_for_snapshot(struct local *local, const struct show *show)
{
    bool told = false, in_call;
    struct sampler_call call;
    enum local_outcome outcome;

    outcome = local_wait(local, isatty(STDERR_FILENO) == 1 ? show_progress : NULL, &told);
    erase_progress(told);
    in_call = outcome != LOCAL_COMPLETE && local_mark_call(local, clock_now(), 0, &call);
    if (outcome == LOCAL_NOTHING) {
        failure_report_silence(show, in_call ? &call : NULL, local->ended);
        return EXIT_FAILED;
    }
    if (outcome == LOCAL_PARTIAL && in_call)
        failure_note_call(show, &call);
    if (local->snapshot.fault != NODE_FAULT_NONE && !local->snapshot.device_count) {
        failure_report_node(show, &local->snapshot);
        return EXIT_FAILED;
    }
    return EXIT_SHOWN;
}

static int check_ids(struct show *show, const struct snapshot *snapshot)
{
    _cleanup_(buffer_deinit) struct buffer error = BUFFER_EMPTY;
    int64_t missing;
    int r;

    if (!show->options->ids)
        return EXIT_SHOWN;
    r = selection_parse_ids(show->options->ids, &show->ids, &error);
    if (r == 1) {
        buffer_put_char(&error, '\0');
        failure_report(show, error.bytes ? error.bytes : "");
        return EXIT_FAILED;
    }
    if (r < 0)
        return report_list(show->program, "--id", r);
    missing = selection_missing_id(&show->ids, snapshot);
    if (missing < 0)
        return EXIT_SHOWN;
    failure_report_id(show, snapshot, (uint32_t)missing);
    return EXIT_FAILED;
}

static void note_about_users(const struct show *show)
{
    if (!show->options->users)
        return;
    if (!show->filtered.device_count)
        output_complain(show->program, "no process of %s here", show->options->users);
    if (show->unowned)
        output_complain(show->program, "%u processes were left out: nobody can tell whose they are",
                        show->unowned);
}

static int show_once(struct local *local, struct show *show)
{
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;

    if (show_prepare(show, &local->snapshot, SHOW_NAMES_NS) < 0)
        return out_of_memory(show->program);
    show->age_us = (uint64_t)(instant_since_ns(clock_now(), local->received) / NS_PER_US);
    show_put(show, &local->snapshot, &out);
    if (show->options->debug)
        failure_debug(show, &local->snapshot);
    note_about_users(show);
    return print(show->program, &out);
}

static int check_users(struct show *show)
{
    _cleanup_(buffer_deinit) struct buffer error = BUFFER_EMPTY;
    struct instant deadline = instant_add_ns(clock_now(), 5 * NS_PER_S); /* there is no answer without it */
    int r;

    if (!show->options->users)
        return EXIT_SHOWN;
    r = selection_parse_users(show->options->users, show->users, deadline, &show->uids, &error);
    if (r < 0)
        return report_list(show->program, "--user", r);
    if (r == 0)
        return EXIT_SHOWN;
    output_complain(show->program, "%.*s", (int)error.len, buffer_text(&error).bytes);
    return EXIT_FAILED;
}

static int show_local(struct show *show, const struct color_environment *environment,
                      const struct sampler_options *sampling)
{
    struct local local;
    int status, r;

    r = local_open(&local, sampling, clock_now());
    if (r < 0) {
        failure_report_start(show, r);
        return EXIT_FAILED;
    }
    sampler_show_interest(local.sampler, show->options->interval_ns);
    status = check_users(show); /* while the sampler starts */
    if (status == EXIT_SHOWN &&
        (!show->options->interval_ns || show->options->ids || show->options->as_gpustat))
        status = wait_for_snapshot(&local, show);
    if (status == EXIT_SHOWN)
        status = check_ids(show, &local.snapshot);
    if (status == EXIT_SHOWN)
        status = show->options->interval_ns ? watch_run(&local, show, environment) : show_once(&local, show);
    local_close(&local);
    return status;
}

/* ---- whom to ask ---- */

static int show_devices(const struct options *options, const char *program)
{
    _cleanup_(config_deinit) struct config config = {0};
    _cleanup_(show_deinit) struct show show = {0};
    struct sampler_options sampling;
    struct color_environment environment;
    struct mode_environment places;
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
    if (mode_choose(options, &places) == MODE_BACKEND) {
        output_complain(program, "clustat-backend is not running: systemctl status clustat-client; "
                                 "--local shows this machine");
        return EXIT_FAILED;
    }
    if (settings_load(program, &places, &config) < 0 ||
        show_init(&show, options, &environment, config.services.latency_display) < 0)
        return out_of_memory(program);
    sampling = settings_sampling(&config, &places);
    status = check_node_filter(&show);
    return status == EXIT_SHOWN ? show_local(&show, &environment, &sampling) : status;
}

static int run(const char *program, const struct options *options)
{
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;

    switch (options->action) {
    case ACTION_HELP:
        help_put(&out, program);
        return print(program, &out);
    case ACTION_VERSION:
        buffer_printf(&out, "%s %s\n", program, CLUSTAT_VERSION);
        return print(program, &out);
    case ACTION_PRINT_COMPLETION:
        completion_put(&out, options->completion, program);
        return print(program, &out);
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
        return out_of_memory(program);
    if (r == OPTIONS_USAGE)
        return report_usage(program, buffer_text(&error));
    return run(program, &options);
}
