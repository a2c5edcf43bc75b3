/*
 * Connections that carry frames: TCP between backend and server, Unix sockets between CLI and backend. A
 * stream hands over whole frames (header checked, length capped before anything is allocated) or, where
 * allowed, lines of text; it sends without ever waiting. Sockets are our own, non-blocking, on the loop.
 *
 * Life: the opener gets a struct net_stream (in on_accept or from net_stream_connect()) and calls
 * net_stream_close() exactly once, from anywhere, also from its events. on_closed comes at most once, when
 * the stream ends by itself; after it, only net_stream_close() may be called.
 */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include "core/clock.h"
#include "net/address.h"
#include "wire/frame.h"

#include <sys/types.h>
#include <uv.h>

#define NET_STREAM_FIRST_FRAME_MS 2000u       /* to the first whole frame */
#define NET_STREAM_LINE_MAX       (64u << 10) /* bytes of a text line */
#define NET_STREAM_QUEUE_BYTES    (4u << 20)  /* default cap of what waits to be sent */
#define NET_STREAM_FINISH_MS      1000u       /* net_stream_finish(): at most this long */

struct net_stream;

/* After the peer's end of input, its owner has this long to answer. */
#define NET_STREAM_ANSWER_MS 10000u

/* Who is at the other end. */
struct net_stream_peer {
    struct net_address address; /* TCP; family NONE for Unix sockets */
    struct net_address local;   /* TCP: our own address */
    uid_t uid;                  /* Unix sockets: SO_PEERCRED; else (uid_t)-1 */
    gid_t gid;
    pid_t pid;
};

/* Input that no peer of ours sends. */
enum net_stream_bad_input {
    NET_STREAM_BAD_MAGIC = 1,
    NET_STREAM_BAD_VERSION, /* `header` is given: answer with both versions */
    NET_STREAM_FRAME_TOO_LONG,
    NET_STREAM_LINE_TOO_LONG, /* NET_STREAM_LINE_MAX without a newline */
};

/* Why a stream ended, beside -errno (such as -ECONNRESET, or -ETIMEDOUT by TCP_USER_TIMEOUT). */
enum net_stream_end {
    NET_STREAM_PEER_CLOSED = 0,
    NET_STREAM_CONNECT_LATE = 1, /* no connection within connect_ms */
    NET_STREAM_FIRST_LATE,       /* no whole frame or line within first_ms */
    NET_STREAM_IDLE,             /* no whole frame or line for idle_ms */
    NET_STREAM_OVER_BUDGET,      /* the source's partial frames take more than its budget */
    NET_STREAM_FINISHED,         /* net_stream_finish() is done */
};

struct net_stream_events {
    void (*on_connected)(void *userdata,
                         struct net_stream *stream); /* only of net_stream_connect(); may be NULL */
    /* `frame`: header and body, `len` bytes, for the time of the call. */
    void (*on_frame)(void *userdata, struct net_stream *stream, const struct frame_header *header,
                     const uint8_t *frame, size_t len);
    /* Line mode only: without its newline (and a carriage return before it); for the time of the call. */
    void (*on_line)(void *userdata, struct net_stream *stream, struct text line);
    /*
     * May be NULL: on_closed (NET_STREAM_PEER_CLOSED) comes instead. The peer sends no more but may still
     * read, as after `echo LIST | socat - UNIX:...`. The owner sends what is still owed and calls
     * net_stream_finish(), within NET_STREAM_ANSWER_MS.
     */
    void (*on_input_end)(void *userdata, struct net_stream *stream);
    /*
     * Reading has ended for good. The owner may send an explanation and calls net_stream_finish(), or closes.
     * May be NULL: the stream then ends with -EBADMSG. `header`: only of BAD_VERSION, else NULL.
     */
    void (*on_bad_input)(void *userdata, struct net_stream *stream, enum net_stream_bad_input what,
                         const struct frame_header *header);
    /* `end`: enum net_stream_end or -errno. */
    void (*on_closed)(void *userdata, struct net_stream *stream, int end);
    void *userdata;
};

struct net_stream_options {
    bool lines;             /* the first byte decides: 'C' (frame magic) is frames, else lines of text */
    unsigned connect_ms;    /* net_stream_connect(): 0 means NET_STREAM_FIRST_FRAME_MS */
    unsigned first_ms;      /* first whole frame or line; 0: no limit */
    unsigned idle_ms;       /* later ones, and TCP_USER_TIMEOUT; 0: no limit */
    size_t queue_max_bytes; /* waiting to be sent; 0: NET_STREAM_QUEUE_BYTES */
};

