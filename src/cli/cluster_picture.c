#include "cli/cluster_picture.h"

#include "cli/footer.h"
#include "cli/node_list.h"
#include "core/utf8.h"
#include "host/users.h"
#include "render/paint.h"

void cluster_picture_deinit(struct cluster_picture *picture)
{
    cluster_view_deinit(&picture->view);
}

int cluster_picture_take(struct cluster_picture *picture, const struct cluster *cluster, struct show *show,
                         struct instant now, bool is_late)
{
    int64_t late_ns = instant_since_ns(now, cluster->answered);
    int r;

    r = cluster_view_make(&picture->view, show, cluster->answer,
                          late_ns > 0 ? (uint64_t)(late_ns / NS_PER_US) : 0, is_late);
    if (r < 0)
        return r;
    if (picture->view.process_max && !show->options->list_nodes) {
        /* A name service that is slow the first time may delay the first picture only. */
        users_wait(show->users, picture->names_waited ? now : instant_add_ns(now, SHOW_NAMES_NS));
        picture->names_waited = true;
    }
    return 0;
}

void cluster_picture_put(const struct cluster_picture *picture, const struct cluster *cluster,
                         const struct show *show, struct buffer *out)
{
    const struct cluster_view *view = &picture->view;

    if (!show->options->list_nodes)
        show_put_view(show, view->nodes, view->count, view->ends, out);
    else if (show->options->json)
        node_list_put_json(view, view_answer_end(cluster->answer), clock_wall_us(), out);
    else if (view->count)
        node_list_put(view, &show->render, clock_wall_us(), out);
}

static void put_footer(const struct cluster_picture *picture, const struct cluster *cluster,
                       const struct show *show, struct buffer *out)
{
    const struct message_view_end *end = view_answer_end(cluster->answer);
    struct footer footer = {
        .known = end->known,
        .matched = end->matched,
        .emptied = (uint32_t)picture->view.emptied,
        .silent = show->options->no_header && !show->options->list_nodes ? (uint32_t)picture->view.silent : 0,
        .left_out = end->left_out,
        .is_inexact = end->flags & VIEW_INEXACT,
        .is_warming = end->flags & VIEW_WARMING,
        .filter = show->options->nodes,
        .users = show->options->users,
    };

    if (end->known)
        footer_put(&footer, out);
    else if (picture->is_local_instead)
        buffer_put_string(out, CLUSTER_LOCAL_INSTEAD_TEXT);
    else
        buffer_put_string(out, end->flags & VIEW_WARMING
                                   ? "no node is known yet: discovery has only begun"
                                   : "no node is known: systemctl status clustat-server on the GPU nodes");
}

/* A line of its own in a colour; nothing if the text is empty. */
static void put_line(const struct show *show, enum paint paint, struct text text, struct buffer *out)
{
    struct pen pen = pen_new(&show->render, out);

    if (!text.len)
        return;
    pen_start(&pen, paint);
    utf8_put_visible(out, text);
    pen_stop(&pen, paint);
    buffer_put_char(out, '\n');
}

void cluster_picture_put_notes(const struct cluster_picture *picture, const struct cluster *cluster,
                               const struct show *show, struct buffer *out)
{
    struct buffer footer = BUFFER_EMPTY;

    if (cluster->trouble != CLUSTER_WELL)
        put_line(show, PAINT_RED, buffer_text(&cluster->text), out);
    if (!show->options->as_gpustat) {
        put_footer(picture, cluster, show, &footer);
        put_line(show, PAINT_FAINT, buffer_text(&footer), out);
    }
    buffer_deinit(&footer);
}
