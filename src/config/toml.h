/*
 * TOML 1.0, read into a tree of values that know their place in the file: a C face for toml++.
 *
 * All values and texts are borrowed from the document and live as long as it does. Only a failed allocation
 * ends the program (toml++ reports it no other way); the caller caps the size of what it parses.
 */
#ifndef CONFIG_TOML_H
#define CONFIG_TOML_H

#include "core/text.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum toml_kind {
    TOML_KIND_STRING,
    TOML_KIND_INTEGER,
    TOML_KIND_REAL,
    TOML_KIND_BOOLEAN,
    TOML_KIND_DATE, /* dates, times, and both */
    TOML_KIND_ARRAY,
    TOML_KIND_TABLE,
};

struct toml_value {
    enum toml_kind kind;
    unsigned line;      /* from 1; of a table's member, where its key stands */
    struct text string; /* only the member of its kind has a meaning */
    int64_t integer;
    double real;
    bool boolean;
    uint32_t count;   /* items of an array, members of a table */
    const void *node; /* the document's own, for the two functions below */
};

struct toml_error {
    unsigned line, column; /* from 1 */
    char message[200];
};

struct toml_document;

/*
 * Parses UTF-8 text. Nesting deeper than 256 levels is refused.
 * Returns 0 and a document to free, -ENOMEM, or -EBADMSG and *ret_error.
 */
int toml_parse(struct text content, struct toml_document **ret_document, struct toml_error *ret_error);
void toml_free(struct toml_document *document); /* accepts NULL */

/* The table that is the whole file. */
struct toml_value toml_root(const struct toml_document *document);

/* Called for each member of a table, in the order of the keys' bytes. */
typedef void toml_member(void *context, struct text key, const struct toml_value *value);

void toml_each_member(const struct toml_value *table, toml_member *member, void *context);

/* The item at a place of an array; index < array->count. */
struct toml_value toml_item(const struct toml_value *array, uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
