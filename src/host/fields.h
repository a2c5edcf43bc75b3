/* Cutting borrowed text into parts: lines, words, path components. */
#ifndef HOST_FIELDS_H
#define HOST_FIELDS_H

#include "core/text.h"

#include <string.h>

/*
 * The part of *rest before the first `separator`; *rest becomes what follows it. Without a separator the
 * part is all of *rest, and *rest becomes absent, which ends a loop `while (text_is_present(rest))`.
 */
static inline struct text fields_take(struct text *rest, char separator)
{
    const char *found = rest->len ? memchr(rest->bytes, separator, rest->len) : NULL;
    struct text part = *rest;

    if (!found) {
        *rest = TEXT_ABSENT;
        return part;
    }
    part.len = (size_t)(found - rest->bytes);
    *rest = (struct text){found + 1, rest->len - part.len - 1};
    return part;
}

static inline bool fields_starts_with(struct text text, struct text prefix)
{
    return text.len >= prefix.len && memcmp(text.bytes, prefix.bytes, prefix.len) == 0;
}

static inline bool fields_ends_with(struct text text, struct text suffix)
{
    return text.len >= suffix.len &&
           memcmp(text.bytes + text.len - suffix.len, suffix.bytes, suffix.len) == 0;
}

/* The text without its first `count` bytes; count <= text.len. */
static inline struct text fields_skip(struct text text, size_t count)
{
    return (struct text){text.bytes + count, text.len - count};
}

#endif
