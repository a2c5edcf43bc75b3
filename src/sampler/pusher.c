/*
 * The second thread: sends what is known while the main thread is inside a call that does not return, and
 * sees the parent go in that time. It never touches the vendor's library, and never waits for the lock.
 */
#include "sampler/worker.h"

#include "core/cleanup.h"
#include "sampler/orphan.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#define LONG_CALL_NS    (100 * NS_PER_MS) /* a call that is told to the parent */
#define TELL_AGAIN_NS   NS_PER_S
#define PACE_WATCHED_MS 100
#define PACE_IDLE_MS    1000
#define STACK_SIZE      (64u << 10)

/* What this thread remembers between two looks. */
struct pusher {
    struct worker *worker;
    struct instant told_call; /* when the call began that was told last */
    struct instant told_at;
};

static bool is_watched(const struct worker *worker, struct instant now)
{
    return atomic_load(&worker->watched_until_ns) > now.ns;
}

/* True if the parent should get a picture because of this call, now. */
static bool should_tell(const struct pusher *pusher, const struct call_seen *seen, struct instant now)
{
    if (instant_since_ns(now, seen->began) < LONG_CALL_NS)
        return false;
    if (pusher->told_call.ns != seen->began.ns)
        return true;
    return instant_since_ns(now, pusher->told_at) >= TELL_AGAIN_NS && is_watched(pusher->worker, now);
}

/*
 * Within a vendor call. Nothing is told of a library that is still being initialised, which may take a
 * minute and is no fault (the parent sees the call in the page), unless it takes too long.
 */
static void tell_driver_call(struct worker *worker, const struct call_seen *seen, struct instant now)
{
    if (worker->starting && seen->device < 0 &&
        instant_since_ns(now, seen->began) < worker->launch.options.stuck_call_ns)
        return;
    worker_send_picture(worker, now);
}

/* Within a /proc read: the picture as it was before, if one was about to be sent. */
static void tell_host_call(struct worker *worker)
{
    outbox_flush(&worker->outbox);
}

static void tell(struct pusher *pusher, struct instant now)
{
    struct worker *worker = pusher->worker;
    struct call_seen seen;

    call_page_read(worker->page, &seen);
    if (seen.kind == CALL_NONE || !should_tell(pusher, &seen, now))
        return;
    if (pthread_mutex_trylock(&worker->lock) != 0)
        return;
    /* With the lock in hand the call cannot end; it may have ended before, and even be another one now. */
    call_page_read(worker->page, &seen);
    if (seen.kind != CALL_NONE && should_tell(pusher, &seen, now)) {
        if (seen.kind == CALL_HOST)
            tell_host_call(worker);
        else
            tell_driver_call(worker, &seen, now);
        pusher->told_call = seen.began;
        pusher->told_at = now;
    }
    pthread_mutex_unlock(&worker->lock);
}

/*
 * The parent is gone. The main thread leaves by itself when its call returns; a call that runs on makes this
 * process an orphan, which is declared while the kernel holds it, and after `stuck_call_ns` it is left (in
 * state D that takes until the call returns, whatever we do).
 */
static _Noreturn void wait_for_main_thread(struct worker *worker)
{
    struct timespec pause = {.tv_nsec = 20 * NS_PER_MS};
    int declared_fd = -1;

    atomic_store(&worker->parent_gone, true);
    for (;;) {
        struct instant now = clock_now();
        struct call_seen seen;
        int64_t running_ns;

        call_page_read(worker->page, &seen);
        running_ns = seen.kind == CALL_NONE ? 0 : instant_since_ns(now, seen.began);
        if (running_ns >= worker->launch.options.stuck_call_ns)
            worker_exit(SAMPLER_EXIT_PARENT_GONE);
        if (running_ns < LONG_CALL_NS || !orphan_is_held()) {
            cleanup_close(&declared_fd);
            declared_fd = -1;
        } else if (declared_fd < 0) {
            declared_fd = orphan_declare(getuid());
        }
        nanosleep(&pause, NULL);
    }
}

static void *run(void *context)
{
    struct pusher pusher = {.worker = context, .told_call = {-1}};
    struct worker *worker = context;

    for (;;) {
        struct pollfd socket = {.fd = worker->outbox.fd, .events = POLLRDHUP};
        int pace_ms = is_watched(worker, clock_now()) ? PACE_WATCHED_MS : PACE_IDLE_MS;
        int r = poll(&socket, 1, pace_ms);

        if (r > 0 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)))
            wait_for_main_thread(worker);
        tell(&pusher, clock_now());
    }
    return NULL;
}

int pusher_start(struct worker *worker)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int r = pthread_attr_init(&attributes);

    if (r)
        return -r;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    r = pthread_create(&thread, &attributes, run, worker);
    if (r == EINVAL || r == EAGAIN) /* thread-local data of libraries can need a larger stack */
        r = pthread_create(&thread, NULL, run, worker);
    pthread_attr_destroy(&attributes);
    return -r;
}
