#include "cli/footer.h"

#include "core/utf8.h"

#include <string.h>

#define WHY_HEIGHT " (terminal height)"

/* ---- the line ---- */

/* Begins a part of the line: "not shown: " before the first one. */
static void begin(struct buffer *out, size_t start)
{
    buffer_put_string(out, out->len == start ? "not shown: " : "; ");
}

static void put_count(struct buffer *out, uint32_t count)
{
    buffer_put_unsigned(out, count);
    buffer_put_string(out, count == 1 ? " node" : " nodes");
}

static void put_unmatched(const struct footer *footer, struct buffer *out)
{
    put_count(out, footer->known - footer->matched);
    buffer_put_string(out, " (-n ");
    utf8_put_visible(out, text_from_string(footer->filter));
    buffer_put_string(out, footer->is_inexact ? ", not an exact match)" : ")");
}

static void put_emptied(const struct footer *footer, struct buffer *out)
{
    put_count(out, footer->emptied);
    buffer_put_string(out, " without a process of ");
    utf8_put_visible(out, text_from_string(footer->users));
}

void footer_put(const struct footer *footer, struct buffer *out)
{
    size_t start = out->len;

    if (footer->filter && footer->known > footer->matched) {
        begin(out, start);
        put_unmatched(footer, out);
    }
    if (footer->users && footer->emptied) {
        begin(out, start);
        put_emptied(footer, out);
    }
    if (footer->silent) {
        begin(out, start);
        put_count(out, footer->silent);
        buffer_put_string(out, " without values (--no-header)");
    }
    if (footer->left_out) {
        begin(out, start);
        put_count(out, footer->left_out);
        buffer_put_string(out, " (connecting.max_connections is reached)");
    }
    if (footer->is_warming) {
        begin(out, start);
        buffer_put_string(out, "nodes that are not found yet (discovery has only begun)");
    }
}

/* ---- the cut ---- */

static size_t count_lines(const char *bytes, size_t len)
{
    size_t count = 0;

    for (const char *at = bytes; (at = memchr(at, '\n', len - (size_t)(at - bytes))); at++)
        count++;
    return count;
}

/* The position behind line number `lines`. */
static size_t end_of_line(const struct buffer *table, size_t lines)
{
    size_t pos = 0;

    while (lines-- && pos < table->len) {
        const char *end = memchr(table->bytes + pos, '\n', table->len - pos);

        pos = end ? (size_t)(end - table->bytes) + 1 : table->len;
    }
    return pos;
}

static void put_missing(struct buffer *out, size_t lines, size_t nodes)
{
    buffer_put_string(out, "... ");
    if (lines)
        buffer_printf(out, "%zu more line%s", lines, lines == 1 ? "" : "s");
    if (lines && nodes)
        buffer_put_string(out, ", ");
    if (nodes)
        buffer_printf(out, "%zu more node%s", nodes, nodes == 1 ? "" : "s");
    buffer_put_string(out, WHY_HEIGHT "\n");
}

void footer_cut_nodes(struct buffer *table, const size_t *ends, size_t count, size_t rows)
{
    size_t kept, first = 0, lines = 0;

    if (buffer_error(table) || !rows || count_lines(table->bytes ? table->bytes : "", table->len) <= rows)
        return;
    kept = end_of_line(table, rows - 1);
    while (first < count && ends[first] <= kept)
        first++;
    /* The node in which the cut lies loses lines; those behind it are missing as a whole. */
    if (first < count && (first ? ends[first - 1] : 0) < kept) {
        lines = count_lines(table->bytes + kept, ends[first] - kept);
        first++;
    }
    if (!count) /* the table is not one of nodes */
        lines = count_lines(table->bytes + kept, table->len - kept);
    table->len = kept;
    put_missing(table, lines, count - first);
}
