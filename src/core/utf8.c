#include "core/utf8.h"

#include "core/utf8_widths.h"

#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

uint32_t utf8_next(struct text text, size_t *pos)
{
    const unsigned char *at = (const unsigned char *)text.bytes + *pos;
    size_t left = text.len - *pos;
    uint32_t code, lowest;
    size_t len;

    *pos += 1;
    if (at[0] < 0x80)
        return at[0];
    if (at[0] >= 0xc2 && at[0] <= 0xdf) {
        len = 2, lowest = 0x80, code = at[0] & 0x1f;
    } else if (at[0] >= 0xe0 && at[0] <= 0xef) {
        len = 3, lowest = 0x800, code = at[0] & 0x0f;
    } else if (at[0] >= 0xf0 && at[0] <= 0xf4) {
        len = 4, lowest = 0x10000, code = at[0] & 0x07;
    } else {
        return UTF8_BAD;
    }
    if (left < len)
        return UTF8_BAD;
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return UTF8_BAD;
        code = code << 6 | (at[i] & 0x3f);
    }
    if (code < lowest || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return UTF8_BAD;
    *pos += len - 1;
    return code;
}

void utf8_put(struct buffer *out, uint32_t code)
{
    if (code < 0x80) {
        buffer_put_char(out, (char)code);
    } else if (code < 0x800) {
        buffer_put_char(out, (char)(0xc0 | code >> 6));
        buffer_put_char(out, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        buffer_put_char(out, (char)(0xe0 | code >> 12));
        buffer_put_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
        buffer_put_char(out, (char)(0x80 | (code & 0x3f)));
    } else {
        buffer_put_char(out, (char)(0xf0 | code >> 18));
        buffer_put_char(out, (char)(0x80 | (code >> 12 & 0x3f)));
        buffer_put_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
        buffer_put_char(out, (char)(0x80 | (code & 0x3f)));
    }
}

size_t utf8_count(struct text text)
{
    size_t count = 0;

    for (size_t pos = 0; pos < text.len; count++)
        utf8_next(text, &pos);
    return count;
}

static bool in_ranges(uint32_t code, const struct code_range *ranges, size_t count)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (code > ranges[middle].last)
            low = middle + 1;
        else if (code < ranges[middle].first)
            high = middle;
        else
            return true;
    }
    return false;
}

unsigned utf8_code_width(uint32_t code)
{
    if (code < 0x300)
        return 1;
    if (in_ranges(code, no_column_ranges, ELEMENTS(no_column_ranges)))
        return 0;
    if (in_ranges(code, two_column_ranges, ELEMENTS(two_column_ranges)))
        return 2;
    return 1;
}

bool utf8_is_unsafe(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == UTF8_BAD || code == 0x061c ||
           (code >= 0x200e && code <= 0x200f) || /* direction marks */
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x206f) || code == 0xfeff ||
           (code >= 0xfff9 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe007f); /* tags */
}

/* The visible form of one character; `byte` is the input byte where the code is UTF8_BAD. */
static unsigned put_visible_code(struct buffer *out, uint32_t code, unsigned char byte)
{
    size_t before = out->len;

    if (!utf8_is_unsafe(code)) {
        utf8_put(out, code);
        return utf8_code_width(code);
    }
    if (code < 0x20 || code == 0x7f)
        buffer_printf(out, "^%c", (char)(code ^ 0x40));
    else if (code == UTF8_BAD)
        buffer_printf(out, "\\x%02X", byte);
    else
        buffer_printf(out, "\\u{%X}", code);
    return (unsigned)(out->len - before);
}

static unsigned visible_code_width(uint32_t code)
{
    if (!utf8_is_unsafe(code))
        return utf8_code_width(code);
    if (code < 0x20 || code == 0x7f)
        return 2;
    if (code == UTF8_BAD)
        return 4;
    return code < 0x100 ? 6 : code < 0x1000 ? 7 : code < 0x10000 ? 8 : 9;
}

size_t utf8_visible_width(struct text text)
{
    size_t columns = 0;

    for (size_t pos = 0; pos < text.len;)
        columns += visible_code_width(utf8_next(text, &pos));
    return columns;
}

void utf8_put_visible(struct buffer *out, struct text text)
{
    for (size_t pos = 0; pos < text.len;) {
        unsigned char byte = (unsigned char)text.bytes[pos];

        put_visible_code(out, utf8_next(text, &pos), byte);
    }
}

/* How many bytes of text fit into `columns` columns of visible form; *ret_used: the columns they take. */
static size_t fitting_bytes(struct text text, size_t columns, size_t *ret_used)
{
    size_t used = 0, pos = 0;

    while (pos < text.len) {
        size_t next = pos;
        unsigned width = visible_code_width(utf8_next(text, &next));

        if (used + width > columns)
            break;
        used += width;
        pos = next;
    }
    *ret_used = used;
    return pos;
}

size_t utf8_put_visible_cut(struct buffer *out, struct text text, size_t columns, bool unicode)
{
    size_t used, fits = fitting_bytes(text, columns, &used);

    if (fits == text.len) {
        utf8_put_visible(out, text);
        return used;
    }
    if (!columns)
        return 0;
    fits = fitting_bytes(text, columns - 1, &used);
    utf8_put_visible(out, (struct text){text.bytes, fits});
    buffer_put_string(out, unicode ? "\xe2\x80\xa6" : ".");
    return used + 1;
}
