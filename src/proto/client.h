/*
 * The backend's sessions: one struct client per server, all that share a socket in one struct client_set.
 *
 * A client shakes hands (over UDP with a cookie, over TCP without), asks, asks again for what got lost, knows
 * the round trip, keeps the session alive while nobody asks, and shakes hands anew when the server no longer
 * knows the session. No damaged, forged, repeated or late datagram ends a session. docs/protocol.md,
 * "Sessions".
 *
 * No I/O, no clock, no allocation but in the _new() functions. The owner passes in what came and the time,
 * and gets calls of struct client_events, which may call anything here but client_set_free(), and
 * client_free() only of the client they are told about... except from on_send and on_open.
 * One timer serves all: after every call, ask client_set_next().
 */
#ifndef PROTO_CLIENT_H
#define PROTO_CLIENT_H

#include "core/clock.h"
#include "proto/peer.h"
#include "wire/message.h"
#include "wire/seal.h"

/* Protocol constants; all from docs/protocol.md, "Times". */
#define CLIENT_TIMEOUT_FIRST_NS    (5 * NS_PER_MS) /* of a query, before a round trip was measured */
#define CLIENT_TIMEOUT_MIN_NS      (2 * NS_PER_MS)
#define CLIENT_TIMEOUT_MAX_NS      (20 * NS_PER_MS)  /* while the deadline runs */
#define CLIENT_TIMEOUT_LATE_MAX_NS NS_PER_S          /* behind it */
#define CLIENT_HELLO_FIRST_NS      (10 * NS_PER_MS)  /* between HELLOs: doubles */
#define CLIENT_HELLO_TENTATIVE_NS  (100 * NS_PER_MS) /* the same for client_start_tentative() */
#define CLIENT_HELLO_MAX_NS        (15 * NS_PER_S)   /* up to this, also for servers that are down */
#define CLIENT_SET_MAX             65536u

struct client;
struct client_set;

enum client_state {
    CLIENT_OFF,     /* nothing is wanted: not started, or closed by us */
    CLIENT_OPENING, /* TCP: waiting for the connection */
    CLIENT_SHAKING, /* HELLO sent, again and again, slower each time */
    CLIENT_UP,      /* a session */
    CLIENT_REFUSED, /* the server said why; tried again later */
    CLIENT_STOPPED, /* the server said goodbye: tried again when somebody asks, or by client_kick() */
};

/* Why a state was entered. */
enum client_why {
    CLIENT_WHY_ASKED,           /* by the owner */
    CLIENT_WHY_WELCOME,         /* the first session, or one with the same run of the server */
    CLIENT_WHY_RESTARTED,       /* a session with another run of the server: its instance has changed */
    CLIENT_WHY_OTHER_NODE,      /* another node answers at this address: its identity has changed */
    CLIENT_WHY_SILENT,          /* nothing came for the idle time-out */
    CLIENT_WHY_UNKNOWN_SESSION, /* the server has forgotten us (restarted, or was idle): shaking anew */
    CLIENT_WHY_REFUSED,         /* client_refusal() says why */
    CLIENT_WHY_GOODBYE,         /* the server stops */
    CLIENT_WHY_DROPPED,         /* the server needed the place: anew when somebody asks */
    CLIENT_WHY_DISCONNECTED,    /* TCP: the connection ended or could not be made */
};

/* A reply, as it came. */
struct client_reply {
    struct message_reply message; /* its parts borrow from a buffer that the next input overwrites */
    struct instant asked_at;      /* when the query was first sent: no reading is older than message.age_us
                                   * at that moment */
    bool late; /* it took longer than the question allowed, counted from its first sending */
};

struct client_events {
    /* Send this datagram (UDP) or frame (TCP). The bytes are only there during the call. */
    void (*on_send)(void *userdata, struct client *client, const uint8_t *bytes, size_t len);

    /* TCP only: open a connection to the client's peer (an old one is to be closed first); then
     * client_stream_opened() or client_stream_closed(). May be NULL for UDP. */
    void (*on_open)(void *userdata, struct client *client);

    /* The state has changed, or (CLIENT_UP) a new session has replaced one. */
    void (*on_state)(void *userdata, struct client *client, enum client_state state, enum client_why why);

    /* The facts that came with a WELCOME (welcome->facts may be empty). Comes just before on_state(UP). */
    void (*on_welcome)(void *userdata, struct client *client, const struct message_welcome *welcome);

    void (*on_reply)(void *userdata, struct client *client, const struct client_reply *reply);

    /*
     * The deadline has passed, and somebody waits (not for a question in the background). It goes on being
     * asked, slower; its reply still comes, marked as late.
     */
    void (*on_late)(void *userdata, struct client *client);

    /* Anything authentic came from the server, and something was sent to it: for proto/liveness.h. May be
     * NULL. */
    void (*on_heard)(void *userdata, struct client *client);
    void (*on_asked)(void *userdata, struct client *client);
    void *userdata;
};

struct client_set_options {
    struct random_source random;
    uint64_t instance;            /* random, one per start of the backend */
    size_t clients_max;           /* 1 to CLIENT_SET_MAX */
    size_t receive_buffer_bytes;  /* SO_RCVBUF as granted */
    int64_t heartbeat_ns;         /* connecting.heartbeat_interval */
    int64_t idle_timeout_ns;      /* connecting.connection_idle_timeout */
    const struct seal_keys *keys; /* NULL or none in it: plain. Borrowed until client_set_keys() */
};

/* Returns 0 or -ENOMEM. About 9 MiB (reassembly), and 16 bytes per possible client. */
int client_set_new(const struct client_set_options *options, const struct client_events *events,
                   struct client_set **ret_set);

