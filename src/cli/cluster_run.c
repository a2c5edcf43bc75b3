#include "cli/cluster_run.h"

#include "cli/cluster_watch.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/wanted.h"
#include "core/cleanup.h"

#include <errno.h>
#include <stdlib.h>

struct cluster_run {
    struct show *show;
    const struct color_environment *environment;
    const struct config *config;
    struct cluster cluster;
    struct message_view_query query;
    uint8_t *users;  /* owned; backs query.users */
    int64_t wait_ns; /* for an answer that waits for nothing */
};

/* ---- the question ---- */

static int prepare_query(struct cluster_run *run)
{
    const struct options *options = run->show->options;
    const struct number_list *uids = &run->show->uids;
    int64_t interval_us = options->interval_ns / NS_PER_US;

    run->query = (struct message_view_query){
        .flags = VIEW_NO_WAIT | (options->list_nodes ? VIEW_NO_SNAPSHOTS : 0),
        .interval_us = interval_us < UINT32_MAX ? (uint32_t)interval_us : UINT32_MAX,
        .filter = text_from_string(options->nodes),
    };
    run->wait_ns = run->config->services.node_deadline_ns + NS_PER_S;
    if (run->wait_ns < CLUSTER_ANSWER_NS)
        run->wait_ns = CLUSTER_ANSWER_NS;
    /* More users than a question holds: the answer is filtered here in any case. */
    if (!uids->count || uids->count > MESSAGE_USERS_MAX)
        return 0;
    run->users = malloc(uids->count * sizeof(uint32_t));
    if (!run->users)
        return -ENOMEM;
    message_users_put(&run->query, uids->numbers, (uint16_t)uids->count, run->users);
    return 0;
}

static int report_trouble(const struct cluster_run *run, int outcome)
{
    const struct cluster *cluster = &run->cluster;
    const char *program = run->show->program;

    if (outcome < 0)
        return output_out_of_memory(program);
    output_complain(program, "%.*s", (int)cluster->text.len, buffer_text(&cluster->text).bytes);
    return EXIT_FAILED;
}

static const struct message_view_end *answer_end(const struct cluster_run *run)
{
    return view_answer_end(run->cluster.answer);
}

/*
 * The first answer. A backend that knows nobody yet is given the time that it needs to find somebody, after
 * it has shown that it answers at all. Returns an exit status.
 */
static int fetch_first(struct cluster_run *run)
{
    struct message_view_query patient = run->query;
    int64_t discover_wait_ns = run->config->connecting.discover_wait_ns;
    int r = cluster_fetch(&run->cluster, &run->query, run->wait_ns);

    if (r == CLUSTER_DONE && !answer_end(run)->known && answer_end(run)->flags & VIEW_WARMING &&
        !run->show->options->interval_ns) {
        patient.flags &= ~(unsigned)VIEW_NO_WAIT;
        r = cluster_fetch(&run->cluster, &patient, discover_wait_ns + run->wait_ns);
    }
    return r == CLUSTER_DONE ? EXIT_SHOWN : report_trouble(run, r);
}

/* ---- what is said beside the picture ---- */

/* Notes about -n. Returns an exit status. */
static int check_match(const struct cluster_run *run)
{
    const struct message_view_end *end = answer_end(run);
    const char *filter = run->show->options->nodes, *program = run->show->program;

    if (!filter)
        return EXIT_SHOWN;
    if (!end->matched && !end->known && run->show->options->interval_ns)
        return EXIT_SHOWN;
    if (!end->matched) {
        output_complain(program, "no node matches '%s' (%u known; `clustat nodes` lists them)", filter,
                        end->known);
        return EXIT_FAILED;
    }
    if (end->flags & VIEW_INEXACT)
        output_complain(program, "no node is named '%s'; taken as part of a name", filter);
    return EXIT_SHOWN;
}

static int check_ids(const struct cluster_run *run, const struct cluster_view *view)
{
    const struct show *show = run->show;
    int64_t missing;

    if (!show->options->ids || show->options->list_nodes)
        return EXIT_SHOWN;
    missing = cluster_view_missing_id(view, &show->ids);
    if (missing < 0)
        return EXIT_SHOWN;
    failure_report_cluster_id(show, (uint32_t)missing);
    return EXIT_FAILED;
}

static void note_about_users(const struct cluster_run *run, const struct cluster_view *view)
{
    const struct show *show = run->show;

    if (!show->options->users)
        return;
    if (!view->count)
        output_complain(show->program, "no process of %s on any node", show->options->users);
    if (view->unowned)
        output_complain(show->program, "%llu processes were left out: nobody can tell whose they are",
                        (unsigned long long)view->unowned);
}

/* What the footer would say and must be said also where there is none. */
static void note_what_is_missing(const struct cluster_run *run)
{
    const struct message_view_end *end = answer_end(run);

    if (end->left_out)
        output_complain(run->show->program, "%u nodes are left out: connecting.max_connections is reached",
                        end->left_out);
    if (!end->known)
        output_complain(run->show->program, end->flags & VIEW_WARMING
                                                ? "no node is known yet: discovery has only begun"
                                                : "no node is known: systemctl status clustat-server on the "
                                                  "GPU nodes");
}

