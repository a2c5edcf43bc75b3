#include "net/multicast.h"

#include "net/group_socket.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_CAP (NET_INTERFACES_MULTICAST_CAP + 1)
#define NEWS_CAP   64u /* waiting to be told; more than one round can make */

/* A join that failed, so that it is told once. */
struct failed_join {
    struct net_multicast_place place;
    int error;
};

struct net_multicast {
    uv_loop_t *loop;
    uv_timer_t news_timer;
    bool closed;
    struct net_multicast_options options; /* outbound points into the array below */
    struct net_address outbound[NET_INTERFACES_MULTICAST_CAP];
    struct net_multicast_events events;
    struct net_multicast_counters counters;
    struct net_interface_watch *watch;
    struct group_socket *unicast; /* NULL: not wanted, or not to be had */
    bool owns_port;
    bool told_shared;
    size_t count;
    struct net_multicast_place places[PLACES_CAP];
    struct group_socket *sockets[PLACES_CAP]; /* of places */
    size_t failed_count;
    struct failed_join failed[PLACES_CAP];
    size_t told_left_out;
    size_t told_missing;
    size_t news_count;
    struct net_multicast_event news[NEWS_CAP];
};

/* --- News --- */

static void tell_news(uv_timer_t *timer)
{
    struct net_multicast *multicast = timer->data;
    size_t count = multicast->news_count;

    for (size_t i = 0; i < count && !multicast->closed; i++) {
        struct net_multicast_event event = multicast->news[i];

        if (multicast->events.on_news)
            multicast->events.on_news(multicast->events.userdata, &event);
    }
    multicast->news_count = 0;
}

/* They are told from the loop, where the owner may do what it likes. */
static void add_news(struct net_multicast *multicast, enum net_multicast_news news,
                     const struct net_multicast_place *place, int error)
{
    struct net_multicast_event event = {.news = news, .error = error};

    if (place)
        event.place = *place;
    if (multicast->news_count < NEWS_CAP)
        multicast->news[multicast->news_count++] = event;
    uv_timer_start(&multicast->news_timer, tell_news, 0, 0);
}

/* --- Membership --- */

static bool same_place(const struct net_multicast_place *a, const struct net_multicast_place *b)
{
    return a->index == b->index && net_address_same_host(&a->address, &b->address);
}

static bool is_among(const struct net_multicast_place *places, size_t count,
                     const struct net_multicast_place *place)
{
    for (size_t i = 0; i < count; i++) {
        if (same_place(&places[i], place))
            return true;
    }
    return false;
}

static void hand_over(void *userdata, const struct net_datagram *datagram)
{
    struct net_multicast *multicast = userdata;

    multicast->events.on_datagram(multicast->events.userdata, datagram);
}

static struct group_socket_events socket_events(struct net_multicast *multicast)
{
    return (struct group_socket_events){
        .on_datagram = hand_over, .userdata = multicast, .counters = &multicast->counters};
}

static void leave_at(struct net_multicast *multicast, size_t at)
{
    add_news(multicast, NET_MULTICAST_LEFT, &multicast->places[at], 0);
    group_socket_close(multicast->sockets[at]);
    multicast->count--;
    multicast->places[at] = multicast->places[multicast->count];
    multicast->sockets[at] = multicast->sockets[multicast->count];
}

/* Remembers the failure; true if it is new. */
static bool note_failure(struct net_multicast *multicast, const struct net_multicast_place *place, int error)
{
    for (size_t i = 0; i < multicast->failed_count; i++) {
        struct failed_join *failed = &multicast->failed[i];

        if (same_place(&failed->place, place)) {
            bool changed = failed->error != error;

            failed->error = error;
            return changed;
        }
    }
    if (multicast->failed_count < PLACES_CAP)
        multicast->failed[multicast->failed_count++] = (struct failed_join){*place, error};
    return true;
}

static void forget_failure(struct net_multicast *multicast, size_t at)
{
    multicast->failed[at] = multicast->failed[--multicast->failed_count];
}

/* Failures at places that are joined now, or not wanted any more. */
static void forget_old_failures(struct net_multicast *multicast, const struct net_multicast_choice *choice)
{
    for (size_t i = multicast->failed_count; i-- > 0;) {
        const struct net_multicast_place *place = &multicast->failed[i].place;

        if (is_among(multicast->places, multicast->count, place) ||
            !is_among(choice->places, choice->count, place))
            forget_failure(multicast, i);
    }
}

static void join_at(struct net_multicast *multicast, const struct net_multicast_place *place)
{
    struct group_socket_events events = socket_events(multicast);
    struct group_socket *socket;
    int r = group_socket_open(multicast->loop, &multicast->options.group, place, multicast->options.ttl,
                              &events, &socket);

    if (r < 0) {
        if (note_failure(multicast, place, r))
            add_news(multicast, NET_MULTICAST_JOIN_FAILED, place, r);
        return;
    }
    multicast->places[multicast->count] = *place;
    multicast->sockets[multicast->count] = socket;
    multicast->count++;
    add_news(multicast, NET_MULTICAST_JOINED, place, 0);
}

static void tell_counts(struct net_multicast *multicast, const struct net_multicast_choice *choice)
{
    if (choice->left_out != multicast->told_left_out && choice->left_out)
        add_news(multicast, NET_MULTICAST_LEFT_OUT, NULL, (int)choice->left_out);
    if (choice->missing != multicast->told_missing && choice->missing)
        add_news(multicast, NET_MULTICAST_NO_OUTBOUND, NULL, (int)choice->missing);
    multicast->told_left_out = choice->left_out;
    multicast->told_missing = choice->missing;
}

