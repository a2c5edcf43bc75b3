#include "cli/cluster_watch.h"

#include "cli/footer.h"
#include "cli/output.h"
#include "core/cleanup.h"

#include <string.h>

#define RETRY_NS       (250 * NS_PER_MS)
#define STALE_AFTER_NS (2 * NS_PER_S) /* answers this much older than the interval are marked */
#define LONG_NS        (3600 * NS_PER_S)

/* What stands in for an empty cluster, if there is such a thing and it is needed; else NULL. */
static const struct watch_source *local_instead(const struct cluster_watch *watch)
{
    return view_answer_end(watch->cluster->answer)->known ? NULL : watch->local;
}

static size_t fds(void *context, struct pollfd fds[static WATCH_SOURCE_FDS])
{
    const struct cluster_watch *watch = context;
    const struct watch_source *local = local_instead(watch);
    size_t count = local ? local->fds(local->context, fds) : 0;

    fds[count++] = (struct pollfd){.fd = watch->cluster->client.fd, .events = POLLIN};
    return count;
}

/* Returns when the answer that is on its way is overdue. */
static struct instant turn_backend(struct cluster_watch *watch, struct instant now)
{
    struct cluster *cluster = watch->cluster;

    /* Also while nothing is asked: that the other end has hung up must be noticed. */
    while (cluster->client.fd >= 0 && cluster_receive(cluster, now) == CLUSTER_DONE)
        continue;
    if (cluster->is_waiting && instant_since_ns(now, cluster->asked) >= watch->wait_ns)
        cluster_give_up(cluster, watch->wait_ns);
    return instant_add_ns(cluster->is_waiting ? cluster->asked : now,
                          cluster->is_waiting ? watch->wait_ns : LONG_NS);
}

static struct instant turn(void *context, struct instant now)
{
    struct cluster_watch *watch = context;
    struct instant next = turn_backend(watch, now);
    const struct watch_source *local = local_instead(watch);

    return local ? instant_earlier(next, local->turn(local->context, now)) : next;
}

static void ask_backend(struct cluster_watch *watch, struct instant now)
{
    struct cluster *cluster = watch->cluster;

    watch->old_count = cluster->answer_count;
    if (cluster->is_waiting)
        return;
    if (cluster->client.fd < 0) {
        if (instant_since_ns(now, watch->retry) < 0)
            return;
        watch->retry = instant_add_ns(now, RETRY_NS);
        if (cluster_connect(cluster, now) != CLUSTER_DONE)
            return;
    }
    cluster_ask(cluster, watch->query, now);
}

static void ask(void *context, struct instant now)
{
    struct cluster_watch *watch = context;
    const struct watch_source *local = local_instead(watch);

    if (local)
        local->ask(local->context, now);
    ask_backend(watch, now);
}

/* Where nothing will come, there is nothing to wait for either. */
static bool has_news(void *context)
{
    const struct cluster_watch *watch = context;
    const struct watch_source *local = local_instead(watch);

    if (local)
        return local->has_news(local->context);
    return watch->cluster->answer_count != watch->old_count || !watch->cluster->is_waiting;
}

static void tell_on_stderr(struct cluster_watch *watch)
{
    const struct cluster *cluster = watch->cluster;

    if (cluster->trouble != CLUSTER_WELL && !watch->told)
        output_complain(watch->show->program, "%.*s", (int)cluster->text.len,
                        buffer_text(&cluster->text).bytes);
    watch->told = cluster->trouble != CLUSTER_WELL;
}

static size_t count_lines(struct text text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.bytes[i] == '\n';
    return count;
}

/* The table, then the notes: these stay on the screen however high the table is. */
static void put_on_screen(struct cluster_watch *watch, struct buffer *out, size_t rows)
{
    _cleanup_(buffer_deinit) struct buffer notes = BUFFER_EMPTY;
    const struct cluster_view *view = &watch->picture.view;
    size_t note_rows;

    cluster_picture_put_notes(&watch->picture, watch->cluster, watch->show, &notes);
    note_rows = count_lines(buffer_text(&notes));
    if (!watch->show->options->as_gpustat && note_rows < rows)
        footer_cut_nodes(out, view->ends, view->count, rows - note_rows);
    buffer_put_text(out, buffer_text(&notes));
}

static int put(void *context, struct buffer *out, size_t rows, struct instant now)
{
    struct cluster_watch *watch = context;
    const struct cluster *cluster = watch->cluster;
    const struct watch_source *local = local_instead(watch);
    int64_t late_ns = instant_since_ns(now, cluster->answered);
    int r;

    r = cluster_picture_take(&watch->picture, cluster, watch->show, now,
                             late_ns > watch->show->options->interval_ns + STALE_AFTER_NS);
    if (r < 0)
        return r;
    watch->picture.is_local_instead = local != NULL;
    if (local)
        r = local->put(local->context, out, rows, now);
    else
        cluster_picture_put(&watch->picture, cluster, watch->show, out);
    if (r < 0)
        return r;
    if (rows)
        put_on_screen(watch, out, rows);
    else
        tell_on_stderr(watch);
    return 0;
}

/* Backends come back. */
static bool has_ended(void *context)
{
    (void)context;
    return false;
}

static void report_end(void *context)
{
    (void)context;
}

struct watch_source cluster_watch_source(struct cluster_watch *watch)
{
    return (struct watch_source){watch, fds, turn, ask, has_news, put, has_ended, report_end};
}
