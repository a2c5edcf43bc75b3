#include "net/stream_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define INPUT_START 4096u /* bytes; doubled while a frame or line needs more */
#define INPUT_MAX   (FRAME_HEADER_SIZE + FRAME_BODY_MAX)
#define INPUT_KEEP  (64u << 10)  /* a bigger empty buffer is given back */
#define READ_BUDGET (256u << 10) /* bytes per wake-up, so that one peer cannot hold the loop */

static void note_message(struct net_stream *stream)
{
    bool first = !stream->had_input;

    stream->had_input = true;
    stream->last_input = clock_now();
    /* Later messages need no new timer: check_limits() looks at last_input. */
    if (first)
        stream_set_timer(stream);
}

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
        stream_end(stream, -EBADMSG);
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
            stream_end(stream, NET_STREAM_FINISHED);
    } else if (!stream->events.on_input_end || stream->deaf) {
        stream_end(stream, NET_STREAM_PEER_CLOSED);
    } else {
        stream->limit = instant_add_ns(clock_now(), NET_STREAM_ANSWER_MS * NS_PER_MS);
        stream_set_timer(stream);
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
            stream_end(stream, r);
            return 0;
        }
        n = receive(stream->fd, stream->input + stream->input_len, stream->input_cap - stream->input_len);
    }
    if (n == -EAGAIN)
        return 0;
    if (n < 0) {
        stream_end(stream, (int)n);
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

void stream_read(struct net_stream *stream)
{
    size_t total = 0;
    size_t n;

    while (!stream->ended && !stream->input_ended && total < READ_BUDGET && (n = read_once(stream)) > 0)
        total += n;
}
