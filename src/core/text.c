#include "core/text.h"

#include <errno.h>
#include <string.h>

struct text text_from_string(const char *string)
{
    if (!string)
        return TEXT_ABSENT;
    return (struct text){string, strlen(string)};
}

bool text_equal(struct text a, struct text b)
{
    if (!a.bytes || !b.bytes)
        return a.bytes == b.bytes;
    return a.len == b.len && memcmp(a.bytes, b.bytes, a.len) == 0;
}

bool text_equal_string(struct text text, const char *string)
{
    return text.bytes && text_equal(text, text_from_string(string));
}

struct text text_after_last(struct text text, char c)
{
    const char *found = text.len ? memrchr(text.bytes, c, text.len) : NULL;

    if (!found)
        return text;
    return (struct text){found + 1, text.len - (size_t)(found + 1 - text.bytes)};
}

int text_parse_decimal(struct text text, unsigned long long max, unsigned long long *ret_value)
{
    unsigned long long value = 0;
    bool too_large = false;

    if (!text.len)
        return -EINVAL;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = (unsigned)text.bytes[i] - '0';

        if (digit > 9)
            return -EINVAL;
        too_large = too_large || digit > max || value > (max - digit) / 10;
        if (!too_large)
            value = value * 10 + digit;
    }
    if (too_large)
        return -ERANGE;
    *ret_value = value;
    return 0;
}

char *text_copy(struct text text, char *buf, size_t cap)
{
    size_t len = text.len < cap ? text.len : cap - 1;
    size_t end = len ? strnlen(text.bytes, len) : 0;

    if (end)
        memcpy(buf, text.bytes, end);
    buf[end] = '\0';
    return buf;
}
