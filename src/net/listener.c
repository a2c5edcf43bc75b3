#include "net/stream_internal.h"

#include "core/cleanup.h"
#include "net/port.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#define ACCEPTS_PER_WAKE     32u
#define ACCEPT_PAUSE_MS      100u
#define DEFAULT_MAX_STREAMS  1024u
#define DEFAULT_SOURCE_BYTES (4u << 20)

struct net_listener {
    uv_poll_t poll;
    uv_timer_t pause;
    unsigned references; /* open handles and streams: the memory goes with the last */
    bool closed;
    bool in_trouble; /* told to the owner */
    int fd;
    struct net_listener_options options;
    struct net_listener_events events;
    struct net_listener_counters counters;
    size_t streams;
    struct stream_source *sources;
};

/* --- Accounts --- */

static void unref_listener(struct net_listener *listener)
{
    if (--listener->references > 0)
        return;
    assert(!listener->sources);
    free(listener);
}

static struct stream_source *find_source(struct net_listener *listener, const struct net_stream_peer *peer)
{
    struct net_address address = net_address_source(&peer->address);
    struct stream_source *source;

    for (source = listener->sources; source; source = source->next) {
        if (net_address_equal(&source->address, &address) && source->uid == peer->uid)
            return source;
    }
    source = calloc(1, sizeof(*source));
    if (!source)
        return NULL;
    *source = (struct stream_source){.next = listener->sources, .address = address, .uid = peer->uid};
    listener->sources = source;
    return source;
}

static void free_source_if_unused(struct net_listener *listener, struct stream_source *source)
{
    struct stream_source **link = &listener->sources;

    if (source->streams > 0)
        return;
    while (*link != source)
        link = &(*link)->next;
    *link = source->next;
    free(source);
}

bool stream_charge(struct net_stream *stream, size_t bytes)
{
    struct stream_source *source = stream->source;

    if (!source)
        return true;
    if (source->bytes + bytes > stream->listener->options.source_bytes)
        return false;
    source->bytes += bytes;
    return true;
}

void stream_discharge(struct net_stream *stream, size_t bytes)
{
    if (stream->source)
        stream->source->bytes -= bytes;
}

void stream_count_end(struct net_stream *stream, int end)
{
    struct net_listener_counters *counters;

    if (!stream->listener)
        return;
    counters = &stream->listener->counters;
    counters->bad_input += end == -EBADMSG;
    counters->over_budget += end == NET_STREAM_OVER_BUDGET;
    counters->late += end == NET_STREAM_FIRST_LATE || end == NET_STREAM_IDLE;
}

void stream_leave_listener(struct net_stream *stream)
{
    struct net_listener *listener = stream->listener;

    if (!listener)
        return;
    stream->source->streams--;
    free_source_if_unused(listener, stream->source);
    stream->source = NULL;
    stream->listener = NULL;
    listener->streams--;
    unref_listener(listener);
}

/* --- Accepting --- */

static void read_peer(int fd, const struct sockaddr_storage *from, socklen_t len,
                      struct net_stream_peer *ret_peer)
{
    struct net_stream_peer peer = {.uid = (uid_t)-1, .gid = (gid_t)-1};
    struct sockaddr_storage local;
    socklen_t local_len = sizeof(local);
    struct ucred credentials;
    socklen_t credentials_len = sizeof(credentials);

    if (from->ss_family == AF_UNIX) {
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &credentials_len) == 0) {
            peer.uid = credentials.uid;
            peer.gid = credentials.gid;
            peer.pid = credentials.pid;
        }
    } else {
        net_address_from_sockaddr((const struct sockaddr *)from, len, &peer.address);
        if (getsockname(fd, (struct sockaddr *)&local, &local_len) == 0)
            net_address_from_sockaddr((struct sockaddr *)&local, local_len, &peer.local);
    }
    *ret_peer = peer;
}

/* Takes the connection's place in the accounts; NULL (and counted) if there is none. */
static struct stream_source *admit(struct net_listener *listener, const struct net_stream_peer *peer)
{
    struct stream_source *source;

    if (listener->streams >= listener->options.max_streams) {
        listener->counters.over_total++;
        return NULL;
    }
    source = find_source(listener, peer);
    if (!source)
        return NULL;
    if (listener->options.max_per_source && source->streams >= listener->options.max_per_source) {
        listener->counters.over_per_source++;
        return NULL;
    }
    source->streams++;
    return source;
}

