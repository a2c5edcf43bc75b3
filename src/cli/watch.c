#include "cli/watch.h"

#include "cli/output.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "cli/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

/* How long a picture waits for the reading that it has asked for, at most. */
#define GRACE_MAX_NS (200 * NS_PER_MS)

struct watch {
    const struct watch_source *source;
    struct show *show;
    int64_t interval_ns;
    bool keys_gone;   /* standard input has ended */
    bool dumb_frames; /* pictures follow one another */
    struct terminal terminal;
    struct screen screen;
    struct buffer frame; /* the picture as text */
    struct buffer bytes; /* what turns the screen into it */
    int signal_fd;       /* -1: signals act by default */
    struct instant due;  /* when the next picture is to be shown */
    bool asked;          /* its reading was asked for, and may still come */
    bool quit;
    int status;
};

/* ---- how it gets to the screen ---- */

static void fit_screen(struct watch *watch)
{
    size_t rows, columns;

    terminal_size(&rows, &columns);
    screen_resize(&watch->screen, rows, columns);
    watch->show->render.columns = columns;
}

/*
 * Writes without ever being stuck: a signal may come while the terminal takes nothing, and then the rest is
 * dropped. Returns 0, -EINTR, or a negative errno.
 */
static int write_frame(const struct watch *watch, struct text text)
{
    struct pollfd wait[] = {
        {.fd = STDOUT_FILENO, .events = POLLOUT},
        {.fd = watch->signal_fd, .events = POLLIN},
    };

    while (text.len) {
        ssize_t n;

        if (poll(wait, 2, -1) < 0 && errno != EINTR)
            return -errno;
        if (wait[1].revents)
            return -EINTR;
        n = write(STDOUT_FILENO, text.bytes, text.len);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (n > 0)
            text = (struct text){text.bytes + n, text.len - (size_t)n};
    }
    return 0;
}

static int draw_screen(struct watch *watch)
{
    int r;

    buffer_clear(&watch->bytes);
    screen_draw(&watch->screen, buffer_text(&watch->frame), &watch->bytes);
    if (buffer_error(&watch->bytes))
        return buffer_error(&watch->bytes);
    r = write_frame(watch, buffer_text(&watch->bytes));
    if (r == -EINTR) { /* the screen may have got half of it */
        screen_invalidate(&watch->screen);
        return 0;
    }
    return r;
}

static void fail(struct watch *watch, int error)
{
    terminal_leave(&watch->terminal);
    output_complain(watch->show->program, "cannot write to standard output: %s", strerror(-error));
    watch->quit = true;
    watch->status = EXIT_FAILED;
}

static void show_frame(struct watch *watch, struct instant now)
{
    const struct watch_source *source = watch->source;
    int r;

    buffer_clear(&watch->frame);
    r = source->put(source->context, &watch->frame, watch->dumb_frames ? 0 : watch->screen.rows, now);
    if (r == 0)
        r = buffer_error(&watch->frame);

    if (r == 0 && watch->dumb_frames)
        r = output_write(STDOUT_FILENO, buffer_text(&watch->frame));
    else if (r == 0)
        r = draw_screen(watch);
    if (r < 0)
        fail(watch, r);
}

/* ---- what happens when ---- */

static bool has_ended(struct watch *watch)
{
    const struct watch_source *source = watch->source;

    if (!source->has_ended(source->context))
        return false;
    terminal_leave(&watch->terminal);
    source->report_end(source->context);
    watch->quit = true;
    watch->status = EXIT_FAILED;
    return true;
}

/* The beat: never drifts, and skips what was missed (a stopped program does not catch up). */
static void set_next_due(struct watch *watch, struct instant now)
{
    watch->due = instant_add_ns(watch->due, watch->interval_ns);
    if (instant_since_ns(now, watch->due) >= 0)
        watch->due = instant_add_ns(now, watch->interval_ns);
    watch->asked = false;
}

static int64_t grace_ns(const struct watch *watch)
{
    return watch->interval_ns / 2 < GRACE_MAX_NS ? watch->interval_ns / 2 : GRACE_MAX_NS;
}

