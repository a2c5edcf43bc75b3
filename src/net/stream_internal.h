/* What stream.c, stream_input.c, stream_output.c and listener.c share. Internal to net/. */
#ifndef NET_STREAM_INTERNAL_H
#define NET_STREAM_INTERNAL_H

#include "net/stream.h"

/* What one source (address or uid) holds through a listener. Lives while it has streams. */
struct stream_source {
    struct stream_source *next;
    struct net_address address; /* family NONE: the uid counts */
    uid_t uid;
    size_t streams;
    size_t bytes; /* receive memory of its streams */
};

enum stream_mode {
    STREAM_MODE_UNKNOWN = 0, /* nothing has come yet */
    STREAM_MODE_FRAMES,
    STREAM_MODE_LINES,
};

/* Waiting bytes of net_stream_send(). */
struct stream_message {
    struct stream_message *next;
    enum net_stream_send_mode mode;
    size_t len;
    size_t sent;
    uint8_t bytes[];
};

struct stream_output {
    struct stream_message *first;
    struct stream_message **last; /* where the next one is linked */
    size_t queued_bytes;
};

struct net_stream {
    uv_poll_t poll;
    uv_timer_t timer;
    unsigned open_handles; /* the memory goes with the last */
    int fd;
    bool connecting;
    bool ended;       /* on_closed has been or need not be called */
    bool closed;      /* by its owner */
    bool input_ended; /* end of file seen */
    bool deaf;        /* input is thrown away: bad, or finishing */
    bool finishing;
    bool shut; /* SHUT_WR done */
    bool had_input;
    enum stream_mode mode;
    int watched;               /* events that poll waits for */
    struct instant last_input; /* of connecting or opening, before the first */
    struct instant limit;      /* of finishing, or of the answer after the end of input */
    struct net_stream_options options;
    struct net_stream_events events;
    struct net_stream_peer peer;
    struct net_listener *listener; /* NULL: we connected */
    struct stream_source *source;  /* NULL without a listener */
    uint8_t *input;                /* owned; input_cap bytes, input_len used */
    size_t input_len;
    size_t input_cap;
    struct stream_output output;
};

/* Wraps a connected socket, taken over also on failure. 0 or -errno. */
int stream_new(uv_loop_t *loop, int take_fd, const struct net_stream_options *options,
               struct net_stream **ret_stream);

/* Starts reading and its time limits. */
void stream_start(struct net_stream *stream);

/* Changes what poll waits for, by the stream's state. */
void stream_watch(struct net_stream *stream);

/* Ends the stream and tells its owner, once. */
void stream_end(struct net_stream *stream, int end);

/* Sets the timer to the next of the stream's time limits. */
void stream_set_timer(struct net_stream *stream);

/* Reads and delivers what has come, as far as one wake-up may. */
void stream_read(struct net_stream *stream);

/* No delay, and the idle time-out as TCP_USER_TIMEOUT. */
void stream_configure_tcp(int fd, unsigned idle_ms);

void stream_output_init(struct stream_output *output);
void stream_output_deinit(struct stream_output *output);

/* Sends waiting bytes as far as the kernel takes them. 0 or -errno of a broken connection. */
int stream_output_flush(struct stream_output *output, int fd);

/* A source's account; false if its budget does not allow `bytes` more. Without a listener always true. */
bool stream_charge(struct net_stream *stream, size_t bytes);
void stream_discharge(struct net_stream *stream, size_t bytes);

/* The listener's share of a stream's end: counters, and its place in the account. */
void stream_count_end(struct net_stream *stream, int end);
void stream_leave_listener(struct net_stream *stream);

#endif
