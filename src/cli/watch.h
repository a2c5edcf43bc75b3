/* Watch mode: the picture again and again, until q, Ctrl-C or a signal. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/show.h"

#include <poll.h>

#define WATCH_SOURCE_FDS 2

/* Where the pictures come from. All functions get `context`; none of them blocks. */
struct watch_source {
    void *context;
    /* Fills in the descriptors to wait for. Returns how many. */
    size_t (*fds)(void *context, struct pollfd fds[static WATCH_SOURCE_FDS]);
    /* Takes in what has come and does what is due. Returns when it wants to be called again at the latest. */
    struct instant (*turn)(void *context, struct instant now);
    /* A picture is due: asks for a fresh reading. */
    void (*ask)(void *context, struct instant now);
    /* True if the reading that was asked for last has come. */
    bool (*has_news)(void *context);
    /* Appends the picture. rows: lines of the terminal; 0: piped, only what belongs to the table is wanted.
     * Returns 0 or -ENOMEM. */
    int (*put)(void *context, struct buffer *out, size_t rows, struct instant now);
    /* True if there is no sense in going on; report_end() then says why. */
    bool (*has_ended)(void *context);
    void (*report_end)(void *context);
};

/* Whoever watches a source that somebody else has opened, and closes when this returns. */
struct watch_runner {
    int (*run)(void *context, const struct watch_source *source); /* returns the exit status */
    void *context;
};

/*
 * Shows what `source` has every options->interval_ns. On a terminal that can move its cursor: in the
 * alternate screen, which is left on every way out. Elsewhere: the pictures follow one another without any
 * escape sequence but colours. Returns the exit status; a signal that ends programs ends this one as its
 * sender expects.
 */
int watch_run(const struct watch_source *source, struct show *show,
              const struct color_environment *environment);

#endif
