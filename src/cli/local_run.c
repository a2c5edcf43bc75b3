#include "cli/local_run.h"

#include "cli/failure.h"
#include "cli/local.h"
#include "cli/output.h"
#include "cli/wanted.h"
#include "cli/watch.h"
#include "cli/watch_local.h"
#include "core/cleanup.h"

#include <sys/utsname.h>

/* ---- which node ---- */

/* There is one node: this one. Returns an exit status; EXIT_SHOWN if it is wanted. */
static int check_node_filter(const struct show *show)
{
    const char *expression = show->options->nodes;
    struct node_filter *filter;
    struct utsname system;
    struct node_names names;
    bool selected, inexact;
    int status;

    status = wanted_nodes(show, &filter);
    if (!filter)
        return status;
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

static bool has_no_driver(const struct snapshot *snapshot)
{
    return snapshot->fault == NODE_FAULT_LIBRARY_MISSING || snapshot->fault == NODE_FAULT_LIBRARY_STUB ||
           snapshot->fault == NODE_FAULT_DRIVER_NOT_LOADED;
}

/* Waits for the first snapshot. Returns an exit status; EXIT_SHOWN if there is something to show. */
static int wait_for_snapshot(struct local *local, const struct show *show, bool if_driver)
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
    if (if_driver && has_no_driver(&local->snapshot))
        return LOCAL_RUN_NO_DRIVER;
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
    int status = wanted_ids(show);
    int64_t missing;

    if (status != EXIT_SHOWN || !show->options->ids)
        return status;
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
        return output_out_of_memory(show->program);
    show->age_us = (uint64_t)(instant_since_ns(clock_now(), local->received) / NS_PER_US);
    show_put(show, &local->snapshot, &out);
    if (show->options->debug)
        failure_debug(show, &local->snapshot);
    note_about_users(show);
    return output_print(show->program, &out);
}

static int watch_local(struct local *local, struct show *show, const struct color_environment *environment,
                       const struct watch_runner *runner)
{
    struct watch_local context = {.local = local, .show = show};
    struct watch_source source = watch_local_source(&context);

    return runner ? runner->run(runner->context, &source) : watch_run(&source, show, environment);
}

int local_run(struct show *show, const struct color_environment *environment,
              const struct sampler_options *sampling, bool if_driver, const struct watch_runner *runner)
{
    struct local local;
    int status, r;

    status = check_node_filter(show);
    if (status != EXIT_SHOWN)
        return status;
    r = local_open(&local, sampling, clock_now());
    if (r < 0) {
        failure_report_start(show, r);
        return EXIT_FAILED;
    }
    sampler_show_interest(local.sampler, show->options->interval_ns);
    status = wanted_users(show); /* while the sampler starts */
    if (status == EXIT_SHOWN &&
        (!show->options->interval_ns || show->options->ids || show->options->as_gpustat || if_driver))
        status = wait_for_snapshot(&local, show, if_driver);
    if (status == EXIT_SHOWN)
        status = check_ids(show, &local.snapshot);
    if (status == EXIT_SHOWN)
        status = show->options->interval_ns ? watch_local(&local, show, environment, runner)
                                            : show_once(&local, show);
    local_close(&local);
    return status;
}
