#include "render/text_cells.h"

#include "core/utf8.h"
#include "render/paint.h"

#define ESCAPE '\033'

static const char *ellipsis(bool unicode)
{
    return unicode ? "\xe2\x80\xa6" : ".";
}

void cell_put_visible(struct buffer *out, struct text text, struct text_rules rules)
{
    size_t pos = 0;

    if (rules.unicode) {
        utf8_put_visible(out, text);
        return;
    }
    while (pos < text.len) {
        size_t start = pos;
        uint32_t code = utf8_next(text, &pos);

        if (code < 0x80 || code == UTF8_BAD)
            utf8_put_visible(out, (struct text){text.bytes + start, pos - start});
        else
            buffer_printf(out, "\\u{%X}", code);
    }
}

static unsigned code_width(uint32_t code, struct text_rules rules)
{
    return rules.by_columns ? utf8_code_width(code) : 1;
}

size_t cell_width(struct text visible, struct text_rules rules)
{
    size_t width = 0;

    for (size_t pos = 0; pos < visible.len;)
        width += code_width(utf8_next(visible, &pos), rules);
    return width;
}

/* The end of the text that is at most `width` wide; *ret_width is what it takes. */
static struct text end_of_text(struct text visible, size_t full_width, size_t width, struct text_rules rules,
                               size_t *ret_width)
{
    size_t pos = 0, left = full_width;

    while (pos < visible.len) {
        size_t next = pos;
        unsigned step = code_width(utf8_next(visible, &next), rules);

        /* A combining character must not join the ellipsis, so it goes with what it combined with. */
        if (left <= width && step > 0)
            break;
        left -= step;
        pos = next;
    }
    *ret_width = left;
    return (struct text){visible.bytes + pos, visible.len - pos};
}

void cell_put_fitted(struct buffer *out, struct text visible, size_t width, struct text_rules rules)
{
    size_t have = cell_width(visible, rules), used;
    struct text end;

    if (have <= width) {
        buffer_put_text(out, visible);
        buffer_put_repeated(out, ' ', width - have);
        return;
    }
    if (!width)
        return;
    end = end_of_text(visible, have, width - 1, rules, &used);
    buffer_put_string(out, ellipsis(rules.unicode));
    buffer_put_repeated(out, ' ', width - 1 - used);
    buffer_put_text(out, end);
}

/* If a colour sequence (ESC [ ... m) begins at pos, the place behind it; else pos. */
static size_t skip_sequence(struct text line, size_t pos)
{
    if (line.bytes[pos] != ESCAPE)
        return pos;
    while (pos < line.len && line.bytes[pos] != 'm')
        pos++;
    return pos < line.len ? pos + 1 : pos;
}

static bool is_reset(struct text line, size_t start, size_t end)
{
    return text_equal_string((struct text){line.bytes + start, end - start}, PAINT_RESET);
}

/* Where a line may be cut: the byte behind its last fitting character, and whether a colour is open there. */
struct cut {
    size_t at;
    bool open;
};

/* Walks the line. Returns true if it is wider than `columns`; *ret_cut then leaves one column for the mark.
 */
static bool find_cut(struct text line, size_t columns, struct cut *ret_cut)
{
    struct cut here = {0}, before_last = {0};
    size_t used = 0;

    while (here.at < line.len) {
        size_t next = skip_sequence(line, here.at);
        unsigned width;

        if (next != here.at) {
            here.open = !is_reset(line, here.at, next);
            here.at = next;
        } else {
            width = utf8_code_width(utf8_next(line, &next));
            if (used + width > columns) {
                *ret_cut = before_last;
                return true;
            }
            used += width;
            here.at = next;
        }
        if (used < columns)
            before_last = here;
    }
    return false;
}

bool cell_line_fits(struct text line, size_t columns)
{
    struct cut unused;

    return !find_cut(line, columns, &unused);
}

void cell_cut_line(struct buffer *out, size_t start, size_t columns, bool unicode)
{
    struct cut cut;

    if (buffer_error(out) || out->len <= start)
        return;
    if (!find_cut((struct text){out->bytes + start, out->len - start}, columns, &cut))
        return;
    out->len = start + cut.at;
    if (columns)
        buffer_put_string(out, ellipsis(unicode));
    if (cut.open)
        buffer_put_string(out, PAINT_RESET);
}
