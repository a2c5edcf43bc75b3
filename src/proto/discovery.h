/*
 * How servers and backends find each other. docs/protocol.md, "Discovery".
 *
 * Server: struct announcer says that it is there, at start, every 30 s, and when a probe asks (unless the
 * probe's digest says that it is known). Backend: struct prober asks the group and turns announces into
 * candidates. An announce is only a hint: it makes no row, replaces no session, and causes at most a bounded
 * number of handshakes; only a finished handshake counts.
 *
 * No I/O, no clock, no allocation after creation.
 */
#ifndef PROTO_DISCOVERY_H
#define PROTO_DISCOVERY_H

#include "core/clock.h"
#include "proto/peer.h"
#include "wire/message.h"
#include "wire/seal.h"

/* From docs/protocol.md, "Times". */
#define DISCOVERY_INTERVAL_NS      (30 * NS_PER_S)     /* between announces, and between probes; +- 10 % */
#define DISCOVERY_IDLE_INTERVAL_NS (5 * 60 * NS_PER_S) /* between probes while nobody asks */
#define DISCOVERY_IDLE_AFTER_NS    (10 * 60 * NS_PER_S)
#define DISCOVERY_ANSWER_MS        200u   /* answers to probes are spread over this */
#define DISCOVERY_ANSWER_MAX_MS    10000u /* at most this, whatever a probe says */
#define DISCOVERY_DATAGRAM_MAX     1200u  /* bytes of any announce or probe */

/* --- Server --- */

struct announcer;

struct announcer_events {
    /* Send to the group on every interface. Returns 0 if it left on at least one, or -errno. May be NULL: no
     * multicast. */
    int (*on_announce)(void *userdata, const uint8_t *bytes, size_t len);
    /* Send to connecting.announce_to[target] (and look its name up again now and then). */
    void (*on_unicast)(void *userdata, size_t target, const uint8_t *bytes, size_t len);
    /* Send to this prober, from the group's port, to the address that the probe came from. */
    void (*on_answer)(void *userdata, const struct peer *prober, const uint8_t *bytes, size_t len);
    /* retry_limit announces in a row did not leave: once, until one does (then error 0). */
    void (*on_trouble)(void *userdata, unsigned attempts, int error);
    void *userdata;
};

struct announcer_options {
    struct random_source random;
    struct message_node node;
    uint64_t sequence; /* wall clock at start in microseconds: announces count on from here */
    uint16_t udp_port, tcp_port;
    struct text hostname;         /* copied; cut at MESSAGE_TEXT_MAX */
    const struct seal_keys *keys; /* as in proto/peers.h */
    unsigned retry_limit;         /* connecting.multicast_retry_limit */
    size_t targets;               /* announce_to: how many */
};

/* Returns 0 or -ENOMEM. The first announce is due within 0.2 s. */
int announcer_new(const struct announcer_options *options, const struct announcer_events *events,
                  struct instant now, struct announcer **ret_announcer);
void announcer_free(struct announcer *announcer);

struct instant announcer_next(const struct announcer *announcer);
void announcer_tick(struct announcer *announcer, struct instant now);

/* Interfaces or targets have changed, or keys: announce soon. */
void announcer_again(struct announcer *announcer, struct instant now);
void announcer_set_keys(struct announcer *announcer, const struct seal_keys *keys);

/* Says once that it stops: a hint; who has a session gets a goodbye (peers_stop()). */
void announcer_stop(struct announcer *announcer, struct instant now);

enum discovery_input {
    DISCOVERY_INPUT_TAKEN = 0,
    DISCOVERY_INPUT_KNOWN, /* announcer: the probe knows us. prober: a live session has this node */
    DISCOVERY_INPUT_BAD_CHUNK,
    DISCOVERY_INPUT_OTHER_VERSION,
    DISCOVERY_INPUT_BAD_FRAME,
    DISCOVERY_INPUT_UNSEALED,
    DISCOVERY_INPUT_SEALED,
    DISCOVERY_INPUT_BAD_SEAL,
    DISCOVERY_INPUT_BAD_TYPE,   /* no discovery message */
    DISCOVERY_INPUT_OTHER_SIDE, /* a server hears announces, a backend probes: nothing to do */
    DISCOVERY_INPUT_BAD_MESSAGE,
    DISCOVERY_INPUT_RATE, /* too many from this source, or in total */
    DISCOVERY_INPUT_FULL, /* no place for another candidate or answer */
    DISCOVERY_INPUTS
};
const char *discovery_input_name(enum discovery_input input);

