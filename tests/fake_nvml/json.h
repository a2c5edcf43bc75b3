/*
 * A strict JSON reader (RFC 8259) that makes a tree. Stricter than the RFC in what it leaves open: the text
 * must be valid UTF-8 without a byte order mark, a repeated key is an error, so is \u0000 and a lone
 * surrogate, and nesting is limited to JSON_DEPTH_MAX.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

#define JSON_DEPTH_MAX 32

enum json_type {
    JSON_NULL,
    JSON_BOOLEAN,
    JSON_NUMBER,
    JSON_TEXT,
    JSON_LIST,
    JSON_OBJECT,
};

/* One value. A list's or object's members hang from `first`, linked by `next`, in the order of the file. */
struct json {
    enum json_type type;
    bool boolean;
    bool used;           /* for whoever walks the tree: tells known members from unknown ones */
    const char *key;     /* of an object's member, else NULL */
    struct json *parent; /* NULL for the root */
    struct json *first;
    struct json *next;
    size_t count;       /* members of a list or an object */
    long double number; /* holds every whole number of 64 bits exactly */
    const char *text;   /* NUL-terminated UTF-8 */
};

/* Where and why reading stopped. */
struct json_error {
    size_t line; /* from 1 */
    const char *reason;
};

/*
 * Parses `size` bytes. Texts are decoded in place: `bytes` is changed and must live as long as the tree,
 * whose nodes are taken from `arena`. Returns 0, -EBADMSG (then *ret_error says where and why) or -ENOMEM.
 */
int json_parse(char *bytes, size_t size, struct arena *arena, struct json **ret_root,
               struct json_error *ret_error);

/* The member `key` of an object, NULL if there is none. */
struct json *json_member(const struct json *object, const char *key);
