/* The line above a node's devices: who, when, which driver, and what is wrong. */
#include "render/table.h"

#include "core/cleanup.h"
#include "core/utf8.h"
#include "render/times.h"

#define ERROR_INDENT 4 /* columns before an error that stands below its header */

static void put_host(struct table *table, const struct view_node *node)
{
    struct buffer *scratch = &table->scratch;
    size_t width;

    buffer_clear(scratch);
    cell_put_visible(scratch, shown_hostname(node), table->rules);
    width = cell_width(buffer_text(scratch), table->rules);
    pen_start(&table->pen, PAINT_BOLD_WHITE);
    buffer_put_text(table->out, buffer_text(scratch));
    if (width < table->layout.host)
        buffer_put_repeated(table->out, ' ', table->layout.host - width);
    pen_stop(&table->pen, PAINT_BOLD_WHITE);
}

static void put_driver(struct table *table, const struct snapshot *snapshot)
{
    /* gpustat's word for a missing version; clustat says nothing where it has nothing to say. */
    if (!text_is_present(snapshot->driver_version) && table_is_clustat(table))
        return;
    buffer_put_string(table->out, "  ");
    pen_start(&table->pen, PAINT_FAINT);
    if (text_is_present(snapshot->driver_version))
        cell_put_visible(table->out, snapshot->driver_version, table->rules);
    else
        buffer_put_string(table->out, "None");
    pen_stop(&table->pen, PAINT_FAINT);
}

static void put_delay(struct table *table, const struct view_node *node)
{
    if (!table->options->show_delay || !node->has_delay || node->delay_age_us > SHOWN_DELAY_MAX_AGE_US)
        return;
    buffer_put_string(table->out, "  delay=");
    buffer_put_unsigned(table->out, node->delay_us);
    buffer_put_string(table->out, "us");
}

/* How much of `text` goes into `columns` columns: up to a blank if there is one there. */
static size_t wrap_at(const struct table *table, struct text text, size_t columns)
{
    size_t at = 0, blank = 0;

    while (at < text.len) {
        size_t next = at;

        utf8_next(text, &next);
        if (cell_width((struct text){text.bytes, next}, table->rules) > columns)
            return blank ? blank : at ? at : next;
        if (text.bytes[at] == ' ')
            blank = at;
        at = next;
    }
    return text.len;
}

/* An error that the terminal's line has no room for, on lines of its own. Returns where the last one begins.
 */
static size_t put_error_below(struct table *table, struct text error)
{
    size_t columns = table->options->columns, indent = columns > 4 * ERROR_INDENT ? ERROR_INDENT : 0;
    size_t start = table->out->len;

    while (error.len) {
        size_t len = wrap_at(table, error, columns - indent);

        buffer_put_char(table->out, '\n');
        start = table->out->len;
        buffer_put_repeated(table->out, ' ', indent);
        pen_start(&table->pen, PAINT_RED);
        buffer_put(table->out, error.bytes, len);
        pen_stop(&table->pen, PAINT_RED);
        cell_cut_line(table->out, start, columns,
                      table->options->unicode); /* one wide character in one column */
        len += len < error.len && error.bytes[len] == ' ';
        error = (struct text){error.bytes + len, error.len - len};
    }
    return start;
}

/* start: where the header's line begins. Returns where its last line begins. */
static size_t put_error(struct table *table, const struct view_node *node, size_t start)
{
    _cleanup_(buffer_deinit) struct buffer visible = BUFFER_EMPTY;
    struct buffer *scratch = &table->scratch, *out = table->out;
    size_t columns = table->options->columns, before = out->len;

    buffer_clear(scratch);
    shown_put_node_error(table->view, node, scratch);
    if (!scratch->len)
        return start;
    cell_put_visible(&visible, buffer_text(scratch), table->rules);
    buffer_put_string(out, "  ");
    pen_start(&table->pen, PAINT_RED);
    buffer_put_text(out, buffer_text(&visible));
    pen_stop(&table->pen, PAINT_RED);
    if (!columns || buffer_error(out) ||
        cell_line_fits((struct text){out->bytes + start, out->len - start}, columns))
        return start;
    out->len = before;
    cell_cut_line(out, start, columns, table->options->unicode);
    return put_error_below(table, buffer_text(&visible));
}

static void put_procs_age(struct table *table, const struct view_node *node)
{
    uint64_t age = snapshot_group_age_us(node->snapshot, GROUP_PROCESSES);

    if (age == AGE_NEVER || __builtin_add_overflow(age, node->age_us, &age) || age <= SHOWN_OLD_US)
        return;
    buffer_put_string(table->out, "  ");
    pen_start(&table->pen, PAINT_YELLOW);
    buffer_put_string(table->out, "procs ");
    time_put_age(table->out, age);
    buffer_put_string(table->out, " old");
    pen_stop(&table->pen, PAINT_YELLOW);
}

static void put_count(struct table *table, uint32_t count, const char *what)
{
    if (!count)
        return;
    buffer_put_string(table->out, "  ");
    pen_start(&table->pen, PAINT_YELLOW);
    buffer_put_unsigned(table->out, count);
    buffer_put_char(table->out, ' ');
    buffer_put_string(table->out, what);
    pen_stop(&table->pen, PAINT_YELLOW);
}

/* What keeps the process part from being whole and fresh. */
static void put_process_notes(struct table *table, const struct view_node *node)
{
    const struct snapshot *snapshot = node->snapshot;
    const char *why = "processes not visible from here";

    if (snapshot->flags & NODE_PID_NAMESPACE)
        why = "processes not visible from here (pid namespace)";
    else if (snapshot->flags & NODE_PROC_HIDDEN)
        why = "processes not visible from here (hidepid)";
    put_procs_age(table, node);
    put_count(table, snapshot->unnamed_processes, why);
    put_count(table, snapshot->entries_left_out, "process entries left out");
    if (table->options->show_full_cmd)
        put_count(table, snapshot->commands_cut, "command lines shortened");
}

size_t table_put_header(struct table *table, const struct view_node *node)
{
    size_t start = table->out->len;

    put_host(table, node);
    if (shown_node_was_read(node)) {
        buffer_put_string(table->out, "  ");
        time_put_long(table->out, node->snapshot->taken_unix_us);
        put_driver(table, node->snapshot);
    }
    if (!table_is_clustat(table)) {
        /* gpustat's header has nothing more; only a node that does not answer is said to be so. */
        return node->state != NODE_UP ? put_error(table, node, start) : start;
    }
    put_delay(table, node);
    start = put_error(table, node, start);
    if (shown_node_values(node) && !table->options->no_processes)
        put_process_notes(table, node);
    return start;
}
