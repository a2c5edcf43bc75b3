/* What `clustat-server status` shows: names and values, as lines or as one JSON object. */
#include "server/server.h"

#include "clustat_version.h"
#include "core/utf8.h"
#include "render/json_writer.h"

#include <ctype.h>
#include <string.h>

struct status {
    struct buffer *out;
    bool as_json;
    struct json_writer json;
};

static void put_name(struct status *status, const char *name)
{
    if (status->as_json)
        json_key(&status->json, name);
    else
        buffer_printf(status->out, "%-32s ", name);
}

static void put_text(struct status *status, const char *name, struct text value)
{
    put_name(status, name);
    if (status->as_json) {
        json_text(&status->json, value);
        return;
    }
    if (text_is_present(value))
        utf8_put_visible(status->out, value);
    else
        buffer_put_char(status->out, '-');
    buffer_put_char(status->out, '\n');
}

static void put_number(struct status *status, const char *name, uint64_t value)
{
    put_name(status, name);
    if (status->as_json)
        json_unsigned(&status->json, value);
    else
        buffer_printf(status->out, "%llu\n", (unsigned long long)value);
}

/* "input" and "bad chunk": input_bad_chunk. */
static void put_counter(struct status *status, const char *family, const char *member, uint64_t value)
{
    char name[64];

    snprintf(name, sizeof(name), "%s_%s", family, member);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    put_number(status, name, value);
}

static const char *state_name(enum sampling_state state)
{
    switch (state) {
    case SAMPLING_OFF:
        return "starting";
    case SAMPLING_RUNNING:
        return "running";
    case SAMPLING_PAUSED:
        return "paused";
    case SAMPLING_BLOCKED:
        return "blocked";
    }
    return "unknown";
}

static void put_node(struct status *status, const struct server *server, struct instant now)
{
    char id[CONNECTION_ID_SIZE];

    identity_connection_id(server->node.identity, id);
    put_text(status, "version", text_from_string(CLUSTAT_VERSION));
    put_text(status, "node", text_from_string(server->hostname));
    put_text(status, "connection_id", text_from_string(id));
    put_number(status, "pid", (uint64_t)getpid());
    put_number(status, "uptime_secs", (uint64_t)(instant_since_ns(now, server->started_at) / NS_PER_S));
    put_number(status, "udp_port", server->udp_port);
    put_number(status, "tcp_port", server->tcp_port);
    put_text(status, "config", text_from_string(server->settings->config.path));
    put_number(status, "keys", server->settings->keys.count);
}

static void put_driver(struct status *status, const struct server *server, struct instant now)
{
    struct snapshot_summary summary = {.hostname = TEXT_ABSENT};
    struct sampler_call call;
    int64_t age_ns;

    put_text(status, "sampler", text_from_string(state_name(sampling_state(server->sampling))));
    put_number(status, "pause_left_secs",
               (uint64_t)((sampling_pause_left_ns(server->sampling, now) + NS_PER_S - 1) / NS_PER_S));
    put_number(status, "stuck_samplers", sampling_stuck_count(server->sampling));
    latest_summary(server->latest, &summary);
    put_text(status, "driver_version", summary.driver_version);
    put_number(status, "fault", (uint64_t)summary.fault);
    put_text(status, "fault_text", summary.fault_text);
    if (latest_age_ns(server->latest, now, &age_ns))
        put_number(status, "snapshot_age_us", (uint64_t)(age_ns / NS_PER_US));
    if (sampling_call(server->sampling, now, &call)) {
        put_text(status, "call", text_from_string(call.name));
        put_number(status, "call_running_us", (uint64_t)(call.running_ns / NS_PER_US));
    }
}

static void put_sessions(struct status *status, const struct server *server)
{
    static const char *const reasons[] = {
        [REFUSE_NOT_ALLOWED] = "not_allowed",
        [REFUSE_VERSION] = "version",
        [REFUSE_FULL] = "full",
        [REFUSE_UNKNOWN_SESSION] = "unknown_session",
        [REFUSE_SEALED_ONLY] = "sealed_only",
        [REFUSE_RATE] = "rate",
    };
    const struct peers *peers = responder_peers(server->responder);
    const struct peers_counters *counters = peers_counters(peers);

    put_number(status, "sessions", peers_sessions(peers));
    put_number(status, "sessions_max", peers_sessions_max(peers));
    put_number(status, "sessions_begun", counters->sessions);
    put_number(status, "sessions_idle", counters->sessions_idle);
    put_number(status, "sessions_dropped", counters->sessions_dropped);
    put_number(status, "queries", counters->queries);
    put_number(status, "replies", counters->replies);
    put_number(status, "resends", counters->resends);
    put_number(status, "pings", counters->pings);
    for (size_t i = REFUSE_NOT_ALLOWED; i <= REFUSE_RATE; i++)
        put_counter(status, "refused", reasons[i], counters->refused[i]);
    put_number(status, "refusals_kept_back", counters->refusals_kept_back);
    for (int i = 0; i < PEERS_INPUTS; i++)
        put_counter(status, "input", peers_input_name((enum peers_input)i), counters->input[i]);
}

static void put_network(struct status *status, const struct server *server)
{
    const struct net_udp_counters *udp = net_udp_counters(responder_udp(server->responder));
    const struct streams *streams = responder_streams(server->responder);
    const struct net_listener_counters *tcp = streams_counters(streams);

    put_number(status, "udp_received", udp->received);
    put_number(status, "udp_sent", udp->sent);
    put_number(status, "udp_truncated", udp->truncated);
    put_number(status, "udp_kernel_dropped", udp->kernel_dropped);
    put_number(status, "udp_queue_dropped", udp->queue_dropped);
    put_number(status, "udp_send_failed", udp->send_failed);
    put_number(status, "tcp_connections", streams_count(streams));
    put_number(status, "tcp_accepted", tcp->accepted);
    put_number(status, "tcp_over_total", tcp->over_total);
    put_number(status, "tcp_over_per_source", tcp->over_per_source);
    put_number(status, "tcp_bad_input", tcp->bad_input);
    put_number(status, "tcp_over_budget", tcp->over_budget);
    put_number(status, "tcp_late", tcp->late);
}

static void put_discovery(struct status *status, const struct server *server)
{
    const struct announcer_counters *counters = announcing_counters(server->announcing);
    const struct net_multicast *multicast = announcing_multicast(server->announcing);
    const struct net_multicast_place *places;

    put_number(status, "multicast_interfaces", multicast ? net_multicast_places(multicast, &places) : 0);
    put_number(status, "announces", counters->announces);
    put_number(status, "announces_failed", counters->failed);
    put_number(status, "probes_answered", counters->answers);
    put_number(status, "answers_postponed", counters->postponed);
    for (int i = 0; i < DISCOVERY_INPUTS; i++)
        put_counter(status, "discovery", discovery_input_name((enum discovery_input)i), counters->input[i]);
}

void server_put_status(struct server *server, bool json, struct buffer *out)
{
    struct instant now = clock_now();
    struct status status = {.out = out, .as_json = json};

    if (json) {
        status.json = json_writer_new(out, JSON_BAD_REPLACED);
        json_begin_object(&status.json);
    }
    put_node(&status, server, now);
    put_driver(&status, server, now);
    put_sessions(&status, server);
    put_network(&status, server);
    put_discovery(&status, server);
    if (json) {
        json_end_object(&status.json);
        json_finish(&status.json);
    }
}
