#include "net/stream.h"

#include "core/cleanup.h"
#include "net/stream_internal.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

/* --- Ending --- */

void stream_end(struct net_stream *stream, int end)
{
    if (stream->ended)
        return;
    stream->ended = true;
    stream_watch(stream);
    uv_timer_stop(&stream->timer);
    stream_count_end(stream, end);
    stream->events.on_closed(stream->events.userdata, stream, end);
}

static void free_stream(struct net_stream *stream)
{
    cleanup_close(&stream->fd);
    stream_output_deinit(&stream->output);
    free(stream->input);
    free(stream);
}

static void handle_closed(uv_handle_t *handle)
{
    struct net_stream *stream = handle->data;

    if (--stream->open_handles == 0)
        free_stream(stream);
}

void net_stream_close(struct net_stream *stream)
{
    if (!stream)
        return;
    assert(!stream->closed);
    stream->ended = true;
    stream->closed = true;
    stream_discharge(stream, stream->input_cap);
    stream_leave_listener(stream);
    uv_close((uv_handle_t *)&stream->poll, handle_closed);
    uv_close((uv_handle_t *)&stream->timer, handle_closed);
    close(steal_fd(&stream->fd));
}

/* Everything sent: says so to the peer. */
static void shut_when_sent(struct net_stream *stream)
{
    if (!stream->finishing || stream->shut || stream->output.first)
        return;
    shutdown(stream->fd, SHUT_WR);
    stream->shut = true;
}

/* --- Time limits --- */

static void check_limits(uv_timer_t *timer)
{
    struct net_stream *stream = timer->data;
    struct instant now = clock_now();
    int64_t quiet_ms = instant_since_ns(now, stream->last_input) / NS_PER_MS;

    if (stream->finishing || stream->input_ended) {
        if ((stream->shut && stream->input_ended) || instant_since_ns(now, stream->limit) >= 0) {
            stream_end(stream, stream->finishing ? (int)NET_STREAM_FINISHED : (int)NET_STREAM_PEER_CLOSED);
            return;
        }
    } else if (stream->connecting) {
        if (quiet_ms >= stream->options.connect_ms) {
            stream_end(stream, NET_STREAM_CONNECT_LATE);
            return;
        }
    } else if (!stream->had_input) {
        if (stream->options.first_ms && quiet_ms >= stream->options.first_ms) {
            stream_end(stream, NET_STREAM_FIRST_LATE);
            return;
        }
    } else if (stream->options.idle_ms && quiet_ms >= stream->options.idle_ms) {
        stream_end(stream, NET_STREAM_IDLE);
        return;
    }
    stream_set_timer(stream);
}

/* The moment that check_limits() should look at next; false if there is none. */
static bool next_limit(const struct net_stream *stream, struct instant *ret_when)
{
    unsigned ms = stream->connecting  ? stream->options.connect_ms
                  : stream->had_input ? stream->options.idle_ms
                                      : stream->options.first_ms;

    if (stream->finishing || stream->input_ended)
        *ret_when = stream->limit;
    else
        *ret_when = instant_add_ns(stream->last_input, (int64_t)ms * NS_PER_MS);
    return ms > 0 || stream->finishing || stream->input_ended;
}

void stream_set_timer(struct net_stream *stream)
{
    struct instant when;

    if (stream->ended || !next_limit(stream, &when)) {
        uv_timer_stop(&stream->timer);
        return;
    }
    uv_update_time(stream->timer.loop);
    uv_timer_start(&stream->timer, check_limits, (uint64_t)clock_poll_timeout_ms(clock_now(), when), 0);
}

/* --- The socket --- */

static void finish_connect(struct net_stream *stream)
{
    int error = 0;
    socklen_t len = sizeof(error);
    struct sockaddr_storage storage;

    if (stream->finishing) /* given up before it stood; the timer ends it */
        return;
    getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error) {
        stream_end(stream, -error);
        return;
    }
    len = sizeof(storage);
    if (getsockname(stream->fd, (struct sockaddr *)&storage, &len) == 0)
        net_address_from_sockaddr((struct sockaddr *)&storage, len, &stream->peer.local);
    stream->connecting = false;
    stream->last_input = clock_now();
    stream_set_timer(stream);
    stream_watch(stream);
    if (stream->events.on_connected)
        stream->events.on_connected(stream->events.userdata, stream);
}

