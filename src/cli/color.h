/*
 * Whether to write colours, and which characters: decided here once, from the options, the terminal and the
 * environment. Pure functions of their arguments.
 */
#ifndef CLI_COLOR_H
#define CLI_COLOR_H

#include "cli/options.h"

/* What the decisions depend on. Variables are NULL if unset. */
struct color_environment {
    bool is_terminal;           /* standard output is one */
    const char *term;           /* TERM */
    const char *colorterm;      /* COLORTERM */
    const char *no_color;       /* NO_COLOR: not empty means none (clustat only) */
    const char *clicolor_force; /* CLICOLOR_FORCE: not empty and not 0 means always (clustat only) */
    const char *lc_all, *lc_ctype, *lang;
};

/* Fills in the variables of this process. */
void color_environment_read(struct color_environment *ret_environment);

/*
 * True if colours are wanted. Under the name gpustat only the options and the terminal count, as there; under
 * clustat the options come first, then NO_COLOR, CLICOLOR_FORCE, and a dumb terminal has none.
 */
bool color_wanted(const struct options *options, const struct color_environment *environment);

/* How many colours TERM (and COLORTERM) tells of: 0 for a dumb terminal, 8, or 256. Unset counts as 256. */
unsigned color_count(const struct color_environment *environment);

/* False for a terminal that cannot move its cursor. */
bool color_terminal_is_dumb(const struct color_environment *environment);

/*
 * True unless the locale's variables declare a charset other than UTF-8; C, POSIX, names without a charset
 * and no locale at all count as UTF-8.
 */
bool color_charset_is_utf8(const struct color_environment *environment);

#endif
