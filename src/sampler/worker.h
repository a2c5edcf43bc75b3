/*
 * The inside of the sampler process, shared by its files.
 *
 * The main thread holds `lock` at all times except inside a vendor call or a read of another process in
 * /proc. So while it hangs in one, and only then, the second thread (pusher.c) gets the lock, and can send
 * what is known so far. The call page says which of the two kinds of calls it is: within a vendor call all
 * of the state is whole; within a /proc read the process table is not.
 */
#ifndef SAMPLER_WORKER_H
#define SAMPLER_WORKER_H

#include "sampler/changes.h"
#include "sampler/launch.h"
#include "sampler/outbox.h"
#include "sampler/page.h"
#include "sampler/picture.h"
#include "sampler/schedule.h"

#include <pthread.h>
#include <stdatomic.h>

struct worker {
    struct launch launch;
    struct call_page *page;
    pthread_mutex_t lock;
    _Atomic bool parent_gone; /* set by either thread; the main one leaves as soon as no call is running */
    _Atomic int64_t watched_until_ns; /* for the second thread's pace */

    struct source *source;
    struct process_table *processes;
    bool running;              /* the source has started */
    bool starting;             /* the main thread is in source->start() */
    struct instant started_at; /* the last attempt */
    int64_t start_took_ns;
    unsigned failed_starts; /* in a row */

    struct schedule schedule;
    struct picture picture;
    struct changes changes;
    struct outbox outbox;
    bool picture_waits; /* a newer picture is wanted as soon as the outbox is free */

    uint32_t host_cursor; /* where the round of /proc readings stands in the map of pids */
    bool in_host_round;
    struct instant host_round_began, host_due;

    uint8_t input[64]; /* a frame from the parent that is not whole yet */
    size_t input_len;
    struct instant input_at; /* when the socket was last looked at */
};

/* The main thread's work, until the parent is gone. It has the lock and everything is set up. */
_Noreturn void worker_run(struct worker *worker);

/* Ends the process now. Nothing of the library is shut down: that can hang. */
_Noreturn void worker_exit(enum sampler_exit status);

/*
 * Makes a picture and sends it, or notes that one waits if the socket is full. The caller holds the lock.
 * Returns 0, or a negative errno if the parent is gone.
 */
int worker_send_picture(struct worker *worker, struct instant now);

/* How long a picture may become, see wire/snapshot_fit.h. */
size_t worker_body_target(const struct worker *worker);

/* ---- worker_host.c: the processes' host side; main thread only ---- */

/*
 * Reads the picture's processes that were never read, for at most `limit_ns`. The outbox holds the picture
 * without them, unsent, meanwhile: for the second thread, should a read hang.
 */
void worker_read_new_processes(struct worker *worker, int64_t limit_ns);

/*
 * Goes on with reading again what can change of the processes, once a second while watched. Returns true if
 * it did some of it, false if there is nothing to do before worker->host_due.
 */
bool worker_refresh_some(struct worker *worker, struct instant now);

/* ---- pusher.c: the second thread ---- */

/* Starts it. Returns 0 or a negative errno. */
int pusher_start(struct worker *worker);

#endif