static void debug(const struct cluster_run *run)
{
    const struct cluster *cluster = &run->cluster;
    const struct message_view_end *end = answer_end(run);

    output_complain(run->show->program,
                    "debug: backend at %s (process %d of user %u): %u nodes known, %u matched, %u left out; "
                    "answered in %.1f ms",
                    cluster->path, (int)cluster->client.peer_pid, (unsigned)cluster->client.peer_uid,
                    end->known, end->matched, end->left_out,
                    (double)instant_since_ns(cluster->answered, cluster->asked) / 1e6);
}

/* ---- showing ---- */

static int show_once(struct cluster_run *run)
{
    _cleanup_(cluster_picture_deinit) struct cluster_picture picture = {0};
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;
    const struct options *options = run->show->options;
    bool has_footer = run->environment->is_terminal && !options->json && !options->as_gpustat;
    int status;

    if (cluster_picture_take(&picture, &run->cluster, run->show, clock_now(), false) < 0)
        return output_out_of_memory(run->show->program);
    status = check_ids(run, &picture.view);
    if (status != EXIT_SHOWN)
        return status;
    cluster_picture_put(&picture, &run->cluster, run->show, &out);
    if (has_footer)
        cluster_picture_put_notes(&picture, &run->cluster, run->show, &out);
    else
        note_what_is_missing(run);
    note_about_users(run, &picture.view);
    if (options->debug)
        debug(run);
    return output_print(run->show->program, &out);
}

/* local: what is shown while the backend knows no node; NULL: nothing. */
static int watch(void *run_pointer, const struct watch_source *local)
{
    struct cluster_run *run = run_pointer;
    struct message_view_query query = run->query;
    struct cluster_watch context = {
        .cluster = &run->cluster,
        .show = run->show,
        .query = &query,
        .wait_ns = run->wait_ns,
        .local = local,
    };
    struct watch_source source = cluster_watch_source(&context);
    int status = EXIT_SHOWN;

    if (run->show->options->ids && !local) {
        if (cluster_picture_take(&context.picture, &run->cluster, run->show, clock_now(), false) < 0)
            status = output_out_of_memory(run->show->program);
        else
            status = check_ids(run, &context.picture.view);
    }
    if (status == EXIT_SHOWN)
        status = watch_run(&source, run->show, run->environment);
    cluster_picture_deinit(&context.picture);
    return status;
}

static int show_answer(struct cluster_run *run, const struct cluster_instead *instead)
{
    const struct options *options = run->show->options;
    const struct watch_runner runner = {watch, run};
    int status;

    status = fetch_first(run);
    if (status != EXIT_SHOWN)
        return status;
    /* Whoever watches certain nodes waits for these. */
    if (!answer_end(run)->known && !options->list_nodes && !(options->nodes && options->interval_ns)) {
        status = instead->show(instead->context, &runner);
        if (status >= 0)
            return status;
    }
    status = check_match(run);
    if (status != EXIT_SHOWN)
        return status;
    return options->interval_ns ? watch(run, NULL) : show_once(run);
}

/* ---- forgetting ---- */

static int forget(struct cluster_run *run)
{
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;
    const char *program = run->show->program, *names = run->show->options->forget;
    struct instant deadline = instant_add_ns(clock_now(), run->wait_ns);
    const struct message_forgotten *forgotten;
    int r;

    r = cluster_connect(&run->cluster, deadline);
    if (r == CLUSTER_DONE)
        r = cluster_ask_to_forget(&run->cluster, text_from_string(names), deadline);
    if (r == CLUSTER_DONE)
        r = cluster_receive(&run->cluster, deadline);
    if (r == CLUSTER_PENDING)
        r = cluster_give_up(&run->cluster, run->wait_ns);
    if (r != CLUSTER_DONE)
        return report_trouble(run, r);
    forgotten = view_answer_forgotten(run->cluster.incoming);
    if (forgotten->still_up)
        output_complain(program, "%u node%s kept: only those that do not answer can be forgotten",
                        forgotten->still_up, forgotten->still_up == 1 ? "" : "s");
    if (!forgotten->forgotten && !forgotten->still_up)
        output_complain(program, "no node matches '%s'", names);
    if (!forgotten->forgotten)
        return EXIT_FAILED;
    buffer_printf(&out, "%u node%s forgotten\n", forgotten->forgotten, forgotten->forgotten == 1 ? "" : "s");
    return output_print(program, &out);
}

/* ---- from end to end ---- */

/* What can be wrong before anybody is asked. Returns an exit status. */
static int check_options(struct show *show)
{
    struct node_filter *filter;
    int status = wanted_nodes(show, &filter);

    node_filter_free(filter);
    if (status == EXIT_SHOWN)
        status = wanted_forgotten(show);
    if (status == EXIT_SHOWN)
        status = wanted_ids(show);
    return status == EXIT_SHOWN ? wanted_users(show) : status;
}

int cluster_run(struct show *show, const struct color_environment *environment, const struct config *config,
                const struct socket_places *places, const struct cluster_instead *instead)
{
    struct cluster_run run = {.show = show, .environment = environment, .config = config};
    int status;

    status = check_options(show);
    if (status != EXIT_SHOWN)
        return status;
    if (cluster_init(&run.cluster, places) < 0)
        return output_out_of_memory(show->program);
    if (prepare_query(&run) < 0)
        status = output_out_of_memory(show->program);
    else
        status = show->options->forget ? forget(&run) : show_answer(&run, instead);
    cluster_deinit(&run.cluster);
    free(run.users);
    return status;
}
