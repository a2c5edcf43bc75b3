/*
 * Being found: announces to the group and to the hosts of connecting.announce_to, answers to probes. When and
 * what is decided in proto/discovery.h; this brings it onto the network.
 */
#ifndef SERVER_ANNOUNCING_H
#define SERVER_ANNOUNCING_H

#include "net/multicast.h"
#include "proto/discovery.h"
#include "server/responder.h"
#include "server/settings.h"

struct announcing_options {
    const struct settings *settings; /* borrowed for good: group, addresses, targets */
    const struct seal_keys *keys;    /* borrowed until announcing_set_keys() */
    struct message_node node;
    struct text hostname;
    uint16_t udp_port, tcp_port;
    struct responder *responder; /* borrowed: its socket sends what goes to single hosts */
};

struct announcing;

/*
 * Returns 0 or -errno; then *ret_announcing (NULL without memory) is to be closed and freed all the same.
 * That multicast does not work is logged, not an error.
 */
int announcing_open(uv_loop_t *loop, const struct announcing_options *options,
                    struct announcing **ret_announcing);

/* Says that the server stops. */
void announcing_stop(struct announcing *announcing);

void announcing_close(struct announcing *announcing); /* NULL is accepted */
void announcing_free(struct announcing *announcing);  /* when the loop has turned once more */

void announcing_set_keys(struct announcing *announcing, const struct seal_keys *keys);

/* For `clustat-server status`; the second may be NULL. */
const struct announcer_counters *announcing_counters(const struct announcing *announcing);
const struct net_multicast *announcing_multicast(const struct announcing *announcing);

#endif
