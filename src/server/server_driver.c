/* What the sampler tells: into `latest`, to those who wait for it, and (when something changed) into the log.
 */
#include "server/server.h"

#include "core/cleanup.h"
#include "render/render.h"

#include <errno.h>
#include <string.h>

#define CALL_LOGGED_NS (10 * NS_PER_S) /* a call that takes longer is worth a line */

static void log_fault(struct server *server, const struct snapshot_summary *summary)
{
    _cleanup_(buffer_deinit) struct buffer text = BUFFER_EMPTY;
    struct snapshot snapshot = {
        .fault = summary->fault,
        .fault_code = summary->fault_code,
        .fault_text = summary->fault_text,
        .pending = {.name = summary->pending_call, .device = -1},
    };

    render_node_fault(&snapshot, &text);
    event_log(&server->driver_limit, clock_now(), LOG_LEVEL_WARNING, "%.*s", (int)text.len,
              buffer_text(&text).bytes);
}

/* One line when a fault begins, one when it ends. */
static void log_changes(struct server *server)
{
    struct snapshot_summary summary;
    struct text version;

    if (!latest_summary(server->latest, &summary))
        return;
    if (server->logged_snapshot && server->logged_fault == summary.fault)
        return;
    if (!server->logged_snapshot && summary.fault == NODE_FAULT_NONE &&
        !(summary.flags & NODE_FIRST_ROUND_DONE) && !summary.driver_version.len)
        return; /* it has only begun */
    server->logged_snapshot = true;
    server->logged_fault = summary.fault;
    version = summary.driver_version.len ? summary.driver_version : TEXT_LITERAL("unknown");
    if (summary.fault == NODE_FAULT_NONE)
        event_log(&server->driver_limit, clock_now(), LOG_LEVEL_INFO, "the driver answers (version %.*s)",
                  (int)version.len, version.bytes);
    else if (summary.fault != NODE_FAULT_PAUSED)
        log_fault(server, &summary);
}

static void on_snapshot(void *userdata)
{
    struct server *server = userdata;
    int r = latest_take(server->latest, sampling_snapshot(server->sampling), clock_now());

    if (r < 0) {
        event_log(&server->sampler_limit, clock_now(), LOG_LEVEL_ERROR,
                  "a snapshot of the sampler was lost: %s", strerror(-r));
        return;
    }
    log_changes(server);
    responder_snapshot_came(server->responder);
}

static void on_state(void *userdata, enum sampling_state state, int error)
{
    struct server *server = userdata;

    switch (state) {
    case SAMPLING_OFF:
    case SAMPLING_RUNNING:
        break;
    case SAMPLING_PAUSED:
        latest_take_fault(server->latest, NODE_FAULT_PAUSED, TEXT_ABSENT);
        break;
    case SAMPLING_BLOCKED:
        event_log(&server->sampler_limit, clock_now(), LOG_LEVEL_ERROR, "the sampler cannot be started: %s",
                  error == -EBUSY ? "samplers of earlier starts still hang in driver calls"
                                  : strerror(-error));
        latest_take_fault(server->latest, NODE_FAULT_HUNG,
                          error == -EBUSY ? TEXT_LITERAL("samplers of earlier starts hang in it")
                                          : text_from_string(strerror(-error)));
        break;
    }
}

static void on_ended(void *userdata)
{
    struct server *server = userdata;

    event_log(&server->sampler_limit, clock_now(), LOG_LEVEL_WARNING,
              "the sampler ended; another one is started");
}

/* One line when a call takes long, one when it has returned. */
static void on_tick(void *userdata)
{
    struct server *server = userdata;
    struct instant now = clock_now();
    struct sampler_call call;
    bool in_call = sampling_call(server->sampling, now, &call);
    bool same = in_call && !strcmp(call.name, server->logged_call) && call.running_ns >= CALL_LOGGED_NS;

    if (server->logged_call[0] && !same) {
        event_log(&server->driver_limit, now, LOG_LEVEL_INFO, "%s has returned", server->logged_call);
        server->logged_call[0] = '\0';
    }
    if (!in_call || server->logged_call[0] || call.running_ns < CALL_LOGGED_NS)
        return;
    memcpy(server->logged_call, call.name, sizeof(server->logged_call));
    server->logged_call[sizeof(server->logged_call) - 1] = '\0';
    if (call.device >= 0)
        event_log(&server->driver_limit, now, LOG_LEVEL_WARNING, "%s on device %d has not returned for %d s",
                  server->logged_call, (int)call.device, (int)(call.running_ns / NS_PER_S));
    else
        event_log(&server->driver_limit, now, LOG_LEVEL_WARNING, "%s has not returned for %d s",
                  server->logged_call, (int)(call.running_ns / NS_PER_S));
}

int server_open_sampling(struct server *server)
{
    struct sampling_events events = {.on_snapshot = on_snapshot,
                                     .on_state = on_state,
                                     .on_ended = on_ended,
                                     .on_tick = on_tick,
                                     .userdata = server};

    return sampling_new(&server->loop, &server->settings->sampler, &events, &server->sampling);
}
