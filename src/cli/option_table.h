/*
 * The one table of the command line's options. The parser, the help, the completion scripts and the tests of
 * the man page and the README all read it; nothing else knows an option by name.
 *
 * Each option has names that gpustat knows and names that only clustat has. Prefixes are resolved against
 * gpustat's names first, so that no new name changes what an old prefix means.
 */
#ifndef CLI_OPTION_TABLE_H
#define CLI_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum option_id {
    OPTION_HELP,
    OPTION_PRINT_COMPLETION,
    OPTION_COLOR,
    OPTION_NO_COLOR,
    OPTION_ID,
    OPTION_SHOW_ALL,
    OPTION_SHOW_CMD,
    OPTION_SHOW_FULL_CMD,
    OPTION_SHOW_USER,
    OPTION_SHOW_PID,
    OPTION_SHOW_FAN,
    OPTION_SHOW_CODEC,
    OPTION_SHOW_POWER,
    OPTION_JSON,
    OPTION_INTERVAL,
    OPTION_NO_HEADER,
    OPTION_GPUNAME_WIDTH,
    OPTION_DEBUG,
    OPTION_NO_PROCESSES,
    OPTION_VERSION,
    OPTION_USER,
    OPTION_NODE,
    OPTION_LOCAL,
    OPTION_WATCH,
    OPTION_NO_LATENCY,
    OPTION_LATENCY_DISPLAY,
    OPTION_BACKEND_SOCKET,
    OPTION_FORGET,
    OPTION_COUNT
};

enum option_arity {
    ARITY_FLAG,     /* no value */
    ARITY_REQUIRED, /* always a value */
    ARITY_OPTIONAL, /* a value, unless the next word looks like an option */
};

/* What a value is, for completion. */
enum option_value {
    VALUE_NONE,
    VALUE_CHOICE, /* one of option_spec.choices */
    VALUE_NUMBER,
    VALUE_USER,
    VALUE_HOST,
    VALUE_FILE,
};

#define OPTION_NAMES_MAX   4
#define OPTION_CHOICES_MAX 8

struct option_spec {
    enum option_id id;
    const char *names[OPTION_NAMES_MAX];     /* gpustat's, in its order; NULL-terminated if fewer */
    const char *own_names[OPTION_NAMES_MAX]; /* clustat's own */
    enum option_arity arity;
    enum option_value value;
    const char *metavar;                     /* of the value in the help; NULL: the choices */
    const char *choices[OPTION_CHOICES_MAX]; /* what is allowed, in the order of gpustat's message */
    const char *help;                        /* one line, no full stop */
};

/* The word that stands alone: a line per node (clustat only). */
#define OPTIONS_NODES      "nodes"
#define OPTIONS_NODES_HELP "show a line per node: state, last seen, address, version, delay, fault"

/* The table, OPTION_COUNT rows, row i having the id i. */
extern const struct option_spec option_table[OPTION_COUNT];

/* True for an option that gpustat does not have at all. */
static inline bool option_is_own(const struct option_spec *spec)
{
    return !spec->names[0];
}

/* The names in the table's order, gpustat's first: name number i, or NULL behind the last. */
const char *option_name(const struct option_spec *spec, size_t i);

#endif
