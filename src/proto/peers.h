/*
 * The server's side of sessions: who has one, who may, and what is answered to whom. UDP and TCP alike; over
 * UDP a peer first proves its address with a cookie, and until then nothing is kept about it and no answer is
 * longer than its request. docs/protocol.md, "Sessions".
 *
 * No I/O, no clock, no allocation after creation; memory does not depend on what comes in. The owner passes
 * in datagrams or frames and the time, and gets calls of struct peers_events, which may call peers_answer()
 * but nothing else here.
 */
#ifndef PROTO_PEERS_H
#define PROTO_PEERS_H

#include "core/clock.h"
#include "proto/peer.h"
#include "wire/message.h"
#include "wire/seal.h"

#define PEERS_PER_SOURCE    8          /* sessions per source address */
#define PEERS_SESSIONS_MAX  65536u     /* largest max_connections */
#define PEERS_RESEND_NS     NS_PER_S   /* a reply is kept for RESEND */
#define PEERS_BUSY_NS       NS_PER_S   /* a session that asked so lately is not dropped for another */
#define PEERS_REPLIES_BYTES (4u << 20) /* default of reply_bytes */

struct peers;

/* Names a query until it is answered. */
struct peers_ticket {
    uint64_t token, request_id;
};

struct peers_query {
    struct peers_ticket ticket;
    const struct peer *peer;
    uint64_t facts_hash;         /* known to the asker; 0: none */
    uint64_t process_generation; /* likewise */
    uint32_t interval_us;        /* somebody watches this often; 0: one picture */
};

enum peers_change {
    PEERS_SESSION_NEW,      /* its first authentic frame came */
    PEERS_SESSION_GOODBYE,  /* the peer ended it */
    PEERS_SESSION_IDLE,     /* nothing came for the idle time-out */
    PEERS_SESSION_DROPPED,  /* the idlest, for a new one */
    PEERS_SESSION_REPLACED, /* the peer has a newer one */
    PEERS_SESSION_CLOSED,   /* its connection ended */
};

struct peers_events {
    /* Send this datagram, or (peer->stream != 0) this frame. The bytes are only there during the call. */
    void (*on_send)(void *userdata, const struct peer *peer, const uint8_t *bytes, size_t len);

    /* security.allow: may this address ask? */
    bool (*on_allow)(void *userdata, const struct peer *peer);

    /*
     * A question. Answer with peers_answer(), now or later (when a picture has been taken); only the last one
     * of a session can still be answered.
     */
    void (*on_query)(void *userdata, const struct peers_query *query);

    /* The present facts, for a WELCOME: fills hash and bytes; leaves both alone if nothing was read yet. */
    void (*on_facts)(void *userdata, uint64_t *ret_hash, struct reader *ret_facts);

    /* The MTU towards a peer in bytes (udp_mtu or net_path_mtu()). Asked once per session. */
    size_t (*on_mtu)(void *userdata, const struct peer *peer);

    /* For the log. May be NULL. */
    void (*on_session)(void *userdata, const struct peer *peer, enum peers_change change);

    /* A refusal to be logged: at most one per source and reason in 10 minutes, and few in total. May be NULL.
     */
    void (*on_refused)(void *userdata, const struct peer *peer, enum refuse_reason reason);
    void *userdata;
};

struct peers_options {
    struct random_source random;
    struct message_node node;
    struct text software;               /* the server's version; lives as long as the table */
    uint8_t secret[COOKIE_SECRET_SIZE]; /* random, made at start */
    size_t max_connections;             /* 1 to PEERS_SESSIONS_MAX */
    size_t per_source;                  /* 0: PEERS_PER_SOURCE */
    size_t reply_bytes;           /* memory for replies kept for RESEND; 0: PEERS_REPLIES_BYTES; at least
                                   * 2 * CHUNK_FRAME_MAX */
    int64_t idle_timeout_ns;      /* connecting.connection_idle_timeout */
    const struct seal_keys *keys; /* NULL or none in it: plain. Borrowed until peers_set_keys() */
};

