/* What announcer and prober share. Private to src/proto/. */
#ifndef PROTO_DISCOVERY_COMMON_H
#define PROTO_DISCOVERY_COMMON_H

#include "proto/discovery.h"
#include "proto/envelope.h"

/* A discovery message that came: `expected` (FRAME_PROBE or FRAME_ANNOUNCE), opened. */
struct discovery_message {
    uint8_t type;
    struct reader body;
    uint8_t frame[DISCOVERY_DATAGRAM_MAX];
};

/* The rungs that both sides share. *ret_message is written on DISCOVERY_INPUT_TAKEN. */
enum discovery_input discovery_read(const uint8_t *bytes, size_t len, const struct seal_keys *keys,
                                    struct discovery_message *ret_message);

/* A random delay: `ns` and up to a tenth more or less. */
static inline int64_t discovery_jitter(const struct random_source *random, int64_t ns)
{
    return ns - ns / 10 + random_under(random, ns / 5 + 1);
}

#endif
