/*
 * The terminal while it is watched: alternate screen, hidden cursor, keys read one by one without echo; and
 * the way back on every exit, a crash included.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct terminal {
    bool entered;
    bool has_saved; /* standard input is a terminal whose settings were changed */
    struct termios saved;
};

/*
 * Enters the alternate screen on standard output and, if this process may (it is in the foreground), switches
 * echo and line editing off on standard input. Fatal signals (SIGSEGV and the like) restore the terminal
 * before they end the program. One terminal at a time. Does nothing if it is entered already.
 */
void terminal_enter(struct terminal *terminal);

/* Puts everything back. Does nothing if it is not entered. Safe to call at any time. */
void terminal_leave(struct terminal *terminal);

/* The size of standard output's terminal; LINES and COLUMNS, then 24 x 80, stand in where it tells none. */
void terminal_size(size_t *ret_rows, size_t *ret_columns);

#endif
