#include "core/buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_deinit(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){.max = buffer->max};
}

void buffer_clear(struct buffer *buffer)
{
    buffer->len = 0;
    buffer->error = 0;
}

/* Makes room for `more` further bytes of content and `spare` ones behind it, which max does not count. */
static int reserve(struct buffer *buffer, size_t more, size_t spare)
{
    size_t need, cap;
    char *bytes;

    if (buffer->error)
        return buffer->error;
    if (__builtin_add_overflow(buffer->len, more, &need) || (buffer->max && need > buffer->max) ||
        __builtin_add_overflow(need, spare, &need))
        return buffer->error = -EFBIG;
    if (need <= buffer->cap)
        return 0;
    cap = buffer->cap < 256 ? 512 : buffer->cap * 2;
    if (cap < need)
        cap = need;
    bytes = realloc(buffer->bytes, cap);
    if (!bytes)
        return buffer->error = -ENOMEM;
    buffer->bytes = bytes;
    buffer->cap = cap;
    return 0;
}

int buffer_reserve(struct buffer *buffer, size_t more)
{
    return reserve(buffer, more, 0);
}

void buffer_put(struct buffer *buffer, const void *bytes, size_t len)
{
    if (!len || buffer_reserve(buffer, len) < 0)
        return;
    memcpy(buffer->bytes + buffer->len, bytes, len);
    buffer->len += len;
}

void buffer_put_char(struct buffer *buffer, char c)
{
    buffer_put(buffer, &c, 1);
}

void buffer_put_string(struct buffer *buffer, const char *string)
{
    buffer_put(buffer, string, strlen(string));
}

void buffer_put_text(struct buffer *buffer, struct text text)
{
    buffer_put(buffer, text.bytes, text.len);
}

void buffer_put_repeated(struct buffer *buffer, char c, size_t count)
{
    if (!count || buffer_reserve(buffer, count) < 0)
        return;
    memset(buffer->bytes + buffer->len, c, count);
    buffer->len += count;
}

void buffer_put_unsigned(struct buffer *buffer, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    buffer_put(buffer, digits + at, sizeof(digits) - at);
}

void buffer_put_signed(struct buffer *buffer, int64_t value)
{
    if (value < 0)
        buffer_put_char(buffer, '-');
    buffer_put_unsigned(buffer, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0 || reserve(buffer, (size_t)len, 1) < 0) /* vsnprintf() writes a NUL */
        return;
    va_start(args, format);
    vsnprintf(buffer->bytes + buffer->len, (size_t)len + 1, format, args);
    va_end(args);
    buffer->len += (size_t)len;
}
