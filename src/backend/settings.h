/*
 * The configuration of a backend, ready for use: texts became addresses, ranges, names and keys. Loaded at
 * start and again on SIGHUP.
 */
#ifndef BACKEND_SETTINGS_H
#define BACKEND_SETTINGS_H

#include "config/config.h"
#include "net/cidr.h"
#include "net/interfaces.h"
#include "wire/seal.h"

#define SETTINGS_STATIC_MAX 4096 /* names, after expansion: as many as nodes are planned for */
#define SETTINGS_GROUP_PORT 4000 /* for unicast announces, where multicast is off and names no port */

struct settings_static {
    char *host; /* owned */
    uint16_t port;
};

struct settings {
    struct config config;     /* owns all texts */
    struct net_address group; /* of discovery; family NONE: multicast is off */
    struct net_address outbound[NET_INTERFACES_MULTICAST_CAP];
    size_t outbound_count;
    struct settings_static *statics; /* connecting.static_nodes, expanded, each once; owned */
    size_t static_count;
    bool has_allow; /* announces are taken from `allow` only */
    struct net_cidr_list allow;
    struct seal_keys keys; /* none: unsealed */
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

#endif
