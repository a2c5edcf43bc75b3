/* STATUS: the counters, for administrators and tests. */
#include "backend/backend.h"

#include "clustat_version.h"
#include "render/json_writer.h"

static void put_number(struct json_writer *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_unsigned(json, value);
}

static void begin(struct json_writer *json, const char *key)
{
    json_key(json, key);
    json_begin_object(json);
}

static void put_nodes(struct backend *backend, struct json_writer *json)
{
    static const char *const names[] = {"up", "stale", "down", "warming", "stopped"};
    struct node *const *rows = cluster_rows(backend->cluster);
    struct instant now = clock_now();
    uint64_t counts[5] = {0};

    for (size_t i = 0; i < cluster_count(backend->cluster); i++)
        counts[liveness_state(&rows[i]->liveness, now,
                              backend->settings->config.connecting.connection_idle_timeout_ns)
                   .state]++;
    begin(json, "nodes");
    put_number(json, "known", cluster_count(backend->cluster));
    for (size_t i = 0; i < 5; i++)
        put_number(json, names[i], counts[i]);
    put_number(json, "static", static_nodes_count(backend->statics));
    put_number(json, "left_out", cluster_left_out(backend->cluster, now));
    put_number(json, "addresses", cluster_endpoints(backend->cluster));
    put_number(json, "cache_bytes", cluster_picture_bytes(backend->cluster));
    json_end_object(json);
}

static void put_questions(struct backend *backend, struct json_writer *json)
{
    const struct questions_counters *counters = questions_counters(backend->questions);

    begin(json, "questions");
    put_number(json, "asked", counters->asked);
    put_number(json, "joined", counters->joined);
    put_number(json, "answers", counters->answers);
    put_number(json, "late", counters->late);
    put_number(json, "node_queries", counters->node_queries);
    put_number(json, "cache_hits", counters->cache_hits);
    put_number(json, "under_way", questions_under_way(backend->questions));
    json_end_object(json);
}

static void put_sessions(struct backend *backend, struct json_writer *json)
{
    const struct client_counters *counters = cluster_counters(backend->cluster);

    begin(json, "sessions");
    put_number(json, "queries", counters->queries);
    put_number(json, "retries", counters->retries);
    put_number(json, "resends", counters->resends);
    put_number(json, "replies", counters->replies);
    put_number(json, "late_replies", counters->late_replies);
    put_number(json, "deadlines_missed", counters->deadlines_missed);
    put_number(json, "hellos", counters->hellos);
    put_number(json, "sessions", counters->sessions);
    put_number(json, "silent", counters->sessions_silent);
    begin(json, "input");
    for (unsigned i = 0; i < CLIENT_INPUTS; i++)
        put_number(json, client_input_name((enum client_input)i), counters->input[i]);
    json_end_object(json);
    json_end_object(json);
}

static void put_discovery(struct backend *backend, struct json_writer *json)
{
    struct discovery_counters counters = discovery_counters(backend->discovery);

    begin(json, "discovery");
    put_number(json, "interfaces", counters.interfaces);
    put_number(json, "probes", counters.prober->probes);
    put_number(json, "probes_failed", counters.prober->failed);
    put_number(json, "candidates", counters.prober->candidates);
    put_number(json, "candidates_now", counters.candidates);
    put_number(json, "given_up", counters.prober->given_up);
    put_number(json, "not_allowed", counters.not_allowed);
    begin(json, "input");
    for (unsigned i = 0; i < DISCOVERY_INPUTS; i++)
        put_number(json, discovery_input_name((enum discovery_input)i), counters.prober->input[i]);
    json_end_object(json);
    json_end_object(json);
}

static void put_network(struct backend *backend, struct json_writer *json)
{
    const struct net_udp_counters *counters = transport_counters(backend->transport);

    json_key(json, "udp");
    if (!counters) {
        json_put_null(json);
        return;
    }
    json_begin_object(json);
    put_number(json, "received", counters->received);
    put_number(json, "received_bytes", counters->received_bytes);
    put_number(json, "truncated", counters->truncated);
    put_number(json, "kernel_dropped", counters->kernel_dropped);
    put_number(json, "sent", counters->sent);
    put_number(json, "sent_bytes", counters->sent_bytes);
    put_number(json, "queue_dropped", counters->queue_dropped);
    put_number(json, "send_failed", counters->send_failed);
    json_end_object(json);
}

static void put_api(struct backend *backend, struct json_writer *json)
{
    const struct api_counters *counters = api_counters(backend->api);
    const struct net_listener_counters *listener = api_listener_counters(backend->api);

    begin(json, "api");
    put_number(json, "connections", api_connections(backend->api));
    put_number(json, "accepted", listener->accepted);
    put_number(json, "refused", listener->over_total + listener->over_per_source);
    put_number(json, "bad_input", listener->bad_input);
    put_number(json, "requests", counters->requests);
    put_number(json, "lines", counters->lines);
    put_number(json, "errors", counters->errors);
    put_number(json, "over_rate", counters->over_rate);
    put_number(json, "over_connections", counters->over_connections);
    put_number(json, "over_queue", counters->over_queue);
    put_number(json, "slow", counters->slow);
    json_end_object(json);
}

void backend_put_status(struct backend *backend, struct buffer *out)
{
    struct json_writer json = json_writer_new(out, JSON_BAD_REPLACED);

    json.one_line = true;
    json_begin_object(&json);
    json_key(&json, "version");
    json_put_string(&json, CLUSTAT_VERSION);
    put_number(&json, "uptime_ms",
               (uint64_t)(instant_since_ns(clock_now(), backend->started_at) / NS_PER_MS));
    json_key(&json, "sealed");
    json_bool(&json, backend->settings->keys.count > 0);
    json_key(&json, "resting");
    json_bool(&json, backend->is_resting);
    put_nodes(backend, &json);
    put_questions(backend, &json);
    put_sessions(backend, &json);
    put_discovery(backend, &json);
    put_network(backend, &json);
    put_api(backend, &json);
    json_end_object(&json);
    json_finish(&json);
}
