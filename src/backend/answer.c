#include "backend/answer.h"

#include "core/cleanup.h"
#include "core/utf8.h"
#include "model/user_filter.h"
#include "render/render.h"
#include "wire/snapshot_codec.h"
#include "wire/snapshot_parts.h"

#include <errno.h>
#include <string.h>

/* What a VIEW_NODE needs beside its snapshot: four texts with their caps, numbers. */
#define VIEW_NODE_EXTRA (3 * MESSAGE_TEXT_MAX + MESSAGE_ERROR_MAX + 128)

/* ---- which nodes ---- */

int answer_select(struct cluster *cluster, const struct node_filter *filter, bool *selected,
                  bool *ret_inexact)
{
    size_t count = cluster_count(cluster);
    struct node *const *rows = cluster_rows(cluster);
    _cleanup_(cleanup_free) struct node_names *names = NULL;
    _cleanup_(cleanup_free) char(*addresses)[NET_ADDRESS_TEXT_CAP] = NULL;

    *ret_inexact = false;
    if (!filter) {
        memset(selected, true, count * sizeof(*selected));
        return (int)count;
    }
    names = calloc(count ? count : 1, sizeof(*names));
    addresses = calloc(count ? count : 1, sizeof(*addresses));
    if (!names || !addresses)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        names[i] = node_names_of(rows[i], addresses[i]);
    return (int)node_filter_select(filter, names, count, selected, ret_inexact);
}

/* A selection on the heap, with what answer_select() says. Returns NULL without memory. */
static bool *select_nodes(struct cluster *cluster, const struct answer_question *question, bool *ret_inexact)
{
    bool *selected = calloc(cluster_count(cluster) + 1, sizeof(*selected));

    if (selected && answer_select(cluster, question->filter, selected, ret_inexact) < 0)
        free(steal_pointer(&selected));
    return selected;
}

/* ---- snapshots ---- */

/* Returns 0 or a negative errno; the snapshot borrows from the node's picture. */
static int decode(const struct node *node, struct snapshot *snapshot)
{
    struct reader body = picture_body(&node->picture);
    struct snapshot_need need;
    int r = snapshot_measure(body, &need);

    snapshot_clear(snapshot);
    if (r == 0)
        r = snapshot_reserve(snapshot, need.devices, need.entries, need.processes);
    return r == 0 ? snapshot_decode(body, snapshot) : r;
}

/* True if the node is shown to somebody who asks for some users: silent ones stay, and those with a fault. */
static bool is_worth_showing(const struct snapshot *filtered, enum node_state state)
{
    return state != NODE_UP || filtered->device_count || filtered->fault != NODE_FAULT_NONE;
}

static void put_encoded(const struct snapshot *snapshot, struct buffer *out)
{
    struct writer writer;

    if (buffer_reserve(out, snapshot_encoded_max(snapshot)) < 0)
        return;
    writer = writer_over(out->bytes + out->len, out->cap - out->len);
    snapshot_encode(snapshot, &writer);
    if (!writer.failed)
        out->len += writer.pos;
}

/* The body with the processes of some users only. False: nothing of the node is left. */
static bool put_filtered_body(const struct node *node, const struct answer_question *question,
                              enum node_state state, struct buffer *out)
{
    _cleanup_(snapshot_deinit) struct snapshot whole, filtered;
    uint32_t unowned;

    snapshot_init(&whole);
    snapshot_init(&filtered);
    if (decode(node, &whole) < 0)
        return true; /* it goes without values */
    if (user_filter_apply(&whole, question->uids, question->uid_count, &filtered, &unowned) < 0)
        return true;
    put_encoded(&filtered, out);
    return is_worth_showing(&filtered, state);
}

/* What goes out as the node's snapshot; `scratch` may hold it. False: the node is not shown. */
static bool choose_body(const struct node *node, const struct answer_question *question,
                        enum node_state state, struct buffer *scratch, struct reader *ret_body)
{
    bool shown = true;

    buffer_clear(scratch);
    if ((question->flags & VIEW_NO_SNAPSHOTS) || !picture_has_readings(&node->picture))
        node_put_bare_body(node, scratch);
    else if (question->uid_count)
        shown = put_filtered_body(node, question, state, scratch);
    else {
        *ret_body = picture_body(&node->picture);
        return true;
    }
    *ret_body = reader_over(scratch->bytes, buffer_error(scratch) ? 0 : scratch->len);
    return shown;
}

