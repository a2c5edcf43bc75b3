#include "backend/backend.h"

#include "core/cleanup.h"
#include "proto/timers.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>

#define STOP_MS  500u /* for what is still to be sent */
#define SWEEP_NS NS_PER_S

#define DEFERRED_TURNS_MAX 16u /* a flood must not stop the clock: 4,096 datagrams */

static uint64_t next_random(void *userdata)
{
    uint64_t value;

    (void)userdata;
    randombytes_buf(&value, sizeof(value));
    return value;
}

static struct node_clock clock_of(const struct backend *backend)
{
    return (struct node_clock){clock_now(), clock_wall_us(),
                               backend->settings->config.connecting.connection_idle_timeout_ns};
}

/* ---- what the cluster says ---- */

static void on_send(void *userdata, struct endpoint *endpoint, const uint8_t *bytes, size_t len)
{
    struct backend *backend = userdata;

    transport_send(backend->transport, endpoint, bytes, len);
}

static void on_open(void *userdata, struct endpoint *endpoint)
{
    struct backend *backend = userdata;

    transport_connect(backend->transport, endpoint);
}

static void on_close(void *userdata, struct endpoint *endpoint)
{
    struct backend *backend = userdata;

    transport_disconnect(backend->transport, endpoint);
}

static void on_settled(void *userdata, struct node *node)
{
    struct backend *backend = userdata;

    questions_settled(backend->questions, clock_now(), node);
}

static void on_rows(void *userdata, struct node *node, bool gone)
{
    struct backend *backend = userdata;

    if (gone && backend->statics)
        static_nodes_row_gone(backend->statics, node);
    questions_rows_changed(backend->questions, clock_now(), node, gone);
}

static void on_changed(void *userdata)
{
    struct backend *backend = userdata;

    if (backend->known)
        known_file_changed(backend->known, clock_now());
}

static void on_candidate_done(void *userdata, unsigned candidate)
{
    struct backend *backend = userdata;

    if (backend->discovery)
        discovery_done(backend->discovery, candidate);
}

/* ---- what users want ---- */

void backend_set_discovery_times(struct backend *backend)
{
    struct questions_discovery discovery = {
        .wait_until = instant_add_ns(discovery_began(backend->discovery),
                                     backend->settings->config.connecting.discover_wait_ns),
        .began_empty = !cluster_count(backend->cluster),
        .first_round = discovery_first_round(backend->discovery),
    };

    questions_set_discovery(backend->questions, &discovery);
}

static void on_asked(void *userdata, struct instant now)
{
    struct backend *backend = userdata;

    discovery_asked(backend->discovery, now);
    if (!backend->is_resting)
        return;
    backend->is_resting = false;
    log_info("somebody asks again: sessions are opened");
    cluster_wake(backend->cluster, now);
    backend_set_discovery_times(backend);
}

static void on_facts(void *userdata, struct instant now, struct answer_facts *ret_facts)
{
    struct backend *backend = userdata;

    *ret_facts = (struct answer_facts){
        .clock = clock_of(backend),
        .left_out = cluster_left_out(backend->cluster, now),
        .warming = instant_since_ns(discovery_settled(backend->discovery), now) > 0,
        .users = backend->users,
    };
}

static void on_answer(void *userdata, void *asker, enum question_form form, const void *bytes, size_t len)
{
    struct backend *backend = userdata;

    api_answer(backend->api, asker, form, bytes, len);
}

static size_t on_count(void *userdata)
{
    struct backend *backend = userdata;

    return cluster_count(backend->cluster);
}

static void on_status(void *userdata, struct buffer *out)
{
    backend_put_status(userdata, out);
}

static void on_list(void *userdata, struct instant now, struct buffer *out)
{
    struct backend *backend = userdata;
    struct answer_facts facts;

    on_facts(backend, now, &facts);
    answer_put_list(backend->cluster, &facts, out);
}

/* Forgets a row unless it answers. */
static void forget(struct backend *backend, struct node *node, const struct node_clock *clock,
                   struct message_forgotten *forgotten)
{
    struct liveness_state state = liveness_state(&node->liveness, clock->now, clock->idle_timeout_ns);
    char label[NODE_LABEL_CAP];

    if (state.state == NODE_UP || state.state == NODE_STALE) {
        forgotten->still_up++;
        return;
    }
    log_info("%s is forgotten, as asked", node_label(node, label));
    forgotten->forgotten++;
    static_nodes_hide(backend->statics, node);
    cluster_forget(backend->cluster, node);
}

