/* What the prober's parts share. Private to src/proto/. */
#ifndef PROTO_PROBER_INTERNAL_H
#define PROTO_PROBER_INTERNAL_H

#include "proto/discovery_common.h"
#include "proto/rate.h"

#define PROBER_START_NS    (NS_PER_S / PROBER_PER_SECOND)
#define PROBER_START_BURST 32 /* handshakes that may begin at once */

struct candidate {
    bool used, begun;
    struct peer from;
    struct message_announce announce;
    char hostname[MESSAGE_TEXT_MAX];
    struct instant since; /* it waits, or its handshake goes on */
    uint64_t order;
};

struct prober {
    struct prober_options options;
    struct prober_events events;
    uint32_t frame_id;
    struct instant next, last_probe, last_asked;
    unsigned sent; /* of the first probes */
    bool missed;   /* since the last probe: announces that found no place */
    size_t live;   /* sessions at the last probe */
    struct candidate candidates[PROBER_CANDIDATES];
    size_t used, waiting;
    uint64_t orders;
    struct instant start_credit; /* the next handshake may begin now if this is not later */
    struct rate *failures;       /* owned */
    struct prober_counters counters;
};

/* prober_candidates.c */
void prober_start_some(struct prober *prober, struct instant now);
void prober_give_up(struct prober *prober, struct instant now, struct candidate *candidate);
enum discovery_input prober_on_announce(struct prober *prober, struct instant now, const struct peer *from,
                                        const struct discovery_message *in);

#endif
