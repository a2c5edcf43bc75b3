#include "net/stream.h"

#include "core/cleanup.h"
#include "net/stream_internal.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#define INPUT_START 4096u /* bytes; doubled while a frame or line needs more */
#define INPUT_MAX   (FRAME_HEADER_SIZE + FRAME_BODY_MAX)
#define INPUT_KEEP  (64u << 10)  /* a bigger empty buffer is given back */
#define READ_BUDGET (256u << 10) /* bytes per wake-up, so that one peer cannot hold the loop */

/* --- Ending --- */

static void end_stream(struct net_stream *stream, int end)
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

static void set_timer(struct net_stream *stream);

static void check_limits(uv_timer_t *timer)
{
    struct net_stream *stream = timer->data;
    struct instant now = clock_now();
    int64_t quiet_ms = instant_since_ns(now, stream->last_input) / NS_PER_MS;

    if (stream->finishing || stream->input_ended) {
        if ((stream->shut && stream->input_ended) || instant_since_ns(now, stream->limit) >= 0) {
            end_stream(stream, stream->finishing ? (int)NET_STREAM_FINISHED : (int)NET_STREAM_PEER_CLOSED);
            return;
        }
    } else if (stream->connecting) {
        if (quiet_ms >= stream->options.connect_ms) {
            end_stream(stream, NET_STREAM_CONNECT_LATE);
            return;
        }
    } else if (!stream->had_input) {
        if (stream->options.first_ms && quiet_ms >= stream->options.first_ms) {
            end_stream(stream, NET_STREAM_FIRST_LATE);
            return;
        }
    } else if (stream->options.idle_ms && quiet_ms >= stream->options.idle_ms) {
        end_stream(stream, NET_STREAM_IDLE);
        return;
    }
    set_timer(stream);
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

static void set_timer(struct net_stream *stream)
{
    struct instant when;

    if (stream->ended || !next_limit(stream, &when)) {
        uv_timer_stop(&stream->timer);
        return;
    }
    uv_update_time(stream->timer.loop);
    uv_timer_start(&stream->timer, check_limits, (uint64_t)clock_poll_timeout_ms(clock_now(), when), 0);
}

static void note_message(struct net_stream *stream)
{
    bool first = !stream->had_input;

    stream->had_input = true;
    stream->last_input = clock_now();
    /* Later messages need no new timer: check_limits() looks at last_input. */
    if (first)
        set_timer(stream);
}

/* --- Input --- */

static void drop_input(struct net_stream *stream)
{
    stream_discharge(stream, stream->input_cap);
    free(stream->input);
    stream->input = NULL;
    stream->input_len = 0;
    stream->input_cap = 0;
}

static void report_bad_input(struct net_stream *stream, enum net_stream_bad_input what,
                             const struct frame_header *header)
{
    stream->deaf = true;
    if (!stream->events.on_bad_input) {
        end_stream(stream, -EBADMSG);
        return;
    }
    stream_count_end(stream, -EBADMSG);
    stream->events.on_bad_input(stream->events.userdata, stream, what, header);
}

/* Hands over one frame from the input behind `*consumed`. False if there is none (yet). */
static bool take_frame(struct net_stream *stream, size_t *consumed)
{
    const uint8_t *frame = stream->input + *consumed;
    struct reader reader = reader_over(frame, stream->input_len - *consumed);
    struct frame_header header;
    int r = frame_read_header(&reader, &header);

    if (r == FRAME_BAD_MAGIC)
        report_bad_input(stream, NET_STREAM_BAD_MAGIC, NULL);
    else if (r == FRAME_BAD_VERSION)
        report_bad_input(stream, NET_STREAM_BAD_VERSION, &header);
    else if (r == FRAME_TOO_LONG)
        report_bad_input(stream, NET_STREAM_FRAME_TOO_LONG, NULL);
    if (r != FRAME_OK || reader_left(&reader) < header.body_len)
        return false;
    *consumed += FRAME_HEADER_SIZE + header.body_len;
    note_message(stream);
    stream->events.on_frame(stream->events.userdata, stream, &header, frame,
                            FRAME_HEADER_SIZE + header.body_len);
    return true;
}

static bool take_line(struct net_stream *stream, size_t *consumed)
{
    const char *start = (const char *)stream->input + *consumed;
    size_t left = stream->input_len - *consumed;
    const char *end = memchr(start, '\n', left);
    struct text line;

    if (!end) {
        if (left >= NET_STREAM_LINE_MAX)
            report_bad_input(stream, NET_STREAM_LINE_TOO_LONG, NULL);
        return false;
    }
    line = (struct text){start, (size_t)(end - start)};
    *consumed += line.len + 1;
    if (line.len && line.bytes[line.len - 1] == '\r')
        line.len--;
    note_message(stream);
    stream->events.on_line(stream->events.userdata, stream, line);
    return true;
}

static bool take_message(struct net_stream *stream, size_t *consumed)
{
    if (stream->deaf || stream->ended || *consumed == stream->input_len)
        return false;
    if (stream->mode == STREAM_MODE_UNKNOWN) {
        bool is_frame = stream->input[0] == (uint8_t)(FRAME_MAGIC >> 24);

        stream->mode = is_frame || !stream->options.lines ? STREAM_MODE_FRAMES : STREAM_MODE_LINES;
    }
    return stream->mode == STREAM_MODE_LINES ? take_line(stream, consumed) : take_frame(stream, consumed);
}

static void deliver_input(struct net_stream *stream)
{
    size_t consumed = 0;

    while (take_message(stream, &consumed))
        ;
    if (stream->closed)
        return;
    if (stream->deaf || stream->ended || (consumed == stream->input_len && stream->input_cap > INPUT_KEEP)) {
        drop_input(stream);
        return;
    }
    stream->input_len -= consumed;
    if (consumed && stream->input_len)
        memmove(stream->input, stream->input + consumed, stream->input_len);
}

/* Makes room for more input: only as much as bytes have come already, so nobody buys memory with a header. */
static int grow_input(struct net_stream *stream)
{
    size_t more = stream->input_cap ? stream->input_cap : INPUT_START;
    uint8_t *grown;

    if (stream->input_len < stream->input_cap)
        return 0;
    if (more > INPUT_MAX - stream->input_cap)
        more = INPUT_MAX - stream->input_cap;
    assert(more > 0); /* a full buffer holds a whole frame, which has been handed over */
    if (!stream_charge(stream, more))
        return NET_STREAM_OVER_BUDGET;
    grown = realloc(stream->input, stream->input_cap + more);
    if (!grown) {
        stream_discharge(stream, more);
        return -ENOMEM;
    }
    stream->input = grown;
    stream->input_cap += more;
    return 0;
}

static ssize_t receive(int fd, void *bytes, size_t len)
{
    ssize_t n;

    do {
        n = recv(fd, bytes, len, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static void handle_input_end(struct net_stream *stream)
{
    stream->input_ended = true;
    if (stream->finishing) {
        if (stream->shut)
            end_stream(stream, NET_STREAM_FINISHED);
    } else if (!stream->events.on_input_end || stream->deaf) {
        end_stream(stream, NET_STREAM_PEER_CLOSED);
    } else {
        stream->limit = instant_add_ns(clock_now(), NET_STREAM_ANSWER_MS * NS_PER_MS);
        set_timer(stream);
        stream->events.on_input_end(stream->events.userdata, stream);
    }
}

/* One recv(2). Returns its bytes, 0 if there is nothing now or the stream has ended. */
static size_t read_once(struct net_stream *stream)
{
    uint8_t waste[INPUT_START];
    ssize_t n;
    int r;

    if (stream->deaf) {
        n = receive(stream->fd, waste, sizeof(waste));
    } else {
        r = grow_input(stream);
        if (r != 0) {
            end_stream(stream, r);
            return 0;
        }
        n = receive(stream->fd, stream->input + stream->input_len, stream->input_cap - stream->input_len);
    }
    if (n == -EAGAIN)
        return 0;
    if (n < 0) {
        end_stream(stream, (int)n);
        return 0;
    }
    if (n == 0) {
        handle_input_end(stream);
        return 0;
    }
    if (!stream->deaf) {
        stream->input_len += (size_t)n;
        deliver_input(stream);
    }
    return (size_t)n;
}

static void read_available(struct net_stream *stream)
{
    size_t total = 0;
    size_t n;

    while (!stream->ended && !stream->input_ended && total < READ_BUDGET && (n = read_once(stream)) > 0)
        total += n;
}

/* --- The socket --- */

static void finish_connect(struct net_stream *stream)
{
    int error = 0;
    socklen_t len = sizeof(error);
    struct sockaddr_storage storage;

    getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error) {
        end_stream(stream, -error);
        return;
    }
    len = sizeof(storage);
    if (getsockname(stream->fd, (struct sockaddr *)&storage, &len) == 0)
        net_address_from_sockaddr((struct sockaddr *)&storage, len, &stream->peer.local);
    stream->connecting = false;
    stream->last_input = clock_now();
    set_timer(stream);
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
            end_stream(stream, r);
        else
            shut_when_sent(stream);
    }
    if (!stream->ended && stream->shut && stream->input_ended)
        end_stream(stream, NET_STREAM_FINISHED);
    if (!stream->ended && ((events & UV_READABLE) || status < 0))
        read_available(stream);
    if (!stream->ended && status < 0 && stream->input_ended)
        end_stream(stream, -ECONNRESET);
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
    set_timer(stream);
    stream_watch(stream);
}

void net_stream_set_events(struct net_stream *stream, const struct net_stream_events *events)
{
    stream->events = *events;
}

static void configure_tcp(int fd, unsigned idle_ms)
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
    configure_tcp(fd, options->idle_ms);
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
    if (stream->shut && stream->input_ended)
        stream->limit = clock_now();
    set_timer(stream);
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
