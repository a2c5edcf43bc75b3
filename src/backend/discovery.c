#include "backend/discovery.h"

#include "net/loop.h"
#include "net/peer_address.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Probes at 0, 250, 500 and 1000 ms; answers spread over 200 ms, and a handshake behind them. */
#define FIRST_ROUND_NS (240 * NS_PER_MS)
#define SETTLED_NS     (1300 * NS_PER_MS)

struct discovery {
    struct discovery_options options;
    struct prober *prober;
    struct net_multicast *multicast; /* NULL: off */
    struct net_udp *udp;             /* for unicast announces where multicast is off; NULL: none */
    struct net_timer timer;
    const struct net_cidr_list *allow; /* NULL: everybody */
    uint64_t not_allowed;
    struct instant began;
    struct event_limit news_logged, not_allowed_logged;
    struct event_sources not_allowed_sources;
};

static void follow_prober(struct discovery *discovery)
{
    net_timer_set(&discovery->timer, prober_next(discovery->prober));
}

/* ---- what the prober wants ---- */

static int handle_probe(void *userdata, const uint8_t *bytes, size_t len)
{
    struct discovery *discovery = userdata;
    int sent = discovery->multicast ? net_multicast_send(discovery->multicast, bytes, len) : -ENETDOWN;

    if (sent < 0)
        return sent;
    return sent ? 0 : -ENETDOWN;
}

static bool handle_is_live(void *userdata, const struct message_node *node)
{
    struct discovery *discovery = userdata;

    return cluster_is_live(discovery->options.cluster, node);
}

static bool handle_live(void *userdata, size_t i, uint8_t ret_identity[IDENTITY_SIZE])
{
    struct discovery *discovery = userdata;

    return cluster_live_identity(discovery->options.cluster, i, ret_identity);
}

static void handle_candidate(void *userdata, const struct prober_candidate *candidate)
{
    struct discovery *discovery = userdata;
    struct net_address address = net_peer_address(candidate->from);
    bool tcp = discovery->options.settings->config.connecting.protocol == CONFIG_PROTOCOL_TCP;
    struct instant now = clock_now();

    address.port = tcp ? candidate->announce->tcp_port : candidate->announce->udp_port;
    if (!address.port || cluster_try_candidate(discovery->options.cluster, now, &address, candidate->number,
                                               candidate->announce) != CLUSTER_CANDIDATE_TRIED)
        prober_done(discovery->prober, now, candidate->number);
}

static void handle_give_up(void *userdata, unsigned number)
{
    struct discovery *discovery = userdata;

    cluster_drop_candidate(discovery->options.cluster, number);
}

void discovery_done(struct discovery *discovery, unsigned candidate)
{
    prober_done(discovery->prober, clock_now(), candidate);
    follow_prober(discovery);
}

/* ---- what comes ---- */

static bool is_allowed(struct discovery *discovery, const struct net_address *peer, struct instant now)
{
    struct net_address source = net_address_source(peer);
    char address[NET_ADDRESS_TEXT_CAP];

    if (!discovery->allow || net_cidr_list_contains(discovery->allow, peer))
        return true;
    discovery->not_allowed++;
    if (event_source_is_news(&discovery->not_allowed_sources,
                             net_address_hash(&source, discovery->options.seed), now))
        event_log(&discovery->not_allowed_logged, now, LOG_LEVEL_WARNING,
                  "announces from %s are ignored: it is not in security.allow",
                  net_address_format_host(peer, address));
    return false;
}

static void take_datagram(void *userdata, const struct net_datagram *datagram)
{
    struct discovery *discovery = userdata;
    struct net_address any = NET_ADDRESS_NONE;
    struct instant now = clock_now();
    struct peer peer;

    if (!is_allowed(discovery, &datagram->peer, now))
        return;
    peer = net_peer_make(&datagram->peer, &any, discovery->options.seed, 0);
    prober_datagram(discovery->prober, now, &peer, datagram->bytes, datagram->len);
    follow_prober(discovery);
}

static void take_news(void *userdata, const struct net_multicast_event *event)
{
    struct discovery *discovery = userdata;
    struct event_limit *limit = &discovery->news_logged;
    struct instant now = clock_now();
    char address[NET_ADDRESS_TEXT_CAP];

    net_address_format_host(&event->place.address, address);
    switch (event->news) {
    case NET_MULTICAST_JOINED:
        event_log(limit, now, LOG_LEVEL_INFO, "multicast: joined on %s (%s)", event->place.name, address);
        prober_again(discovery->prober, now);
        follow_prober(discovery);
        break;
    case NET_MULTICAST_LEFT:
        event_log(limit, now, LOG_LEVEL_INFO, "multicast: left %s (%s)", event->place.name, address);
        break;
    case NET_MULTICAST_JOIN_FAILED:
        event_log(limit, now, LOG_LEVEL_WARNING, "multicast: cannot join on %s (%s): %s", event->place.name,
                  address, strerror(-event->error));
        break;
    case NET_MULTICAST_LEFT_OUT:
        event_log(limit, now, LOG_LEVEL_WARNING,
                  "multicast: %d more interfaces than the 16 that are used: name some in "
                  "connecting.multicast_outbound_ip",
                  event->error);
        break;
    case NET_MULTICAST_NO_OUTBOUND:
        event_log(limit, now, LOG_LEVEL_WARNING,
                  "multicast: %d addresses of connecting.multicast_outbound_ip are on no interface now",
                  event->error);
        break;
    case NET_MULTICAST_PORT_SHARED:
        event_log(limit, now, LOG_LEVEL_INFO,
                  "multicast: another program of this host has the group's port: unicast announces go there");
        break;
    }
}

