#include "cli/show.h"

#include "core/cleanup.h"
#include "host/users.h"
#include "model/user_filter.h"
#include "model/view.h"

#include <string.h>
#include <sys/utsname.h>

static struct render_options render_options_from(const struct options *options,
                                                 const struct color_environment *environment)
{
    return (struct render_options){
        .style = options->as_gpustat ? STYLE_GPUSTAT : STYLE_CLUSTAT,
        .color = color_wanted(options, environment),
        .colors = color_count(environment),
        .unicode = color_charset_is_utf8(environment),
        .show_cmd = options->show_cmd,
        .show_full_cmd = options->show_full_cmd,
        .show_user = options->show_user,
        .show_pid = options->show_pid,
        .show_fan = options->show_fan,
        .show_codec = options->show_codec,
        .show_power = options->show_power,
        .no_header = options->no_header,
        .no_processes = options->no_processes,
        .gpuname_width = options->gpuname_width,
    };
}

/* Scripts and gpustat's users do not expect a figure there that changes each time. */
static bool shows_delay(const struct options *options, const struct color_environment *environment,
                        bool latency_display)
{
    if (options->as_gpustat || !environment->is_terminal || options->latency == LATENCY_HIDDEN)
        return false;
    return options->latency == LATENCY_SHOWN || latency_display;
}

int show_init(struct show *ret_show, const struct options *options,
              const struct color_environment *environment, bool latency_display)
{
    struct show show = {
        .options = options,
        .program = options->as_gpustat ? "gpustat" : "clustat",
        .render = render_options_from(options, environment),
    };
    int r;

    show.render.show_delay = shows_delay(options, environment, latency_display);
    r = users_new(NULL, &show.users);
    if (r < 0)
        return r;
    snapshot_init(&show.filtered);
    *ret_show = show;
    return 0;
}

void show_deinit(struct show *show)
{
    users_free(show->users);
    number_list_deinit(&show->ids);
    number_list_deinit(&show->uids);
    snapshot_deinit(&show->filtered);
}

/* Whether anything printed would show a user's name. */
static bool needs_names(const struct show *show)
{
    return show->options->json || !show->options->no_processes;
}

void show_want_names(struct show *show, const struct snapshot *snapshot, struct instant now)
{
    if (!needs_names(show))
        return;
    for (uint32_t i = 0; i < snapshot->process_count; i++)
        if (snapshot->processes[i].facts & PROCESS_HAS_UID)
            users_want(show->users, snapshot->processes[i].uid, now);
}

int show_prepare(struct show *show, const struct snapshot *snapshot, int64_t wait_ns)
{
    struct instant now = clock_now();

    show_want_names(show, snapshot, now);
    if (needs_names(show) && snapshot->process_count)
        users_wait(show->users, instant_add_ns(now, wait_ns));
    if (!show->options->users)
        return 0;
    return user_filter_apply(snapshot, show->uids.numbers, show->uids.count, &show->filtered, &show->unowned);
}

const struct snapshot *show_filtered(const struct show *show, const struct snapshot *snapshot)
{
    return show->options->users && snapshot ? &show->filtered : snapshot;
}

static const char *name_of(void *context, uint32_t uid)
{
    return users_name(context, uid);
}

void show_put_view(const struct show *show, const struct view_node *nodes, size_t count, size_t *ret_ends,
                   struct buffer *out)
{
    struct utsname system;
    struct view view = {
        .nodes = nodes,
        .node_count = count,
        .names = {.user = name_of, .context = show->users},
        .now_unix_us = clock_wall_us(),
    };
    struct render_options render = show->render;

    if (uname(&system) == 0)
        view.hostname = text_from_string(system.nodename);
    if (show->options->ids) {
        render.ids = show->ids.numbers;
        render.id_count = show->ids.count;
    }
    render.ret_node_ends = ret_ends;
    if (!show->options->json)
        render_table(&view, &render, out);
    else if (show->options->as_gpustat)
        render_gpustat_json(&view, &render, out);
    else
        render_clustat_json(&view, &render, out);
}

void show_put(const struct show *show, const struct snapshot *snapshot, struct buffer *out)
{
    struct view_node node = {
        .connection_id = TEXT_LITERAL("local"),
        .error = show->wrong,
        .state = !snapshot     ? NODE_WARMING
                 : show->stale ? NODE_STALE
                               : NODE_UP,
        .age_us = show->age_us,
        .snapshot = show_filtered(show, snapshot),
    };
    /* A node that the user filter left empty is no row, nor an object. gpustat's JSON is always one object.
     */
    bool is_empty = show->options->users && snapshot && !show->filtered.device_count &&
                    !(show->options->json && show->options->as_gpustat);

    show_put_view(show, &node, is_empty ? 0 : 1, NULL, out);
}