static int on_forget(void *userdata, struct instant now, struct text filter,
                     struct message_forgotten *ret_forgotten, struct host_list_error *ret_error)
{
    struct backend *backend = userdata;
    size_t count = cluster_count(backend->cluster);
    struct node_clock clock = clock_of(backend);
    struct message_forgotten forgotten = {0};
    _cleanup_(cleanup_free) bool *selected = calloc(count + 1, sizeof(*selected));
    _cleanup_(cleanup_free) struct node **rows = calloc(count + 1, sizeof(struct node *));
    struct node_filter *compiled;
    bool inexact;
    int r = selected && rows ? node_filter_new(filter, &compiled, ret_error) : -ENOMEM;

    (void)now;
    if (r < 0)
        return r;
    memcpy(rows, cluster_rows(backend->cluster), count * sizeof(*rows));
    r = answer_select(backend->cluster, compiled, selected, &inexact);
    node_filter_free(compiled);
    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++)
        if (selected[i])
            forget(backend, rows[i], &clock, &forgotten);
    *ret_forgotten = forgotten;
    return 0;
}

/* ---- time ---- */

static void on_hurry(uv_idle_t *handle)
{
    (void)handle;
}

/* Time has come for the cluster or for questions: in on_check(), after the sockets were looked at. */
static void on_work_timer(void *userdata)
{
    struct backend *backend = userdata;

    uv_idle_start(&backend->hurry, on_hurry);
}

/* The last turn has read all that it may at once: there is more in the socket. */
static bool has_more(struct backend *backend)
{
    const struct net_udp_counters *counters = transport_counters(backend->transport);
    uint64_t before = backend->received;

    if (!counters)
        return false;
    backend->received = counters->received;
    return backend->received - before >= NET_UDP_RECEIVE_BUDGET;
}

/*
 * Behind the sockets: answers that have come already are read before anybody concludes that they are late, or
 * asks again.
 */
static void on_check(uv_check_t *handle)
{
    struct backend *backend = handle->data;
    struct instant now = clock_now();

    if (has_more(backend) && backend->turns_deferred < DEFERRED_TURNS_MAX) {
        backend->turns_deferred++;
        return;
    }
    backend->turns_deferred = 0;
    uv_idle_stop(&backend->hurry);
    if (instant_since_ns(now, cluster_next(backend->cluster)) >= 0)
        cluster_tick(backend->cluster, now);
    if (instant_since_ns(now, questions_next(backend->questions)) >= 0)
        questions_tick(backend->questions, now);
}

static void on_sweep(void *userdata)
{
    struct backend *backend = userdata;
    struct node_clock clock = clock_of(backend);

    cluster_sweep(backend->cluster, &clock);
    if (!backend->is_resting && discovery_is_idle(backend->discovery, clock.now)) {
        backend->is_resting = true;
        log_info("nobody has asked for 10 minutes: sessions are closed");
        cluster_rest(backend->cluster, clock.now);
    }
    static_nodes_sweep(backend->statics, clock.now);
    net_timer_set(&backend->sweep, instant_add_ns(clock.now, SWEEP_NS));
}

static void on_watchdog(void *userdata)
{
    struct backend *backend = userdata;
    int64_t half_ns = (int64_t)(backend->notify.watchdog_us / 2) * NS_PER_US;

    net_notify_watchdog(&backend->notify);
    net_timer_set(&backend->watchdog, instant_add_ns(clock_now(), half_ns));
}

static void follow(struct net_timer *timer, struct instant next)
{
    if (next.ns == TIMERS_NEVER.ns)
        net_timer_stop(timer);
    else if (!timer->open || timer->due.ns != next.ns || !uv_is_active((uv_handle_t *)&timer->handle))
        net_timer_set(timer, next);
}

/* Before the loop waits: whatever happened in this turn, timers and given-up addresses follow. */
static void on_prepare(uv_prepare_t *handle)
{
    struct backend *backend = handle->data;

    cluster_settle(backend->cluster, clock_now());
    follow(&backend->work_timer,
           instant_earlier(cluster_next(backend->cluster), questions_next(backend->questions)));
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct backend *backend = handle->data;

    if (number == SIGHUP) {
        backend_reload(backend);
        return;
    }
    log_info("%s: stopping", number == SIGTERM ? "SIGTERM" : "SIGINT");
    backend->is_stopping = true;
    uv_stop(&backend->loop);
}

/* ---- opening ---- */

static int fail(const char *what, int error)
{
    log_error("%s: %s", what, strerror(-error));
    return error;
}

static void log_holder(const char *path, const struct net_unix_holder *holder)
{
    if (holder->pid)
        log_error("%s is in use: another clustat-backend (pid %d, uid %u) listens there", path,
                  (int)holder->pid, (unsigned)holder->uid);
    else
        log_error("%s is in use: another clustat-backend listens there", path);
}

