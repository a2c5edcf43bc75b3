/*
 * Lists of address ranges ("10.0.0.0/8", "fd00::/8", a single address), as in `security.allow`: who may ask.
 * A list is a value with a fixed cap; it owns nothing.
 */
#ifndef NET_CIDR_H
#define NET_CIDR_H

#include "net/address.h"

#define NET_CIDR_LIST_CAP 256 /* entries; a longer list is refused, never cut */

struct net_cidr {
    struct net_address network; /* port 0; bits behind the prefix are 0 */
    uint8_t prefix_len;         /* 0-32 or 0-128 */
};

struct net_cidr_list {
    struct net_cidr entries[NET_CIDR_LIST_CAP];
    size_t count;
};

#define NET_CIDR_ERROR_CAP 240

/*
 * Parses one range. On an error, `ret_why` (may be NULL) gets a sentence that names what was found and what
 * is allowed, such as: "10.0.0.1/8" has bits set behind its prefix: write 10.0.0.0/8.
 * Returns 0 or -EINVAL.
 */
int net_cidr_parse(struct text text, struct net_cidr *ret_cidr, char ret_why[NET_CIDR_ERROR_CAP]);

bool net_cidr_contains(const struct net_cidr *cidr, const struct net_address *address);

/* Appends one range unless it is already there. Returns 0 or -E2BIG (the list is full). */
int net_cidr_list_add(struct net_cidr_list *list, const struct net_cidr *cidr);

/* True if any range contains the address. An empty list matches nothing. */
bool net_cidr_list_contains(const struct net_cidr_list *list, const struct net_address *address);

/*
 * The default of `security.allow`: 127.0.0.0/8, ::1, 10/8, 172.16/12, 192.168/16, 100.64/10, 169.254/16,
 * fe80::/10, fc00::/7. Always fits into an empty list.
 */
void net_cidr_list_add_default(struct net_cidr_list *list);

/*
 * Adds the subnets of this host's interfaces (as they are now: call it again on a new list when interfaces
 * change). Subnets that do not fit are left out. Returns 0 or -errno of getifaddrs(3).
 */
int net_cidr_list_add_own_subnets(struct net_cidr_list *list);

#endif
