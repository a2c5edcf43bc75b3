/* What the parts of the server's table share. Private to src/proto/. */
#ifndef PROTO_PEERS_INTERNAL_H
#define PROTO_PEERS_INTERNAL_H

#include "proto/envelope.h"
#include "proto/peers.h"
#include "proto/rate.h"
#include "proto/timers.h"
#include "wire/replay.h"

#include <stddef.h>

/* The last reply of a session: where it lies in the ring of replies. */
struct kept_reply {
    uint64_t request_id;
    uint64_t at; /* bytes written to the ring before it, since creation */
    struct instant made;
    struct chunk_sender sender;
    bool used;
};

struct session {
    bool used, proved; /* proved: a frame of the session came, so the peer did get the WELCOME */
    struct peer peer;
    uint64_t token;
    uint64_t client_nonce, server_nonce;
    uint8_t version;
    bool sealed;
    struct seal_key key;
    uint64_t sequence;
    struct replay_window replay;
    size_t payload_size; /* of its datagrams */
    struct instant begun, last_heard, last_query;
    uint64_t queries;
    bool waits; /* a query is with the owner */
    uint64_t waiting_request;
    struct kept_reply kept;
    struct timer timer; /* idle, or not proved in time */
};

struct peers {
    struct peers_options options;
    struct peers_events events;
    struct session *sessions; /* owned: max_connections */
    size_t count;
    struct timers timers;
    uint32_t frame_id;
    uint8_t *ring; /* owned: replies, each in one piece */
    size_t ring_cap;
    uint64_t ring_written;
    struct rate *handshakes, *requests, *refusals, *log_lines; /* owned */
    uint8_t frame[CHUNK_HEADER_SIZE + 4096];                   /* a request, to be opened where it lies */
    struct peers_counters counters;
};

/* A request on its way down the ladder. */
struct request {
    struct instant now;
    const struct peer *from;
    struct frame_header header;
    struct reader body;
    size_t frame_len;
    bool sealed;
    const struct seal_key *key; /* of the file, under which it was sealed; NULL: plain or under a session's */
    struct session *session;    /* the one whose key opened it */
};

/* peers.c */
void peers_say_goodbye(struct peers *peers, struct session *session, enum goodbye_reason reason);
void peers_forget(struct peers *peers, struct session *session, enum peers_change change);
void peers_send(struct peers *peers, const struct peer *to, struct envelope *envelope,
                struct session *session);
void peers_refuse(struct peers *peers, const struct request *request, enum refuse_reason reason);
struct session *peers_find_token(struct peers *peers, uint64_t token);

/* peers_shake.c */
enum peers_input peers_on_hello(struct peers *peers, const struct request *request);
void peers_proved(struct peers *peers, struct session *session);

/* peers_session.c */
enum peers_input peers_on_session_frame(struct peers *peers, const struct request *request);
void peers_keep_alive(struct peers *peers, struct session *session, struct instant now);

#endif
