#include "cli/local.h"

#include "wire/snapshot_codec.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

int local_open(struct local *ret_local, const struct sampler_options *options, struct instant now)
{
    struct local local = {.started = now};
    int r;

    snapshot_init(&local.snapshot);
    r = sampler_start(options, now, &local.sampler);
    if (r < 0)
        return r;
    *ret_local = local;
    return 0;
}

void local_close(struct local *local)
{
    sampler_close(local->sampler);
    local->sampler = NULL;
    snapshot_deinit(&local->snapshot);
    free(local->body);
    local->body = NULL;
}

/* The sampler's bytes live until its next receive, the snapshot's texts as long as we show them. */
static int keep_body(struct local *local, struct reader body)
{
    if (body.len > local->body_cap) {
        uint8_t *larger = realloc(local->body, body.len);

        if (!larger)
            return -ENOMEM;
        local->body = larger;
        local->body_cap = body.len;
    }
    memcpy(local->body, body.bytes, body.len);
    return 0;
}

static int take_snapshot(struct local *local)
{
    struct reader body = sampler_snapshot(local->sampler);
    struct snapshot_need need;
    int r;

    r = snapshot_measure(body, &need);
    if (r < 0)
        return r;
    snapshot_clear(&local->snapshot);
    local->has_snapshot = false;
    r = keep_body(local, body);
    if (r < 0)
        return r;
    r = snapshot_reserve(&local->snapshot, need.devices, need.entries, need.processes);
    if (r < 0)
        return r;
    r = snapshot_decode(reader_over(local->body, body.len), &local->snapshot);
    local->has_snapshot = r == 0;
    return r;
}

bool local_receive(struct local *local, struct instant now)
{
    int event = sampler_receive(local->sampler, now);

    if (event == SAMPLER_ENDED)
        local->ended++;
    if (event != SAMPLER_SNAPSHOT)
        return false;
    local->decode_error = take_snapshot(local);
    if (local->decode_error < 0)
        return false;
    local->received = now;
    local->received_count++;
    if (!local->first_received.ns)
        local->first_received = now;
    local->ended = 0;
    return true;
}

bool local_is_complete(const struct local *local)
{
    return local->has_snapshot &&
           (local->snapshot.fault != NODE_FAULT_NONE || (local->snapshot.flags & NODE_FIRST_ROUND_DONE));
}

/* Whether the sampler is still busy with what may take long: loading and initialising the library. */
static bool is_initialising(const struct local *local, const struct sampler_call *call)
{
    return !local->has_snapshot && (!call || strncmp(call->name, "nvmlInit", strlen("nvmlInit")) == 0);
}

/* When waiting has no more sense, by what is known now. */
static struct instant give_up_at(const struct local *local, struct instant now)
{
    struct sampler_call call;
    bool in_call = sampler_call_in_progress(local->sampler, now, &call);
    struct instant at = instant_add_ns(local->started, LOCAL_INIT_NS);

    if (local->has_snapshot)
        at = instant_add_ns(local->first_received, LOCAL_ROUND_NS);
    if (in_call && !is_initialising(local, &call))
        at = instant_earlier(at, instant_add_ns(now, LOCAL_STUCK_NS - call.running_ns));
    return at;
}

static void wait_for_frame(struct local *local, struct instant now, struct instant until)
{
    struct pollfd wait = {.fd = sampler_fd(local->sampler), .events = POLLIN};
    struct instant look_again = instant_add_ns(now, NS_PER_S / 10); /* a call's progress wakes nobody */

    poll(&wait, 1, clock_poll_timeout_ms(now, instant_earlier(until, look_again)));
}

enum local_outcome local_wait(struct local *local, void (*progress)(void *context, unsigned seconds),
                              void *context)
{
    unsigned shown = 0;

    for (;;) {
        struct instant now = clock_now();
        struct instant give_up, tick;
        unsigned seconds;

        local_receive(local, now);
        if (local_is_complete(local))
            return LOCAL_COMPLETE;
        give_up = give_up_at(local, now);
        if (instant_since_ns(now, give_up) >= 0 || local->ended > 2)
            return local->has_snapshot && local->snapshot.device_count ? LOCAL_PARTIAL : LOCAL_NOTHING;
        seconds = (unsigned)(instant_since_ns(now, local->started) / NS_PER_S);
        if (progress && seconds > shown)
            progress(context, shown = seconds);
        tick = sampler_tick(local->sampler, now);
        wait_for_frame(local, now, instant_earlier(give_up, tick));
    }
}

bool local_mark_call(struct local *local, struct instant now, int64_t at_least_ns,
                     struct sampler_call *ret_call)
{
    struct sampler_call call;

    if (!sampler_call_in_progress(local->sampler, now, &call) || call.running_ns < at_least_ns)
        return false;
    memcpy(local->call_name, call.name, sizeof(local->call_name));
    local->call_name[sizeof(local->call_name) - 1] = '\0';
    local->snapshot.pending = (struct pending_call){
        .name = text_from_string(local->call_name),
        .device = call.device,
        .running_us = (uint64_t)(call.running_ns / NS_PER_US),
    };
    *ret_call = call;
    return true;
}
