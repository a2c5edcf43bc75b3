/*
 * The bodies of all frames of the network and of the local API. docs/protocol.md describes every byte.
 *
 * For each there is a struct, message_put_X() that appends the body to a writer, and message_get_X() that
 * reads one: 0, or -EBADMSG if anything is too short, too long or out of range (*ret_message is then
 * untouched). What newer versions append to a body is skipped. Texts and parts borrow from the body's bytes.
 * No I/O, no allocation.
 *
 * A sender keeps to the caps below: longer texts are cut, longer lists make the writer fail.
 */
#ifndef WIRE_MESSAGE_H
#define WIRE_MESSAGE_H

#include "model/view.h"
#include "wire/cookie.h"
#include "wire/frame.h"

/* Versions of the conversation that this program speaks. */
#define PROTOCOL_VERSION_MIN 1
#define PROTOCOL_VERSION_MAX 1

#define MESSAGE_TEXT_MAX   255 /* every text but these: */
#define MESSAGE_ERROR_MAX  1024
#define MESSAGE_FILTER_MAX (64u << 10)
#define MESSAGE_USERS_MAX  1024
#define MESSAGE_BLOOM_MAX  512 /* bytes of a probe's digest */
#define MESSAGE_BITMAP_MAX 128 /* bytes: a bit for each of CHUNK_MAX chunks */

/* ---- handshake ---- */

/*
 * The same size with and without cookie (padding fills up), so that whatever a server answers to a stranger
 * is no larger than what he sent.
 */
struct message_hello {
    uint8_t version_min, version_max; /* of the conversation */
    uint64_t nonce;                   /* random, echoed by every answer */
    uint64_t instance;                /* random, one per start of the backend */
    bool has_cookie;
    uint8_t cookie[COOKIE_SIZE];
};

struct message_challenge {
    uint64_t nonce; /* of the HELLO */
    uint8_t cookie[COOKIE_SIZE];
};

/* The identity of a running server. */
struct message_node {
    uint8_t identity[IDENTITY_SIZE];
    uint64_t instance; /* random, one per start of the server */
};

struct message_welcome {
    uint64_t nonce;        /* of the HELLO */
    uint64_t token;        /* of the new session; never 0 */
    uint64_t server_nonce; /* random; with the client's it makes the session's key */
    struct message_node node;
    uint8_t version;          /* of the conversation from here on */
    uint32_t idle_timeout_ms; /* silence after which either side gives the session up */
    struct text software;     /* the server's version, for people */
    uint64_t facts_hash;      /* 0: nothing read yet */
    struct reader facts;      /* sections 1 and 2 of the snapshot; empty if nothing was read yet */
};

/* Numbers on the wire: append only. */
enum refuse_reason {
    REFUSE_NOT_ALLOWED = 1,     /* the address is not in security.allow */
    REFUSE_VERSION = 2,         /* version_min and version_max say what is spoken */
    REFUSE_FULL = 3,            /* max_connections */
    REFUSE_UNKNOWN_SESSION = 4, /* shake hands again */
    REFUSE_SEALED_ONLY = 5,     /* the cluster has a key */
    REFUSE_RATE = 6,            /* too many requests from this address */
};

struct message_refuse {
    uint64_t echo;  /* nonce of the refused HELLO; of another frame its request id */
    uint8_t reason; /* enum refuse_reason, or one of a newer server */
    uint8_t version_min, version_max;
};

/* ---- session ---- */

struct message_query {
    uint64_t token;
    uint64_t facts_hash;         /* of the facts known; 0: none */
    uint64_t process_generation; /* of the process facts known; 0: none */
    uint32_t interval_us;        /* somebody watches this often; 0: one picture */
};

enum reply_flag {
    REPLY_WARMING = 1 << 0, /* nothing was read yet: all parts are empty */
};

struct message_reply {
    uint64_t token;
    unsigned flags;  /* enum reply_flag */
    uint64_t age_us; /* of the snapshot when this left the server, to be added to every age in it */
    uint64_t facts_hash;
    uint64_t process_generation;      /* the receiver's from here on */
    uint64_t process_base_generation; /* what process_facts builds on: 0: it is complete */
    struct reader readings;           /* sections 4 to 7 */
    struct reader facts;              /* empty: as known */
    struct reader process_facts;      /* empty: as known */
};

/* Asks for the missing chunks of the last reply. */
struct message_resend {
    uint64_t token;
    uint64_t request_id;                 /* of the query */
    uint16_t chunks;                     /* of the reply, 1 to 1024 */
    uint8_t missing[MESSAGE_BITMAP_MAX]; /* bit i % 8 (1 is the lowest) of byte i / 8: chunk i is missing */
};

enum goodbye_reason {
    GOODBYE_STOPPING = 1, /* the program ends */
    GOODBYE_IDLE = 2,     /* nobody asks; or the server needs the place */
};

struct message_goodbye {
    uint64_t token;
    uint8_t reason; /* enum goodbye_reason, or one of a newer peer */
};

/* PING and its answer PONG, which repeats both numbers. */
struct message_ping {
    uint64_t token;
    uint64_t stamp; /* the asker's, to measure the round trip */
};

/* ---- discovery ---- */

enum announce_flag {
    ANNOUNCE_STOPPING = 1 << 0, /* never trusted alone */
};

struct message_announce {
    struct message_node node;
    uint64_t sequence; /* grows with every announce; only compared within one identity */
    uint16_t udp_port; /* 0: not served */
    uint16_t tcp_port;
    unsigned flags;       /* enum announce_flag */
    struct text hostname; /* at most MESSAGE_TEXT_MAX bytes */
};

