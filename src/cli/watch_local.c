#include "cli/watch_local.h"

#include "cli/failure.h"
#include "core/utf8.h"

/* Readings this much older than the interval are marked. */
#define STALE_AFTER_NS (2 * NS_PER_S)

/* Lines under the table: what keeps the picture from being fresh. call: the one that hangs, NULL if none. */
static void put_state(const struct local *local, const struct sampler_call *call, struct instant now,
                      struct buffer *out)
{
    long long waited_s = instant_since_ns(now, local->started) / NS_PER_S;

    if (!local->has_snapshot && waited_s >= 1)
        buffer_printf(out, "waiting for the driver, %lld s\n", waited_s);
    if (local->ended)
        buffer_put_string(out, "the process that reads the driver has ended; it is started again\n");
    if (call && local->has_snapshot) {
        failure_put_call(out, call);
        buffer_printf(out, " has not returned for %lld s\n", (long long)(call->running_ns / NS_PER_S));
    }
}

static void put_nothing_of_users(const struct watch_local *watch, struct buffer *out)
{
    if (!watch->show->options->users || !watch->local->has_snapshot || watch->show->filtered.device_count)
        return;
    buffer_put_string(out, "no process of ");
    utf8_put_visible(out, text_from_string(watch->show->options->users));
    buffer_put_char(out, '\n');
}

static int put(void *context, struct buffer *out, size_t rows, struct instant now)
{
    struct watch_local *watch = context;
    const struct local *local = watch->local;
    const struct snapshot *snapshot = local->has_snapshot ? &local->snapshot : NULL;
    int64_t age_ns = instant_since_ns(now, local->received);
    struct sampler_call call;
    bool hangs = local_mark_call(watch->local, now, LOCAL_STUCK_NS, &call);
    int r;

    if (snapshot) {
        /* A name service that is slow the first time may delay the first picture only. */
        r = show_prepare(watch->show, snapshot, watch->names_waited ? 0 : SHOW_NAMES_NS);
        if (r < 0)
            return r;
        watch->names_waited = true;
        watch->show->age_us = (uint64_t)(age_ns / NS_PER_US);
        watch->show->stale = age_ns > watch->show->options->interval_ns + STALE_AFTER_NS;
        show_put(watch->show, snapshot, out);
    }
    if (rows) {
        put_nothing_of_users(watch, out);
        put_state(local, hangs ? &call : NULL, now, out);
    }
    return 0;
}

static size_t fds(void *context, struct pollfd fds[static WATCH_SOURCE_FDS])
{
    struct watch_local *watch = context;

    fds[0] = (struct pollfd){.fd = sampler_fd(watch->local->sampler), .events = POLLIN};
    return 1;
}

static struct instant turn(void *context, struct instant now)
{
    struct watch_local *watch = context;

    local_receive(watch->local, now);
    return sampler_tick(watch->local->sampler, now);
}

static void ask(void *context, struct instant now)
{
    struct watch_local *watch = context;

    (void)now;
    sampler_show_interest(watch->local->sampler, watch->show->options->interval_ns);
    watch->old_count = watch->local->received_count;
}

static bool has_news(void *context)
{
    const struct watch_local *watch = context;

    return local_is_complete(watch->local) && watch->local->received_count != watch->old_count;
}

/* gpustat ends when a query fails; clustat shows what is wrong and goes on. */
static bool has_ended(void *context)
{
    const struct watch_local *watch = context;
    const struct local *local = watch->local;

    return watch->show->options->as_gpustat && local->has_snapshot &&
           local->snapshot.fault != NODE_FAULT_NONE;
}

static void report_end(void *context)
{
    const struct watch_local *watch = context;

    failure_report_node(watch->show, &watch->local->snapshot);
}

struct watch_source watch_local_source(struct watch_local *watch)
{
    return (struct watch_source){watch, fds, turn, ask, has_news, put, has_ended, report_end};
}
