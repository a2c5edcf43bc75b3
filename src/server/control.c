#include "server/control.h"

#include "core/cleanup.h"
#include "net/loop.h"
#include "net/stream.h"
#include "net/unix.h"
#include "server/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOOK_AGAIN_NS (20 * NS_PER_MS) /* whether the sampler has ended */
#define REQUEST_MS    5000u

struct connection {
    struct control *control;
    struct net_stream *stream; /* NULL: free */
    struct instant wait_ends;  /* of a PAUSE that waits for the sampler's end; 0: none */
};

struct control {
    struct control_events events;
    struct net_unix_socket socket;
    struct net_listener *listener;
    struct net_timer timer;
    struct connection connections[CONTROL_CONNECTIONS];
};

/* ---- answers ---- */

static void finish(struct connection *connection, struct text answer)
{
    connection->wait_ends = (struct instant){0};
    net_stream_send(connection->stream, answer.bytes, answer.len, NET_STREAM_KEEP);
    net_stream_finish(connection->stream);
}

static void answer_status(struct connection *connection, bool json)
{
    struct control *control = connection->control;
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;

    control->events.on_status(control->events.userdata, json, &out);
    if (buffer_error(&out))
        finish(connection, TEXT_LITERAL("ERR out of memory\n"));
    else
        finish(connection, buffer_text(&out));
}

/* True if it was answered. */
static bool try_answer_pause(struct connection *connection, struct instant now)
{
    struct control *control = connection->control;

    if (!control->events.is_leaving(control->events.userdata))
        finish(connection, TEXT_LITERAL("OK paused: no GPU is in use by clustat\n"));
    else if (instant_since_ns(now, connection->wait_ends) >= 0)
        finish(connection,
               TEXT_LITERAL("OK paused, but the sampler still hangs in a driver call: GPUs are in use "
                            "until it returns\n"));
    else
        return false;
    return true;
}

static void on_timer(void *userdata)
{
    struct control *control = userdata;
    struct instant now = clock_now();
    bool waiting = false;

    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
        if (control->connections[i].stream && control->connections[i].wait_ends.ns)
            waiting |= !try_answer_pause(&control->connections[i], now);
    if (waiting)
        net_timer_set(&control->timer, instant_add_ns(now, LOOK_AGAIN_NS));
}

static void take_pause(struct connection *connection, struct text operand)
{
    struct control *control = connection->control;
    unsigned long long secs = 0;
    struct instant now = clock_now();

    if (operand.len && (text_parse_decimal(operand, PAUSE_SECS_MAX, &secs) < 0 || !secs)) {
        finish(connection, TEXT_LITERAL("ERR allowed are 1 to 604800 seconds\n"));
        return;
    }
    control->events.on_pause(control->events.userdata, (uint32_t)secs);
    connection->wait_ends = instant_add_ns(now, CONTROL_PAUSE_WAIT_NS);
    if (!try_answer_pause(connection, now))
        net_timer_set(&control->timer, instant_add_ns(now, LOOK_AGAIN_NS));
}

static void take_resume(struct connection *connection)
{
    struct control *control = connection->control;

    if (control->events.on_resume(control->events.userdata))
        finish(connection, TEXT_LITERAL("OK resumed\n"));
    else
        finish(connection, TEXT_LITERAL("OK it was not paused\n"));
}

/* ---- requests ---- */

static void on_line(void *userdata, struct net_stream *stream, struct text line)
{
    struct connection *connection = userdata;
    const char *blank = memchr(line.bytes, ' ', line.len);
    size_t word_len = blank ? (size_t)(blank - line.bytes) : line.len;
    struct text word = {line.bytes, word_len}, operand = {"", 0};

    (void)stream;
    if (blank)
        operand = (struct text){blank + 1, line.len - word_len - 1};
    if (text_equal_string(word, "STATUS") && (!operand.len || text_equal_string(operand, "json")))
        answer_status(connection, operand.len > 0);
    else if (text_equal_string(word, "PAUSE"))
        take_pause(connection, operand);
    else if (text_equal_string(word, "RESUME") && !operand.len)
        take_resume(connection);
    else
        finish(connection, TEXT_LITERAL("ERR allowed are STATUS [json], PAUSE [SECS], RESUME\n"));
}

static void on_frame(void *userdata, struct net_stream *stream, const struct frame_header *header,
                     const uint8_t *frame, size_t len)
{
    (void)stream;
    (void)header;
    (void)frame;
    (void)len;
    finish(userdata, TEXT_LITERAL("ERR this socket takes lines of text\n"));
}

