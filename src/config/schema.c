#include "config/schema.h"

#include "config/check.h"

#include <string.h>

#define BOTH (CONFIG_SERVER | CONFIG_BACKEND)
#define LOCAL \
    (CONFIG_SERVER | CONFIG_CLI) /* whoever has a sampler: the server, and the CLI in local mode \
                                  */

#define AT(member)          .offset = offsetof(struct config, member)
#define LIMITS(low, high)   .min = (low), .max = (high)
#define MS(low, high, ms)   .unit_ms = 1, .min = (low), .max = (high), .fallback = (ms)
#define SECS(low, high, ms) .unit_ms = 1000, .min = (low), .max = (high), .fallback = (ms)

static const char *const protocols[] = {"udp", "tcp", NULL};               /* enum config_protocol */
static const char *const command_lines[] = {"none", "name", "full", NULL}; /* enum command_line_mode */

#define NODES_ALLOWED "host names or addresses, with or without :port; host lists such as gpu[01-08]"

const struct schema_key schema_keys[CONFIG_KEY_COUNT] = {
    [CONFIG_KEY_PORT_RANGE] =
        {"connecting.port_range", SCHEMA_PORT_RANGE, BOTH, AT(connecting.port_first),
         "ports that a server takes the first free one of; the first is also the backend's "
         "default port for static nodes",
         LIMITS(1, 65535), .fallback_written = "[30000, 40000]"},
    [CONFIG_KEY_MULTICAST_ADDR] = {"connecting.multicast_addr", SCHEMA_TEXT, BOTH,
                                   AT(connecting.multicast_addr),
                                   "group and port of discovery; \"\" turns multicast off",
                                   .check = check_multicast_endpoint, .fallback_text = "239.0.0.1:4000",
                                   .allowed = "an IPv4 multicast address and a port, or \"\""},
    [CONFIG_KEY_MULTICAST_OUTBOUND_IP] = {"connecting.multicast_outbound_ip", SCHEMA_LIST, BOTH,
                                          AT(connecting.multicast_outbound_ip),
                                          "own addresses of the interfaces to use; [] chooses them",
                                          .check = check_ipv4_address, .allowed = "IPv4 addresses"},
    [CONFIG_KEY_MULTICAST_TTL] = {"connecting.multicast_ttl", SCHEMA_INTEGER, BOTH,
                                  AT(connecting.multicast_ttl),
                                  "routers that announces and probes may cross, plus one", LIMITS(0, 255),
                                  .fallback = 1},
    [CONFIG_KEY_PROTOCOL] = {"connecting.protocol", SCHEMA_CHOICE, CONFIG_BACKEND, AT(connecting.protocol),
                             "how the backend asks the servers", .choices = protocols,
                             .fallback = CONFIG_PROTOCOL_UDP},
    [CONFIG_KEY_UDP_PORT] = {"connecting.udp_port", SCHEMA_INTEGER, CONFIG_SERVER, AT(connecting.udp_port),
                             "0 takes a port of port_range", LIMITS(0, 65535)},
    [CONFIG_KEY_TCP_PORT] = {"connecting.tcp_port", SCHEMA_INTEGER, CONFIG_SERVER, AT(connecting.tcp_port),
                             "0 takes a port of port_range", LIMITS(0, 65535)},
    [CONFIG_KEY_UDP_MTU] = {"connecting.udp_mtu", SCHEMA_INTEGER, BOTH, AT(connecting.udp_mtu),
                            "largest datagram with its IP header; 0 asks the route", LIMITS(576, 65535),
                            .zero_too = true},
    [CONFIG_KEY_HEARTBEAT_INTERVAL] = {"connecting.heartbeat_interval", SCHEMA_DURATION, BOTH,
                                       AT(connecting.heartbeat_interval_ns),
                                       "how often an idle session shows life", SECS(100, 3600000, 5000)},
    [CONFIG_KEY_CONNECTION_IDLE_TIMEOUT] = {"connecting.connection_idle_timeout", SCHEMA_DURATION, BOTH,
                                            AT(connecting.connection_idle_timeout_ns),
                                            "silence after which a session has ended",
                                            SECS(200, 86400000, 10000)},
    [CONFIG_KEY_MAX_CONNECTIONS] = {"connecting.max_connections", SCHEMA_INTEGER, BOTH,
                                    AT(connecting.max_connections),
                                    "sessions of a server, nodes of a backend; reaching it is shown",
                                    LIMITS(1, 65536), .fallback_written = "64 (server), 4096 (backend)"},
    [CONFIG_KEY_DISCOVER_WAIT_SECS] = {"connecting.discover_wait_secs", SCHEMA_DURATION, CONFIG_BACKEND,
                                       AT(connecting.discover_wait_ns),
                                       "how long a one-shot question may wait while no node is known yet",
                                       SECS(0, 3600000, 5000)},
    [CONFIG_KEY_MULTICAST_RETRY_LIMIT] =
        {"connecting.multicast_retry_limit", SCHEMA_INTEGER, CONFIG_SERVER,
         AT(connecting.multicast_retry_limit),
         "failed announces at start before a warning; it keeps trying, slower", LIMITS(0, 1000000),
         .fallback = 5},
    [CONFIG_KEY_STATIC_NODES] = {"connecting.static_nodes", SCHEMA_LIST, CONFIG_BACKEND,
                                 AT(connecting.static_nodes),
                                 "nodes to ask besides those discovered; CLUSTAT_STATIC_NODES adds to it",
                                 .check = check_nodes, .allowed = NODES_ALLOWED},
    [CONFIG_KEY_ANNOUNCE_TO] = {"connecting.announce_to", SCHEMA_LIST, CONFIG_SERVER,
                                AT(connecting.announce_to),
                                "hosts that get announces by unicast, where multicast does not reach them",
                                .check = check_nodes, .allowed = NODES_ALLOWED},
    [CONFIG_KEY_CACHE_TTL_MS] = {"services.cache_ttl_ms", SCHEMA_DURATION, CONFIG_BACKEND,
                                 AT(services.cache_ttl_ns), "age up to which an answer is given again",
                                 MS(0, 60000, 40)},
    [CONFIG_KEY_COLLECTOR_INTERVAL_MS] = {"services.collector_interval_ms", SCHEMA_DURATION, LOCAL,
                                          AT(services.collector_interval_ns),
                                          "shortest time between two readings of utilisation and memory",
                                          MS(1, 60000, 25)},
    [CONFIG_KEY_NODE_DEADLINE_MS] = {"services.node_deadline_ms", SCHEMA_DURATION, CONFIG_BACKEND,
                                     AT(services.node_deadline_ns), "how long an answer waits for a node",
                                     MS(1, 60000, 100)},
    [CONFIG_KEY_LATENCY_DISPLAY] = {"services.latency_display", SCHEMA_BOOLEAN, CONFIG_CLI,
                                    AT(services.latency_display),
                                    "show the query latency beside the host name", .fallback = true},
    [CONFIG_KEY_UDS_PATH] = {"services.uds_path", SCHEMA_TEXT, CONFIG_BACKEND | CONFIG_CLI,
                             AT(services.uds_path),
                             "the backend's socket; CLUSTAT_BACKEND_SOCKET and --backend-socket come first",
                             .check = check_socket_path, .fallback_text = "/run/clustat/client.sock",
                             .allowed = "an absolute path of at most 107 bytes"},
    [CONFIG_KEY_STATE_DIR] = {"services.state_dir", SCHEMA_TEXT, CONFIG_BACKEND, AT(services.state_dir),
                              "where the known nodes are kept", .check = check_absolute_path,
                              .fallback_text = "/var/lib/clustat", .allowed = "an absolute path"},
    [CONFIG_KEY_NVML_LIB_PATH] =
        {"runtime.nvml_lib_path", SCHEMA_TEXT, LOCAL, AT(runtime.nvml_lib_path),
         "the driver's library; \"\" looks in the usual places; CLUSTAT_NVML_LIB comes "
         "first",
         .fallback_text = "", .allowed = "a path, or \"\""},
    [CONFIG_KEY_DRIVER_TIME_PERCENT] = {"runtime.driver_time_percent", SCHEMA_PERCENT, LOCAL,
                                        AT(runtime.driver_time_ppm),
                                        "largest share of time that may be spent in driver calls",
                                        LIMITS(100, 1000000), .fallback = 20000},
    [CONFIG_KEY_STUCK_CALL_SECS] =
        {"runtime.stuck_call_secs", SCHEMA_DURATION, LOCAL, AT(runtime.stuck_call_ns),
         "time in one driver call after which a second sampler goes on without that "
         "device",
         SECS(1000, 86400000, 60000)},
    [CONFIG_KEY_COMMAND_LINE] = {"runtime.command_line", SCHEMA_CHOICE, CONFIG_SERVER,
                                 AT(runtime.command_line),
                                 "how much of processes' command lines leaves the node",
                                 .choices = command_lines, .fallback = COMMAND_LINE_NAME},
    [CONFIG_KEY_KEY_FILE] = {"security.key_file", SCHEMA_TEXT, BOTH, AT(security.key_file),
                             "keys that seal all traffic; unset: not sealed", .check = check_absolute_path,
                             .fallback_text = "", .fallback_written = "unset", .allowed = "an absolute path"},
    [CONFIG_KEY_ALLOW] = {"security.allow", SCHEMA_LIST, BOTH, AT(security.allow),
                          "who may ask; unset: loopback, private, shared and link-local addresses and the "
                          "host's own networks",
                          .check = check_cidr, .fallback_written = "unset",
                          .allowed = "networks such as 10.0.0.0/8, or addresses"},
};

