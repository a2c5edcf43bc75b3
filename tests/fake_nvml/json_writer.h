/* Writes JSON to a stream as it goes, on one line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_writer {
    FILE *out;
    bool needs_comma;
};

/*
 * Each writes one value. `key` is its key inside an object, NULL inside a list. An object or a list is begun
 * with its opening bracket and ended with its closing one.
 */
void json_write_begin(struct json_writer *writer, const char *key, char bracket);
void json_write_end(struct json_writer *writer, char bracket);
void json_write_u64(struct json_writer *writer, const char *key, uint64_t number);
void json_write_i64(struct json_writer *writer, const char *key, int64_t number);
void json_write_double(struct json_writer *writer, const char *key, double number);
void json_write_text(struct json_writer *writer, const char *key, const char *text);
void json_write_null(struct json_writer *writer, const char *key);

/* {"rc":N} */
void json_write_rc(struct json_writer *writer, const char *key, int rc);
