#include "net/peer_address.h"

#include "core/cursor.h"

#include <assert.h>
#include <string.h>

_Static_assert(PEER_ADDRESS_SIZE == 1 + 2 + 4 + 16 + 1, "family, port, scope, address, and one to spare");

static void put_address(const struct net_address *address, uint8_t ret_bytes[PEER_ADDRESS_SIZE])
{
    struct writer writer = writer_over(ret_bytes, PEER_ADDRESS_SIZE);

    memset(ret_bytes, 0, PEER_ADDRESS_SIZE);
    write_u8(&writer, address->family);
    write_u16(&writer, address->port);
    write_u32(&writer, address->scope);
    write_bytes(&writer, address->bytes, sizeof(address->bytes));
    assert(!writer.failed);
}

static struct net_address get_address(const uint8_t bytes[PEER_ADDRESS_SIZE])
{
    struct reader reader = reader_over(bytes, PEER_ADDRESS_SIZE);
    struct net_address address = NET_ADDRESS_NONE;

    address.family = read_u8(&reader);
    address.port = read_u16(&reader);
    address.scope = read_u32(&reader);
    memcpy(address.bytes, read_bytes(&reader, sizeof(address.bytes)), sizeof(address.bytes));
    return address;
}

struct peer net_peer_make(const struct net_address *address, const struct net_address *local, uint64_t seed,
                          uint64_t stream)
{
    struct net_address source = net_address_source(address);
    struct peer peer = {.source = net_address_hash(&source, seed), .stream = stream};

    put_address(address, peer.address);
    put_address(local, peer.local);
    return peer;
}

struct net_address net_peer_address(const struct peer *peer)
{
    return get_address(peer->address);
}

struct net_address net_peer_local(const struct peer *peer)
{
    return get_address(peer->local);
}