enum config_key schema_find(struct text name)
{
    unsigned i = 0;

    while (i < CONFIG_KEY_COUNT && !text_equal_string(name, schema_keys[i].name))
        i++;
    return (enum config_key)i;
}

bool schema_is_section(struct text name)
{
    for (unsigned i = 0; i < CONFIG_KEY_COUNT; i++) {
        const char *dot = strchr(schema_keys[i].name, '.');

        if (text_equal(name, (struct text){schema_keys[i].name, (size_t)(dot - schema_keys[i].name)}))
            return true;
    }
    return false;
}

#define DISTANCE_MAX_LEN 64 /* longer names are not compared */

/* Levenshtein's distance: insertions, deletions and replacements that turn a into b. */
static unsigned edit_distance(struct text a, struct text b)
{
    unsigned row[DISTANCE_MAX_LEN + 1];

    if (a.len > DISTANCE_MAX_LEN || b.len > DISTANCE_MAX_LEN)
        return UINT32_MAX;
    for (unsigned j = 0; j <= b.len; j++)
        row[j] = j;
    for (unsigned i = 0; i < a.len; i++) {
        unsigned diagonal = row[0];

        row[0] = i + 1;
        for (unsigned j = 0; j < b.len; j++) {
            unsigned replaced = diagonal + (a.bytes[i] != b.bytes[j]);
            unsigned other = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;

            diagonal = row[j + 1];
            row[j + 1] = replaced < other ? replaced : other;
        }
    }
    return row[b.len];
}

