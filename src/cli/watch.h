/* Watch mode: the picture again and again, until q, Ctrl-C or a signal. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/local.h"
#include "cli/show.h"

/*
 * Shows `local` every options->interval_ns. On a terminal that can move its cursor: in the alternate screen,
 * which is left on every way out. Elsewhere: the pictures follow one another without any escape sequence but
 * colours. Returns the exit status; a signal that ends programs ends this one as its sender expects.
 */
int watch_run(struct local *local, struct show *show, const struct color_environment *environment);

#endif
