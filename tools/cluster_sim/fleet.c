#include "fleet.h"

#include "config/key_file.h"
#include "core/log.h"
#include "host/identity.h"
#include "net/loop.h"
#include "net/port.h"
#include "picture.h"
#include "wire/chunk.h"
#include "wire/cookie.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64
#define ROUND_MS        1000 /* each node has a new picture this often */
#define STEP_MS         10   /* the nodes take turns within a round */

struct sim_node {
    uint32_t number; /* from 1 */
    char hostname[NODE_NAME_MAX + 1];
    struct message_node node;
    uint16_t udp_port, tcp_port;
    struct latest *latest;
    struct responder *responder;
    struct announcing *announcing;
    uint64_t sequence;
};

struct fleet {
    struct fleet_options options;
    struct settings settings; /* what discovery needs; the same for all */
    struct net_cidr_list allow;
    struct sampling *sampling; /* never started, so all can share it */
    struct picture *picture;
    struct net_timer timer;
    uint32_t next; /* whose turn it is */
    struct sim_node *nodes;
};

/* ---- pictures ---- */

static int renew(struct fleet *fleet, struct sim_node *node)
{
    struct picture_options options = {
        .node = node->number,
        .devices = fleet->options.devices,
        .processes = fleet->options.processes,
        .hostname = text_from_string(node->hostname),
        .sequence = ++node->sequence,
    };
    int r = latest_take(node->latest, picture_make(fleet->picture, &options), clock_now());

    if (r == 0 && node->responder)
        responder_snapshot_came(node->responder);
    return r;
}

static void on_turn(void *userdata)
{
    struct fleet *fleet = userdata;
    uint32_t count = fleet->options.nodes * STEP_MS / ROUND_MS + 1;

    for (uint32_t i = 0; i < count; i++, fleet->next = (fleet->next + 1) % fleet->options.nodes)
        renew(fleet, &fleet->nodes[fleet->next]);
    net_timer_set(&fleet->timer, instant_add_ns(clock_now(), STEP_MS * NS_PER_MS));
}

/* ---- one node ---- */

static int open_ports(struct fleet *fleet, struct sim_node *node, uint16_t first,
                      struct net_port_pair *ret_pair)
{
    struct net_port_options options = {.range_first = first, .range_last = fleet->options.last_port};
    struct net_port_problem problem = {0};
    int r = net_address_parse(TEXT_LITERAL("127.0.0.1"), 0, &options.bind);

    assert(r == 0);
    r = net_port_open(&options, ret_pair, &problem);
    if (r < 0)
        return r;
    node->udp_port = ret_pair->udp_port;
    node->tcp_port = ret_pair->tcp_port;
    return 0;
}

static int open_node(struct fleet *fleet, uv_loop_t *loop, struct sim_node *node, uint16_t first_port)
{
    struct responder_options responder_options;
    struct announcing_options announcing_options;
    struct net_port_pair pair;
    int r = latest_new(text_from_string(node->hostname), &node->latest);

    if (r == 0)
        r = renew(fleet, node);
    if (r == 0)
        r = open_ports(fleet, node, first_port, &pair);
    if (r < 0)
        return r;
    identity_make(TEXT_LITERAL("simulated"), text_from_string(node->hostname), node->node.identity);
    randombytes_buf(&node->node.instance, sizeof(node->node.instance));
    responder_options = (struct responder_options){
        .take_udp_fd = pair.udp_fd,
        .take_tcp_fd = pair.tcp_fd,
        .node = node->node,
        .max_connections = CONNECTIONS_MAX,
        .reply_bytes = 2 * CHUNK_FRAME_MAX,
        .idle_timeout_ns = fleet->options.idle_timeout_ns,
        .keys = &fleet->settings.keys,
        .allow = &fleet->allow,
        .latest = node->latest,
        .sampling = fleet->sampling,
    };
    r = responder_open(loop, &responder_options, &node->responder);
    if (r < 0)
        return r;
    announcing_options = (struct announcing_options){
        .settings = &fleet->settings,
        .keys = &fleet->settings.keys,
        .node = node->node,
        .hostname = text_from_string(node->hostname),
        .udp_port = node->udp_port,
        .tcp_port = node->tcp_port,
        .responder = node->responder,
    };
    return announcing_open(loop, &announcing_options, &node->announcing);
}

