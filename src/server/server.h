/*
 * A server: what a node runs so that others see its GPUs. Wiring only; each part says in its header what it
 * does. Opened with all its sockets, then told to begin with the driver, then run until it is stopped.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "host/identity.h"
#include "net/loop.h"
#include "net/notify.h"
#include "server/announcing.h"
#include "server/control.h"
#include "core/event_log.h"
#include "server/latest.h"
#include "server/options.h"
#include "server/responder.h"
#include "server/sampling.h"
#include "server/settings.h"

#define SERVER_SIGNALS 3

struct server {
    const struct options *options;
    uv_loop_t loop;
    struct instant started_at;

    struct settings started;   /* as at start: sockets and sessions were made with it */
    struct settings reloaded;  /* of the last SIGHUP; zero: none yet */
    struct settings *settings; /* the one that counts, of these two */
    struct net_cidr_list allow;
    struct net_interface_watch *interfaces; /* the default of `allow` follows them */

    char hostname[NODE_NAME_MAX + 1];
    struct message_node node;
    uint16_t udp_port, tcp_port;

    struct latest *latest;
    struct sampling *sampling;
    struct responder *responder;
    struct announcing *announcing;
    struct control *control; /* NULL: there is none */
    struct net_notify notify;
    struct net_timer watchdog;
    uv_signal_t signals[SERVER_SIGNALS];
    bool stopping;

    /* for the log */
    enum node_fault logged_fault;
    bool logged_snapshot;
    char logged_call[sizeof(((struct sampler_call *)NULL)->name)]; /* "": none is told */
    struct event_limit driver_limit, sampler_limit;
};

/*
 * Takes over the settings and opens everything but the driver. Returns 0, or a negative errno after it said
 * why in the log; server_close() is to be called in any case.
 */
int server_open(const struct options *options, struct settings *take_settings, struct server *ret_server);

/* Tells the service manager that it serves. */
void server_ready(struct server *server);

/* Runs until a signal stops it; starts the sampler first. */
void server_run(struct server *server);

/*
 * Says goodbye and ends everything; never waits for the sampler. Returns false if a thread still hangs in the
 * name service: the program must then leave by _exit(2).
 */
bool server_close(struct server *server);

/* ---- server_reload.c ---- */

/* Reads the configuration again and takes over what can be changed while running. */
void server_reload(struct server *server);

/* Makes server->allow anew: from the settings, and the networks of the host. */
void server_follow_networks(struct server *server);

/* ---- server_status.c ---- */

void server_put_status(struct server *server, bool json, struct buffer *out);

/* ---- server_driver.c ---- */

/* Prepares the sampler; its events keep `latest` and the log up to date. Returns 0 or -ENOMEM. */
int server_open_sampling(struct server *server);

#endif
