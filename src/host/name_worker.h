/*
 * The thread behind host/users.h: a queue of lookups going in, answers coming out. Internal to src/host/.
 *
 * The worker is shared by its owner and, while there is something to look up, a detached thread; whoever
 * leaves last frees it, so that its owner can go at any time.
 */
#ifndef HOST_NAME_WORKER_H
#define HOST_NAME_WORKER_H

#include "host/users.h"

enum name_request_kind {
    NAME_OF_UID,
    UID_OF_NAME,
};

struct name_request {
    struct name_request *next;
    enum name_request_kind kind;
    uint32_t uid;
    char name[USER_NAME_MAX + 1];
    int result; /* 0, -ENOENT, or another negative errno */
};

struct name_worker;

/* Returns 0 or -ENOMEM. */
int name_worker_new(const struct users_lookup *lookup, struct name_worker **ret_worker);

/* Gives up the owner's share; what waits is dropped, what is being looked up is left to the thread. */
void name_worker_release(struct name_worker *worker); /* accepts NULL */

/*
 * Queues a request (on the heap; taken only when 0 is returned) and sees to it that the thread runs.
 * Returns 0, -EBUSY when USERS_MAX_PENDING are waiting, or a negative errno of starting the thread.
 */
int name_worker_submit(struct name_worker *worker, struct name_request *take_request);

/* All requests answered since the last call, as a list that the caller frees. */
struct name_request *name_worker_collect(struct name_worker *worker);

/*
 * Waits until an answer can be collected or nothing is being looked up, but not longer than until
 * `deadline`. Returns true if nothing is being looked up any more.
 */
bool name_worker_wait(struct name_worker *worker, struct instant deadline);

#endif