/* A datagram came to the group's port. */
enum discovery_input announcer_datagram(struct announcer *announcer, struct instant now,
                                        const struct peer *from, const uint8_t *bytes, size_t len);

struct announcer_counters {
    uint64_t input[DISCOVERY_INPUTS];
    uint64_t announces, failed, answers, postponed;
};
const struct announcer_counters *announcer_counters(const struct announcer *announcer);

/* --- Backend --- */

#define PROBER_CANDIDATES   512u     /* handshakes with announced servers at a time */
#define PROBER_PER_SOURCE   32u      /* of them with one source address */
#define PROBER_CANDIDATE_NS NS_PER_S /* a candidate that has not answered by then is dropped */
#define PROBER_PER_SECOND   600u     /* handshakes begun */

struct prober;

/* A server that says it is there. */
struct prober_candidate {
    unsigned number;         /* for prober_done() */
    const struct peer *from; /* where the announce came from: with the announced port, the server */
    const struct message_announce *announce;
};

struct prober_events {
    /* Send to the group on every interface, from the group's port. Returns 0 or -errno. */
    int (*on_probe)(void *userdata, const uint8_t *bytes, size_t len);

    /*
     * Is an announce of this run of this node no news? It is not if there is a session with it, alive and
     * well, nor (while prober_is_idle() and sessions are closed) if the node is known at all.
     */
    bool (*on_is_live)(void *userdata, const struct message_node *node);

    /*
     * The identities for which on_is_live() is true, for the digest, so that they do not answer: the i-th, or
     * false behind the last. Asked for 0, 1, 2 and so on.
     */
    bool (*on_live)(void *userdata, size_t i, uint8_t ret_identity[IDENTITY_SIZE]);

    /*
     * Shake hands with it; a client of its own, beside any session there is. When that has succeeded or
     * failed: prober_done().
     */
    void (*on_candidate)(void *userdata, const struct prober_candidate *candidate);

    /* The candidate did not answer in time: drop its client. No prober_done() is needed. */
    void (*on_give_up)(void *userdata, unsigned number);
    void *userdata;
};

struct prober_options {
    struct random_source random;
    uint64_t instance; /* of the backend */
    const struct seal_keys *keys;
};

/* Returns 0 or -ENOMEM. The first probe is due at once. */
int prober_new(const struct prober_options *options, const struct prober_events *events, struct instant now,
               struct prober **ret_prober);
void prober_free(struct prober *prober);

struct instant prober_next(const struct prober *prober);
void prober_tick(struct prober *prober, struct instant now);

/* Somebody asked for nodes: after a long pause probes at once, else keeps the short interval. */
void prober_asked(struct prober *prober, struct instant now);

/* Interfaces or keys have changed: probe as at start. */
void prober_again(struct prober *prober, struct instant now);
void prober_set_keys(struct prober *prober, const struct seal_keys *keys);

/* Nobody has asked for DISCOVERY_IDLE_AFTER_NS: sessions may be closed. */
bool prober_is_idle(const struct prober *prober, struct instant now);

/* A datagram came to the group's port (or from it). */
enum discovery_input prober_datagram(struct prober *prober, struct instant now, const struct peer *from,
                                     const uint8_t *bytes, size_t len);

/* The handshake with a candidate ended, either way. */
void prober_done(struct prober *prober, struct instant now, unsigned number);

struct prober_counters {
    uint64_t input[DISCOVERY_INPUTS];
    uint64_t probes, failed, candidates, given_up;
};
const struct prober_counters *prober_counters(const struct prober *prober);
size_t prober_candidates(const struct prober *prober);

#endif
