/*
 * The sampler on the event loop: started, listened to, paused for the administrator, started again with other
 * options. Nothing here ever waits for it.
 */
#ifndef SERVER_SAMPLING_H
#define SERVER_SAMPLING_H

#include "sampler/sampler.h"

#include <uv.h>

enum sampling_state {
    SAMPLING_OFF,     /* not started yet */
    SAMPLING_RUNNING, /* a sampler is there, or about to be */
    SAMPLING_PAUSED,  /* by the administrator */
    SAMPLING_BLOCKED, /* it cannot be started; tried again every few seconds */
};

struct sampling_events {
    /* sampling_snapshot() is a newer one. */
    void (*on_snapshot)(void *userdata);
    /* The state has changed. SAMPLING_BLOCKED: `error` is why (-EBUSY: samplers of earlier starts hang). */
    void (*on_state)(void *userdata, enum sampling_state state, int error);
    /* The sampler ended by itself; it is started again. For the log. */
    void (*on_ended)(void *userdata);
    /* Once a second or so while it is running. */
    void (*on_tick)(void *userdata);
    void *userdata;
};

struct sampling;

/* Only prepares. The library's path in *options is copied. Returns 0 or -ENOMEM. */
int sampling_new(uv_loop_t *loop, const struct sampler_options *options, const struct sampling_events *events,
                 struct sampling **ret_sampling);

/* Leaves the sampler to itself; no event follows. */
void sampling_close(struct sampling *sampling);

/* After sampling_close(), when the loop has turned once more (net_loop_drain()). NULL is accepted. */
void sampling_free(struct sampling *sampling);

/* Starts the sampler: from here on the driver is touched. */
void sampling_start(struct sampling *sampling);

/* Other options from now on; a running sampler is replaced by one that has them. Returns 0 or -ENOMEM. */
int sampling_set_options(struct sampling *sampling, const struct sampler_options *options);

/* Ends the sampler for so long (0: until sampling_resume()). Paused already: the new time counts. */
void sampling_pause(struct sampling *sampling, int64_t pause_ns);
void sampling_resume(struct sampling *sampling);

enum sampling_state sampling_state(const struct sampling *sampling);

/* Until a pause ends by itself; 0: it does not, or there is none. */
int64_t sampling_pause_left_ns(const struct sampling *sampling, struct instant now);

/*
 * Without a sampler: are there processes of one still, ours that were told to go, or orphans of earlier
 * servers? While there are, GPUs are in use.
 */
bool sampling_is_leaving(struct sampling *sampling);

/* As in sampler/sampler.h; without a sampler there is no interest, snapshot or call. */
void sampling_show_interest(struct sampling *sampling, int64_t interval_ns);
struct reader sampling_snapshot(const struct sampling *sampling);
bool sampling_call(const struct sampling *sampling, struct instant now, struct sampler_call *ret_call);
uint32_t sampling_stuck_count(const struct sampling *sampling);

/* The shortest time between two readings: sooner after one, nothing newer is to be had. */
int64_t sampling_tick_ns(const struct sampling *sampling);

#endif