static void socket_ready(uv_poll_t *handle, int status, int events)
{
    struct net_stream *stream = handle->data;

    if (status < 0)
        stream->watched = 0; /* a pending socket error made libuv stop; reading tells which */
    if (stream->connecting) {
        finish_connect(stream);
        return;
    }
    if (!stream->ended && (events & UV_WRITABLE)) {
        int r = stream_output_flush(&stream->output, stream->fd);

        if (r < 0)
            stream_end(stream, r);
        else
            shut_when_sent(stream);
    }
    if (!stream->ended && stream->shut && stream->input_ended)
        stream_end(stream, NET_STREAM_FINISHED);
    if (!stream->ended && ((events & UV_READABLE) || status < 0))
        stream_read(stream);
    if (!stream->ended && status < 0 && stream->input_ended)
        stream_end(stream, -ECONNRESET);
    stream_watch(stream);
}

void stream_watch(struct net_stream *stream)
{
    int wanted = 0;

    if (stream->closed)
        return;
    if (!stream->ended && stream->connecting)
        wanted = UV_WRITABLE;
    else if (!stream->ended)
        wanted = (stream->input_ended ? 0 : UV_READABLE) | (stream->output.first ? UV_WRITABLE : 0);
    if (wanted == stream->watched)
        return;
    stream->watched = wanted;
    if (wanted)
        uv_poll_start(&stream->poll, wanted, socket_ready);
    else
        uv_poll_stop(&stream->poll);
}

int stream_new(uv_loop_t *loop, int take_fd, const struct net_stream_options *options,
               struct net_stream **ret_stream)
{
    struct net_stream *stream = calloc(1, sizeof(*stream));
    int r;

    if (!stream) {
        close(take_fd);
        return -ENOMEM;
    }
    stream->fd = take_fd;
    stream->options = *options;
    if (stream->options.queue_max_bytes == 0)
        stream->options.queue_max_bytes = NET_STREAM_QUEUE_BYTES;
    if (stream->options.connect_ms == 0)
        stream->options.connect_ms = NET_STREAM_FIRST_FRAME_MS;
    stream->peer = (struct net_stream_peer){.uid = (uid_t)-1, .gid = (gid_t)-1};
    stream->last_input = clock_now();
    stream_output_init(&stream->output);
    r = uv_poll_init(loop, &stream->poll, take_fd);
    if (r < 0) {
        free_stream(stream);
        return r;
    }
    uv_timer_init(loop, &stream->timer);
    stream->poll.data = stream;
    stream->timer.data = stream;
    stream->open_handles = 2;
    *ret_stream = stream;
    return 0;
}

void stream_start(struct net_stream *stream)
{
    stream_set_timer(stream);
    stream_watch(stream);
}

void net_stream_set_events(struct net_stream *stream, const struct net_stream_events *events)
{
    stream->events = *events;
}

void stream_configure_tcp(int fd, unsigned idle_ms)
{
    const int on = 1;

    /* Wished for, not needed: without them answers come later and dead peers are noticed by our own timer. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (idle_ms)
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &idle_ms, sizeof(idle_ms));
}

int net_stream_connect(uv_loop_t *loop, const struct net_address *to,
                       const struct net_stream_options *options, const struct net_stream_events *events,
                       struct net_stream **ret_stream)
{
    struct sockaddr_storage storage;
    socklen_t len = net_address_to_sockaddr(to, &storage);
    struct net_stream *stream;
    int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int r;

    if (fd < 0)
        return -errno;
    stream_configure_tcp(fd, options->idle_ms);
    if (connect(fd, (struct sockaddr *)&storage, len) < 0 && errno != EINPROGRESS) {
        r = -errno;
        close(fd);
        return r;
    }
    r = stream_new(loop, fd, options, &stream);
    if (r < 0)
        return r;
    stream->connecting = true;
    stream->peer.address = *to;
    stream->events = *events;
    stream_start(stream);
    *ret_stream = stream;
    return 0;
}

void net_stream_finish(struct net_stream *stream)
{
    assert(!stream->closed);
    if (stream->ended || stream->finishing)
        return;
    stream->finishing = true;
    stream->deaf = true;
    stream->limit = instant_add_ns(clock_now(), NET_STREAM_FINISH_MS * NS_PER_MS);
    shut_when_sent(stream);
    /* The end comes from the loop, never from within this call. */
    if (stream->connecting || (stream->shut && stream->input_ended))
        stream->limit = clock_now();
    stream_set_timer(stream);
    stream_watch(stream);
}

const struct net_stream_peer *net_stream_peer(const struct net_stream *stream)
{
    return &stream->peer;
}

struct instant net_stream_last_input(const struct net_stream *stream)
{
    return stream->last_input;
}
