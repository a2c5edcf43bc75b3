/* The table of the configuration's keys: what a key is called, may be, is without a file, and for whom. */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include "config/config.h"

enum schema_type {
    SCHEMA_BOOLEAN,    /* bool */
    SCHEMA_INTEGER,    /* uint32_t */
    SCHEMA_PERCENT,    /* uint32_t, millionths; limits too */
    SCHEMA_DURATION,   /* int64_t, ns; limits in ms; a number, or text with a unit ("500ms", "5s", "2m") */
    SCHEMA_CHOICE,     /* an enum; the place in `choices` */
    SCHEMA_TEXT,       /* char *, owned */
    SCHEMA_LIST,       /* struct config_list of texts; empty by default */
    SCHEMA_PORT_RANGE, /* two uint16_t, first and last */
};

struct schema_key {
    const char *name; /* "section.key" */
    enum schema_type type;
    unsigned programs; /* whose it is: enum config_program */
    size_t offset;     /* in struct config */
    const char *meaning;

    int64_t min, max, fallback;   /* numbers: limits and default, in the unit of the type */
    bool zero_too;                /* 0 is allowed besides, and means "automatic" */
    int64_t unit_ms;              /* durations: what a bare number counts, 1 or 1000 */
    const char *const *choices;   /* ended by NULL */
    int (*check)(struct text);    /* texts, and each item of a list; NULL: anything */
    const char *allowed;          /* texts: what is allowed, in words */
    const char *fallback_text;    /* texts: the default */
    const char *fallback_written; /* the default as documents write it, where the above do not tell */
};

extern const struct schema_key schema_keys[CONFIG_KEY_COUNT];

/* The key of that full name; CONFIG_KEY_COUNT if there is none. */
enum config_key schema_find(struct text name);

/* True if a section has that name ("connecting"). */
bool schema_is_section(struct text name);

/* The name of the key that was probably meant, NULL if none is near. */
const char *schema_nearest(struct text name);

/* Appends what is allowed, in words: "a whole number from 1 to 65535". */
void schema_put_allowed(const struct schema_key *key, struct buffer *out);

#endif
