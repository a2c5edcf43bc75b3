#include "cli/screen.h"

#include "core/utf8.h"

#include <stdio.h>
#include <string.h>

void screen_init(struct screen *screen, bool unicode)
{
    *screen = (struct screen){.unicode = unicode};
}

void screen_deinit(struct screen *screen)
{
    buffer_deinit(&screen->shown.text);
    buffer_deinit(&screen->next.text);
}

void screen_invalidate(struct screen *screen)
{
    screen->valid = false;
}

static size_t limit(size_t value, size_t max)
{
    if (value < 1)
        return 1;
    return value < max ? value : max;
}

void screen_resize(struct screen *screen, size_t rows, size_t columns)
{
    screen->rows = limit(rows, SCREEN_MAX_ROWS);
    screen->columns = limit(columns, SCREEN_MAX_COLUMNS);
    screen->valid = false;
}

/* The length of the colour sequence that the text begins with, 0 if it is none. */
static size_t color_sequence_length(struct text text)
{
    size_t len = 2;

    if (text.len < 3 || text.bytes[0] != '\033' || text.bytes[1] != '[')
        return 0;
    while (len < text.len && (text.bytes[len] == ';' || (text.bytes[len] >= '0' && text.bytes[len] <= '9')))
        len++;
    return len < text.len && text.bytes[len] == 'm' ? len + 1 : 0;
}

/* Walks over the line; returns the byte position where `columns` columns are used up, or its length. */
static size_t position_at(struct text line, size_t columns, size_t *ret_used)
{
    size_t pos = 0, used = 0;

    while (pos < line.len) {
        size_t next = pos;
        size_t skip = color_sequence_length((struct text){line.bytes + pos, line.len - pos});
        uint32_t code;

        if (skip) {
            pos += skip;
            continue;
        }
        code = utf8_next(line, &next);
        if (!utf8_is_unsafe(code)) {
            if (used + utf8_code_width(code) > columns)
                break;
            used += utf8_code_width(code);
        }
        pos = next;
    }
    *ret_used = used;
    return pos;
}

/* Appends line[0..end) without unsafe characters; returns whether a colour is left switched on. */
static bool put_safe(struct buffer *out, struct text line, size_t end)
{
    size_t pos = 0;
    bool colored = false;

    while (pos < end) {
        size_t next = pos;
        size_t skip = color_sequence_length((struct text){line.bytes + pos, line.len - pos});

        if (skip) {
            colored = !(skip == 3 || (skip == 4 && line.bytes[pos + 2] == '0'));
            next += skip;
            buffer_put(out, line.bytes + pos, skip);
        } else if (!utf8_is_unsafe(utf8_next(line, &next))) {
            buffer_put(out, line.bytes + pos, next - pos);
        }
        pos = next;
    }
    return colored;
}

void screen_put_cut(struct buffer *out, struct text line, size_t columns, bool unicode)
{
    size_t used;
    bool is_cut = position_at(line, columns, &used) < line.len;
    size_t end =
        is_cut && columns ? position_at(line, columns - 1, &used) : position_at(line, columns, &used);
    bool colored = put_safe(out, line, end);

    if (is_cut && columns) {
        buffer_put_repeated(out, ' ', columns - 1 - used);
        buffer_put_string(out, unicode ? "…" : ".");
    }
    if (colored)
        buffer_put_string(out, "\033[0m");
}

static size_t count_lines(struct text frame)
{
    size_t count = 0;

    for (size_t i = 0; i < frame.len; i++)
        count += frame.bytes[i] == '\n';
    return count + (frame.len && frame.bytes[frame.len - 1] != '\n');
}

/* Takes the first line (without its newline) off the frame. */
static struct text take_line(struct text *frame)
{
    const char *end = memchr(frame->bytes, '\n', frame->len);
    struct text line = {frame->bytes, end ? (size_t)(end - frame->bytes) : frame->len};
    size_t taken = line.len + (end != NULL);

    *frame = (struct text){frame->bytes + taken, frame->len - taken};
    return line;
}

static struct text line_at(const struct screen_lines *lines, size_t row)
{
    size_t start = row ? lines->ends[row - 1] : 0;

    if (row >= lines->count)
        return TEXT_ABSENT;
    return (struct text){buffer_text(&lines->text).bytes + start, lines->ends[row] - start};
}

/* Fills screen->next with the lines of the frame, the last one telling how many do not fit. */
static void cut_frame(struct screen *screen, struct text frame)
{
    struct screen_lines *next = &screen->next;
    size_t count = count_lines(frame);
    char more[64];

    buffer_clear(&next->text);
    next->count = count < screen->rows ? count : screen->rows;
    for (size_t row = 0; row < next->count; row++) {
        struct text line = take_line(&frame);

        if (row + 1 == screen->rows && count > screen->rows) {
            snprintf(more, sizeof(more), "... %zu more lines", count - row);
            line = text_from_string(more);
        }
        screen_put_cut(&next->text, line, screen->columns, screen->unicode);
        next->ends[row] = next->text.len;
    }
}

static void draw_row(const struct screen *screen, size_t row, struct text line, struct buffer *out)
{
    size_t used;

    buffer_printf(out, "\033[%zu;1H", row + 1);
    buffer_put_text(out, line);
    position_at(line, screen->columns, &used);
    /* A full row leaves the cursor on its last column, which erasing would take away. */
    if (used < screen->columns)
        buffer_put_string(out, "\033[K");
}

void screen_draw(struct screen *screen, struct text frame, struct buffer *out)
{
    struct screen_lines old;

    if (!screen->rows)
        return;
    cut_frame(screen, frame);
    for (size_t row = 0; row < screen->next.count; row++) {
        struct text line = line_at(&screen->next, row);

        if (!screen->valid || !text_equal(line, line_at(&screen->shown, row)))
            draw_row(screen, row, line, out);
    }
    if (screen->next.count < screen->rows && (!screen->valid || screen->next.count < screen->shown.count))
        buffer_printf(out, "\033[%zu;1H\033[J", screen->next.count + 1);
    old = screen->shown;
    screen->shown = screen->next;
    screen->next = old;
    screen->valid = buffer_error(&screen->shown.text) == 0;
}
