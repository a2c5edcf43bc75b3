#include "server/sampling.h"

#include "net/loop.h"
#include "sampler/orphan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_AGAIN_NS (2 * NS_PER_S)
#define REAP_NS        (20 * NS_PER_MS)

/* The watched descriptor. A number alone does not tell two sockets apart. */
struct watch {
    uv_poll_t handle;
    int fd; /* -1: none */
    ino_t inode;
};

struct sampling {
    uv_loop_t *loop;
    struct sampling_events events;
    struct sampler_options options;
    char *library_path; /* owned; in options */
    struct sampler *sampler;
    enum sampling_state state;
    struct instant pause_ends; /* 0: not by itself */
    struct watch *watch;       /* freed when libuv has let go of it */
    struct net_timer timer;
    bool leaving; /* children may not have been reaped yet */
};

static void on_timer(void *userdata);

/* ---- listening ---- */

static void watch_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void watch_stop(struct sampling *sampling)
{
    if (!sampling->watch)
        return;
    sampling->watch->handle.data = sampling->watch;
    uv_close((uv_handle_t *)&sampling->watch->handle, watch_closed);
    sampling->watch = NULL;
}

static void on_readable(uv_poll_t *handle, int status, int events);

static void watch_start(struct sampling *sampling, int fd, ino_t inode)
{
    struct watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return; /* the timer reads instead */
    if (uv_poll_init(sampling->loop, &watch->handle, fd) < 0) {
        free(watch);
        return;
    }
    watch->fd = fd;
    watch->inode = inode;
    watch->handle.data = sampling;
    sampling->watch = watch;
    uv_poll_start(&watch->handle, UV_READABLE, on_readable);
}

/* The sampler's socket changes when its child is replaced. */
static void watch_follow(struct sampling *sampling)
{
    int fd = sampling->sampler ? sampler_fd(sampling->sampler) : -1;
    struct stat stat;

    if (fd < 0 || fstat(fd, &stat) < 0) {
        watch_stop(sampling);
        return;
    }
    if (sampling->watch && sampling->watch->fd == fd && sampling->watch->inode == stat.st_ino)
        return;
    watch_stop(sampling);
    watch_start(sampling, fd, stat.st_ino);
}

/* ---- life of the sampler ---- */

static void set_state(struct sampling *sampling, enum sampling_state state, int error)
{
    if (sampling->state == state)
        return;
    sampling->state = state;
    sampling->events.on_state(sampling->events.userdata, state, error);
}

/*
 * Reaps what has ended. Returns whether there are children still. All children of this process are samplers,
 * and the sampler's handle does not mind if one of its own was reaped here.
 */
static bool reap(void)
{
    pid_t pid;

    do
        pid = waitpid(-1, NULL, WNOHANG);
    while (pid > 0 || (pid < 0 && errno == EINTR));
    return pid == 0;
}

static void tick(struct sampling *sampling)
{
    struct instant now = clock_now();

    if (sampling->leaving)
        reap();
    net_timer_set(&sampling->timer, sampler_tick(sampling->sampler, now));
    watch_follow(sampling);
}

static void start(struct sampling *sampling)
{
    struct instant now = clock_now();
    int r = sampler_start(&sampling->options, now, &sampling->sampler);

    if (r < 0) {
        sampling->sampler = NULL;
        net_timer_set(&sampling->timer, instant_add_ns(now, START_AGAIN_NS));
        set_state(sampling, SAMPLING_BLOCKED, r);
        return;
    }
    set_state(sampling, SAMPLING_RUNNING, 0);
    tick(sampling);
}

static void stop(struct sampling *sampling)
{
    watch_stop(sampling);
    if (!sampling->sampler)
        return;
    sampler_close(sampling->sampler);
    sampling->sampler = NULL;
    sampling->leaving = true;
}

static void receive(struct sampling *sampling)
{
    int event = sampler_receive(sampling->sampler, clock_now());

    if (event == SAMPLER_SNAPSHOT) {
        sampling->events.on_snapshot(sampling->events.userdata);
    } else if (event == SAMPLER_ENDED) {
        watch_stop(sampling);
        sampling->events.on_ended(sampling->events.userdata);
        tick(sampling);
    }
}

static void on_readable(uv_poll_t *handle, int status, int events)
{
    struct sampling *sampling = handle->data;

    (void)status;
    (void)events;
    receive(sampling);
}

bool sampling_is_leaving(struct sampling *sampling)
{
    if (sampling->leaving)
        sampling->leaving = reap();
    return !sampling->sampler && (sampling->leaving || orphan_count(getuid()) > 0);
}