static void on_bad_input(void *userdata, struct net_stream *stream, enum net_stream_bad_input what,
                         const struct frame_header *header)
{
    (void)stream;
    (void)what;
    (void)header;
    finish(userdata, TEXT_LITERAL("ERR this socket takes short lines of text\n"));
}

/* As after `echo STATUS | socat - UNIX:...`: a PAUSE may still be owed its answer. */
static void on_input_end(void *userdata, struct net_stream *stream)
{
    struct connection *connection = userdata;

    if (!connection->wait_ends.ns)
        net_stream_finish(stream);
}

static void on_closed(void *userdata, struct net_stream *stream, int end)
{
    struct connection *connection = userdata;

    (void)end;
    connection->stream = NULL;
    connection->wait_ends = (struct instant){0};
    net_stream_close(stream);
}

static void on_accept(void *userdata, struct net_stream *stream, const struct net_stream_peer *peer)
{
    struct control *control = userdata;
    struct net_stream_events events = {.on_frame = on_frame,
                                       .on_line = on_line,
                                       .on_input_end = on_input_end,
                                       .on_bad_input = on_bad_input,
                                       .on_closed = on_closed};
    size_t i = 0;

    while (i < CONTROL_CONNECTIONS && control->connections[i].stream)
        i++;
    if (i == CONTROL_CONNECTIONS || (peer->uid != 0 && peer->uid != geteuid())) {
        net_stream_close(stream);
        return;
    }
    control->connections[i] = (struct connection){.control = control, .stream = stream};
    events.userdata = &control->connections[i];
    net_stream_set_events(stream, &events);
}

/* ---- life ---- */

static int listen_at(const char *path, struct net_unix_socket *socket, struct buffer *why)
{
    struct net_unix_holder holder = {0};
    int r = net_unix_listen(path, 0600, socket, &holder);

    if (r == -EADDRINUSE)
        buffer_printf(why,
                      "%s: another server (pid %ld, uid %ld) listens there; name another path with "
                      "--control-socket",
                      path, (long)holder.pid, (long)(int)holder.uid);
    else if (r == -EEXIST)
        buffer_printf(why, "%s: exists and is no socket of ours", path);
    else if (r < 0)
        buffer_printf(why, "%s: %s", path, strerror(-r));
    return r;
}

int control_open(uv_loop_t *loop, const char *path, const struct control_events *events,
                 struct control **ret_control, struct buffer *why)
{
    struct net_listener_options options = {
        .stream = {.lines = true, .first_ms = REQUEST_MS},
        .max_streams = CONTROL_CONNECTIONS,
    };
    struct net_listener_events listener_events = {.on_accept = on_accept};
    struct control *control = calloc(1, sizeof(*control));
    int r = -ENOMEM;

    if (control)
        r = listen_at(path, &control->socket, why);
    if (r < 0) {
        free(control);
        return r;
    }
    control->events = *events;
    listener_events.userdata = control;
    r = net_listener_open(loop, steal_fd(&control->socket.fd), &options, &listener_events,
                          &control->listener);
    if (r < 0) {
        buffer_printf(why, "%s: %s", path, strerror(-r));
        net_unix_socket_deinit(&control->socket);
        free(control);
        return r;
    }
    net_timer_init(&control->timer, loop, on_timer, control);
    *ret_control = control;
    return 0;
}

void control_close(struct control *control)
{
    if (!control)
        return;
    net_listener_close(control->listener);
    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++) {
        net_stream_close(control->connections[i].stream);
        control->connections[i].stream = NULL;
    }
    net_timer_deinit(&control->timer);
    net_unix_socket_deinit(&control->socket);
}

void control_free(struct control *control)
{
    free(control);
}

char *control_default_path(bool make, char buf[static CONTROL_PATH_CAP])
{
    const char *own = getenv("XDG_RUNTIME_DIR");
    int len;

    snprintf(buf, CONTROL_PATH_CAP, "%s", CONTROL_PATH);
    if (geteuid() == 0 || !own || own[0] != '/' || access("/run/clustat-server", W_OK) == 0)
        return buf;
    len = snprintf(buf, CONTROL_PATH_CAP, "%s/clustat-server", own);
    if (make && len > 0 && len < CONTROL_PATH_CAP)
        mkdir(buf, 0700);
    len = snprintf(buf, CONTROL_PATH_CAP, "%s/clustat-server/control", own);
    if (len < 0 || len >= CONTROL_PATH_CAP)
        snprintf(buf, CONTROL_PATH_CAP, "%s", CONTROL_PATH);
    return buf;
}