/*
 * Opens a TCP connection; on_connected or on_closed follows. Returns 0 or -errno (on_closed is not called
 * then). *options and *events are copied.
 */
int net_stream_connect(uv_loop_t *loop, const struct net_address *to,
                       const struct net_stream_options *options, const struct net_stream_events *events,
                       struct net_stream **ret_stream);

/* Gives an accepted stream its owner. Call it in on_accept: until then nothing is read. */
void net_stream_set_events(struct net_stream *stream, const struct net_stream_events *events);

/* Ends at once; nothing waiting is sent, no event follows. NULL is accepted. */
void net_stream_close(struct net_stream *stream);

/*
 * Sends what waits, tells the peer that this is all, drops further input, and ends with on_closed
 * (NET_STREAM_FINISHED) when the peer has closed too or after NET_STREAM_FINISH_MS.
 */
void net_stream_finish(struct net_stream *stream);

enum net_stream_send_mode {
    NET_STREAM_KEEP = 0,   /* must arrive: waits in turn */
    NET_STREAM_LATEST = 1, /* replaces an earlier LATEST message of which nothing has been sent yet */
};

enum net_stream_outcome {
    NET_STREAM_REPLACED = 1, /* accepted; an older LATEST message was dropped for it */
    NET_STREAM_FULL = 2,     /* not accepted: the queue's cap is reached; nothing was sent of it */
};

/*
 * Sends one message: one or several whole frames, or lines (all of it or nothing of it arrives). The bytes
 * are copied only where the kernel does not take them at once. Returns 0, NET_STREAM_REPLACED,
 * NET_STREAM_FULL, -ENOTCONN (not connected yet, finished or ended) or -ENOMEM. A broken connection is told
 * by on_closed, not here.
 */
int net_stream_send(struct net_stream *stream, const void *bytes, size_t len, enum net_stream_send_mode mode);

/* Bytes waiting to be sent. */
size_t net_stream_queued(const struct net_stream *stream);

const struct net_stream_peer *net_stream_peer(const struct net_stream *stream);

/* Moment of the last whole frame or line (of opening, before the first): the idlest is the earliest. */
struct instant net_stream_last_input(const struct net_stream *stream);

/* --- Listening --- */

struct net_listener;

struct net_listener_options {
    struct net_stream_options stream;
    size_t max_streams;    /* 0: 1024. Beyond: accepted and closed at once, counted */
    size_t max_per_source; /* per address (/64 in IPv6) or uid; 0: no limit. Beyond: the same */
    size_t source_bytes;   /* receive memory of all streams of one source together; 0: 4 MiB */
};

struct net_listener_events {
    /*
     * A connection. The callee calls net_stream_set_events(), or net_stream_close() to refuse. The stream
     * counts for its source until it is closed.
     */
    void (*on_accept)(void *userdata, struct net_stream *stream, const struct net_stream_peer *peer);
    /*
     * May be NULL. Accepting failed (-EMFILE, -ENFILE, -ENOBUFS, -ENOMEM): it pauses for 100 ms at a time.
     * Told once, and once more with 0 when it works again.
     */
    void (*on_accept_trouble)(void *userdata, int error);
    void *userdata;
};

struct net_listener_counters {
    uint64_t accepted;
    uint64_t over_total;      /* closed at once: max_streams */
    uint64_t over_per_source; /* closed at once: max_per_source */
    uint64_t accept_failed;
    uint64_t bad_input;
    uint64_t over_budget;
    uint64_t late; /* first frame or idle time-out */
};

/*
 * Accepts on a listening socket (net/port.h, net/unix.h), which is taken over (closed also on failure).
 * Returns 0 or -errno.
 */
int net_listener_open(uv_loop_t *loop, int take_fd, const struct net_listener_options *options,
                      const struct net_listener_events *events, struct net_listener **ret_listener);

/* Listens on a TCP address (family NONE: every address). Returns 0 or -errno. */
int net_listener_open_tcp(uv_loop_t *loop, const struct net_address *bind,
                          const struct net_listener_options *options,
                          const struct net_listener_events *events, struct net_listener **ret_listener);

/* Stops listening. Its streams live on; they are their owners'. NULL is accepted. */
void net_listener_close(struct net_listener *listener);

size_t net_listener_streams(const struct net_listener *listener);
const struct net_listener_counters *net_listener_counters(const struct net_listener *listener);

#endif
