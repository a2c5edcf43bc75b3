/*
 * What is not shown, and why: the line below the nodes on a terminal, and the cut of a table that is higher
 * than the screen. Pure.
 */
#ifndef CLI_FOOTER_H
#define CLI_FOOTER_H

#include "core/buffer.h"

struct footer {
    uint32_t known;     /* nodes that the backend knows */
    uint32_t matched;   /* by -n */
    uint32_t silent;    /* without values, and so without a line where there are no headers */
    uint32_t emptied;   /* without a process of -user */
    uint32_t left_out;  /* beyond connecting.max_connections */
    bool is_inexact;    /* words of -n matched parts of names only */
    bool is_warming;    /* discovery has only begun */
    const char *filter; /* -n as given, NULL: none */
    const char *users;  /* -user as given, NULL: none */
};

/* Appends the line, without a newline: nothing if everything is shown. Safe to print. */
void footer_put(const struct footer *footer, struct buffer *out);

/*
 * Shortens a table (of nodes; or of something else: count 0) to `rows` lines. ends: where in `table` each of
 * `count` nodes ends. If it has more lines, the last one tells what is missing: "... 12 more nodes (terminal
 * height)".
 */
void footer_cut_nodes(struct buffer *table, const size_t *ends, size_t count, size_t rows);

#endif