static void take_connection(struct net_listener *listener, int take_fd, const struct net_stream_peer *peer)
{
    struct stream_source *source = admit(listener, peer);
    struct net_stream *stream;

    if (!source) {
        close(take_fd);
        return;
    }
    if (peer->address.family != NET_FAMILY_NONE)
        stream_configure_tcp(take_fd, listener->options.stream.idle_ms);
    if (stream_new(listener->poll.loop, take_fd, &listener->options.stream, &stream) < 0) {
        source->streams--;
        free_source_if_unused(listener, source);
        return;
    }
    stream->peer = *peer;
    stream->listener = listener;
    stream->source = source;
    listener->streams++;
    listener->references++;
    listener->counters.accepted++;
    listener->events.on_accept(listener->events.userdata, stream, &stream->peer);
    if (stream->closed)
        return;
    assert(stream->events.on_closed);
    stream_start(stream);
}

static void watch_listener(struct net_listener *listener);

static void pause_over(uv_timer_t *timer)
{
    watch_listener(timer->data);
}

/* Out of descriptors or memory: the connection stays in the backlog, so polling on would spin. */
static void handle_trouble(struct net_listener *listener, int error)
{
    listener->counters.accept_failed++;
    uv_poll_stop(&listener->poll);
    uv_timer_start(&listener->pause, pause_over, ACCEPT_PAUSE_MS, 0);
    if (listener->in_trouble)
        return;
    listener->in_trouble = true;
    if (listener->events.on_accept_trouble)
        listener->events.on_accept_trouble(listener->events.userdata, error);
}

static void handle_relief(struct net_listener *listener)
{
    if (!listener->in_trouble)
        return;
    listener->in_trouble = false;
    if (listener->events.on_accept_trouble)
        listener->events.on_accept_trouble(listener->events.userdata, 0);
}

/* The connection died in the backlog (accept(2)): the next one may be fine. */
static bool is_error_of_connection(int error)
{
    switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPERM: /* firewall */
    case EPROTO:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
        return true;
    default:
        return false;
    }
}

static void accept_some(uv_poll_t *handle, int status, int events)
{
    struct net_listener *listener = handle->data;

    (void)events;
    if (status < 0)
        watch_listener(listener);
    for (unsigned i = 0; i < ACCEPTS_PER_WAKE && !listener->closed; i++) {
        struct sockaddr_storage from = {0};
        socklen_t len = sizeof(from);
        struct net_stream_peer peer;
        int fd = accept4(listener->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0 && errno == EAGAIN)
            return;
        if (fd < 0 && is_error_of_connection(errno))
            continue;
        if (fd < 0) {
            handle_trouble(listener, -errno);
            return;
        }
        handle_relief(listener);
        read_peer(fd, &from, len, &peer);
        take_connection(listener, fd, &peer);
    }
}

static void watch_listener(struct net_listener *listener)
{
    uv_poll_start(&listener->poll, UV_READABLE, accept_some);
}

/* --- Life --- */

static void apply_defaults(struct net_listener_options *options)
{
    if (options->max_streams == 0)
        options->max_streams = DEFAULT_MAX_STREAMS;
    if (options->source_bytes == 0)
        options->source_bytes = DEFAULT_SOURCE_BYTES;
}

int net_listener_open(uv_loop_t *loop, int take_fd, const struct net_listener_options *options,
                      const struct net_listener_events *events, struct net_listener **ret_listener)
{
    _cleanup_(cleanup_close) int fd = take_fd;
    struct net_listener *listener = calloc(1, sizeof(*listener));
    int r;

    if (!listener)
        return -ENOMEM;
    *listener = (struct net_listener){.fd = fd, .options = *options, .events = *events};
    apply_defaults(&listener->options);
    r = uv_poll_init(loop, &listener->poll, fd);
    if (r < 0) {
        free(listener);
        return r;
    }
    uv_timer_init(loop, &listener->pause);
    listener->poll.data = listener;
    listener->pause.data = listener;
    listener->references = 2;
    watch_listener(listener);
    steal_fd(&fd);
    *ret_listener = listener;
    return 0;
}

int net_listener_open_tcp(uv_loop_t *loop, const struct net_address *bind,
                          const struct net_listener_options *options,
                          const struct net_listener_events *events, struct net_listener **ret_listener)
{
    int fd;
    int r = net_port_listen_tcp(bind, &fd);

    return r < 0 ? r : net_listener_open(loop, fd, options, events, ret_listener);
}

static void handle_closed(uv_handle_t *handle)
{
    unref_listener(handle->data);
}

void net_listener_close(struct net_listener *listener)
{
    if (!listener || listener->closed)
        return;
    listener->closed = true;
    uv_close((uv_handle_t *)&listener->poll, handle_closed);
    uv_close((uv_handle_t *)&listener->pause, handle_closed);
    close(steal_fd(&listener->fd));
}

size_t net_listener_streams(const struct net_listener *listener)
{
    return listener->streams;
}

const struct net_listener_counters *net_listener_counters(const struct net_listener *listener)
{
    return &listener->counters;
}
