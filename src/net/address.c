#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define HOST_MAX 64 /* longer than any numeric address with its interface */

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff}; /* ::ffff:0:0/96, RFC 4291 2.5.5.2 */

static size_t address_size(const struct net_address *address)
{
    switch (address->family) {
    case NET_FAMILY_IPV4:
        return 4;
    case NET_FAMILY_IPV6:
        return 16;
    default:
        return 0;
    }
}

struct net_address net_address_ipv4(uint32_t host_order, uint16_t port)
{
    return (struct net_address){
        .family = NET_FAMILY_IPV4,
        .port = port,
        .bytes = {(uint8_t)(host_order >> 24), (uint8_t)(host_order >> 16), (uint8_t)(host_order >> 8),
                  (uint8_t)host_order},
    };
}

static struct net_address ipv6_from_bytes(const uint8_t bytes[static 16], uint32_t scope)
{
    struct net_address address = {.family = NET_FAMILY_IPV6, .scope = scope};

    if (memcmp(bytes, mapped_prefix, sizeof(mapped_prefix)) == 0) {
        address = (struct net_address){.family = NET_FAMILY_IPV4};
        memcpy(address.bytes, bytes + sizeof(mapped_prefix), 4);
        return address;
    }
    memcpy(address.bytes, bytes, 16);
    return address;
}

static int parse_port(struct text text, uint16_t *ret_port)
{
    unsigned long long value;
    int r = text_parse_decimal(text, UINT16_MAX, &value);

    if (r < 0)
        return r;
    if (value == 0)
        return -ERANGE;
    *ret_port = (uint16_t)value;
    return 0;
}

static struct text text_from(struct text text, size_t start)
{
    return (struct text){text.bytes + start, text.len - start};
}

static int split_bracketed(struct text text, uint16_t default_port, struct text *ret_host, uint16_t *ret_port)
{
    const char *end = memchr(text.bytes, ']', text.len);
    struct text rest;
    int r;

    if (!end || end == text.bytes + 1)
        return -EINVAL;
    rest = text_from(text, (size_t)(end + 1 - text.bytes));
    if (rest.len == 0) {
        *ret_port = default_port;
    } else {
        if (rest.bytes[0] != ':')
            return -EINVAL;
        r = parse_port(text_from(rest, 1), ret_port);
        if (r < 0)
            return r;
    }
    *ret_host = (struct text){text.bytes + 1, (size_t)(end - text.bytes - 1)};
    return 0;
}

int net_address_split(struct text text, uint16_t default_port, struct text *ret_host, uint16_t *ret_port)
{
    const char *colon;
    int r;

    if (!text_is_present(text) || text.len == 0)
        return -EINVAL;
    if (text.bytes[0] == '[')
        return split_bracketed(text, default_port, ret_host, ret_port);
    colon = memchr(text.bytes, ':', text.len);
    if (!colon || memchr(colon + 1, ':', text.len - (size_t)(colon + 1 - text.bytes))) {
        /* No colon, or several: a name, or an IPv6 address without a port. */
        *ret_host = text;
        *ret_port = default_port;
        return 0;
    }
    if (colon == text.bytes)
        return -EINVAL;
    r = parse_port(text_from(text, (size_t)(colon + 1 - text.bytes)), ret_port);
    if (r < 0)
        return r;
    *ret_host = (struct text){text.bytes, (size_t)(colon - text.bytes)};
    return 0;
}

/* The interface behind "%": a name or a number. */
static int parse_scope(const char *scope, uint32_t *ret_scope)
{
    unsigned long long number;
    unsigned index = if_nametoindex(scope);

    if (index == 0) {
        if (text_parse_decimal(text_from_string(scope), UINT32_MAX, &number) < 0 || number == 0)
            return -ENODEV;
        index = (unsigned)number;
    }
    *ret_scope = index;
    return 0;
}