const char *schema_nearest(struct text name)
{
    struct text last = text_after_last(name, '.');
    unsigned best = UINT32_MAX;
    const char *nearest = NULL;

    for (unsigned i = 0; i < CONFIG_KEY_COUNT; i++) {
        struct text key = text_from_string(schema_keys[i].name), key_last = text_after_last(key, '.');
        unsigned whole = edit_distance(name, key), part = edit_distance(last, key_last);
        unsigned tolerated = (unsigned)key_last.len / 4 + 1;

        /* A wrong letter or two; or the right key in the wrong section, which comes second. */
        if (whole <= tolerated && whole < best) {
            best = whole;
            nearest = schema_keys[i].name;
        } else if (part <= tolerated && part + 4 < best) {
            best = part + 4;
            nearest = schema_keys[i].name;
        }
    }
    return nearest;
}

/* A number of `unit` parts as people write it: 1500 of 1000 is 1.5. */
static void put_scaled(struct buffer *out, int64_t value, int64_t unit)
{
    buffer_printf(out, "%.10g", (double)value / (double)unit);
}

void schema_put_allowed(const struct schema_key *key, struct buffer *out)
{
    switch (key->type) {
    case SCHEMA_BOOLEAN:
        buffer_put_string(out, "true or false");
        return;
    case SCHEMA_INTEGER:
        buffer_printf(out, "%sa whole number from %lld to %lld", key->zero_too ? "0, or " : "",
                      (long long)key->min, (long long)key->max);
        return;
    case SCHEMA_PERCENT:
        buffer_put_string(out, "a number from ");
        put_scaled(out, key->min, 10000);
        buffer_put_string(out, " to ");
        put_scaled(out, key->max, 10000);
        return;
    case SCHEMA_DURATION:
        buffer_printf(out, "%s from ", key->unit_ms == 1 ? "milliseconds" : "seconds");
        put_scaled(out, key->min, key->unit_ms);
        buffer_put_string(out, " to ");
        put_scaled(out, key->max, key->unit_ms);
        buffer_put_string(out, ", or a text such as \"500ms\", \"5s\", \"2m\"");
        return;
    case SCHEMA_CHOICE:
        for (unsigned i = 0; key->choices[i]; i++)
            buffer_printf(out, "%s\"%s\"",
                          i == 0                ? ""
                          : key->choices[i + 1] ? ", "
                                                : " or ",
                          key->choices[i]);
        return;
    case SCHEMA_TEXT:
        buffer_printf(out, "a text: %s", key->allowed);
        return;
    case SCHEMA_LIST:
        buffer_printf(out, "a list of texts: %s", key->allowed);
        return;
    case SCHEMA_PORT_RANGE:
        buffer_put_string(out, "a list of two ports, the first not above the last");
        return;
    }
}