struct message_probe {
    uint64_t instance;         /* the prober's */
    uint64_t salt;             /* of the digest */
    uint8_t hashes;            /* bits set per identity, 1 to 16 */
    uint16_t answer_within_ms; /* spread the answers over this long */
    struct text bloom; /* identities that need not answer; at most MESSAGE_BLOOM_MAX bytes; may be empty */
};

/* Puts an identity into a digest, or looks for it there (false if the digest is empty). */
void message_bloom_add(uint8_t *bloom, size_t len, uint64_t salt, uint8_t hashes,
                       const uint8_t identity[IDENTITY_SIZE]);
bool message_bloom_has(const struct message_probe *probe, const uint8_t identity[IDENTITY_SIZE]);

/* ---- local API ---- */

enum view_query_flag {
    VIEW_NO_SNAPSHOTS = 1 << 0, /* the nodes alone, without devices, as `clustat nodes` wants them */
    VIEW_NO_WAIT = 1 << 1,      /* do not wait for discovery while no node is known */
};

struct message_view_query {
    unsigned flags;       /* enum view_query_flag */
    uint32_t interval_us; /* until the next question; 0: none follows */
    struct text filter;   /* as behind -n; absent: all nodes */
    uint16_t user_count;  /* 0: of all users */
    struct reader users;  /* read or write with message_users_*() */
};

/* Fills the list of users: `bytes` holds 4 bytes per user, at most MESSAGE_USERS_MAX. */
void message_users_put(struct message_view_query *query, const uint32_t *uids, uint16_t count,
                       uint8_t *bytes);

/* The next uid of query->users; call it user_count times. */
uint32_t message_users_next(struct message_view_query *query);

/* A node of the answer. Its snapshot stays encoded: node.snapshot is not looked at and becomes NULL. */
struct message_view_node {
    struct view_node node;
    struct text software; /* the server's version; absent if it never answered */
    bool has_last_seen;
    uint64_t last_seen_age_us; /* since anything came from it */
    struct reader snapshot;    /* a whole body; empty: nothing was ever received, or not asked for */
};

enum view_end_flag {
    VIEW_INEXACT = 1 << 0,         /* a word of the filter matched as part of names only */
    VIEW_MAX_CONNECTIONS = 1 << 1, /* nodes are left out: max_connections is reached */
    VIEW_WARMING = 1 << 2,         /* discovery has only begun */
};

struct message_view_end {
    uint32_t known;    /* nodes that the backend knows */
    uint32_t matched;  /* by the filter: so many VIEW_NODE came before */
    uint32_t left_out; /* nodes beyond max_connections */
    unsigned flags;    /* enum view_end_flag */
};

enum api_error_code {
    API_ERROR_BAD_REQUEST = 1, /* malformed, or a filter that cannot be read: text says where */
    API_ERROR_NOT_ALLOWED = 2,
    API_ERROR_LIMIT = 3,   /* connections or requests of this user */
    API_ERROR_VERSION = 4, /* CLI and backend are of different versions */
    API_ERROR_INTERNAL = 5,
    API_ERROR_NO_MATCH = 6, /* FORGET: no such node */
};

struct message_api_error {
    uint8_t code;     /* enum api_error_code, or one of a newer backend */
    struct text text; /* for a person; at most MESSAGE_ERROR_MAX bytes */
};

/* Forget nodes that are down. */
struct message_forget {
    struct text filter; /* as behind -n, at most MESSAGE_FILTER_MAX bytes */
};

struct message_forgotten {
    uint32_t forgotten;
    uint32_t still_up; /* matched, but they answer and so were kept */
};

/* ---- all of them: FRAME_X, struct message_x, message_put_x(), message_get_x() ---- */

#define MESSAGES(X) \
    X(HELLO, hello) \
    X(CHALLENGE, challenge) \
    X(WELCOME, welcome) \
    X(REFUSE, refuse) \
    X(QUERY, query) \
    X(REPLY, reply) \
    X(RESEND, resend) \
    X(GOODBYE, goodbye) \
    X(PING, ping) \
    X(ANNOUNCE, announce) \
    X(PROBE, probe) \
    X(VIEW_QUERY, view_query) \
    X(VIEW_NODE, view_node) \
    X(VIEW_END, view_end) \
    X(API_ERROR, api_error) \
    X(FORGET, forget) \
    X(FORGOTTEN, forgotten)

#define X(TYPE, name) \
    void message_put_##name(struct writer *writer, const struct message_##name *message); \
    int message_get_##name(struct reader body, struct message_##name *ret_message);
MESSAGES(X)
#undef X

/* PONG has the body of PING. */
static inline void message_put_pong(struct writer *writer, const struct message_ping *message)
{
    message_put_ping(writer, message);
}
static inline int message_get_pong(struct reader body, struct message_ping *ret_message)
{
    return message_get_ping(body, ret_message);
}

/* ---- sizes, and the rule against amplification ---- */

/* Bytes of the shortest and longest body (plain) that this version writes and reads; 0 for unknown types. */
size_t message_body_min(uint8_t type);
size_t message_body_max(uint8_t type);

/*
 * May a frame of type `reply` answer one of type `request` whose sender has not proved its address (no
 * cookie, no session)? Only where no `reply` is ever longer than any `request`; everything else gets no
 * answer.
 */
bool message_may_answer_stranger(uint8_t request, uint8_t reply);

/* "HELLO"; "unknown" for a number without a name. For logs and counters. */
const char *message_type_name(uint8_t type);

#endif
