/*
 * A growing byte buffer for output. Errors stick: after a failed allocation or a passed cap every further
 * write is ignored and buffer_error() says why, so writers are straight lines with one check at the end.
 */
#ifndef CORE_BUFFER_H
#define CORE_BUFFER_H

#include "core/text.h"

#include <stdint.h>

struct buffer {
    char *bytes; /* owned */
    size_t len;
    size_t cap;
    size_t max; /* the content never grows beyond; 0 = no limit */
    int error;  /* 0, -ENOMEM or -EFBIG */
};

#define BUFFER_EMPTY ((struct buffer){0})

/* Frees the bytes and makes the buffer empty again. Accepts an empty buffer. */
void buffer_deinit(struct buffer *buffer);

/* Forgets content and error, keeps the memory. */
void buffer_clear(struct buffer *buffer);

/* Makes room for `more` further bytes. Returns 0 or the sticky error. */
int buffer_reserve(struct buffer *buffer, size_t more);

void buffer_put(struct buffer *buffer, const void *bytes, size_t len);
void buffer_put_char(struct buffer *buffer, char c);
void buffer_put_string(struct buffer *buffer, const char *string);
void buffer_put_text(struct buffer *buffer, struct text text);
void buffer_put_repeated(struct buffer *buffer, char c, size_t count);
void buffer_put_signed(struct buffer *buffer, int64_t value);
void buffer_put_unsigned(struct buffer *buffer, uint64_t value);
void buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 0, or the first error that happened since the last clear. */
static inline int buffer_error(const struct buffer *buffer)
{
    return buffer->error;
}

static inline struct text buffer_text(const struct buffer *buffer)
{
    return (struct text){buffer->bytes ? buffer->bytes : "", buffer->len};
}

#endif
