/*
 * Host names to all their addresses, looked up in libuv's worker threads: the loop never waits. Answers are
 * kept for a while, failures for a shorter one; a lookup that hangs is given up at its deadline, and its
 * thread's late answer still fills the cache. Numeric addresses are answered without a thread.
 *
 * A thread that hangs in the name service cannot be ended: libuv waits for it at exit(3). A program whose
 * net_loop_drain() says -EBUSY therefore leaves by _exit(2).
 */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include "net/address.h"

#include <uv.h>

#define NET_RESOLVE_ADDRESSES_CAP 16u   /* of one name; more are left out */
#define NET_RESOLVE_NAMES_CAP     8192u /* in the cache; the one asked for longest ago goes first */
#define NET_RESOLVE_KEEP_MS       60000u
#define NET_RESOLVE_KEEP_ERROR_MS 5000u

struct net_resolve_answer {
    int error; /* 0; -ETIMEDOUT: deadline; -ENOENT: no such name; -EAGAIN: the name service fails; else -errno
                */
    const char *text;                    /* "" or the resolver's own words; static */
    size_t count;                        /* >= 1 where error is 0 */
    const struct net_address *addresses; /* with the port asked for; IPv4 first; for the time of the call */
};

struct net_resolver;
struct net_resolve_request;

int net_resolver_open(uv_loop_t *loop, struct net_resolver **ret_resolver);

/* Requests still open are forgotten (no callback). NULL is accepted. */
void net_resolver_close(struct net_resolver *resolver);

/*
 * Asks for a name (a numeric address is fine). on_answer is called exactly once, from the loop, never from
 * within this call, at the latest after `deadline_ms`. *ret_request (may be NULL) can be cancelled until
 * then. Returns 0, -EINVAL (empty, longer than 253 bytes, a NUL byte), -ENOBUFS (NET_RESOLVE_NAMES_CAP
 * lookups are under way) or -ENOMEM.
 */
int net_resolve(struct net_resolver *resolver, struct text name, uint16_t port, unsigned deadline_ms,
                void (*on_answer)(void *userdata, const struct net_resolve_answer *answer), void *userdata,
                struct net_resolve_request **ret_request);

/* The callback will not come. Not after it has come. */
void net_resolve_cancel(struct net_resolve_request *request);

#endif
