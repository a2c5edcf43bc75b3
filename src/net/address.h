/*
 * A network address as a value: IPv4 or IPv6 with port and scope, which can be copied, compared, hashed,
 * printed and parsed. IPv4 addresses are always kept as IPv4, also where a socket shows them as
 * ::ffff:a.b.c.d. Nothing here asks a name service (net/resolve.h does).
 */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include "core/text.h"

#include <stdint.h>
#include <sys/socket.h>

/* "[" + 45 characters of an IPv6 address + "%" + 15 of an interface + "]:65535" + NUL, rounded up. */
#define NET_ADDRESS_TEXT_CAP 72

enum net_family {
    NET_FAMILY_NONE = 0, /* no address: unknown, or "any" where an option says so */
    NET_FAMILY_IPV4 = 4,
    NET_FAMILY_IPV6 = 6,
};

struct net_address {
    uint8_t family;    /* enum net_family */
    uint16_t port;     /* host order; 0 where there is none */
    uint32_t scope;    /* interface index of an IPv6 link-local address, else 0 */
    uint8_t bytes[16]; /* network order; IPv4 uses the first 4, the rest is 0 */
};

#define NET_ADDRESS_NONE ((struct net_address){0})

/* An IPv4 address from its value in host order, as in 0x7f000001 for 127.0.0.1. */
struct net_address net_address_ipv4(uint32_t host_order, uint16_t port);

/*
 * Parses a numeric address: "a.b.c.d", "a.b.c.d:port", "v6", "[v6]", "[v6]:port"; "%interface" may follow a
 * v6. `default_port` is taken where the text has no port.
 * Returns 0, -EINVAL if it is no such text (a host name, for example), -ERANGE for a port outside 1-65535,
 * -ENODEV for an interface that does not exist.
 */
int net_address_parse(struct text text, uint16_t default_port, struct net_address *ret_address);

/*
 * Splits "host", "host:port", "[v6]:port" into both parts; the host may be a name or an address and is not
 * looked at. *ret_port is default_port where the text has none. Returns 0, -EINVAL (empty host, junk after
 * the bracket) or -ERANGE (port outside 1-65535).
 */
int net_address_split(struct text text, uint16_t default_port, struct text *ret_host, uint16_t *ret_port);

/* Prints "a.b.c.d:port" or "[v6%interface]:port"; without ":port" and brackets if the port is 0. Returns buf.
 */
char *net_address_format(const struct net_address *address, char buf[static NET_ADDRESS_TEXT_CAP]);

/* The same without the port, whatever it is. */
char *net_address_format_host(const struct net_address *address, char buf[static NET_ADDRESS_TEXT_CAP]);

/* -1, 0, 1: a total order over family, address, scope, port. */
int net_address_compare(const struct net_address *a, const struct net_address *b);

static inline bool net_address_equal(const struct net_address *a, const struct net_address *b)
{
    return net_address_compare(a, b) == 0;
}

/* Same host: the port does not count. */
bool net_address_same_host(const struct net_address *a, const struct net_address *b);

/* A 64-bit hash keyed by `seed` (random per process where peers could choose their addresses). */
uint64_t net_address_hash(const struct net_address *address, uint64_t seed);

/*
 * The source that limits are counted for: the IPv4 address, or the /64 of an IPv6 address (one host can use
 * all of it). The port and the scope are removed.
 */
struct net_address net_address_source(const struct net_address *address);

bool net_address_is_loopback(const struct net_address *address);
bool net_address_is_multicast(const struct net_address *address);
bool net_address_is_any(const struct net_address *address);

/* To and from the kernel's form. An address without a family becomes AF_UNSPEC. Returns the length in bytes.
 */
socklen_t net_address_to_sockaddr(const struct net_address *address, struct sockaddr_storage *ret_sockaddr);

/* Returns 0 or -EAFNOSUPPORT. ::ffff:a.b.c.d becomes IPv4. */
int net_address_from_sockaddr(const struct sockaddr *sockaddr, socklen_t len,
                              struct net_address *ret_address);

/* The form for a socket of the family AF_INET6 that serves both: IPv4 as ::ffff:a.b.c.d. */
socklen_t net_address_to_sockaddr_mapped(const struct net_address *address,
                                         struct sockaddr_storage *ret_sockaddr);

#endif
