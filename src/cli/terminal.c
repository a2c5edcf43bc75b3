#include "cli/terminal.h"

#include "core/text.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Alternate screen, cursor hidden, no wrapping at the right edge. */
static const char enter_sequence[] = "\033[?1049h\033[?25l\033[?7l";
static const char leave_sequence[] = "\033[0m\033[?7h\033[?25h\033[?1049l";

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};

/* Signal handlers have no arguments of ours: the terminal that a crash must restore. */
static struct terminal *volatile entered_terminal;

/* A terminal that was stopped (Ctrl-S) takes nothing; the program must end all the same. */
static void write_soon(const char *bytes, size_t len)
{
    struct pollfd wait = {.fd = STDOUT_FILENO, .events = POLLOUT};

    if (poll(&wait, 1, 200) > 0)
        (void)!write(STDOUT_FILENO, bytes, len);
}

/* Calls only what is allowed in a signal handler. */
void terminal_leave(struct terminal *terminal)
{
    if (!terminal->entered)
        return;
    terminal->entered = false;
    write_soon(leave_sequence, sizeof(leave_sequence) - 1);
    if (terminal->has_saved && tcgetpgrp(STDIN_FILENO) == getpgrp())
        tcsetattr(STDIN_FILENO, TCSANOW, &terminal->saved);
    entered_terminal = NULL;
}

static void on_fatal_signal(int signal_number)
{
    struct terminal *terminal = entered_terminal;

    if (terminal)
        terminal_leave(terminal);
    raise(signal_number); /* the handler was reset (SA_RESETHAND): now it ends the program */
}

static void watch_for_crashes(void)
{
    struct sigaction action = {.sa_handler = on_fatal_signal, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};

    for (size_t i = 0; i < sizeof(fatal_signals) / sizeof(fatal_signals[0]); i++)
        sigaction(fatal_signals[i], &action, NULL);
}

/* A background job that changed the terminal's settings would be stopped, and would disturb the shell. */
static void quiet_keyboard(struct terminal *terminal)
{
    struct termios quiet;

    if (tcgetattr(STDIN_FILENO, &quiet) < 0 || tcgetpgrp(STDIN_FILENO) != getpgrp())
        return;
    if (!terminal->has_saved)
        terminal->saved = quiet;
    terminal->has_saved = true;
    quiet.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    quiet.c_cc[VMIN] = 1;
    quiet.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
}

void terminal_enter(struct terminal *terminal)
{
    if (terminal->entered)
        return;
    terminal->entered = true;
    entered_terminal = terminal;
    watch_for_crashes();
    quiet_keyboard(terminal);
    write_soon(enter_sequence, sizeof(enter_sequence) - 1);
}

static size_t size_from(unsigned short told, const char *variable, size_t otherwise)
{
    unsigned long long value;

    if (told)
        return told;
    if (text_parse_decimal(text_from_string(getenv(variable)), 100000, &value) == 0 && value > 0)
        return (size_t)value;
    return otherwise;
}

void terminal_size(size_t *ret_rows, size_t *ret_columns)
{
    struct winsize size = {0};

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        size = (struct winsize){0};
    *ret_rows = size_from(size.ws_row, "LINES", 24);
    *ret_columns = size_from(size.ws_col, "COLUMNS", 80);
}
