/*
 * Inside of the table renderer: what its parts share. See render.h for the outside.
 */
#ifndef RENDER_TABLE_H
#define RENDER_TABLE_H

#include "render/paint.h"
#include "render/shown.h"
#include "render/text_cells.h"

/* Widths of the columns. gpustat's are fixed but for the name; clustat's fit what is shown, over all nodes.
 */
struct table_layout {
    size_t index;                            /* "[0]" */
    size_t name;                             /* 0: the column is not shown */
    size_t host;                             /* host name in the header */
    size_t draw, limit, mem_used, mem_total; /* digits */
};

struct table {
    const struct view *view;
    const struct render_options *options;
    struct buffer *out;
    struct pen pen;
    struct text_rules rules;
    struct table_layout layout;
    struct row_store rows;
    struct buffer scratch; /* visible text whose width must be known before it is written */
};

/* True under clustat's own name. */
static inline bool table_is_clustat(const struct table *table)
{
    return table->options->style == STYLE_CLUSTAT;
}

/* Fits the layout to one node (gpustat: each block has its own) or to all of them (call once per node). */
void table_fit_layout(struct table *table, const struct view_node *node);

/* ---- the parts of a block, each without its line end ---- */

/* An error too long for the terminal's line stands below it, wrapped. Returns where the last line begins. */
size_t table_put_header(struct table *table, const struct view_node *node);
void table_put_device(struct table *table, const struct device *device);

/* clustat's marks behind a device's columns, in brackets: " (Xid 79 14:02, pending row remap)". */
void table_put_device_notes(struct table *table, const struct view_node *node, const struct device *device);

/* The processes on a device's row, behind its last bar. Returns how many table->rows there are. */
size_t table_put_processes(struct table *table, const struct view_node *node, const struct device *device);

/* One line of -f below the row. */
void table_put_tree_line(struct table *table, const struct process_row *row, bool is_last);

/* ---- small things ---- */

/* Right-justified in `width`, or "??" if absent. */
void table_put_number(struct table *table, bool present, int64_t value, size_t width);

/* What the name column shows of a device, visible, in table->scratch. */
struct text table_device_label(struct table *table, const struct device *device);

/* Ends a line: cut to the terminal if wanted. start: where the line begins in table->out. */
void table_end_line(struct table *table, size_t start);

#endif
