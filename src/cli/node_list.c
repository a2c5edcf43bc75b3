#include "cli/node_list.h"

#include "core/utf8.h"
#include "render/json_writer.h"
#include "render/paint.h"
#include "render/shown.h"
#include "render/times.h"

#include <string.h>

enum column {
    COLUMN_NODE,
    COLUMN_STATE,
    COLUMN_SEEN,
    COLUMN_ADDRESS,
    COLUMN_VERSION,
    COLUMN_DELAY,
    COLUMN_FAULT,
    COLUMN_COUNT
};

static const char *const headings[COLUMN_COUNT] = {
    "NODE", "STATE", "LAST SEEN", "ADDRESS", "VERSION", "DELAY", "FAULT",
};

static const struct {
    const char *name;
    enum paint paint;
} states[] = {
    [NODE_UP] = {"up", PAINT_GREEN},         [NODE_STALE] = {"stale", PAINT_YELLOW},
    [NODE_DOWN] = {"down", PAINT_RED},       [NODE_WARMING] = {"warming", PAINT_YELLOW},
    [NODE_STOPPED] = {"stopped", PAINT_RED},
};

static void put_optional(struct buffer *out, struct text text)
{
    if (text.len)
        utf8_put_visible(out, text);
    else
        buffer_put_char(out, '-');
}

static void put_seen(struct buffer *out, const struct view_node_details *details)
{
    if (!details->has_last_seen) {
        buffer_put_string(out, "never");
        return;
    }
    time_put_age_exact(out, details->last_seen_age_us);
    buffer_put_string(out, " ago");
}

/* What is wrong with the node; nothing if all is well. */
static void put_fault(struct buffer *out, const struct view_node *node, int64_t now_unix_us)
{
    struct view view = {.now_unix_us = now_unix_us};

    shown_put_node_error(&view, node, out);
}

static void put_cell(struct buffer *out, const struct cluster_view *view, size_t row, enum column column,
                     int64_t now_unix_us)
{
    const struct view_node *node = &view->nodes[row];
    const struct view_node_details *details = &view->details[row];

    switch (column) {
    case COLUMN_NODE:
        put_optional(out, cluster_view_name(node));
        break;
    case COLUMN_STATE:
        buffer_put_string(out, states[node->state].name);
        break;
    case COLUMN_SEEN:
        put_seen(out, details);
        break;
    case COLUMN_ADDRESS:
        put_optional(out, node->addr);
        break;
    case COLUMN_VERSION:
        put_optional(out, details->software);
        break;
    case COLUMN_DELAY:
        if (node->has_delay)
            buffer_printf(out, "%lluus", (unsigned long long)node->delay_us);
        else
            buffer_put_char(out, '-');
        break;
    case COLUMN_FAULT:
    case COLUMN_COUNT:
        put_fault(out, node, now_unix_us);
        break;
    }
}

static enum paint paint_of(const struct view_node *node, enum column column)
{
    if (column == COLUMN_NODE)
        return PAINT_BOLD_WHITE;
    if (column == COLUMN_STATE)
        return states[node->state].paint;
    return column == COLUMN_FAULT ? PAINT_RED : PAINT_PLAIN;
}

static void measure(const struct cluster_view *view, int64_t now_unix_us, size_t widths[COLUMN_COUNT],
                    struct buffer *cell)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        widths[column] = strlen(headings[column]);
        for (size_t row = 0; column != COLUMN_FAULT && row < view->count; row++) {
            size_t width;

            buffer_clear(cell);
            put_cell(cell, view, row, (enum column)column, now_unix_us);
            width = utf8_visible_width(buffer_text(cell));
            if (width > widths[column])
                widths[column] = width;
        }
    }
}

/* A cell, padded to its column's width; the last one ends the line, and blanks before an empty one are left
 * out. */
static void put_row(const struct pen *pen, const struct cluster_view *view, size_t row, int64_t now_unix_us,
                    const size_t widths[COLUMN_COUNT], struct buffer *cell)
{
    size_t blanks = 0;

    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        enum paint paint = paint_of(&view->nodes[row], (enum column)column);

        buffer_clear(cell);
        put_cell(cell, view, row, (enum column)column, now_unix_us);
        if (cell->len) {
            buffer_put_repeated(pen->out, ' ', blanks);
            pen_start(pen, paint);
            buffer_put_text(pen->out, buffer_text(cell));
            pen_stop(pen, paint);
        }
        blanks = widths[column] -
                 (column == COLUMN_FAULT ? widths[column] : utf8_visible_width(buffer_text(cell))) + 2;
    }
    buffer_put_char(pen->out, '\n');
}