static int open_socket(struct backend *backend)
{
    _cleanup_(buffer_deinit) struct buffer why = BUFFER_EMPTY;
    struct net_unix_holder holder = {0};
    const char *path;
    struct paths_context context =
        paths_context_now(backend->options->uds_path, backend->options->config_path);
    int r = paths_choose(&backend->started.config, &context, &backend->paths, &why);

    if (r == 0)
        r = paths_make_socket_folder(&backend->paths, &why);
    if (r < 0) {
        log_error("%.*s", (int)why.len, buffer_text(&why).bytes);
        return r;
    }
    path = backend->paths.socket;
    r = net_unix_listen(path, 0666, &backend->socket, &holder);
    if (r == -EADDRINUSE)
        log_holder(path, &holder);
    else if (r == -EEXIST)
        log_error("%s is there and no socket of ours: remove it, or name another path", path);
    else if (r == -EBUSY)
        log_error("%s: another clustat-backend is being started there", path);
    else if (r < 0)
        fail(path, r);
    return r;
}

static void open_state_folder(struct backend *backend)
{
    _cleanup_(buffer_deinit) struct buffer why = BUFFER_EMPTY;

    if (paths_make_state_folder(&backend->paths, &why) == 0)
        return;
    log_warning("%.*s: known nodes are not kept over a restart", (int)why.len, buffer_text(&why).bytes);
    backend->paths.state_dir[0] = '\0';
}

static int open_api(struct backend *backend)
{
    struct api_events events = {
        .on_asked = on_asked,
        .on_count = on_count,
        .on_status = on_status,
        .on_list = on_list,
        .on_forget = on_forget,
        .userdata = backend,
    };
    int r = users_new(NULL, &backend->users);

    if (r == 0)
        r = api_open(&backend->loop, steal_fd(&backend->socket.fd), geteuid(), &events, &backend->api);
    return r < 0 ? fail("the socket cannot be served", r) : 0;
}

static int open_cluster(struct backend *backend)
{
    const struct config *config = &backend->started.config;
    bool tcp = config->connecting.protocol == CONFIG_PROTOCOL_TCP;
    struct cluster_options options = {
        .random = {.next = next_random},
        .instance = backend->instance,
        .seed = backend->seed,
        .tcp = tcp,
        .nodes_max = config->connecting.max_connections,
        .heartbeat_ns = config->connecting.heartbeat_interval_ns,
        .idle_timeout_ns = config->connecting.connection_idle_timeout_ns,
        .deadline_ns = config->services.node_deadline_ns,
        .keys = &backend->started.keys,
    };
    struct cluster_events events = {
        .on_send = on_send,
        .on_open = on_open,
        .on_close = on_close,
        .on_settled = on_settled,
        .on_rows = on_rows,
        .on_changed = on_changed,
        .on_candidate_done = on_candidate_done,
        .userdata = backend,
    };
    int r = transport_open(&backend->loop, tcp, backend->seed, options.idle_timeout_ns, &backend->transport);

    if (r < 0)
        return fail("the UDP socket cannot be opened", r);
    options.receive_buffer_bytes = transport_receive_buffer(backend->transport);
    r = cluster_new(&options, &events, &backend->cluster);
    if (r < 0)
        return fail("no memory for the nodes", r);
    transport_set_cluster(backend->transport, backend->cluster);
    return 0;
}

static int open_questions(struct backend *backend)
{
    struct questions_times times = {.cache_ttl_ns = backend->started.config.services.cache_ttl_ns,
                                    .deadline_ns = backend->started.config.services.node_deadline_ns};
    struct questions_events events = {.on_answer = on_answer, .on_facts = on_facts, .userdata = backend};
    int r = questions_new(backend->cluster, &times, &events, &backend->questions);

    if (r < 0)
        return fail("no memory for questions", r);
    api_set_questions(backend->api, backend->questions);
    return 0;
}

static int open_sources(struct backend *backend)
{
    struct discovery_options options = {
        .settings = &backend->started,
        .random = {.next = next_random},
        .instance = backend->instance,
        .seed = backend->seed,
        .keys = &backend->started.keys,
        .cluster = backend->cluster,
    };
    struct node_clock clock = clock_of(backend);
    int r = known_file_open(&backend->loop, backend->paths.state_dir, backend->cluster, clock.idle_timeout_ns,
                            &backend->known);

    if (r == 0)
        r = discovery_open(&backend->loop, &options, &backend->discovery);
    if (r == 0)
        r = static_nodes_open(&backend->loop, backend->cluster, &backend->statics);
    if (r < 0)
        return fail("discovery cannot be set up", r);
    discovery_set_allow(backend->discovery, backend->started.has_allow ? &backend->started.allow : NULL);
    known_file_recall(backend->known, &clock);
    r = static_nodes_set(backend->statics, clock.now, backend->started.statics,
                         backend->started.static_count);
    backend_set_discovery_times(backend);
    return r;
}

