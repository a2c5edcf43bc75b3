/*
 * A borrowed piece of text: bytes and a length, no terminating NUL promised. Text from outside keeps its
 * bytes as they came; only renderers and the log make it printable (core/utf8.h). Whoever hands out a text
 * says how long the bytes live. A text with bytes == NULL is absent, which is not the same as empty.
 */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    const char *bytes;
    size_t len;
};

#define TEXT_ABSENT ((struct text){NULL, 0})

/* A string literal as text. */
#define TEXT_LITERAL(literal) ((struct text){"" literal, sizeof(literal) - 1})

/* A C string as text; NULL gives an absent text. Borrows the string. */
struct text text_from_string(const char *string);

static inline bool text_is_present(struct text text)
{
    return text.bytes != NULL;
}

/* Same presence and same bytes. */
bool text_equal(struct text a, struct text b);

/* Same bytes as a C string; an absent text equals nothing. */
bool text_equal_string(struct text text, const char *string);

/* What follows the last occurrence of c; the whole text if c does not occur. */
struct text text_after_last(struct text text, char c);

/*
 * A decimal number of one or more digits and nothing else.
 * Returns 0 and writes *ret_value, -EINVAL if it is no such number, -ERANGE above `max`.
 */
int text_parse_decimal(struct text text, unsigned long long max, unsigned long long *ret_value);

/* Copies as C string into buf (cap > 0), cut where it does not fit or at a NUL byte; always terminated.
 * Returns buf. */
char *text_copy(struct text text, char *buf, size_t cap);

#endif