static int parse_ipv6(char *host, struct net_address *ret_address)
{
    uint8_t bytes[16];
    uint32_t scope = 0;
    char *percent = strchr(host, '%');

    if (percent)
        *percent = '\0';
    if (inet_pton(AF_INET6, host, bytes) != 1)
        return -EINVAL;
    if (percent) {
        int r = parse_scope(percent + 1, &scope);
        if (r < 0)
            return r;
    }
    *ret_address = ipv6_from_bytes(bytes, scope);
    return 0;
}

int net_address_parse(struct text text, uint16_t default_port, struct net_address *ret_address)
{
    struct net_address address = {.family = NET_FAMILY_IPV4};
    struct text host_text;
    char host[HOST_MAX];
    uint16_t port;
    int r = net_address_split(text, default_port, &host_text, &port);

    if (r < 0)
        return r;
    if (host_text.len >= sizeof(host) || memchr(host_text.bytes, '\0', host_text.len))
        return -EINVAL;
    text_copy(host_text, host, sizeof(host));
    if (inet_pton(AF_INET, host, address.bytes) != 1 || text.bytes[0] == '[') {
        r = parse_ipv6(host, &address);
        if (r < 0)
            return r;
    }
    address.port = port;
    *ret_address = address;
    return 0;
}

/* Host part into a buffer of at least HOST_MAX bytes; "" for no address. */
static void format_host(const struct net_address *address, char *buf, size_t cap)
{
    char name[IF_NAMESIZE];
    size_t used;

    buf[0] = '\0';
    if (address->family == NET_FAMILY_IPV4)
        inet_ntop(AF_INET, address->bytes, buf, (socklen_t)cap);
    else if (address->family == NET_FAMILY_IPV6)
        inet_ntop(AF_INET6, address->bytes, buf, (socklen_t)cap);
    if (address->scope == 0)
        return;
    used = strlen(buf);
    if (if_indextoname(address->scope, name))
        snprintf(buf + used, cap - used, "%%%s", name);
    else
        snprintf(buf + used, cap - used, "%%%u", address->scope);
}

char *net_address_format_host(const struct net_address *address, char buf[static NET_ADDRESS_TEXT_CAP])
{
    format_host(address, buf, NET_ADDRESS_TEXT_CAP);
    return buf;
}

char *net_address_format(const struct net_address *address, char buf[static NET_ADDRESS_TEXT_CAP])
{
    char host[HOST_MAX];
    bool brackets = address->family == NET_FAMILY_IPV6;

    if (address->port == 0)
        return net_address_format_host(address, buf);
    format_host(address, host, sizeof(host));
    snprintf(buf, NET_ADDRESS_TEXT_CAP, "%s%s%s:%u", brackets ? "[" : "", host, brackets ? "]" : "",
             address->port);
    return buf;
}

static int compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_hosts(const struct net_address *a, const struct net_address *b)
{
    int order = compare_numbers(a->family, b->family);

    if (order == 0)
        order = memcmp(a->bytes, b->bytes, sizeof(a->bytes));
    if (order == 0)
        order = compare_numbers(a->scope, b->scope);
    return (order > 0) - (order < 0);
}

int net_address_compare(const struct net_address *a, const struct net_address *b)
{
    int order = compare_hosts(a, b);

    return order ? order : compare_numbers(a->port, b->port);
}

bool net_address_same_host(const struct net_address *a, const struct net_address *b)
{
    return compare_hosts(a, b) == 0;
}

