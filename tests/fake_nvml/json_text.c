#include "json_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Four hex digits at `at`; -1 if there are not four. */
static int32_t read_unit(const char *at, const char *end)
{
    if (end - at < 4)
        return -1;
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static char *write_utf8(char *out, int32_t point)
{
    if (point < 0x80) {
        *out++ = (char)point;
        return out;
    }
    int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xC0, 0xE0, 0xF0};
    *out++ = (char)(lead[more] | point >> (6 * more));
    while (more-- > 0)
        *out++ = (char)(0x80 | (point >> (6 * more) & 0x3F));
    return out;
}

/* \uXXXX, or a surrogate pair; *at is behind the u. */
static const char *decode_point(char **at, const char *end, char **out)
{
    int32_t point = read_unit(*at, end);
    if (point < 0)
        return "four hex digits must follow \\u";
    if (point == 0)
        return "\\u0000 cannot be part of a text here";
    *at += 4;
    if (point >= 0xD800 && point < 0xE000) {
        bool pair = point < 0xDC00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u';
        int32_t low = pair ? read_unit(*at + 2, end) : -1;
        if (low < 0xDC00 || low > 0xDFFF)
            return "a surrogate stands alone";
        *at += 6;
        point = 0x10000 + (point - 0xD800) * 0x400 + (low - 0xDC00);
    }
    *out = write_utf8(*out, point);
    return NULL;
}

static const char *decode_escape(char **at, const char *end, char **out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    if (*at == end)
        return "a text has no end";
    char name = *(*at)++;
    if (name == 'u')
        return decode_point(at, end, out);
    const char *found = name ? strchr(names, name) : NULL;
    if (!found)
        return "this escape is unknown";
    *(*out)++ = values[found - names];
    return NULL;
}

/* Bytes of the UTF-8 sequence at `at`, 0 if it is none (overlong, surrogate, past U+10FFFF, cut short). */
static int utf8_length(const unsigned char *at, ptrdiff_t left)
{
    int length = at[0] < 0x80   ? 1
                 : at[0] < 0xC2 ? 0
                 : at[0] < 0xE0 ? 2
                 : at[0] < 0xF0 ? 3
                 : at[0] < 0xF5 ? 4
                                : 0;
    if (length > left)
        return 0;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    bool bad = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F) ||
               (at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] > 0x8F);
    return bad ? 0 : length;
}

const char *json_decode_text(char **at, char *end, const char **ret_text)
{
    char *start = *at, *out = *at;
    while (*at < end && **at != '"') {
        const char *reason = NULL;
        if (**at == '\\') {
            (*at)++;
            reason = decode_escape(at, end, &out);
        } else if ((unsigned char)**at < 0x20) {
            reason = "a control character must be escaped in a text";
        } else {
            int length = utf8_length((const unsigned char *)*at, end - *at);
            if (length == 0)
                reason = "this is not UTF-8";
            memmove(out, *at, (size_t)length);
            out += length;
            *at += length;
        }
        if (reason)
            return reason;
    }
    if (*at == end)
        return "a text has no end";
    (*at)++;
    *out = '\0';
    *ret_text = start;
    return NULL;
}
