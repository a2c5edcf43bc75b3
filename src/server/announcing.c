#include "server/announcing.h"

#include "net/loop.h"
#include "net/peer_address.h"
#include "net/resolve.h"
#include "core/event_log.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_GROUP_PORT 4000 /* of targets, where multicast is off and names no port */
#define LOOK_UP_MS         5000u

/* A host of announce_to, and the announce that waits for its address. */
struct target {
    struct announcing *announcing;
    struct text host;
    uint16_t port;
    struct net_resolve_request *request; /* NULL: none is under way */
    uint8_t bytes[DISCOVERY_DATAGRAM_MAX];
    size_t len;
    bool failed; /* the last look-up; told once */
};

struct announcing {
    struct announcing_options options;
    struct announcer *announcer;
    struct net_multicast *multicast; /* NULL: off */
    struct net_resolver *resolver;   /* NULL: no targets */
    struct target *targets;
    struct net_timer timer;
    uint64_t seed;
    struct event_limit news_logged;
};

static uint64_t next_random(void *userdata)
{
    uint64_t value;

    (void)userdata;
    randombytes_buf(&value, sizeof(value));
    return value;
}

static void follow_announcer(struct announcing *announcing)
{
    net_timer_set(&announcing->timer, announcer_next(announcing->announcer));
}

/* ---- what the announcer wants sent ---- */

static int on_announce(void *userdata, const uint8_t *bytes, size_t len)
{
    struct announcing *announcing = userdata;
    int sent = announcing->multicast ? net_multicast_send(announcing->multicast, bytes, len) : -ENETDOWN;

    if (sent < 0)
        return sent;
    return sent ? 0 : -ENETDOWN;
}

static void on_answer(void *userdata, const struct peer *prober, const uint8_t *bytes, size_t len)
{
    struct announcing *announcing = userdata;
    struct net_datagram datagram = {
        .peer = net_peer_address(prober), .local = net_peer_local(prober), .bytes = bytes, .len = len};

    if (announcing->multicast)
        net_multicast_send_to(announcing->multicast, &datagram);
}

static void on_address(void *userdata, const struct net_resolve_answer *found)
{
    struct target *target = userdata;
    struct announcing *announcing = target->announcing;

    target->request = NULL;
    if (found->error && !target->failed)
        log_warning("connecting.announce_to: %.*s: %s", (int)target->host.len, target->host.bytes,
                    found->text[0] ? found->text : strerror(-found->error));
    else if (!found->error && target->failed)
        log_info("connecting.announce_to: %.*s is found again", (int)target->host.len, target->host.bytes);
    target->failed = found->error != 0;
    for (size_t i = 0; i < found->count; i++)
        responder_send_to(announcing->options.responder, &found->addresses[i], target->bytes, target->len);
}

static void on_unicast(void *userdata, size_t number, const uint8_t *bytes, size_t len)
{
    struct announcing *announcing = userdata;
    struct target *target = &announcing->targets[number];

    if (len > sizeof(target->bytes))
        return;
    memcpy(target->bytes, bytes, len);
    target->len = len;
    if (target->request)
        return; /* the newer one goes when the address is there */
    if (net_resolve(announcing->resolver, target->host, target->port, LOOK_UP_MS, on_address, target,
                    &target->request) < 0)
        target->request = NULL;
}

static void on_trouble(void *userdata, unsigned attempts, int error)
{
    (void)userdata;
    if (error)
        log_warning(
            "%u announces in a row could not be sent (%s): backends cannot find this node by multicast; "
            "it keeps trying",
            attempts, strerror(-error));
    else
        log_info("announces are sent again");
}

/* ---- what comes from the group ---- */

static void on_datagram(void *userdata, const struct net_datagram *datagram)
{
    struct announcing *announcing = userdata;
    struct net_address local = datagram->local;
    struct peer peer;

    if (net_address_is_multicast(&local))
        local = NET_ADDRESS_NONE;
    peer = net_peer_make(&datagram->peer, &local, announcing->seed, 0);
    announcer_datagram(announcing->announcer, clock_now(), &peer, datagram->bytes, datagram->len);
    follow_announcer(announcing);
}

static void on_news(void *userdata, const struct net_multicast_event *event)
{
    struct announcing *announcing = userdata;
    struct event_limit *limit = &announcing->news_logged;
    struct instant now = clock_now();
    char address[NET_ADDRESS_TEXT_CAP];

    net_address_format_host(&event->place.address, address);
    switch (event->news) {
    case NET_MULTICAST_JOINED:
        event_log(limit, now, LOG_LEVEL_INFO, "multicast: joined on %s (%s)", event->place.name, address);
        announcer_again(announcing->announcer, now);
        follow_announcer(announcing);
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
    case NET_MULTICAST_PORT_SHARED: /* a server does not need the port for itself */
        break;
    }
}

