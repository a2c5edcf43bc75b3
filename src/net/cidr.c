#include "net/cidr.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static uint8_t full_prefix(const struct net_address *address)
{
    return address->family == NET_FAMILY_IPV4 ? 32 : 128;
}

/* Zeroes the bits behind the prefix. */
static void mask_address(struct net_address *address, unsigned prefix_len)
{
    for (unsigned i = 0; i < sizeof(address->bytes); i++) {
        unsigned bits = prefix_len > i * 8 ? prefix_len - i * 8 : 0;

        if (bits < 8)
            address->bytes[i] &= (uint8_t)(0xff00u >> bits);
    }
}

static int complain(char *ret_why, struct text text, const char *what)
{
    int shown = text.len > 60 ? 60 : (int)text.len;

    if (ret_why)
        snprintf(ret_why, NET_CIDR_ERROR_CAP, "\"%.*s\" %s", shown, text.len ? text.bytes : "", what);
    return -EINVAL;
}

static int parse_prefix(struct text text, struct text digits, struct net_cidr *cidr, char *ret_why)
{
    char network[NET_ADDRESS_TEXT_CAP];
    char what[128];
    struct net_address masked = cidr->network;
    unsigned long long prefix_len;

    if (text_parse_decimal(digits, full_prefix(&cidr->network), &prefix_len) < 0) {
        snprintf(what, sizeof(what), "has no prefix length between 0 and %u behind the slash",
                 full_prefix(&cidr->network));
        return complain(ret_why, text, what);
    }
    mask_address(&masked, (unsigned)prefix_len);
    if (!net_address_equal(&masked, &cidr->network)) {
        snprintf(what, sizeof(what), "has bits set behind its prefix: write %s/%llu",
                 net_address_format_host(&masked, network), prefix_len);
        return complain(ret_why, text, what);
    }
    cidr->prefix_len = (uint8_t)prefix_len;
    return 0;
}

int net_cidr_parse(struct text text, struct net_cidr *ret_cidr, char ret_why[NET_CIDR_ERROR_CAP])
{
    const char *slash = text.len ? memchr(text.bytes, '/', text.len) : NULL;
    struct text host = {text.bytes, slash ? (size_t)(slash - text.bytes) : text.len};
    struct net_cidr cidr;
    int r;

    if (net_address_parse(host, 0, &cidr.network) < 0 || cidr.network.port || cidr.network.scope)
        return complain(ret_why, text, "is no address range such as 10.0.0.0/8, fd00::/8 or 192.0.2.7");
    cidr.prefix_len = full_prefix(&cidr.network);
    if (slash) {
        struct text digits = {slash + 1, text.len - host.len - 1};

        r = parse_prefix(text, digits, &cidr, ret_why);
        if (r < 0)
            return r;
    }
    *ret_cidr = cidr;
    return 0;
}

bool net_cidr_contains(const struct net_cidr *cidr, const struct net_address *address)
{
    struct net_address masked = *address;

    if (address->family != cidr->network.family)
        return false;
    mask_address(&masked, cidr->prefix_len);
    return memcmp(masked.bytes, cidr->network.bytes, sizeof(masked.bytes)) == 0;
}

int net_cidr_list_add(struct net_cidr_list *list, const struct net_cidr *cidr)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].prefix_len == cidr->prefix_len &&
            net_address_same_host(&list->entries[i].network, &cidr->network))
            return 0;
    }
    if (list->count == NET_CIDR_LIST_CAP)
        return -E2BIG;
    list->entries[list->count++] = *cidr;
    return 0;
}

bool net_cidr_list_contains(const struct net_cidr_list *list, const struct net_address *address)
{
    for (size_t i = 0; i < list->count; i++) {
        if (net_cidr_contains(&list->entries[i], address))
            return true;
    }
    return false;
}

void net_cidr_list_add_default(struct net_cidr_list *list)
{
    static const char *const ranges[] = {
        "127.0.0.0/8",    "::1",                             /* loopback */
        "10.0.0.0/8",     "172.16.0.0/12", "192.168.0.0/16", /* private, RFC 1918 */
        "100.64.0.0/10",                                     /* shared, RFC 6598 */
        "169.254.0.0/16", "fe80::/10",                       /* link-local, RFC 3927 and RFC 4291 */
        "fc00::/7",                                          /* unique local, RFC 4193 */
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        struct net_cidr cidr;

        if (net_cidr_parse(text_from_string(ranges[i]), &cidr, NULL) == 0)
            net_cidr_list_add(list, &cidr);
    }
}

static socklen_t sockaddr_size(const struct sockaddr *sockaddr)
{
    return sockaddr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static unsigned mask_length(const struct net_address *mask)
{
    unsigned len = 0;

    for (size_t i = 0; i < sizeof(mask->bytes); i++)
        len += (unsigned)__builtin_popcount(mask->bytes[i]);
    return len;
}

/* The subnet of one address of an interface; false if it has none that counts. */
static bool subnet_of(const struct ifaddrs *entry, struct net_cidr *ret_cidr)
{
    struct net_cidr cidr;
    struct net_address mask;

    if (!entry->ifa_addr || !entry->ifa_netmask || !(entry->ifa_flags & IFF_UP))
        return false;
    if (net_address_from_sockaddr(entry->ifa_addr, sockaddr_size(entry->ifa_addr), &cidr.network) < 0 ||
        net_address_from_sockaddr(entry->ifa_netmask, sockaddr_size(entry->ifa_netmask), &mask) < 0)
        return false;
    cidr.network.port = 0;
    cidr.network.scope = 0;
    cidr.prefix_len = (uint8_t)mask_length(&mask);
    mask_address(&cidr.network, cidr.prefix_len);
    *ret_cidr = cidr;
    return cidr.prefix_len > 0; /* a mask of nothing would let everybody in */
}

int net_cidr_list_add_own_subnets(struct net_cidr_list *list)
{
    struct ifaddrs *entries;

    if (getifaddrs(&entries) < 0)
        return -errno;
    for (const struct ifaddrs *entry = entries; entry; entry = entry->ifa_next) {
        struct net_cidr cidr;

        if (subnet_of(entry, &cidr))
            net_cidr_list_add(list, &cidr);
    }
    freeifaddrs(entries);
    return 0;
}
