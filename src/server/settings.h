/*
 * The configuration of a server, ready for use: texts became addresses, ranges and keys. Loaded at start and
 * again on SIGHUP.
 */
#ifndef SERVER_SETTINGS_H
#define SERVER_SETTINGS_H

#include "config/config.h"
#include "net/cidr.h"
#include "net/interfaces.h"
#include "sampler/sampler.h"
#include "wire/seal.h"

#define SETTINGS_TARGETS_MAX 4096 /* hosts of connecting.announce_to */

struct settings {
    struct config config;     /* owns all texts */
    struct net_address group; /* of discovery; family NONE: multicast is off */
    struct net_address outbound[NET_INTERFACES_MULTICAST_CAP];
    size_t outbound_count;
    char **targets; /* announce_to, expanded: "host" or "host:port"; owned */
    size_t target_count;
    struct net_cidr_list allow; /* the configured ranges; the default adds to it as interfaces change */
    struct seal_keys keys;      /* none: unsealed */
    struct sampler_options sampler;
};

/*
 * Reads everything. *ret_settings and *report are written in every case and to be deinitialised.
 * Returns 0, or a negative errno: then report->errors says why.
 */
int settings_load(const char *path, struct settings *ret_settings, struct config_report *report);
void settings_deinit(struct settings *settings);

/*
 * Appends the keys, separated by commas, that `fresh` has otherwise than `started`, and that only another
 * start can change: sockets and sessions were made with them.
 */
void settings_put_restart(const struct settings *started, const struct settings *fresh, struct buffer *out);

/* Would a sampler of one do for the other? */
bool settings_same_sampler(const struct settings *a, const struct settings *b);

/* Makes the list of who may ask: the configured one, or the default with the networks that this host has now.
 */
void settings_allow(const struct settings *settings, struct net_cidr_list *ret_allow);

#endif