/* All clients must be freed before. Accepts NULL. */
void client_set_free(struct client_set *set);

/* When client_set_tick() is due; TIMERS_NEVER (proto/timers.h) if nothing is waiting. */
struct instant client_set_next(const struct client_set *set);
void client_set_tick(struct client_set *set, struct instant now);

/*
 * Other keys from now on (SIGHUP). Sealed sessions go on under the keys that they have; where there were no
 * keys before, or are none now, sessions are made anew.
 */
void client_set_keys(struct client_set *set, struct instant now, const struct seal_keys *keys);

/* Other times (SIGHUP), of sessions that begin from now on. */
void client_set_times(struct client_set *set, int64_t heartbeat_ns, int64_t idle_timeout_ns);

/* SO_RXQ_OVFL: the kernel has dropped answers for want of room. */
void client_set_overflowed(struct client_set *set, struct instant now);

/* The ladder of what comes from outside: outcomes of client_set_datagram(), and counters for STATUS. */
enum client_input {
    CLIENT_INPUT_TAKEN = 0,
    CLIENT_INPUT_PART,          /* a chunk of a longer frame */
    CLIENT_INPUT_STRANGER,      /* none of our clients has this peer */
    CLIENT_INPUT_BAD_CHUNK,     /* chunk_read(): short, magic, count, length, checksum */
    CLIENT_INPUT_OTHER_VERSION, /* of datagram or frame */
    CLIENT_INPUT_DUPLICATE,     /* chunk */
    CLIENT_INPUT_CONFLICT,      /* chunk against chunk */
    CLIENT_INPUT_BAD_FRAME,
    CLIENT_INPUT_UNSEALED,    /* plain, where keys are set */
    CLIENT_INPUT_SEALED,      /* sealed, where none are */
    CLIENT_INPUT_BAD_SEAL,    /* unknown key, or damaged */
    CLIENT_INPUT_REPLAYED,    /* a sequence number seen before */
    CLIENT_INPUT_BAD_TYPE,    /* nothing that a server sends */
    CLIENT_INPUT_BAD_MESSAGE, /* malformed */
    CLIENT_INPUT_UNEXPECTED,  /* no question of ours has this nonce, token or request number */
    CLIENT_INPUTS
};

/* A datagram came from `from`. Returns what became of it. */
enum client_input client_set_datagram(struct client_set *set, struct instant now, const struct peer *from,
                                      const uint8_t *bytes, size_t len);

struct client_counters {
    uint64_t input[CLIENT_INPUTS];
    uint64_t queries, retries, resends; /* sent: first time, again as a whole, for missing chunks */
    uint64_t replies, late_replies;     /* late: behind the deadline */
    uint64_t deadlines_missed;
    uint64_t hellos, sessions, sessions_silent;
};
const struct client_counters *client_set_counters(const struct client_set *set);
const char *client_input_name(enum client_input input);

/* --- One server --- */

/*
 * A client for a server at `peer` (stream 0: UDP; else TCP: any number but 0). Does nothing yet. `owner` is
 * for the owner. Returns 0, -ENOSPC (clients_max), -EEXIST (the set has one for this peer) or -ENOMEM.
 */
int client_new(struct client_set *set, const struct peer *peer, void *owner, struct client **ret_client);

/* Says nothing to the server; no event follows. Accepts NULL. */
void client_free(struct client *client);

void *client_owner(const struct client *client);
const struct peer *client_peer(const struct client *client);

/* Wants a session. Nothing happens if there is one or one is being made. */
void client_start(struct client *client, struct instant now);

/*
 * The same for a server of which nothing is known but an announce, which may be forged: HELLOs come slowly
 * until it answers, so that nobody can be made to send much to somebody else.
 */
void client_start_tentative(struct client *client, struct instant now);

/* Something hints that the server is there (an announce): if it is being tried, try now. */
void client_kick(struct client *client, struct instant now);

/* Wants none any more: says goodbye with this reason and is CLIENT_OFF. */
void client_close(struct client *client, struct instant now, enum goodbye_reason reason);

struct client_query {
    uint64_t facts_hash, process_generation; /* what is known: struct message_query */
    uint32_t interval_us;
    struct instant deadline;
    bool background; /* nobody waits for it, as the node is late already: asked slowly, on_late does not come
                      */
};

/*
 * Asks, and shakes hands first if there is no session. on_reply follows, or on_late, or both.
 * Returns true; false: a question is on its way already, and its answer is this one's too; only what is known
 * is taken over, and the deadline, if nobody waits for the former question any more.
 */
bool client_ask(struct client *client, struct instant now, const struct client_query *query);

/* A query has no reply yet. */
bool client_is_asking(const struct client *client);

enum client_state client_state(const struct client *client);

/* The server of the last session; NULL before the first. */
const struct message_node *client_node(const struct client *client);

/* The last measured round trip and when that was. False: none yet. */
bool client_delay(const struct client *client, uint64_t *ret_delay_us, struct instant *ret_measured);

#define CLIENT_PROBLEM_SIZE 160

/*
 * What is wrong, for the node's row: "refused by security.allow", "speaks protocol 2 to 3, we speak 1", ...
 * Empty if nothing is (silence is not told here). Returns buf.
 */
char *client_problem(const struct client *client, char buf[static CLIENT_PROBLEM_SIZE]);

/* --- TCP --- */

void client_stream_opened(struct client *client, struct instant now);
void client_stream_closed(struct client *client, struct instant now);

/* A whole frame came over the connection; it may be changed (a seal is opened in place). */
enum client_input client_stream_frame(struct client *client, struct instant now, uint8_t *frame, size_t len);

#endif