static void apply_choice(struct net_multicast *multicast, const struct net_multicast_choice *choice)
{
    for (size_t i = multicast->count; i-- > 0;) {
        if (!is_among(choice->places, choice->count, &multicast->places[i]))
            leave_at(multicast, i);
    }
    for (size_t i = 0; i < choice->count; i++) {
        if (!is_among(multicast->places, multicast->count, &choice->places[i]))
            join_at(multicast, &choice->places[i]);
    }
    forget_old_failures(multicast, choice);
    tell_counts(multicast, choice);
}

/* Takes the group's port when its owner is gone; until then works from a port of its own. */
static int refresh_unicast(struct net_multicast *multicast)
{
    struct group_socket_events events = socket_events(multicast);
    struct group_socket *socket;
    int r;

    if (!multicast->options.unicast || multicast->owns_port)
        return 0;
    r = group_socket_open_owner(multicast->loop, &multicast->options.group, multicast->options.ttl, &events,
                                &socket);
    if (r == 0) {
        group_socket_close(multicast->unicast);
        multicast->unicast = socket;
        multicast->owns_port = true;
        return 0;
    }
    if (r == -EADDRINUSE && !multicast->told_shared) {
        multicast->told_shared = true;
        add_news(multicast, NET_MULTICAST_PORT_SHARED, NULL, 0);
    }
    if (multicast->unicast)
        return 0;
    return group_socket_open_unowned(multicast->loop, multicast->options.ttl, &events, &multicast->unicast);
}

static int refresh(struct net_multicast *multicast)
{
    struct net_interface_list list;
    struct net_multicast_choice choice;
    int r = refresh_unicast(multicast);

    if (r == 0)
        r = net_interface_list_read(&list);
    if (r < 0)
        return r;
    net_interfaces_choose(&list, multicast->options.outbound, multicast->options.outbound_count, &choice);
    net_interface_list_deinit(&list);
    apply_choice(multicast, &choice);
    return 0;
}

static void interfaces_changed(void *userdata)
{
    /* What cannot be read now (no memory, no descriptors) is read at the next re-scan. */
    (void)refresh(userdata);
}

/* --- Life --- */

static int copy_options(struct net_multicast *multicast, const struct net_multicast_options *options)
{
    if (options->group.family != NET_FAMILY_IPV4 || !net_address_is_multicast(&options->group) ||
        options->group.port == 0 || options->outbound_count > NET_INTERFACES_MULTICAST_CAP)
        return -EINVAL;
    multicast->options = *options;
    if (options->outbound_count)
        memcpy(multicast->outbound, options->outbound, options->outbound_count * sizeof(*options->outbound));
    multicast->options.outbound = multicast->outbound;
    if (multicast->options.rescan_ms == 0)
        multicast->options.rescan_ms = NET_MULTICAST_RESCAN_MS;
    return 0;
}

int net_multicast_open(uv_loop_t *loop, const struct net_multicast_options *options,
                       const struct net_multicast_events *events, struct net_multicast **ret_multicast)
{
    struct net_multicast *multicast = calloc(1, sizeof(*multicast));
    int r = multicast ? copy_options(multicast, options) : -ENOMEM;

    if (r < 0) {
        free(multicast);
        return r;
    }
    multicast->loop = loop;
    multicast->events = *events;
    uv_timer_init(loop, &multicast->news_timer);
    multicast->news_timer.data = multicast;
    r = net_interface_watch_open(loop, multicast->options.rescan_ms, interfaces_changed, multicast,
                                 &multicast->watch);
    if (r == 0)
        r = refresh(multicast);
    if (r < 0) {
        net_multicast_close(multicast);
        return r;
    }
    *ret_multicast = multicast;
    return 0;
}

static void handle_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void net_multicast_close(struct net_multicast *multicast)
{
    if (!multicast || multicast->closed)
        return;
    multicast->closed = true;
    net_interface_watch_close(multicast->watch);
    group_socket_close(multicast->unicast);
    for (size_t i = 0; i < multicast->count; i++)
        group_socket_close(multicast->sockets[i]);
    uv_close((uv_handle_t *)&multicast->news_timer, handle_closed);
}

/* --- Sending --- */

int net_multicast_send(struct net_multicast *multicast, const void *bytes, size_t len)
{
    struct net_datagram datagram = {.peer = multicast->options.group, .bytes = bytes, .len = len};
    int taken = 0;

    if (len > NET_MULTICAST_PAYLOAD_MAX)
        return -EMSGSIZE;
    for (size_t i = 0; i < multicast->count; i++) {
        datagram.local = multicast->places[i].address;
        datagram.interface = multicast->places[i].index;
        if (group_socket_send(multicast->unicast ? multicast->unicast : multicast->sockets[i], &datagram) ==
            0)
            taken++;
    }
    return taken;
}

int net_multicast_send_to(struct net_multicast *multicast, const struct net_datagram *datagram)
{
    if (datagram->len > NET_MULTICAST_PAYLOAD_MAX)
        return -EMSGSIZE;
    if (datagram->peer.family != NET_FAMILY_IPV4)
        return -EAFNOSUPPORT;
    if (multicast->unicast)
        return group_socket_send(multicast->unicast, datagram);
    if (multicast->count == 0)
        return -ENETDOWN;
    return group_socket_send(multicast->sockets[0], datagram);
}

size_t net_multicast_places(const struct net_multicast *multicast,
                            const struct net_multicast_place **ret_places)
{
    *ret_places = multicast->places;
    return multicast->count;
}

const struct net_multicast_counters *net_multicast_counters(const struct net_multicast *multicast)
{
    return &multicast->counters;
}