/* Asks for a reading when a picture is due, shows it when it has come or the grace is over. */
static void beat(struct watch *watch, struct instant now)
{
    const struct watch_source *source = watch->source;

    if (instant_since_ns(now, watch->due) < 0 || has_ended(watch))
        return;
    if (!watch->asked) {
        source->ask(source->context, now);
        watch->asked = true;
    }
    if (!source->has_news(source->context) &&
        instant_since_ns(now, instant_add_ns(watch->due, grace_ns(watch))) < 0)
        return;
    show_frame(watch, now);
    set_next_due(watch, now);
}

static void come_back(struct watch *watch, struct instant now)
{
    terminal_enter(&watch->terminal);
    fit_screen(watch);
    show_frame(watch, now);
}

static void handle_signal(struct watch *watch, int signal_number, struct instant now)
{
    switch (signal_number) {
    case SIGWINCH:
        fit_screen(watch);
        show_frame(watch, now);
        break;
    case SIGTSTP:
        terminal_leave(&watch->terminal);
        signals_obey(SIGTSTP); /* stops here */
        come_back(watch, clock_now());
        break;
    case SIGCONT: /* after SIGSTOP nobody could leave the screen; the shell has the terminal's settings */
        terminal_leave(&watch->terminal);
        come_back(watch, now);
        break;
    case SIGINT:
        watch->quit = true;
        break;
    default:
        terminal_leave(&watch->terminal);
        signals_obey(signal_number);
        watch->quit = true; /* not reached unless the signal is ignored by default */
        break;
    }
}

static void handle_keys(struct watch *watch)
{
    char keys[64];
    ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        watch->keys_gone = true; /* signals still work */
    for (ssize_t i = 0; i < n; i++)
        if (keys[i] == 'q' || keys[i] == 'Q')
            watch->quit = true;
}

/* Waits for the next event, the next beat, or the source's own next deadline. */
static void wait_for_events(struct watch *watch)
{
    const struct watch_source *source = watch->source;
    struct instant now = clock_now();
    struct instant until = source->turn(source->context, now);
    bool keys = watch->terminal.has_saved && !watch->keys_gone;
    struct pollfd fds[2 + WATCH_SOURCE_FDS] = {
        {.fd = watch->signal_fd, .events = POLLIN},
        {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN},
    };
    nfds_t count = 2 + (nfds_t)source->fds(source->context, fds + 2);
    struct instant beat_at = watch->asked ? instant_add_ns(watch->due, grace_ns(watch)) : watch->due;
    int signal_number;

    poll(fds, count, clock_poll_timeout_ms(now, instant_earlier(until, beat_at)));
    now = clock_now();
    if (fds[1].revents)
        handle_keys(watch);
    while (!watch->quit && watch->signal_fd >= 0 && (signal_number = signals_next()) != 0)
        handle_signal(watch, signal_number, now);
    source->turn(source->context, now);
}

static void leave_with_success(int signal_number)
{
    (void)signal_number;
    _exit(0);
}

/* Piped pictures need no restoring: signals act at once, and only Ctrl-C is a success. */
static int set_up(struct watch *watch, const struct color_environment *environment)
{
    struct sigaction leave = {.sa_handler = leave_with_success}, old;

    watch->dumb_frames = !environment->is_terminal || color_terminal_is_dumb(environment);
    if (watch->dumb_frames) {
        if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(SIGINT, &leave, NULL);
        return 0;
    }
    watch->signal_fd = signals_catch();
    if (watch->signal_fd < 0)
        return watch->signal_fd;
    screen_init(&watch->screen, watch->show->render.unicode);
    terminal_enter(&watch->terminal);
    fit_screen(watch);
    return 0;
}

int watch_run(const struct watch_source *source, struct show *show,
              const struct color_environment *environment)
{
    struct watch watch = {
        .source = source,
        .show = show,
        .interval_ns = show->options->interval_ns,
        .signal_fd = -1,
        .due = clock_now(),
    };
    int r;

    r = set_up(&watch, environment);
    if (r < 0) {
        output_complain(show->program, "cannot watch: %s", strerror(-r));
        return EXIT_FAILED;
    }
    while (!watch.quit) {
        wait_for_events(&watch);
        if (!watch.quit)
            beat(&watch, clock_now());
    }
    terminal_leave(&watch.terminal);
    screen_deinit(&watch.screen);
    buffer_deinit(&watch.frame);
    buffer_deinit(&watch.bytes);
    return watch.status;
}
