/*
 * clustat-backend as a whole: its parts, in the order in which they are opened, and what passes between them.
 *
 *   api  -> questions -> cluster -> transport -> network
 *                        cluster <- discovery, static nodes, known-nodes file
 */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "backend/api.h"
#include "backend/discovery.h"
#include "backend/known_file.h"
#include "backend/options.h"
#include "backend/paths.h"
#include "backend/static_nodes.h"
#include "backend/transport.h"
#include "net/loop.h"
#include "net/notify.h"
#include "net/unix.h"

#define BACKEND_SIGNALS 3

struct backend {
    const struct options *options;
    struct settings started;         /* what sockets and sessions were made with */
    struct settings reloaded;        /* of the last SIGHUP; empty before */
    const struct settings *settings; /* the present ones: either of these */
    struct paths paths;
    uv_loop_t loop;
    uv_signal_t signals[BACKEND_SIGNALS];
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t hurry;         /* active: the loop must not wait */
    uint64_t received;       /* datagrams, as of the last turn */
    unsigned turns_deferred; /* that time has waited for what is in the socket */
    struct net_notify notify;
    struct net_unix_socket socket;
    struct net_timer watchdog, sweep, work_timer;
    struct users *users;
    struct api *api;
    struct questions *questions;
    struct transport *transport;
    struct cluster *cluster;
    struct discovery *discovery;
    struct static_nodes *statics;
    struct known_file *known;
    uint64_t instance, seed;
    struct instant started_at;
    bool is_resting; /* nobody asks: sessions are closed */
    bool is_stopping;
};

/*
 * Opens everything, the socket first. Takes the settings over. On an error everything was logged, and
 * backend_close() is to be called all the same. Returns 0 or a negative errno.
 */
int backend_open(const struct options *options, struct settings *take_settings, struct backend *ret_backend);

/* Serves until SIGTERM or SIGINT. */
void backend_run(struct backend *backend);

/* Says goodbye, removes the socket, frees. False: a thread hangs in the name service; leave by _exit(2). */
bool backend_close(struct backend *backend);

/* Tells the questions how discovery goes; after its times, or what is known, have changed. */
void backend_set_discovery_times(struct backend *backend);

/* ---- backend_reload.c ---- */

/* SIGHUP. */
void backend_reload(struct backend *backend);

/* ---- backend_status.c ---- */

/* Appends the counters as one line of JSON. */
void backend_put_status(struct backend *backend, struct buffer *out);

#endif
