/*
 * Who is at the other end, as src/proto/ sees it: opaque bytes that are compared, hashed and handed back to
 * whoever sends. src/net/ knows what they mean; nothing here does.
 */
#ifndef PROTO_PEER_H
#define PROTO_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PEER_ADDRESS_SIZE 24 /* room for a struct net_address */

struct peer {
    uint8_t address[PEER_ADDRESS_SIZE]; /* address and port in any form that is always the same; rest 0 */
    uint8_t local[PEER_ADDRESS_SIZE];   /* our address that it talks to: not compared, only handed back */
    uint64_t source; /* whom limits count for: a keyed hash of the address without port (net_address_source()
                      * and net_address_hash()) */
    uint64_t stream; /* 0: datagrams; else the number of the connection, never used twice */
};

/* Same address, port and connection. */
static inline bool peer_equal(const struct peer *a, const struct peer *b)
{
    return a->stream == b->stream && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

/* A hash of what peer_equal() compares. */
static inline uint64_t peer_hash(const struct peer *peer)
{
    uint64_t hash = 0xcbf29ce484222325u ^ peer->stream; /* FNV-1a */

    for (unsigned i = 0; i < PEER_ADDRESS_SIZE; i++)
        hash = (hash ^ peer->address[i]) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

/*
 * Random numbers: unpredictable ones (libsodium's randombytes) in programs, repeatable ones in simulations.
 * Tokens, nonces and request numbers come from here, so a guess must be hopeless.
 */
struct random_source {
    uint64_t (*next)(void *userdata);
    void *userdata;
};

static inline uint64_t random_next(const struct random_source *random)
{
    return random->next(random->userdata);
}

/* 0 .. below - 1; below > 0. The bias is of no matter for what it is used for: delays. */
static inline int64_t random_under(const struct random_source *random, int64_t below)
{
    return (int64_t)(random_next(random) % (uint64_t)below);
}

#endif
