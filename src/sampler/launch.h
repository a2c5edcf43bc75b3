/*
 * How a sampler is started: its options as words of its command line, and two descriptors at fixed places.
 *
 *     clustat-sampler --tick-us=25000 --driver-ppm=20000 --stuck-ms=60000 --command-line=name
 *                     --command-line-max=4096 [--library=PATH] [--leave-out=1,5] [--without-host]
 *
 * Standard input and output are /dev/null, standard error too unless CLUSTAT_SAMPLER_STDERR is set: a sampler
 * that hangs in the driver must not hold a pipe or terminal of those who ran the program.
 */
#ifndef SAMPLER_LAUNCH_H
#define SAMPLER_LAUNCH_H

#include "gpu/source.h"
#include "sampler/sampler.h"

#include <sys/types.h>

#define SAMPLER_SOCKET_FD 3 /* the stream of frames to and from the parent */
#define SAMPLER_PAGE_FD   4 /* the call page (page.h) */

/* Why a sampler ended. */
enum sampler_exit {
    SAMPLER_EXIT_PARENT_GONE = 0,
    SAMPLER_EXIT_USAGE = 64, /* not started by sampler_start() */
    SAMPLER_EXIT_NO_MEMORY = 71,
    SAMPLER_EXIT_RESTART = 75,  /* only a fresh process can go on (SOURCE_RESTART) */
    SAMPLER_EXIT_PROTOCOL = 76, /* the parent sent what is no frame */
};

/* What one sampler process is told; texts are borrowed. */
struct launch {
    struct sampler_options options;
    struct device_set left_out; /* no driver call for these: one hangs in another sampler */
    bool without_host;          /* /proc of other processes is not read: that hangs in another sampler */
};

/* Reads the command line. Returns 0, or -EINVAL for anything that sampler_start() does not write. */
int launch_parse(int argc, char *const argv[], struct launch *ret_launch);

/*
 * Starts a sampler, /proc/self/exe with the role in argv[0], in a session of its own. socket_fd and page_fd
 * are the child's ends; they stay open here. environment: NULL-terminated.
 * Returns 0 and its pid, or a negative errno (of exec too).
 */
int launch_spawn(const struct launch *launch, int socket_fd, int page_fd, char *const environment[],
                 pid_t *ret_pid);

/*
 * The present environment without what is not for a child (NOTIFY_SOCKET, which would make it speak to
 * systemd). Returns an array to free() (the strings are borrowed from environ), or NULL without memory.
 */
char **launch_environment(void);

#endif
