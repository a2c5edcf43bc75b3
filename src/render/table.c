#include "render/table.h"

void table_put_number(struct table *table, bool present, int64_t value, size_t width)
{
    char text[24];
    size_t at = sizeof(text);
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    if (present) {
        do
            text[--at] = (char)('0' + left % 10);
        while (left /= 10);
        if (value < 0)
            text[--at] = '-';
    } else {
        text[--at] = '?';
        text[--at] = '?';
    }
    if (sizeof(text) - at < width)
        buffer_put_repeated(table->out, ' ', width - (sizeof(text) - at));
    buffer_put(table->out, text + at, sizeof(text) - at);
}

void table_end_line(struct table *table, size_t start)
{
    if (table->options->columns)
        cell_cut_line(table->out, start, table->options->columns, table->options->unicode);
    buffer_put_char(table->out, '\n');
}

static void put_device_lines(struct table *table, const struct view_node *node, const struct device *device)
{
    const struct render_options *options = table->options;
    size_t start = table->out->len, count = 0;

    table_put_device(table, device);
    if (!options->no_processes)
        buffer_put_string(table->out, " |");
    /* Before the processes: a long list must not push trouble off the screen. */
    if (table_is_clustat(table))
        table_put_device_notes(table, node, device);
    if (!options->no_processes)
        count = table_put_processes(table, node, device);
    table_end_line(table, start);
    for (size_t i = 0; options->show_full_cmd && i < count; i++) {
        start = table->out->len;
        table_put_tree_line(table, &table->rows.rows[i], i + 1 == count);
        table_end_line(table, start);
    }
}

/* Instead of rows, where a node answers and has none. */
static void put_no_devices(struct table *table, const struct view_node *node)
{
    size_t start = table->out->len;
    struct buffer *scratch = &table->scratch;

    if (node->snapshot->fault != NODE_FAULT_NONE && table_is_clustat(table) && !table->options->no_header)
        return; /* the header says it */
    buffer_clear(scratch);
    if (node->snapshot->fault != NODE_FAULT_NONE)
        render_node_fault(node->snapshot, scratch);
    else
        buffer_put_string(scratch, "No GPUs are available");
    pen_start(&table->pen, PAINT_YELLOW);
    buffer_put_char(table->out, '(');
    cell_put_visible(table->out, buffer_text(scratch), table->rules);
    buffer_put_char(table->out, ')');
    pen_stop(&table->pen, PAINT_YELLOW);
    table_end_line(table, start);
}

static void put_block(struct table *table, const struct view_node *node)
{
    struct device_choice choice = device_choice_new(node->snapshot, table->options, table_is_clustat(table));
    const struct device *device;
    bool any = false;

    if (!table->options->no_header)
        table_end_line(table, table_put_header(table, node));
    if (!shown_node_values(node))
        return;
    while ((device = device_choice_next(&choice))) {
        put_device_lines(table, node, device);
        any = true;
    }
    if (!any && !node->snapshot->device_count)
        put_no_devices(table, node);
}

void render_table(const struct view *view, const struct render_options *options, struct buffer *out)
{
    struct table table = {
        .view = view,
        .options = options,
        .out = out,
        .pen = pen_new(options, out),
        .rules = {.unicode = options->unicode, .by_columns = options->style == STYLE_CLUSTAT},
    };

    if (table_is_clustat(&table))
        for (size_t i = 0; i < view->node_count; i++)
            table_fit_layout(&table, &view->nodes[i]);
    for (size_t i = 0; i < view->node_count; i++) {
        if (!table_is_clustat(&table))
            table_fit_layout(&table, &view->nodes[i]);
        put_block(&table, &view->nodes[i]);
        if (options->ret_node_ends)
            options->ret_node_ends[i] = out->len;
    }
    if (buffer_error(&table.scratch) && !buffer_error(out))
        out->error = table.scratch.error;
    row_store_deinit(&table.rows);
    buffer_deinit(&table.scratch);
}
