#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};

/* Signal handlers have no arguments of ours. */
static int pipe_fds[2] = {-1, -1};

static void on_signal(int signal_number)
{
    unsigned char byte = (unsigned char)signal_number;
    int saved = errno;

    (void)!write(pipe_fds[1], &byte, 1); /* a full pipe has enough reasons to wake up */
    errno = saved;
}

static void catch_signal(int signal_number)
{
    struct sigaction action = {.sa_handler = on_signal}, old;

    /* What the parent has ignored (nohup, a background job of a simple shell) stays ignored. */
    if (sigaction(signal_number, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
        return;
    sigaction(signal_number, &action, NULL);
}

int signals_catch(void)
{
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
        catch_signal(caught[i]);
    return pipe_fds[0];
}

int signals_next(void)
{
    unsigned char byte;

    return read(pipe_fds[0], &byte, 1) == 1 ? byte : 0;
}

void signals_obey(int signal_number)
{
    struct sigaction obey = {.sa_handler = SIG_DFL}, old;

    sigaction(signal_number, &obey, &old);
    raise(signal_number);
    sigaction(signal_number, &old, NULL);
}
