/*
 * Between the addresses of net/ and the opaque peers of proto/, which compares, counts and hands them back
 * without knowing what they mean.
 */
#ifndef NET_PEER_ADDRESS_H
#define NET_PEER_ADDRESS_H

#include "net/address.h"
#include "proto/peer.h"

/*
 * The peer at `address`, who talks to our address `local` (family NONE: any). seed: random, one per process
 * (net_address_hash()). stream: 0 for datagrams, else the number of the connection.
 */
struct peer net_peer_make(const struct net_address *address, const struct net_address *local, uint64_t seed,
                          uint64_t stream);

/* Both addresses again. */
struct net_address net_peer_address(const struct peer *peer);
struct net_address net_peer_local(const struct peer *peer);

#endif
