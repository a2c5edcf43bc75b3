/* The sampler process at work: its main loop, and the life of the source in it. child.c sets it up. */
#include "sampler/worker.h"

#include "wire/frame.h"
#include "wire/snapshot_fit.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LOOK_AT_INPUT_NS   NS_PER_MS
#define NEW_PROCESSES_NS   (5 * NS_PER_MS) /* for reading new ones before a picture, after the first */
#define FIRST_PROCESSES_NS NS_PER_S
#define LAST_PICTURE_NS    NS_PER_S /* for sending the last one before the end */
#define RETRY_MIN_NS       NS_PER_S
#define RETRY_MAX_NS       (30 * NS_PER_S)
#define RETRY_COST_FACTOR  50 /* while watched, attempts take at most a fiftieth of the time */

void worker_exit(enum sampler_exit status)
{
    _exit((int)status);
}

/* ---- pictures ---- */

size_t worker_body_target(const struct worker *worker)
{
    /* Who asks for longer command lines than a server keeps wants to see them: this machine's own user. */
    bool long_lines = worker->launch.options.command_line == COMMAND_LINE_FULL &&
                      worker->launch.options.command_line_max > sampler_options_default().command_line_max;

    return long_lines ? SNAPSHOT_BODY_MAX : SNAPSHOT_BODY_TARGET;
}

static void make_picture(struct worker *worker, struct instant now)
{
    struct picture_sources sources = {
        .source = worker->source,
        .processes = worker->processes,
        .page = worker->page,
        .first_round_done = !worker->starting && schedule_first_round_done(&worker->schedule),
        .stuck_call_ns = worker->launch.options.stuck_call_ns,
    };

    if (picture_make(&worker->picture, &sources, now) == -ENOMEM)
        worker_exit(SAMPLER_EXIT_NO_MEMORY);
}

static int send_made_picture(struct worker *worker)
{
    int r = outbox_send(&worker->outbox, &worker->picture.snapshot, worker_body_target(worker));

    worker->picture_waits = r == OUTBOX_BUSY;
    if (r == -ENOMEM)
        worker_exit(SAMPLER_EXIT_NO_MEMORY);
    return r < 0 ? r : 0;
}

int worker_send_picture(struct worker *worker, struct instant now)
{
    if (outbox_is_busy(&worker->outbox) && outbox_flush(&worker->outbox) == OUTBOX_BUSY) {
        worker->picture_waits = true;
        return 0;
    }
    make_picture(worker, now);
    return send_made_picture(worker);
}

/* The main thread's way to send: new processes get their names first. */
static void push(struct worker *worker)
{
    bool first = worker->picture.round == 0;

    if (outbox_is_busy(&worker->outbox) && outbox_flush(&worker->outbox) == OUTBOX_BUSY) {
        worker->picture_waits = true;
        schedule_pushed(&worker->schedule, clock_now());
        return;
    }
    make_picture(worker, clock_now());
    if (!worker->launch.without_host && picture_unread_pids(&worker->picture)) {
        worker_read_new_processes(worker, first ? FIRST_PROCESSES_NS : NEW_PROCESSES_NS);
        make_picture(worker, clock_now());
    }
    changes_apply(&worker->changes, &worker->picture.snapshot, &worker->schedule, clock_now());
    if (send_made_picture(worker) < 0)
        worker_exit(SAMPLER_EXIT_PARENT_GONE);
    schedule_pushed(&worker->schedule, clock_now());
}

/* ---- what the parent says ---- */

static void take_frame(struct worker *worker, const struct frame_header *header, struct reader body,
                       struct instant now)
{
    uint64_t interval_us;

    if (header->type != FRAME_INTEREST)
        return;
    interval_us = read_varint(&body);
    if (body.failed)
        worker_exit(SAMPLER_EXIT_PROTOCOL);
    if (interval_us > 3600u * 1000000u)
        interval_us = 3600u * 1000000u;
    schedule_show_interest(&worker->schedule, (int64_t)interval_us * NS_PER_US, now);
    atomic_store(&worker->watched_until_ns, worker->schedule.watched_until.ns);
    worker->host_due = instant_earlier(worker->host_due, instant_add_ns(now, NS_PER_S));
}

/* Takes the whole frames out of the input; what is left is the beginning of one. */
static void take_frames(struct worker *worker, struct instant now)
{
    struct reader reader = reader_over(worker->input, worker->input_len);
    size_t taken = 0;

    for (;;) {
        struct frame_header header;
        int r = frame_read_header(&reader, &header);

        if (r == FRAME_SHORT)
            break;
        if (r != FRAME_OK || header.body_len > sizeof(worker->input) - FRAME_HEADER_SIZE)
            worker_exit(SAMPLER_EXIT_PROTOCOL);
        if (header.body_len > reader_left(&reader))
            break;
        take_frame(worker, &header, read_nested(&reader, header.body_len), now);
        taken = reader.pos;
    }
    memmove(worker->input, worker->input + taken, worker->input_len - taken);
    worker->input_len -= taken;
}

static void take_input(struct worker *worker, struct instant now)
{
    worker->input_at = now;
    for (;;) {
        ssize_t n = recv(worker->outbox.fd, worker->input + worker->input_len,
                         sizeof(worker->input) - worker->input_len, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n <= 0)
            worker_exit(SAMPLER_EXIT_PARENT_GONE);
        worker->input_len += (size_t)n;
        take_frames(worker, now);
    }
}