static void open_timers(struct backend *backend)
{
    static const int numbers[BACKEND_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    uv_loop_t *loop = &backend->loop;

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < BACKEND_SIGNALS; i++) {
        uv_signal_init(loop, &backend->signals[i]);
        backend->signals[i].data = backend;
        uv_signal_start(&backend->signals[i], on_signal, numbers[i]);
    }
    net_timer_init(&backend->watchdog, loop, on_watchdog, backend);
    net_timer_init(&backend->sweep, loop, on_sweep, backend);
    net_timer_init(&backend->work_timer, loop, on_work_timer, backend);
    uv_prepare_init(loop, &backend->prepare);
    uv_check_init(loop, &backend->check);
    uv_idle_init(loop, &backend->hurry);
    backend->prepare.data = backend->check.data = backend;
}

int backend_open(const struct options *options, struct settings *take_settings, struct backend *ret_backend)
{
    struct backend *backend = ret_backend;
    int r;

    *backend = (struct backend){
        .options = options, .started_at = clock_now(), .started = *take_settings, .socket = {.fd = -1}};
    *take_settings = (struct settings){0};
    backend->settings = &backend->started;
    backend->instance = next_random(NULL);
    backend->seed = next_random(NULL);
    uv_loop_init(&backend->loop);
    net_notify_open(&backend->notify);
    open_timers(backend);
    r = open_socket(backend);
    if (r == 0)
        r = open_api(backend);
    if (r == 0)
        r = open_cluster(backend);
    if (r == 0)
        r = open_questions(backend);
    if (r < 0)
        return r;
    open_state_folder(backend);
    return open_sources(backend);
}

/* ---- running ---- */

static void announce_ready(struct backend *backend)
{
    if (!backend->settings->keys.count)
        log_info(
            "traffic is not sealed: whoever is on the network can read and forge it (clustat-server keygen)");
    log_info("listening on %s", backend->paths.socket);
    net_notify_ready(&backend->notify, "answering");
    if (backend->notify.watchdog_us)
        on_watchdog(backend);
}

void backend_run(struct backend *backend)
{
    uv_prepare_start(&backend->prepare, on_prepare);
    uv_check_start(&backend->check, on_check);
    net_timer_set(&backend->sweep, instant_add_ns(clock_now(), SWEEP_NS));
    announce_ready(backend);
    while (!backend->is_stopping)
        uv_run(&backend->loop, UV_RUN_DEFAULT);
}

/* ---- the end ---- */

static void say_goodbye(struct backend *backend)
{
    if (!backend->is_stopping)
        return;
    net_notify_stopping(&backend->notify);
    known_file_finish(backend->known);
    cluster_stop(backend->cluster, clock_now());
    cluster_settle(backend->cluster, clock_now());
    uv_run(&backend->loop, UV_RUN_NOWAIT);
}

bool backend_close(struct backend *backend)
{
    bool closed;

    say_goodbye(backend);
    net_unix_socket_deinit(&backend->socket);
    api_close(backend->api);
    discovery_close(backend->discovery);
    static_nodes_close(backend->statics);
    known_file_close(backend->known);
    transport_close(backend->transport);
    net_timer_deinit(&backend->watchdog);
    net_timer_deinit(&backend->sweep);
    net_timer_deinit(&backend->work_timer);
    uv_close((uv_handle_t *)&backend->prepare, NULL);
    uv_close((uv_handle_t *)&backend->check, NULL);
    uv_close((uv_handle_t *)&backend->hurry, NULL);
    for (size_t i = 0; i < BACKEND_SIGNALS; i++)
        uv_close((uv_handle_t *)&backend->signals[i], NULL);
    closed = net_loop_drain(&backend->loop, STOP_MS) == 0;
    net_notify_close(&backend->notify);
    if (!closed)
        return false;
    static_nodes_free(backend->statics);
    discovery_free(backend->discovery);
    known_file_free(backend->known);
    questions_free(backend->questions);
    cluster_free(backend->cluster);
    transport_free(backend->transport);
    api_free(backend->api);
    users_free(backend->users);
    paths_deinit(&backend->paths);
    settings_deinit(&backend->reloaded);
    settings_deinit(&backend->started);
    return true;
}
