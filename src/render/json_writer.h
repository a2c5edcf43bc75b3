/*
 * Streaming JSON, laid out as Python's json.dumps(indent=4) does: four blanks a level, one item a line, empty
 * lists and objects as [] and {}. Everything beyond printable ASCII is escaped, so the output is fit for any
 * terminal and any charset.
 */
#ifndef RENDER_JSON_WRITER_H
#define RENDER_JSON_WRITER_H

#include "core/buffer.h"

/* What becomes of bytes that are not UTF-8. */
enum json_bad_bytes {
    JSON_BAD_REPLACED,  /* U+FFFD: every parser takes it */
    JSON_BAD_SURROGATE, /* \udcXX, as Python writes undecodable bytes; strict parsers refuse it */
};

struct json_writer {
    struct buffer *out;
    enum json_bad_bytes bad_bytes;
    bool one_line; /* false after json_writer_new(): one item a line */
    unsigned depth;
    bool has_items; /* the innermost list or object has an item already */
    bool after_key; /* a key was written and waits for its value */
};

struct json_writer json_writer_new(struct buffer *out, enum json_bad_bytes bad_bytes);

void json_begin_object(struct json_writer *json);
void json_end_object(struct json_writer *json);
void json_begin_list(struct json_writer *json);
void json_end_list(struct json_writer *json);

/* A key that needs no escapes; the next call writes its value. */
void json_key(struct json_writer *json, const char *key);

/* (json_null() and json_string() are names of jansson, which some programs link.) */
void json_put_null(struct json_writer *json);
void json_bool(struct json_writer *json, bool value);
void json_signed(struct json_writer *json, int64_t value);
void json_unsigned(struct json_writer *json, uint64_t value);

/* A number with one decimal: 125 -> 12.5. */
void json_tenths(struct json_writer *json, uint64_t tenths);

/* A string, or null if the text is absent. Control characters, DEL and all non-ASCII are escaped. */
void json_text(struct json_writer *json, struct text text);

/* The same for a C string; NULL gives null. */
void json_put_string(struct json_writer *json, const char *string);

/* Ends the output with its newline. */
void json_finish(struct json_writer *json);

#endif