static void handle_timer(void *userdata)
{
    struct discovery *discovery = userdata;

    prober_tick(discovery->prober, clock_now());
    follow_prober(discovery);
}

/* ---- somebody asks ---- */

void discovery_asked(struct discovery *discovery, struct instant now)
{
    if (prober_is_idle(discovery->prober, now))
        discovery->began = now;
    prober_asked(discovery->prober, now);
    follow_prober(discovery);
}

bool discovery_is_idle(const struct discovery *discovery, struct instant now)
{
    return prober_is_idle(discovery->prober, now);
}

struct instant discovery_began(const struct discovery *discovery)
{
    return discovery->began;
}

/* Without multicast there are no rounds: announces come when they come. */
struct instant discovery_first_round(const struct discovery *discovery)
{
    return discovery->multicast ? instant_add_ns(discovery->began, FIRST_ROUND_NS) : discovery->began;
}

struct instant discovery_settled(const struct discovery *discovery)
{
    return discovery->multicast ? instant_add_ns(discovery->began, SETTLED_NS) : discovery->began;
}

/* ---- life ---- */

static void open_multicast(struct discovery *discovery, uv_loop_t *loop)
{
    const struct settings *settings = discovery->options.settings;
    struct net_multicast_options options = {
        .group = settings->group,
        .outbound = settings->outbound,
        .outbound_count = settings->outbound_count,
        .ttl = (uint8_t)settings->config.connecting.multicast_ttl,
        .unicast = true,
    };
    struct net_multicast_events events = {
        .on_datagram = take_datagram, .on_news = take_news, .userdata = discovery};
    int r = net_multicast_open(loop, &options, &events, &discovery->multicast);

    if (r < 0)
        log_warning("connecting.multicast_addr %s: %s: nodes are not found by multicast",
                    settings->config.connecting.multicast_addr, strerror(-r));
}

/* Announces by unicast need no group. */
static void open_unicast(struct discovery *discovery, uv_loop_t *loop)
{
    struct net_udp_options options = {.fd = -1, .bind = {.port = SETTINGS_GROUP_PORT}};
    struct net_udp_events events = {.on_datagram = take_datagram, .userdata = discovery};
    int r = net_udp_open(loop, &options, &events, &discovery->udp);

    if (r < 0)
        log_info("UDP port %d cannot be used (%s): announces by unicast are not heard", SETTINGS_GROUP_PORT,
                 strerror(-r));
}

int discovery_open(uv_loop_t *loop, const struct discovery_options *options, struct discovery **ret_discovery)
{
    struct discovery *discovery = calloc(1, sizeof(*discovery));
    struct prober_options prober_options = {
        .random = options->random, .instance = options->instance, .keys = options->keys};
    struct prober_events events = {
        .on_probe = handle_probe,
        .on_is_live = handle_is_live,
        .on_live = handle_live,
        .on_candidate = handle_candidate,
        .on_give_up = handle_give_up,
        .userdata = discovery,
    };

    if (!discovery)
        return -ENOMEM;
    discovery->options = *options;
    discovery->began = clock_now();
    if (prober_new(&prober_options, &events, discovery->began, &discovery->prober) < 0) {
        free(discovery);
        return -ENOMEM;
    }
    net_timer_init(&discovery->timer, loop, handle_timer, discovery);
    if (options->settings->group.family)
        open_multicast(discovery, loop);
    else
        open_unicast(discovery, loop);
    follow_prober(discovery);
    *ret_discovery = discovery;
    return 0;
}

void discovery_set_allow(struct discovery *discovery, const struct net_cidr_list *allow)
{
    discovery->allow = allow;
}

void discovery_set_keys(struct discovery *discovery, const struct seal_keys *keys)
{
    prober_set_keys(discovery->prober, keys);
    prober_again(discovery->prober, clock_now());
    follow_prober(discovery);
}

struct discovery_counters discovery_counters(const struct discovery *discovery)
{
    const struct net_multicast_place *places;

    return (struct discovery_counters){
        .prober = prober_counters(discovery->prober),
        .multicast = discovery->multicast ? net_multicast_counters(discovery->multicast) : NULL,
        .not_allowed = discovery->not_allowed,
        .candidates = prober_candidates(discovery->prober),
        .interfaces = discovery->multicast ? net_multicast_places(discovery->multicast, &places) : 0,
    };
}

void discovery_close(struct discovery *discovery)
{
    if (!discovery)
        return;
    net_multicast_close(discovery->multicast);
    discovery->multicast = NULL;
    net_udp_close(discovery->udp);
    discovery->udp = NULL;
    net_timer_deinit(&discovery->timer);
}

void discovery_free(struct discovery *discovery)
{
    if (!discovery)
        return;
    prober_free(discovery->prober);
    free(discovery);
}