static void on_pause_timer(struct sampling *sampling, struct instant now)
{
    struct instant next = instant_add_ns(now, NS_PER_S);

    if (sampling->pause_ends.ns && instant_since_ns(now, sampling->pause_ends) >= 0) {
        sampling_resume(sampling);
        return;
    }
    if (sampling_is_leaving(sampling))
        next = instant_add_ns(now, REAP_NS);
    if (sampling->pause_ends.ns)
        next = instant_earlier(next, sampling->pause_ends);
    net_timer_set(&sampling->timer, next);
}

static void on_timer(void *userdata)
{
    struct sampling *sampling = userdata;

    if (sampling->state == SAMPLING_PAUSED) {
        on_pause_timer(sampling, clock_now());
    } else if (!sampling->sampler) {
        start(sampling);
    } else {
        if (!sampling->watch)
            receive(sampling);
        tick(sampling);
        sampling->events.on_tick(sampling->events.userdata);
    }
}

/* ---- life of the handle ---- */

static int copy_options(struct sampling *sampling, const struct sampler_options *options)
{
    char *path = options->library_path ? strdup(options->library_path) : NULL;

    if (options->library_path && !path)
        return -ENOMEM;
    free(sampling->library_path);
    sampling->options = *options;
    sampling->options.library_path = sampling->library_path = path;
    return 0;
}

int sampling_new(uv_loop_t *loop, const struct sampler_options *options, const struct sampling_events *events,
                 struct sampling **ret_sampling)
{
    struct sampling *sampling = calloc(1, sizeof(*sampling));

    if (!sampling)
        return -ENOMEM;
    sampling->loop = loop;
    sampling->events = *events;
    if (copy_options(sampling, options) < 0) {
        free(sampling);
        return -ENOMEM;
    }
    net_timer_init(&sampling->timer, loop, on_timer, sampling);
    *ret_sampling = sampling;
    return 0;
}

void sampling_close(struct sampling *sampling)
{
    stop(sampling);
    net_timer_deinit(&sampling->timer);
}

void sampling_free(struct sampling *sampling)
{
    if (!sampling)
        return;
    free(sampling->library_path);
    free(sampling);
}

void sampling_start(struct sampling *sampling)
{
    if (!sampling->sampler)
        start(sampling);
}

int sampling_set_options(struct sampling *sampling, const struct sampler_options *options)
{
    int r = copy_options(sampling, options);

    if (r == 0 && sampling->state == SAMPLING_RUNNING) {
        stop(sampling);
        start(sampling);
    }
    return r;
}

/* ---- pause ---- */

void sampling_pause(struct sampling *sampling, int64_t pause_ns)
{
    struct instant now = clock_now();

    stop(sampling);
    sampling->pause_ends = pause_ns > 0 ? instant_add_ns(now, pause_ns) : (struct instant){0};
    set_state(sampling, SAMPLING_PAUSED, 0);
    on_pause_timer(sampling, now);
}

void sampling_resume(struct sampling *sampling)
{
    if (sampling->state != SAMPLING_PAUSED)
        return;
    sampling->pause_ends = (struct instant){0};
    start(sampling);
}

int64_t sampling_pause_left_ns(const struct sampling *sampling, struct instant now)
{
    int64_t left = instant_since_ns(sampling->pause_ends, now);

    if (sampling->state != SAMPLING_PAUSED || !sampling->pause_ends.ns)
        return 0;
    return left > 0 ? left : 1;
}

/* ---- what the sampler says ---- */

enum sampling_state sampling_state(const struct sampling *sampling)
{
    return sampling->state;
}

void sampling_show_interest(struct sampling *sampling, int64_t interval_ns)
{
    if (sampling->sampler)
        sampler_show_interest(sampling->sampler, interval_ns);
}

struct reader sampling_snapshot(const struct sampling *sampling)
{
    return sampling->sampler ? sampler_snapshot(sampling->sampler) : (struct reader){0};
}

bool sampling_call(const struct sampling *sampling, struct instant now, struct sampler_call *ret_call)
{
    return sampling->sampler && sampler_call_in_progress(sampling->sampler, now, ret_call);
}

uint32_t sampling_stuck_count(const struct sampling *sampling)
{
    return sampling->sampler ? sampler_stuck_count(sampling->sampler) : orphan_count(getuid());
}

int64_t sampling_tick_ns(const struct sampling *sampling)
{
    return sampling->options.tick_ns;
}
