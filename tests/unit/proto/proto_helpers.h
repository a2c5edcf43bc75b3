/* What the tests of src/proto/ share. */
#ifndef PROTO_HELPERS_H
#define PROTO_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "proto/peer.h"
#include "support/random_snapshot.h"

#include <string.h>

static inline uint64_t next_of_random(void *userdata)
{
    return random_u64(userdata);
}

static inline struct random_source random_source_of(struct random *random)
{
    return (struct random_source){next_of_random, random};
}

static inline struct peer peer_numbered(uint32_t host, uint16_t port)
{
    struct peer peer = {.source = host + 1u};

    memcpy(peer.address, &host, sizeof(host));
    memcpy(peer.address + sizeof(host), &port, sizeof(port));
    return peer;
}

#endif