/* Returns 0, -EINVAL (options out of range) or -ENOMEM. About 200 bytes per connection and the replies. */
int peers_new(const struct peers_options *options, const struct peers_events *events,
              struct peers **ret_peers);
void peers_free(struct peers *peers);

/* Outcomes of the ladder and counters for STATUS, one per rung. */
enum peers_input {
    PEERS_INPUT_TAKEN = 0,
    PEERS_INPUT_BAD_CHUNK,     /* chunk_read(), or a frame in several chunks: no request needs that */
    PEERS_INPUT_BAD_FRAME,     /* magic or length */
    PEERS_INPUT_OTHER_VERSION, /* of datagram, frame or conversation; answered with ours */
    PEERS_INPUT_NOT_ALLOWED,   /* security.allow; refused */
    PEERS_INPUT_RATE,          /* too many from this source; refused at times */
    PEERS_INPUT_UNSEALED,      /* plain, where keys are set; refused */
    PEERS_INPUT_SEALED,        /* sealed, where none are */
    PEERS_INPUT_BAD_SEAL,      /* unknown key, or damaged */
    PEERS_INPUT_REPLAYED,      /* a sequence number seen before */
    PEERS_INPUT_BAD_TYPE,      /* nothing that a backend sends */
    PEERS_INPUT_BAD_MESSAGE,   /* malformed */
    PEERS_INPUT_BAD_COOKIE,    /* answered with a new one */
    PEERS_INPUT_FULL,          /* max_connections, or per_source; refused */
    PEERS_INPUT_UNKNOWN,       /* no such session; refused */
    PEERS_INPUT_STALE,         /* RESEND of a reply that is no longer kept */
    PEERS_INPUTS
};

/* A datagram came. Returns what became of it. */
enum peers_input peers_datagram(struct peers *peers, struct instant now, const struct peer *from,
                                const uint8_t *bytes, size_t len);

/* A whole frame came over a connection (from->stream != 0); it may be changed. */
enum peers_input peers_stream_frame(struct peers *peers, struct instant now, const struct peer *from,
                                    uint8_t *frame, size_t len);

/*
 * A stream began with something else (net/stream.h): the refusal that names our versions, for a peer whose
 * frames have another version. Writes at most PEERS_REFUSAL_SIZE bytes, returns how many.
 */
#define PEERS_REFUSAL_SIZE 128
size_t peers_version_refusal(uint64_t request_id, uint8_t ret_frame[PEERS_REFUSAL_SIZE]);

/* A connection ended. */
void peers_stream_closed(struct peers *peers, uint64_t stream);

/*
 * Answers a query. reply->token is filled in; its parts are borrowed during the call. Returns 0; 1 if the
 * session or question is gone; -EMSGSIZE if the reply does not fit a frame.
 */
int peers_answer(struct peers *peers, struct instant now, const struct peers_ticket *ticket,
                 const struct message_reply *reply);

/* When peers_tick() is due. */
struct instant peers_next(const struct peers *peers);
void peers_tick(struct peers *peers, struct instant now);

/* Other keys from now on. Sessions go on under those that they have. */
void peers_set_keys(struct peers *peers, const struct seal_keys *keys);

/* Says goodbye to all sessions and forgets them. */
void peers_stop(struct peers *peers, struct instant now);

struct peers_counters {
    uint64_t input[PEERS_INPUTS];
    uint64_t queries, replies, resends, pings;
    uint64_t sessions; /* since the start */
    uint64_t sessions_idle, sessions_dropped;
    uint64_t refused[8];         /* sent, by reason */
    uint64_t refusals_kept_back; /* not sent, for their rate */
};
const struct peers_counters *peers_counters(const struct peers *peers);
const char *peers_input_name(enum peers_input input);

/* Sessions at present, and the most there may be. */
size_t peers_sessions(const struct peers *peers);
size_t peers_sessions_max(const struct peers *peers);

/* Lists sessions: the i-th, or false behind the last. For `clustat-server status`. */
struct peers_session {
    const struct peer *peer;
    uint64_t queries;
    struct instant last_query, last_heard;
};
bool peers_session_at(const struct peers *peers, size_t i, struct peers_session *ret_session);

#endif