/* ---- frames ---- */

static size_t begin_frame(struct buffer *out, enum frame_type type, size_t body_max,
                          struct writer *ret_writer)
{
    struct frame_header header = {.version = FRAME_VERSION, .type = (uint8_t)type};

    if (buffer_reserve(out, FRAME_HEADER_SIZE + body_max) < 0) {
        *ret_writer = writer_over(NULL, 0);
        ret_writer->failed = true;
        return 0;
    }
    *ret_writer = writer_over(out->bytes + out->len, out->cap - out->len);
    return frame_begin(ret_writer, &header);
}

/* False: the frame was too long, and nothing was appended. */
static bool end_frame(struct buffer *out, struct writer *writer, size_t mark)
{
    frame_end(writer, mark);
    if (writer->failed)
        return false;
    out->len += writer->pos;
    return true;
}

static bool put_node_frame(const struct message_view_node *view, struct buffer *out)
{
    struct writer writer;
    size_t mark = begin_frame(out, FRAME_VIEW_NODE, reader_left(&view->snapshot) + VIEW_NODE_EXTRA, &writer);

    if (!writer.failed)
        message_put_view_node(&writer, view);
    return end_frame(out, &writer, mark);
}

/* True if a frame was appended. */
static bool put_node(struct node *node, const struct answer_question *question,
                     const struct answer_facts *facts, struct node_texts *texts, struct buffer *scratch,
                     struct buffer *out)
{
    struct message_view_node view;

    node_fill_view(node, &facts->clock, texts, &view);
    if (!choose_body(node, question, view.node.state, scratch, &view.snapshot))
        return false;
    if (put_node_frame(&view, out))
        return true;
    view.snapshot = reader_over(NULL, 0); /* a body of nearly 1 MiB: the row goes without */
    return put_node_frame(&view, out);
}

static void put_end(struct cluster *cluster, const struct answer_facts *facts, uint32_t matched, bool inexact,
                    struct buffer *out)
{
    struct message_view_end end = {
        .known = (uint32_t)cluster_count(cluster),
        .matched = matched,
        .left_out = (uint32_t)facts->left_out,
        .flags = (inexact ? VIEW_INEXACT : 0u) | (facts->left_out ? VIEW_MAX_CONNECTIONS : 0u) |
                 (facts->warming ? VIEW_WARMING : 0u),
    };
    struct writer writer;
    size_t mark = begin_frame(out, FRAME_VIEW_END, 64, &writer);

    if (!writer.failed)
        message_put_view_end(&writer, &end);
    end_frame(out, &writer, mark);
}

void answer_put_frames(struct cluster *cluster, const struct answer_question *question,
                       const struct answer_facts *facts, struct buffer *out)
{
    bool inexact = false;
    _cleanup_(cleanup_free) bool *selected = select_nodes(cluster, question, &inexact);
    _cleanup_(buffer_deinit) struct buffer scratch = BUFFER_EMPTY;
    struct node *const *rows = cluster_rows(cluster);
    struct node_texts texts = {.error = BUFFER_EMPTY};
    uint32_t matched = 0;

    if (!selected && !out->error)
        out->error = -ENOMEM;
    for (size_t i = 0; selected && i < cluster_count(cluster); i++)
        if (selected[i] && put_node(rows[i], question, facts, &texts, &scratch, out))
            matched++;
    put_end(cluster, facts, matched, inexact, out);
    buffer_deinit(&texts.error);
}

void answer_set_request_id(struct buffer *frames, uint64_t request_id)
{
    size_t pos = 0;

    while (frames->len - pos >= FRAME_HEADER_SIZE) {
        struct reader reader = reader_over(frames->bytes + pos, frames->len - pos);
        struct writer writer = writer_over(frames->bytes + pos, FRAME_HEADER_SIZE);
        struct frame_header header;

        if (frame_read_header(&reader, &header) != FRAME_OK)
            return; /* cannot be: we wrote it */
        header.request_id = request_id;
        frame_write_header(&writer, &header);
        pos += FRAME_HEADER_SIZE + header.body_len;
    }
}

/* ---- text ---- */

/* A row of the JSON, with all that it borrows from. */
struct json_row {
    struct snapshot snapshot;
    struct snapshot filtered;
    struct node_texts texts;
};

