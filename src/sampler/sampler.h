/*
 * The sampler as its parent sees it: a child process that reads the driver, and a handle that never waits.
 *
 * The child is this very binary (/proc/self/exe), started by fork and exec with the role in argv[0]; it
 * alone touches the vendor's library. Snapshot frames come over a socketpair; the driver call in progress
 * stands in a shared page. A call can hang for ever, and not even SIGKILL ends it: so the parent never waits
 * for the child, replaces it after `stuck_call_ns` by at most one other (which leaves the hung device out),
 * and leaves it behind when it goes itself.
 *
 * The program's main() calls sampler_main() first when sampler_is_child(argv) is true, before it opens or
 * prints anything. The child's standard descriptors are /dev/null, unless CLUSTAT_SAMPLER_STDERR is set,
 * which keeps standard error: for finding faults.
 */
#ifndef SAMPLER_SAMPLER_H
#define SAMPLER_SAMPLER_H

#include "core/clock.h"
#include "core/cursor.h"
#include "host/process_table.h"

#define SAMPLER_ROLE "clustat-sampler" /* argv[0] and PR_SET_NAME of the child */

struct sampler_options {
    const char *library_path; /* NULL: the usual places (gpu/source.h) */
    int64_t tick_ns;          /* services.collector_interval_ms, default 25 ms */
    uint32_t driver_time_ppm; /* runtime.driver_time_percent in millionths, default 20000 */
    int64_t stuck_call_ns;    /* runtime.stuck_call_secs, default 60 s */
    enum command_line_mode command_line;
    uint32_t command_line_max;
};

/* Defaults of design.md section 10. */
struct sampler_options sampler_options_default(void);

/* ---- the child ---- */

bool sampler_is_child(char *const argv[]);

/*
 * Runs the child until its parent is gone. Returns only if it cannot start, with an exit status
 * (sampler/launch.h).
 */
int sampler_main(int argc, char *argv[]);

/* ---- the parent ---- */

struct sampler;

/*
 * Starts the child. Refuses (-EBUSY) when the kernel already holds two orphaned samplers of this user in
 * driver calls. Returns 0 or a negative errno of fork, exec, socketpair. `options` is copied.
 */
int sampler_start(const struct sampler_options *options, struct instant now, struct sampler **ret_sampler);

/*
 * Leaves the child to itself (it ends at once, or when its call returns) and frees the handle. Never waits,
 * so the child may still have to be reaped: a program that lives on calls waitpid(-1, ..., WNOHANG) later.
 * NULL is fine.
 */
void sampler_close(struct sampler *sampler);

/*
 * Readable when sampler_receive() has something to do. Changes when the child is replaced, and is -1 while
 * there is none (poll(2) skips it): ask anew before each poll.
 */
int sampler_fd(const struct sampler *sampler);

/*
 * Tells the child that somebody watches, wanting a picture every `interval_ns` (0: one picture, now). The
 * child counts as watched for 10 s after each call. Never blocks.
 */
void sampler_show_interest(struct sampler *sampler, int64_t interval_ns);

enum sampler_event {
    SAMPLER_NOTHING = 0,  /* no whole frame has come */
    SAMPLER_SNAPSHOT = 1, /* sampler_snapshot() is a newer one */
    SAMPLER_ENDED = 2,    /* the child ended; sampler_tick() starts another: at once, then with back-off */
};

/*
 * Takes in what has come, keeping the newest snapshot only. Never blocks. Returns an enum sampler_event. The
 * newest snapshot outlives the child that sent it.
 */
int sampler_receive(struct sampler *sampler, struct instant now);

/*
 * The newest snapshot body (wire/snapshot_codec.h), borrowed until the next receive; len 0 if none came yet.
 */
struct reader sampler_snapshot(const struct sampler *sampler);

/* When that snapshot was received. */
struct instant sampler_snapshot_received(const struct sampler *sampler);

/*
 * Time-driven work: replaces a stuck child, restarts an ended one. Returns when it wants to be called next.
 */
struct instant sampler_tick(struct sampler *sampler, struct instant now);

/* The driver (or /proc) call that the child is in. */
struct sampler_call {
    char name[64];
    int32_t device;     /* GPU index, -1 if the call has none */
    int64_t running_ns; /* since it began */
};

/*
 * True and *ret_call if the child is in a call now; a stuck one that was replaced comes first. Reads the
 * shared page only, so it works from the start: "dlopen", then "nvmlInit_v2", both with device -1, say that
 * the library is being initialised. Nothing is received until that is done, or has taken stuck_call_ns.
 */
bool sampler_call_in_progress(const struct sampler *sampler, struct instant now,
                              struct sampler_call *ret_call);

/* Samplers that hang in a call: this handle's replaced one, and orphans of this user as of the last tick. */
uint32_t sampler_stuck_count(const struct sampler *sampler);

#endif
