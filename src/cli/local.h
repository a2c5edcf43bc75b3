/*
 * Local mode: this machine's devices, read by a sampler of our own, and the newest snapshot of it.
 * Nothing here ever waits for the driver longer than its caller allows.
 */
#ifndef CLI_LOCAL_H
#define CLI_LOCAL_H

#include "model/snapshot.h"
#include "sampler/sampler.h"

#define LOCAL_INIT_NS  (60 * NS_PER_S) /* how long the driver may take to initialise */
#define LOCAL_STUCK_NS (2 * NS_PER_S)  /* how long any later call may take */
#define LOCAL_ROUND_NS (15 * NS_PER_S) /* how long the first round may take once something was read */

struct local {
    struct sampler *sampler;
    struct snapshot snapshot; /* the newest one; texts live in `body` */
    uint8_t *body;            /* its bytes, owned */
    size_t body_cap;
    bool has_snapshot;
    uint64_t received_count; /* snapshots so far */
    struct instant started;
    struct instant received; /* when the newest snapshot came */
    struct instant first_received;
    unsigned ended;     /* how often the child ended since the last snapshot */
    int decode_error;   /* of the last frame that could not be used; 0 if it could */
    char call_name[64]; /* backs snapshot.pending.name, see local_mark_call() */
};

/* Starts the sampler. Returns 0, -EBUSY (two earlier ones hang in the driver), or a negative errno. */
int local_open(struct local *ret_local, const struct sampler_options *options, struct instant now);

/* Leaves the sampler to itself. */
void local_close(struct local *local);

/* Takes in what has come. Returns true if the snapshot is a newer one. Never blocks. */
bool local_receive(struct local *local, struct instant now);

/* True if the newest snapshot is a whole one, or says why there is none. */
bool local_is_complete(const struct local *local);

enum local_outcome {
    LOCAL_COMPLETE,
    LOCAL_PARTIAL, /* a call hangs, or all is too slow: what there is, is in the snapshot */
    LOCAL_NOTHING, /* and nothing was read at all */
};

/*
 * Waits for the first whole snapshot, as long as the limits above allow. progress: called about once a second
 * with the seconds waited so far (NULL: not wanted).
 */
enum local_outcome local_wait(struct local *local, void (*progress)(void *context, unsigned seconds),
                              void *context);

/*
 * The call that has kept the sampler busy for at least `at_least_ns`, if any; it is entered into the snapshot
 * as its pending call, so that renderers tell of it even though no snapshot comes.
 */
bool local_mark_call(struct local *local, struct instant now, int64_t at_least_ns,
                     struct sampler_call *ret_call);

#endif