static void free_rows(struct json_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        snapshot_deinit(&rows[i].snapshot);
        snapshot_deinit(&rows[i].filtered);
        buffer_deinit(&rows[i].texts.error);
    }
    free(rows);
}

/* Fills the snapshot of a row. False: the node is not shown. */
static bool fill_snapshot(const struct node *node, const struct answer_question *question,
                          struct json_row *row, struct view_node *view)
{
    uint32_t unowned;

    snapshot_init(&row->snapshot);
    snapshot_init(&row->filtered);
    if (!picture_has_readings(&node->picture) || decode(node, &row->snapshot) < 0) {
        row->snapshot.hostname = text_from_string(node->hostname);
        view->snapshot = node->hostname[0] ? &row->snapshot : NULL;
        return true;
    }
    view->snapshot = &row->snapshot;
    if (!question->uid_count)
        return true;
    if (user_filter_apply(&row->snapshot, question->uids, question->uid_count, &row->filtered, &unowned) < 0)
        return true;
    view->snapshot = &row->filtered;
    return is_worth_showing(&row->filtered, view->state);
}

static const char *name_user(void *context, uint32_t uid)
{
    return users_name(context, uid);
}

/* Whoever is not known yet will be, for a later answer. */
static void want_names(struct users *users, const struct snapshot *snapshot, struct instant now)
{
    for (uint32_t i = 0; i < snapshot->process_count; i++)
        if (snapshot->processes[i].facts & PROCESS_HAS_UID)
            users_want(users, snapshot->processes[i].uid, now);
}

void answer_put_json(struct cluster *cluster, const struct answer_question *question,
                     const struct answer_facts *facts, struct buffer *out)
{
    bool inexact = false;
    _cleanup_(cleanup_free) bool *selected = select_nodes(cluster, question, &inexact);
    size_t count = cluster_count(cluster), used = 0, shown = 0;
    struct json_row *rows = calloc(count + 1, sizeof(*rows));
    _cleanup_(cleanup_free) struct view_node *nodes = calloc(count + 1, sizeof(*nodes));
    struct node *const *all = cluster_rows(cluster);
    char hostname[256] = "";
    struct render_options options = {.style = STYLE_CLUSTAT, .gpuname_width = -1, .one_line = true};
    struct view view = {.nodes = nodes, .now_unix_us = facts->clock.unix_us};

    if (!selected || !rows || !nodes) {
        out->error = out->error ? out->error : -ENOMEM;
        free(rows);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct message_view_node message;
        struct json_row *row = &rows[used];

        if (!selected[i])
            continue;
        used++;
        node_fill_view(all[i], &facts->clock, &row->texts, &message);
        nodes[shown] = message.node;
        if (!fill_snapshot(all[i], question, row, &nodes[shown]))
            continue;
        want_names(facts->users, &row->snapshot, facts->clock.now);
        shown++;
    }
    gethostname(hostname, sizeof(hostname) - 1);
    view.node_count = shown;
    view.hostname = text_from_string(hostname);
    view.names = (struct name_source){.user = name_user, .context = facts->users};
    render_clustat_json(&view, &options, out);
    free_rows(rows, used);
}

static void put_column(struct buffer *out, struct text text, char end)
{
    if (text.len)
        utf8_put_visible(out, text);
    else
        buffer_put_char(out, '-');
    buffer_put_char(out, end);
}

static const char *state_word(enum node_state state)
{
    static const char *const words[] = {[NODE_UP] = "up",
                                        [NODE_STALE] = "stale",
                                        [NODE_DOWN] = "down",
                                        [NODE_WARMING] = "warming",
                                        [NODE_STOPPED] = "stopped"};

    return words[state];
}

void answer_put_list(struct cluster *cluster, const struct answer_facts *facts, struct buffer *out)
{
    struct node *const *rows = cluster_rows(cluster);
    struct node_texts texts = {.error = BUFFER_EMPTY};

    for (size_t i = 0; i < cluster_count(cluster); i++) {
        struct message_view_node view;

        node_fill_view(rows[i], &facts->clock, &texts, &view);
        put_column(out, view.node.connection_id, '\t');
        put_column(out, text_from_string(rows[i]->hostname), '\t');
        put_column(out, view.node.addr, '\t');
        buffer_put_string(out, state_word(view.node.state));
        buffer_put_char(out, '\t');
        put_column(out, view.node.error, '\n');
    }
    buffer_put_char(out, '\n');
    buffer_deinit(&texts.error);
}
