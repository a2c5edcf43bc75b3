#include "host/name_worker.h"

#include "core/cleanup.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

/* Name services bring their own libraries and habits; the pages are only used when touched. */
#define STACK_BYTES (1024 * 1024)

struct name_worker {
    struct users_lookup lookup;
    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t answered;
    unsigned references; /* the owner and the thread */
    bool running;        /* there is a thread, and it will look at the queue again */
    bool closing;        /* the owner has gone */
    unsigned unanswered; /* waiting or being looked up */
    struct name_request *waiting, **waiting_end;
    struct name_request *answers;
};

int name_worker_new(const struct users_lookup *lookup, struct name_worker **ret_worker)
{
    struct name_worker *worker = calloc(1, sizeof(*worker));
    pthread_condattr_t monotonic;

    if (!worker)
        return -ENOMEM;
    worker->lookup = *lookup;
    worker->references = 1;
    worker->waiting_end = &worker->waiting;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->answered, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *ret_worker = worker;
    return 0;
}

static void free_requests(struct name_request *request)
{
    while (request) {
        struct name_request *next = request->next;

        free(request);
        request = next;
    }
}

/* Called with the lock held; gives it up. */
static void unlock_and_unref(struct name_worker *worker)
{
    bool last = --worker->references == 0;

    pthread_mutex_unlock(&worker->lock);
    if (!last)
        return;
    free_requests(worker->waiting);
    free_requests(worker->answers);
    pthread_cond_destroy(&worker->answered);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

void name_worker_release(struct name_worker *worker)
{
    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->closing = true;
    unlock_and_unref(worker);
}

static void look_up(const struct users_lookup *lookup, struct name_request *request)
{
    if (request->kind == NAME_OF_UID)
        request->result = lookup->name_of(lookup->context, request->uid, request->name);
    else
        request->result = lookup->uid_of(lookup->context, request->name, &request->uid);
}

static void *run(void *argument)
{
    struct name_worker *worker = argument;

    pthread_mutex_lock(&worker->lock);
    while (worker->waiting && !worker->closing) {
        struct name_request *request = worker->waiting;

        worker->waiting = request->next;
        if (!worker->waiting)
            worker->waiting_end = &worker->waiting;
        pthread_mutex_unlock(&worker->lock);
        look_up(&worker->lookup, request);
        pthread_mutex_lock(&worker->lock);
        request->next = worker->answers;
        worker->answers = request;
        worker->unanswered--;
        pthread_cond_broadcast(&worker->answered);
    }
    worker->running = false;
    unlock_and_unref(worker);
    return NULL;
}

/* A detached thread that gets no signals: they are the main thread's business. */
static int start_thread(struct name_worker *worker)
{
    pthread_attr_t attributes;
    sigset_t all, old;
    pthread_t thread;
    int r;

    r = pthread_attr_init(&attributes);
    if (r)
        return -r;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(&thread, &attributes, run, worker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return -r;
}

int name_worker_submit(struct name_worker *worker, struct name_request *take_request)
{
    int r = 0;

    pthread_mutex_lock(&worker->lock);
    if (worker->unanswered >= USERS_MAX_PENDING)
        r = -EBUSY;
    if (r == 0 && !worker->running) {
        r = start_thread(worker); /* it waits for the lock, then finds the request */
        if (r == 0) {
            worker->running = true;
            worker->references++;
        }
    }
    if (r == 0) {
        take_request->next = NULL;
        *worker->waiting_end = take_request;
        worker->waiting_end = &take_request->next;
        worker->unanswered++;
    }
    pthread_mutex_unlock(&worker->lock);
    return r;
}

struct name_request *name_worker_collect(struct name_worker *worker)
{
    struct name_request *answers;

    pthread_mutex_lock(&worker->lock);
    answers = worker->answers;
    worker->answers = NULL;
    pthread_mutex_unlock(&worker->lock);
    return answers;
}

bool name_worker_wait(struct name_worker *worker, struct instant deadline)
{
    const struct timespec until = {
        .tv_sec = (time_t)(deadline.ns / NS_PER_S),
        .tv_nsec = (long)(deadline.ns % NS_PER_S),
    };
    bool idle;

    pthread_mutex_lock(&worker->lock);
    while (worker->unanswered && !worker->answers) {
        if (pthread_cond_timedwait(&worker->answered, &worker->lock, &until) == ETIMEDOUT)
            break;
    }
    idle = worker->unanswered == 0;
    pthread_mutex_unlock(&worker->lock);
    return idle;
}