static void on_timer(void *userdata)
{
    struct announcing *announcing = userdata;

    announcer_tick(announcing->announcer, clock_now());
    follow_announcer(announcing);
}

/* ---- life ---- */

static int open_targets(struct announcing *announcing, uv_loop_t *loop)
{
    const struct settings *settings = announcing->options.settings;
    uint16_t port = settings->group.port ? settings->group.port : DEFAULT_GROUP_PORT;
    int r;

    if (!settings->target_count)
        return 0;
    announcing->targets = calloc(settings->target_count, sizeof(*announcing->targets));
    if (!announcing->targets)
        return -ENOMEM;
    for (size_t i = 0; i < settings->target_count; i++) {
        struct target *target = &announcing->targets[i];

        target->announcing = announcing;
        r = net_address_split(text_from_string(settings->targets[i]), port, &target->host, &target->port);
        if (r < 0)
            return r;
    }
    return net_resolver_open(loop, &announcing->resolver);
}

static int open_announcer(struct announcing *announcing)
{
    const struct announcing_options *options = &announcing->options;
    struct announcer_options announcer_options = {
        .random = {.next = next_random},
        .node = options->node,
        .sequence = (uint64_t)clock_wall_us(),
        .udp_port = options->udp_port,
        .tcp_port = options->tcp_port,
        .hostname = options->hostname,
        .keys = options->keys,
        .retry_limit = options->settings->config.connecting.multicast_retry_limit,
        .targets = options->settings->target_count,
    };
    struct announcer_events events = {
        .on_announce = options->settings->group.family ? on_announce : NULL,
        .on_unicast = on_unicast,
        .on_answer = on_answer,
        .on_trouble = on_trouble,
        .userdata = announcing,
    };

    return announcer_new(&announcer_options, &events, clock_now(), &announcing->announcer);
}

static void open_multicast(struct announcing *announcing, uv_loop_t *loop)
{
    const struct settings *settings = announcing->options.settings;
    struct net_multicast_options options = {
        .group = settings->group,
        .outbound = settings->outbound,
        .outbound_count = settings->outbound_count,
        .ttl = (uint8_t)settings->config.connecting.multicast_ttl,
    };
    struct net_multicast_events events = {
        .on_datagram = on_datagram, .on_news = on_news, .userdata = announcing};
    int r;

    if (!settings->group.family)
        return;
    r = net_multicast_open(loop, &options, &events, &announcing->multicast);
    if (r < 0)
        log_warning("connecting.multicast_addr %s: %s: backends cannot find this node by multicast",
                    settings->config.connecting.multicast_addr, strerror(-r));
}

int announcing_open(uv_loop_t *loop, const struct announcing_options *options,
                    struct announcing **ret_announcing)
{
    struct announcing *announcing = calloc(1, sizeof(*announcing));
    int r;

    *ret_announcing = announcing;
    if (!announcing)
        return -ENOMEM;
    announcing->options = *options;
    announcing->seed = next_random(NULL);
    net_timer_init(&announcing->timer, loop, on_timer, announcing);
    r = open_targets(announcing, loop);
    if (r == 0)
        r = open_announcer(announcing);
    if (r < 0)
        return r;
    open_multicast(announcing, loop);
    follow_announcer(announcing);
    return 0;
}

void announcing_stop(struct announcing *announcing)
{
    announcer_stop(announcing->announcer, clock_now());
}

void announcing_close(struct announcing *announcing)
{
    if (!announcing)
        return;
    net_multicast_close(announcing->multicast);
    announcing->multicast = NULL;
    net_resolver_close(announcing->resolver);
    announcing->resolver = NULL;
    net_timer_deinit(&announcing->timer);
}

void announcing_free(struct announcing *announcing)
{
    if (!announcing)
        return;
    announcer_free(announcing->announcer);
    free(announcing->targets);
    free(announcing);
}

void announcing_set_keys(struct announcing *announcing, const struct seal_keys *keys)
{
    announcing->options.keys = keys;
    announcer_set_keys(announcing->announcer, keys);
    follow_announcer(announcing);
}

const struct announcer_counters *announcing_counters(const struct announcing *announcing)
{
    return announcer_counters(announcing->announcer);
}

const struct net_multicast *announcing_multicast(const struct announcing *announcing)
{
    return announcing->multicast;
}