static void put_headings(const size_t widths[COLUMN_COUNT], struct buffer *out)
{
    for (size_t column = 0; column < COLUMN_FAULT; column++) {
        buffer_put_string(out, headings[column]);
        buffer_put_repeated(out, ' ', widths[column] - strlen(headings[column]) + 2);
    }
    buffer_put_string(out, headings[COLUMN_FAULT]);
    buffer_put_char(out, '\n');
}

void node_list_put(const struct cluster_view *view, const struct render_options *render, int64_t now_unix_us,
                   struct buffer *out)
{
    struct pen pen = pen_new(render, out);
    struct buffer cell = BUFFER_EMPTY;
    size_t widths[COLUMN_COUNT];

    measure(view, now_unix_us, widths, &cell);
    if (!render->no_header)
        put_headings(widths, out);
    for (size_t row = 0; row < view->count; row++) {
        put_row(&pen, view, row, now_unix_us, widths, &cell);
        view->ends[row] = out->len;
    }
    if (buffer_error(&cell) && !buffer_error(out))
        out->error = buffer_error(&cell);
    buffer_deinit(&cell);
}

/* ---- JSON ---- */

static void put_key_number(struct json_writer *json, const char *key, bool present, uint64_t value)
{
    json_key(json, key);
    if (present)
        json_unsigned(json, value);
    else
        json_put_null(json);
}

static void put_key_text(struct json_writer *json, const char *key, struct text text)
{
    json_key(json, key);
    json_text(json, text);
}

static void put_json_meta(struct json_writer *json, const struct cluster_view *view,
                          const struct message_view_end *end, int64_t now_unix_us)
{
    json_key(json, "meta");
    json_begin_object(json);
    put_key_text(json, "status", text_from_string(view->count ? "ok" : "empty"));
    json_key(json, "timestamp_ms");
    json_signed(json, now_unix_us / 1000);
    put_key_number(json, "node_count", true, view->count);
    put_key_number(json, "known_count", true, end->known);
    put_key_number(json, "left_out_count", true, end->left_out);
    json_end_object(json);
}

static void put_json_node(struct json_writer *json, const struct view_node *node,
                          const struct view_node_details *details, int64_t now_unix_us)
{
    const struct snapshot *snapshot = node->snapshot;
    struct buffer fault = BUFFER_EMPTY;

    put_fault(&fault, node, now_unix_us);
    json_begin_object(json);
    put_key_text(json, "connection_id", node->connection_id);
    put_key_text(json, "hostname", snapshot && snapshot->hostname.len ? snapshot->hostname : TEXT_ABSENT);
    put_key_text(json, "addr", node->addr);
    put_key_text(json, "state", text_from_string(states[node->state].name));
    json_key(json, "since_unix_us");
    if (node->since_unix_us)
        json_signed(json, node->since_unix_us);
    else
        json_put_null(json);
    put_key_number(json, "last_seen_age_us", details->has_last_seen, details->last_seen_age_us);
    put_key_text(json, "version", details->software);
    put_key_number(json, "delay_us", node->has_delay, node->delay_us);
    put_key_number(json, "delay_age_us", node->has_delay, node->delay_age_us);
    put_key_text(json, "fault", fault.len ? buffer_text(&fault) : TEXT_ABSENT);
    json_end_object(json);
    buffer_deinit(&fault);
}

void node_list_put_json(const struct cluster_view *view, const struct message_view_end *end,
                        int64_t now_unix_us, struct buffer *out)
{
    struct json_writer json = json_writer_new(out, JSON_BAD_REPLACED);

    json_begin_object(&json);
    put_json_meta(&json, view, end, now_unix_us);
    json_key(&json, "nodes");
    json_begin_list(&json);
    for (size_t row = 0; row < view->count; row++)
        put_json_node(&json, &view->nodes[row], &view->details[row], now_unix_us);
    json_end_list(&json);
    json_end_object(&json);
    json_finish(&json);
}