/* Waits for the parent, for room in the socket, or until the moment has come. */
static void wait_until(struct worker *worker, struct instant until)
{
    bool busy = outbox_is_busy(&worker->outbox);
    struct pollfd socket = {.fd = worker->outbox.fd, .events = (short)(POLLIN | (busy ? POLLOUT : 0))};
    int64_t wait_ns = instant_since_ns(until, clock_now());
    struct timespec timeout = {0};

    if (wait_ns > 0) {
        timeout.tv_sec = (time_t)(wait_ns / NS_PER_S);
        timeout.tv_nsec = (long)(wait_ns % NS_PER_S);
    }
    if (ppoll(&socket, 1, &timeout, NULL) <= 0)
        return;
    if ((socket.revents & POLLOUT) && outbox_flush(&worker->outbox) == OUTBOX_SENT && worker->picture_waits)
        push(worker);
    if (socket.revents & ~POLLOUT)
        take_input(worker, clock_now());
}

/* ---- the source ---- */

static int64_t driver_ns(const struct worker *worker)
{
    return atomic_load_explicit(&worker->page->driver_ns, memory_order_relaxed);
}

/* Sends the last picture, which says why, and ends. */
static _Noreturn void leave_for_restart(struct worker *worker)
{
    struct instant end = instant_add_ns(clock_now(), LAST_PICTURE_NS);

    push(worker);
    while (outbox_is_busy(&worker->outbox) && instant_since_ns(end, clock_now()) > 0)
        wait_until(worker, end);
    worker_exit(SAMPLER_EXIT_RESTART);
}

static void source_failed(struct worker *worker)
{
    worker->running = false;
    worker->started_at = clock_now();
    schedule_stop(&worker->schedule);
    push(worker);
}

static void take_outcome(struct worker *worker, int outcome)
{
    if (outcome == SOURCE_FAULT)
        source_failed(worker);
    else if (outcome == SOURCE_RESTART)
        leave_for_restart(worker);
    else if (outcome < 0)
        worker_exit(SAMPLER_EXIT_NO_MEMORY);
}

static void start_source(struct worker *worker)
{
    struct instant began = clock_now();
    int outcome;

    /* Loading the library is no call of it, and can take as long. The first call's name replaces this one. */
    call_page_begin(worker->page, CALL_LOAD, "dlopen", -1, began);
    worker->starting = true;
    outcome = worker->source->ops->start(worker->source, began);
    worker->starting = false;
    if (atomic_load_explicit(&worker->page->kind, memory_order_relaxed) != CALL_NONE)
        call_page_end(worker->page, clock_now());
    worker->start_took_ns = instant_since_ns(clock_now(), began);
    worker->failed_starts++;
    if (outcome == SOURCE_OK) {
        worker->running = true;
        worker->failed_starts = 0;
        worker->host_due = instant_add_ns(clock_now(), NS_PER_S);
        changes_init(&worker->changes);
        schedule_start(&worker->schedule, worker->source->ops->device_count(worker->source), clock_now());
    }
    take_outcome(worker, outcome);
}

/* A watched node is tried every second where trying is cheap; else ever more seldom. */
static struct instant retry_at(const struct worker *worker, struct instant now)
{
    int64_t pause = RETRY_MAX_NS;

    if (schedule_is_watched(&worker->schedule, now))
        pause = worker->start_took_ns * RETRY_COST_FACTOR;
    else if (worker->failed_starts < 6)
        pause = RETRY_MIN_NS << worker->failed_starts;
    if (pause < RETRY_MIN_NS)
        pause = RETRY_MIN_NS;
    if (pause > RETRY_MAX_NS)
        pause = RETRY_MAX_NS;
    return instant_add_ns(worker->started_at, pause);
}

static void do_step(struct worker *worker, const struct schedule_step *step, struct instant now)
{
    const struct source_ops *ops = worker->source->ops;
    int64_t before = driver_ns(worker);
    int outcome = step->kind == STEP_CHECK ? ops->check(worker->source, now)
                                           : ops->read(worker->source, step->position, step->group, now);

    schedule_done(&worker->schedule, step, driver_ns(worker) - before, clock_now());
    if (step->kind == STEP_CHECK && outcome == SOURCE_OK)
        schedule_set_devices(&worker->schedule, ops->device_count(worker->source), clock_now());
    else if (step->group == GROUP_PROCESSES)
        changes_lists_read(&worker->changes, step->position);
    take_outcome(worker, outcome);
}

static void idle(struct worker *worker, struct instant until, struct instant now)
{
    if (worker->running) {
        if (worker_refresh_some(worker, now)) {
            take_input(worker, now);
            return;
        }
        if (!worker->launch.without_host)
            until = instant_earlier(until, worker->host_due);
    } else {
        until = instant_earlier(until, retry_at(worker, now));
    }
    wait_until(worker, until);
}

void worker_run(struct worker *worker)
{
    start_source(worker);
    for (;;) {
        struct instant now = clock_now();
        struct schedule_step step;

        if (!worker->running && instant_since_ns(now, retry_at(worker, now)) >= 0)
            start_source(worker);
        if (instant_since_ns(now, worker->input_at) >= LOOK_AT_INPUT_NS)
            take_input(worker, now);
        step = schedule_next(&worker->schedule, now);
        if (step.kind == STEP_PUSH)
            push(worker);
        else if (step.kind == STEP_WAIT)
            idle(worker, step.until, now);
        else
            do_step(worker, &step, now);
    }
}
