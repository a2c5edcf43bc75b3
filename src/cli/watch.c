#include "cli/watch.h"

#include "cli/failure.h"
#include "cli/output.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "core/utf8.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

/* How long a picture waits for the reading that it has asked for, at most. */
#define GRACE_MAX_NS (200 * NS_PER_MS)
/* Readings this much older than the interval are marked. */
#define STALE_AFTER_NS (2 * NS_PER_S)

struct watch {
    struct local *local;
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
    uint64_t old_count;  /* local->received_count when the reading was asked for */
    bool names_waited;   /* a picture has waited for user names */
    bool quit;
    int status;
};

/* ---- what a picture shows ---- */

/* Lines under the table: what keeps the picture from being fresh. call: the one that hangs, NULL if none. */
static void put_state(struct watch *watch, const struct sampler_call *call, struct instant now)
{
    const struct local *local = watch->local;
    long long waited_s = instant_since_ns(now, local->started) / NS_PER_S;

    if (!local->has_snapshot && waited_s >= 1)
        buffer_printf(&watch->frame, "waiting for the driver, %lld s\n", waited_s);
    if (local->ended)
        buffer_put_string(&watch->frame,
                          "the process that reads the driver has ended; it is started again\n");
    if (call && local->has_snapshot) {
        failure_put_call(&watch->frame, call);
        buffer_printf(&watch->frame, " has not returned for %lld s\n",
                      (long long)(call->running_ns / NS_PER_S));
    }
}

static void put_nothing_of_users(struct watch *watch)
{
    if (!watch->show->options->users || !watch->local->has_snapshot || watch->show->filtered.device_count)
        return;
    buffer_put_string(&watch->frame, "no process of ");
    utf8_put_visible(&watch->frame, text_from_string(watch->show->options->users));
    buffer_put_char(&watch->frame, '\n');
}

/* Makes the picture in watch->frame. Returns 0 or -ENOMEM. */
static int make_frame(struct watch *watch, struct instant now)
{
    const struct local *local = watch->local;
    const struct snapshot *snapshot = local->has_snapshot ? &local->snapshot : NULL;
    int64_t age_ns = instant_since_ns(now, local->received);
    struct sampler_call call;
    bool hangs = local_mark_call(watch->local, now, LOCAL_STUCK_NS, &call);
    int r;

    buffer_clear(&watch->frame);
    if (snapshot) {
        /* A name service that is slow the first time may delay the first picture only. */
        r = show_prepare(watch->show, snapshot, watch->names_waited ? 0 : SHOW_NAMES_NS);
        if (r < 0)
            return r;
        watch->names_waited = true;
        watch->show->age_us = (uint64_t)(age_ns / NS_PER_US);
        watch->show->stale = age_ns > watch->interval_ns + STALE_AFTER_NS;
        show_put(watch->show, snapshot, &watch->frame);
    }
    if (!watch->dumb_frames) {
        put_nothing_of_users(watch);
        put_state(watch, hangs ? &call : NULL, now);
    }
    return buffer_error(&watch->frame);
}

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
    watch->status = 1;
}

static void show_frame(struct watch *watch, struct instant now)
{
    int r = make_frame(watch, now);

    if (r == 0 && watch->dumb_frames)
        r = output_write(STDOUT_FILENO, buffer_text(&watch->frame));
    else if (r == 0)
        r = draw_screen(watch);
    if (r < 0)
        fail(watch, r);
}

/* ---- what happens when ---- */

/* gpustat ends when a query fails; clustat shows what is wrong and goes on. */
static bool ends_with_fault(struct watch *watch)
{
    const struct local *local = watch->local;

    if (!watch->show->options->as_gpustat || !local->has_snapshot || local->snapshot.fault == NODE_FAULT_NONE)
        return false;
    terminal_leave(&watch->terminal);
    failure_report_node(watch->show, &local->snapshot);
    watch->quit = true;
    watch->status = 1;
    return true;
}

static bool has_news(const struct watch *watch)
{
    return local_is_complete(watch->local) && watch->local->received_count != watch->old_count;
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
    if (instant_since_ns(now, watch->due) < 0 || ends_with_fault(watch))
        return;
    if (!watch->asked) {
        sampler_show_interest(watch->local->sampler, watch->interval_ns);
        watch->asked = true;
        watch->old_count = watch->local->received_count;
    }
    if (!has_news(watch) && instant_since_ns(now, instant_add_ns(watch->due, grace_ns(watch))) < 0)
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

/* Waits for the next event, the next beat, or the sampler's own next deadline. */
static void wait_for_events(struct watch *watch)
{
    struct instant now = clock_now();
    struct instant until = sampler_tick(watch->local->sampler, now);
    bool keys = watch->terminal.has_saved && !watch->keys_gone;
    struct pollfd fds[] = {
        {.fd = sampler_fd(watch->local->sampler), .events = POLLIN},
        {.fd = watch->signal_fd, .events = POLLIN},
        {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN},
    };
    struct instant beat_at = watch->asked ? instant_add_ns(watch->due, grace_ns(watch)) : watch->due;
    int signal_number;

    poll(fds, 3, clock_poll_timeout_ms(now, instant_earlier(until, beat_at)));
    now = clock_now();
    if (fds[2].revents)
        handle_keys(watch);
    while (!watch->quit && watch->signal_fd >= 0 && (signal_number = signals_next()) != 0)
        handle_signal(watch, signal_number, now);
    local_receive(watch->local, now);
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

int watch_run(struct local *local, struct show *show, const struct color_environment *environment)
{
    struct watch watch = {
        .local = local,
        .show = show,
        .interval_ns = show->options->interval_ns,
        .signal_fd = -1,
        .due = clock_now(),
    };
    int r;

    r = set_up(&watch, environment);
    if (r < 0) {
        output_complain(show->program, "cannot watch: %s", strerror(-r));
        return 1;
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