/* ---- all ---- */

/* The defaults of a server, but on loopback only. */
static int make_settings(struct fleet *fleet)
{
    struct config_report report = {.errors = BUFFER_EMPTY};
    struct settings *settings = &fleet->settings;
    struct net_cidr loopback;
    char why[NET_CIDR_ERROR_CAP];
    int r = settings_load("/dev/null", settings, &report);

    config_report_deinit(&report);
    if (r == 0)
        r = net_address_parse(TEXT_LITERAL("127.0.0.1"), 0, &settings->outbound[0]);
    if (r == 0)
        r = net_cidr_parse(TEXT_LITERAL("127.0.0.0/8"), &loopback, why);
    if (r == 0)
        r = net_cidr_list_add(&fleet->allow, &loopback);
    if (r == 0 && fleet->options.key_file) {
        struct buffer errors = BUFFER_EMPTY;

        r = key_file_read(fleet->options.key_file, &settings->keys, &errors);
        if (r < 0)
            log_error("%.*s", (int)errors.len, buffer_text(&errors).bytes);
        buffer_deinit(&errors);
    }
    settings->outbound_count = 1;
    settings->group = fleet->options.group;
    settings->config.connecting.multicast_ttl = 0;
    return r;
}

int fleet_open(uv_loop_t *loop, const struct fleet_options *options, struct fleet **ret_fleet)
{
    static const struct sampling_events no_events;
    struct fleet *fleet = calloc(1, sizeof(*fleet));
    struct sampler_options sampler_options = sampler_options_default();
    uint16_t port = options->first_port;
    int r;

    *ret_fleet = fleet;
    if (!fleet)
        return -ENOMEM;
    fleet->options = *options;
    net_timer_init(&fleet->timer, loop, on_turn, fleet);
    fleet->nodes = calloc(options->nodes, sizeof(*fleet->nodes));
    r = fleet->nodes ? make_settings(fleet) : -ENOMEM;
    if (r == 0)
        r = picture_new(options->devices, options->processes, &fleet->picture);
    if (r == 0)
        r = sampling_new(loop, &sampler_options, &no_events, &fleet->sampling);
    for (uint32_t i = 0; r == 0 && i < options->nodes; i++) {
        struct sim_node *node = &fleet->nodes[i];

        node->number = i + 1;
        snprintf(node->hostname, sizeof(node->hostname), "%s%04u", options->prefix, node->number);
        r = open_node(fleet, loop, node, port);
        port = (uint16_t)(node->udp_port + 1);
        if (r < 0)
            log_error("node %s cannot be opened: %s", node->hostname, strerror(-r));
    }
    if (r == 0)
        on_turn(fleet);
    return r;
}

void fleet_stop(struct fleet *fleet)
{
    net_timer_stop(&fleet->timer);
    for (uint32_t i = 0; i < fleet->options.nodes; i++) {
        announcing_stop(fleet->nodes[i].announcing);
        responder_stop(fleet->nodes[i].responder);
    }
}

void fleet_close(struct fleet *fleet)
{
    if (!fleet)
        return;
    net_timer_deinit(&fleet->timer);
    for (uint32_t i = 0; fleet->nodes && i < fleet->options.nodes; i++) {
        announcing_close(fleet->nodes[i].announcing);
        responder_close(fleet->nodes[i].responder);
    }
    if (fleet->sampling)
        sampling_close(fleet->sampling);
}

void fleet_free(struct fleet *fleet)
{
    if (!fleet)
        return;
    for (uint32_t i = 0; fleet->nodes && i < fleet->options.nodes; i++) {
        announcing_free(fleet->nodes[i].announcing);
        responder_free(fleet->nodes[i].responder);
        latest_free(fleet->nodes[i].latest);
    }
    free(fleet->nodes);
    picture_free(fleet->picture);
    sampling_free(fleet->sampling);
    settings_deinit(&fleet->settings);
    free(fleet);
}

uint16_t fleet_first_port(const struct fleet *fleet)
{
    return fleet->nodes[0].udp_port;
}

uint16_t fleet_last_port(const struct fleet *fleet)
{
    return fleet->nodes[fleet->options.nodes - 1].udp_port;
}
