/* What the parts of the client share. Private to src/proto/. */
#ifndef PROTO_CLIENT_INTERNAL_H
#define PROTO_CLIENT_INTERNAL_H

#include "proto/client.h"
#include "proto/envelope.h"
#include "proto/reassembly.h"
#include "proto/timers.h"
#include "proto/window.h"
#include "wire/replay.h"

#include <stddef.h>

struct client_set {
    struct client_set_options options;
    struct client_events events;
    struct timers timers;
    struct window window;
    struct reassembly *reassembly; /* owned */
    struct client **chains;        /* owned: clients by the hash of their peer */
    size_t chain_count;            /* a power of two */
    size_t count;
    size_t unreached; /* clients that say HELLO: the more, the slower each */
    uint64_t numbers; /* of clients, never used twice */
    uint32_t frame_id;
    unsigned depth;         /* of calls from outside: freed clients live until it is 0 */
    struct client *zombies; /* freed meanwhile */
    struct client_counters counters;
};

/* The handshake going on. */
struct client_shake {
    uint64_t nonce;
    struct instant begun;
    bool has_cookie, answered_challenge; /* the latter: since the last HELLO by the timer */
    uint8_t cookie[COOKIE_SIZE];
    int64_t delay_ns;         /* until the next HELLO */
    struct instant next;      /* that HELLO; in CLIENT_REFUSED and CLIENT_STOPPED: the first one */
    struct instant last_sent; /* HELLO */
    unsigned sent;            /* HELLOs */
    struct window_waiter waiter;
    bool once; /* what was sent last was sent once: its answer tells the round trip */
};

/* The session there is. */
struct client_session {
    uint64_t token; /* 0: none */
    struct seal_key key;
    bool sealed;
    uint64_t sequence; /* of the last frame sent */
    struct replay_window replay;
    struct instant begun, last_heard;
    int64_t heartbeat_ns, idle_timeout_ns;
    struct instant ping_next, ping_sent;
    int64_t ping_delay_ns; /* until the next one, if it is not answered */
    uint64_t ping_stamp;   /* 0: none is on its way */
    bool ping_once;
};

/* The question there is. */
struct client_question {
    bool asking;
    bool waited;        /* somebody waits: on_late comes at the deadline */
    bool slow;          /* in the background, or the deadline has passed */
    int64_t allowed_ns; /* from the first sending; more is late */
    bool sent;          /* in this session */
    struct client_query query;
    uint64_t request_id;
    struct instant first_sent, last_sent, retry;
    int64_t timeout_ns;
    unsigned sends;        /* of the whole query, in this session */
    bool resent;           /* a RESEND was sent */
    unsigned vain_resends; /* RESENDs since a chunk came */
    unsigned chunks;       /* of the last reply: so many places are asked for */
    struct window_waiter waiter;
};

struct client {
    struct client_set *set;
    struct peer peer;
    void *owner;
    uint64_t number;
    struct client *chain_next; /* or next zombie */
    struct timer timer;
    enum client_state state;
    bool gone;      /* freed, in a call from outside */
    bool counted;   /* in set->unreached */
    bool tentative; /* nothing ever came from it */
    bool has_node;
    struct message_node node;
    struct client_shake shake;
    struct client_session session;
    struct client_question question;
    int64_t round_trip_ns, variation_ns; /* smoothed; 0: not measured yet */
    uint64_t delay_us;                   /* the last one */
    struct instant delay_measured;
    /* Of the last reply, if its question was asked again before it came; for learn_from_second_reply(). */
    uint64_t repeated_request_id; /* 0: it was not */
    int64_t repeated_round_trip_ns;
    /* what is wrong, for client_problem() */
    uint8_t refusal; /* enum refuse_reason; 0: none */
    uint8_t their_version_min, their_version_max;
    uint8_t their_frame_version; /* 0: ours */
    bool seal_mismatch;
};

/* client_set.c */
struct client *client_find(struct client_set *set, const struct peer *peer);
void client_enter(struct client_set *set);
void client_leave(struct client_set *set, struct instant now);
void client_change(struct client *client, enum client_state state, enum client_why why);
void client_schedule(struct client *client);
void client_begin(struct client *client, struct envelope *envelope, uint8_t type, uint64_t request_id);
void client_send(struct client *client, struct envelope *envelope);
void client_heard(struct client *client, struct instant now);
void client_sign_of_life(struct client *client);
void client_measured(struct client *client, struct instant now, int64_t round_trip_ns);

/* client_shake.c */
void client_shake(struct client *client, struct instant now, enum client_why why);
void client_shake_later(struct client *client, struct instant now, enum client_state state, int64_t delay_ns);
void client_shake_granted(struct client *client, struct instant now);
void client_shake_due(struct client *client, struct instant now);
enum client_input client_on_challenge(struct client *client, struct instant now, struct reader body);
enum client_input client_on_welcome(struct client *client, struct instant now, struct reader body,
                                    const struct seal_key *key);
enum client_input client_on_refuse(struct client *client, struct instant now, struct reader body);

/* client_session.c */
void client_session_end(struct client *client);
void client_session_due(struct client *client, struct instant now);
struct instant client_session_next(const struct client *client);
enum client_input client_on_pong(struct client *client, struct instant now, struct reader body);
enum client_input client_on_goodbye(struct client *client, struct instant now, struct reader body);

/* client_query.c */
void client_question_send(struct client *client, struct instant now);
void client_question_granted(struct client *client, struct instant now);
void client_question_due(struct client *client, struct instant now);
void client_question_unsent(struct client *client);
void client_question_progress(struct client *client, struct instant now);
struct instant client_question_next(const struct client *client);
enum client_input client_on_reply(struct client *client, struct instant now, uint64_t request_id,
                                  struct reader body, unsigned chunks);

#endif
