/*
 * The TCP connections of the responder, each with the number by which proto/ knows it.
 */
#ifndef SERVER_STREAMS_H
#define SERVER_STREAMS_H

#include "net/stream.h"
#include "proto/peer.h"

#define STREAMS_SPARE 32 /* connections beyond max_connections, to be refused in words */

struct streams_events {
    /* A whole frame; it may be changed. Returns false to end the connection once what was sent has left. */
    bool (*on_frame)(void *userdata, const struct peer *from, uint8_t *frame, size_t len);
    /* A frame of another version: writes the answer, returns its length (at most `cap`). */
    size_t (*on_other_version)(void *userdata, uint64_t request_id, uint8_t *frame, size_t cap);
    void (*on_closed)(void *userdata, uint64_t stream);
    void *userdata;
};

struct streams_options {
    int take_fd;            /* listening */
    size_t max_connections; /* sessions; a few more connections are accepted */
    size_t per_source;      /* likewise */
    unsigned idle_ms;
    uint64_t seed; /* of net_peer_make() */
};

struct streams;

/* Returns 0 or -errno. The descriptor is taken over in any case. */
int streams_open(uv_loop_t *loop, const struct streams_options *options, const struct streams_events *events,
                 struct streams **ret_streams);

/* Ends all; NULL is accepted. No event follows. */
void streams_close(struct streams *streams);

/* Sends a frame; nothing happens if the connection is gone. */
void streams_send(struct streams *streams, uint64_t stream, const uint8_t *bytes, size_t len);

/* Sends what waits and ends the connection. */
void streams_finish(struct streams *streams, uint64_t stream);

/* No more connections are accepted; those that are there are finished. */
void streams_stop(struct streams *streams);

size_t streams_count(const struct streams *streams);
const struct net_listener_counters *streams_counters(const struct streams *streams);

#endif
