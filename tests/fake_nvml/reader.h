/*
 * Takes a JSON tree apart into a scenario. The first error sticks: after it, every function gives a harmless
 * default, so that callers read as straight lists of keys, and check once at the end. An error names the
 * place in the file
 * (`devices[2].memory.total`).
 *
 * A function that reads a key takes the object `from`; NULL stands for an object without any key.
 */
#pragma once

#include "json.h"
#include "scenario.h"

struct reader {
    struct arena *arena; /* of the scenario: what is read into it */
    char *error;         /* SCENARIO_ERROR_SIZE bytes; empty: no error so far */
};

/* What a value's constants may be. */
enum value_type {
    VALUE_TYPE_U32,
    VALUE_TYPE_U64,
    VALUE_TYPE_SIGNED,
    VALUE_TYPE_TEXT,
    VALUE_TYPE_CODE, /* 0 or {"rc":N}, also by steps */
};

bool reader_failed(const struct reader *reader);

/* Notes an error at `where` (may be NULL) unless there is one already. */
void reader_fail(struct reader *reader, const struct json *where, const char *reason);

/* `node` if it is an object, a list; else NULL and, unless `node` is NULL, an error. */
struct json *reader_object(struct reader *reader, struct json *node);
struct json *reader_list(struct reader *reader, struct json *node);

/* The member `key`, marked as known. reader_required() makes its absence an error. */
struct json *reader_member(struct reader *reader, struct json *from, const char *key);
struct json *reader_required(struct reader *reader, struct json *from, const char *key);

/* To be called when all keys of `from` have been asked for: a key nobody asked for is an error. */
void reader_finish_object(struct reader *reader, struct json *from);

/* Plain (not `V`) members: a text, a whole number from min to max, any number. An absent key gives the
 * default. */
const char *reader_text(struct reader *reader, struct json *from, const char *key, const char *absent);
uint64_t reader_whole(struct reader *reader, struct json *from, const char *key, uint64_t min, uint64_t max,
                      uint64_t absent);
double reader_number(struct reader *reader, struct json *from, const char *key, double min, double absent);

/* The whole number `node` itself. */
uint64_t reader_whole_of(struct reader *reader, const struct json *node, uint64_t min, uint64_t max);

/* A copy of the text `node` itself, NULL if it is none. */
const char *reader_text_of(struct reader *reader, const struct json *node);

/* The `V` that `node` is. */
struct value reader_value_of(struct reader *reader, struct json *node, enum value_type type);

/* True when `node` is {"rc":N}; *ret_value is that then, and the node is dealt with. */
bool reader_plain_rc(struct reader *reader, struct json *node, struct value *ret_value);

/* How reader_values() fills one `struct value`. */
struct value_key {
    const char *key;
    size_t offset; /* of the struct value in what is filled */
    enum value_type type;
    enum {
        KEY_OPTIONAL,
        KEY_REQUIRED,
        KEY_ZERO, /* absent means 0 */
    } presence;
};

/* Reads the `count` keys of `from` into the struct at `into`. */
void reader_values(struct reader *reader, struct json *from, const struct value_key *keys, size_t count,
                   void *into);

/* Reads a list of exactly `count` values, a required one, into the array `into`. */
void reader_value_list(struct reader *reader, struct json *node, size_t count, struct value *const into[]);