/* Finalizer of the splitmix64 generator: every input bit reaches every output bit. */
static uint64_t mix(uint64_t value)
{
    value ^= value >> 30;
    value *= UINT64_C(0xbf58476d1ce4e5b9);
    value ^= value >> 27;
    value *= UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

uint64_t net_address_hash(const struct net_address *address, uint64_t seed)
{
    uint64_t hash =
        mix(seed ^ (((uint64_t)address->family << 48) | ((uint64_t)address->port << 32) | address->scope));

    for (size_t i = 0; i < sizeof(address->bytes); i += 8) {
        uint64_t word;

        memcpy(&word, address->bytes + i, 8);
        hash = mix(hash ^ word) + seed;
    }
    return mix(hash);
}

struct net_address net_address_source(const struct net_address *address)
{
    struct net_address source = *address;

    source.port = 0;
    source.scope = 0;
    if (source.family == NET_FAMILY_IPV6)
        memset(source.bytes + 8, 0, 8);
    return source;
}

bool net_address_is_loopback(const struct net_address *address)
{
    static const uint8_t one[16] = {[15] = 1};

    if (address->family == NET_FAMILY_IPV4)
        return address->bytes[0] == 127;
    return address->family == NET_FAMILY_IPV6 && memcmp(address->bytes, one, sizeof(one)) == 0;
}

bool net_address_is_multicast(const struct net_address *address)
{
    if (address->family == NET_FAMILY_IPV4)
        return (address->bytes[0] & 0xf0) == 0xe0;
    return address->family == NET_FAMILY_IPV6 && address->bytes[0] == 0xff;
}

bool net_address_is_any(const struct net_address *address)
{
    static const uint8_t zeros[16];

    return memcmp(address->bytes, zeros, sizeof(zeros)) == 0;
}

static socklen_t to_sockaddr_in6(const struct net_address *address, struct sockaddr_storage *ret_sockaddr)
{
    struct sockaddr_in6 in6 = {
        .sin6_family = AF_INET6,
        .sin6_port = htons(address->port),
        .sin6_scope_id = address->scope,
    };

    if (address->family == NET_FAMILY_IPV4) {
        memcpy(in6.sin6_addr.s6_addr, mapped_prefix, sizeof(mapped_prefix));
        memcpy(in6.sin6_addr.s6_addr + sizeof(mapped_prefix), address->bytes, 4);
    } else {
        memcpy(in6.sin6_addr.s6_addr, address->bytes, 16);
    }
    memcpy(ret_sockaddr, &in6, sizeof(in6));
    return sizeof(in6);
}

socklen_t net_address_to_sockaddr(const struct net_address *address, struct sockaddr_storage *ret_sockaddr)
{
    memset(ret_sockaddr, 0, sizeof(*ret_sockaddr));
    if (address_size(address) == 4) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(address->port)};

        memcpy(&in.sin_addr, address->bytes, 4);
        memcpy(ret_sockaddr, &in, sizeof(in));
        return sizeof(in);
    }
    if (address_size(address) == 16)
        return to_sockaddr_in6(address, ret_sockaddr);
    ret_sockaddr->ss_family = AF_UNSPEC;
    return sizeof(sa_family_t);
}

socklen_t net_address_to_sockaddr_mapped(const struct net_address *address,
                                         struct sockaddr_storage *ret_sockaddr)
{
    memset(ret_sockaddr, 0, sizeof(*ret_sockaddr));
    return to_sockaddr_in6(address, ret_sockaddr);
}

int net_address_from_sockaddr(const struct sockaddr *sockaddr, socklen_t len, struct net_address *ret_address)
{
    if (len >= sizeof(struct sockaddr_in) && sockaddr->sa_family == AF_INET) {
        struct sockaddr_in in;
        struct net_address address = {.family = NET_FAMILY_IPV4};

        memcpy(&in, sockaddr, sizeof(in));
        memcpy(address.bytes, &in.sin_addr, 4);
        address.port = ntohs(in.sin_port);
        *ret_address = address;
        return 0;
    }
    if (len >= sizeof(struct sockaddr_in6) && sockaddr->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;

        memcpy(&in6, sockaddr, sizeof(in6));
        *ret_address = ipv6_from_bytes(in6.sin6_addr.s6_addr, in6.sin6_scope_id);
        ret_address->port = ntohs(in6.sin6_port);
        return 0;
    }
    return -EAFNOSUPPORT;
}