static void put_default(const struct schema_key *key, struct buffer *out)
{
    if (key->fallback_written)
        buffer_put_string(out, key->fallback_written);
    else if (key->type == SCHEMA_BOOLEAN)
        buffer_put_string(out, key->fallback ? "true" : "false");
    else if (key->type == SCHEMA_INTEGER)
        buffer_put_signed(out, key->fallback);
    else if (key->type == SCHEMA_PERCENT)
        put_scaled(out, key->fallback, 10000);
    else if (key->type == SCHEMA_DURATION)
        put_scaled(out, key->fallback, key->unit_ms);
    else if (key->type == SCHEMA_LIST)
        buffer_put_string(out, "[]");
    else
        buffer_printf(out, "\"%s\"",
                      key->type == SCHEMA_CHOICE ? key->choices[key->fallback] : key->fallback_text);
}

static void put_programs(unsigned programs, struct buffer *out)
{
    static const struct {
        unsigned program;
        const char *name;
    } names[] = {{CONFIG_SERVER, "server"}, {CONFIG_BACKEND, "backend"}, {CONFIG_CLI, "CLI"}};
    const char *separator = "";

    for (unsigned i = 0; i < 3; i++) {
        if (!(programs & names[i].program))
            continue;
        buffer_printf(out, "%s%s", separator, names[i].name);
        separator = ", ";
    }
}

void config_put_reference(struct buffer *out)
{
    buffer_put_string(out, "| key | default | allowed | read by | meaning |\n|---|---|---|---|---|\n");
    for (unsigned i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct schema_key *key = &schema_keys[i];

        buffer_printf(out, "| `%s` | `", key->name);
        put_default(key, out);
        buffer_put_string(out, "` | ");
        schema_put_allowed(key, out);
        buffer_put_string(out, " | ");
        put_programs(key->programs, out);
        buffer_printf(out, " | %s |\n", key->meaning);
    }
}
