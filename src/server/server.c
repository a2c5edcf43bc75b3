#include "server/server.h"

#include "core/cleanup.h"
#include "net/port.h"
#include "wire/cookie.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/wait.h>

#define STOP_MS          500u /* for what is still to be sent; the whole stop takes at most 2 s */
#define NETWORKS_LOOK_MS 30000u

/* ---- who we are ---- */

static void make_node(struct server *server)
{
    char machine[MACHINE_ID_MAX + 1];

    identity_node_name(server->hostname);
    identity_machine_id(machine);
    if (!machine[0])
        log_warning("this machine has no /etc/machine-id: its identity is made from its name alone");
    identity_make(text_from_string(machine), text_from_string(server->hostname), server->node.identity);
    randombytes_buf(&server->node.instance, sizeof(server->node.instance));
}

/* ---- ports ---- */

static void log_holder(const char *protocol, uint16_t port, struct buffer *out)
{
    char holder[NET_PORT_HOLDER_CAP];

    net_port_holder(protocol, port, holder);
    if (holder[0])
        buffer_printf(out, "%s%s port %u is held by %s", out->len ? ", " : "", protocol, port, holder);
}

static void warn_of_other_ports(const struct server *server, uint16_t first)
{
    _cleanup_(buffer_deinit) struct buffer holders = BUFFER_EMPTY;

    log_holder("udp", first, &holders);
    log_holder("tcp", first, &holders);
    log_warning("PORT %u IS TAKEN, this server listens on UDP port %u and TCP port %u instead: backends with "
                "static nodes and firewalls that expect %u do not reach it%s%.*s",
                first, server->udp_port, server->tcp_port, first, holders.len ? "; " : "", (int)holders.len,
                buffer_text(&holders).bytes);
}

static int fail_ports(const struct net_port_problem *problem, const struct config *config, int error)
{
    char holder[NET_PORT_HOLDER_CAP] = "";

    if (problem->protocol && problem->port)
        net_port_holder(problem->protocol, problem->port, holder);
    if (problem->protocol && problem->port)
        log_error("connecting.%s_port %u: %s%s%s", problem->protocol, problem->port, strerror(-error),
                  holder[0] ? ", held by " : "", holder);
    else
        log_error("connecting.port_range [%u, %u]: no free %s port: %s", config->connecting.port_first,
                  config->connecting.port_last, problem->protocol ? problem->protocol : "", strerror(-error));
    return error;
}

static int open_ports(struct server *server, struct net_port_pair *ret_pair)
{
    const struct config *config = &server->settings->config;
    struct net_port_options options = {
        .bind = NET_ADDRESS_NONE,
        .udp_port = (uint16_t)config->connecting.udp_port,
        .tcp_port = (uint16_t)config->connecting.tcp_port,
        .range_first = config->connecting.port_first,
        .range_last = config->connecting.port_last,
    };
    struct net_port_problem problem = {0};
    int r = net_port_open(&options, ret_pair, &problem);

    if (r < 0)
        return fail_ports(&problem, config, r);
    server->udp_port = ret_pair->udp_port;
    server->tcp_port = ret_pair->tcp_port;
    if (ret_pair->first_taken)
        warn_of_other_ports(server, config->connecting.port_first);
    return 0;
}

/* ---- the parts ---- */

static int open_responder(struct server *server)
{
    const struct config *config = &server->settings->config;
    struct net_port_pair ports;
    struct responder_options options = {
        .node = server->node,
        .max_connections = config->connecting.max_connections,
        .idle_timeout_ns = config->connecting.connection_idle_timeout_ns,
        .udp_mtu = config->connecting.udp_mtu,
        .keys = &server->settings->keys,
        .allow = &server->allow,
        .latest = server->latest,
        .sampling = server->sampling,
    };
    int r = open_ports(server, &ports);

    if (r < 0)
        return r;
    options.take_udp_fd = ports.udp_fd;
    options.take_tcp_fd = ports.tcp_fd;
    r = responder_open(&server->loop, &options, &server->responder);
    if (r < 0)
        log_error("the sockets cannot be used: %s", strerror(-r));
    return r;
}

static int open_announcing(struct server *server)
{
    struct announcing_options options = {
        .settings = &server->started,
        .keys = &server->settings->keys,
        .node = server->node,
        .hostname = text_from_string(server->hostname),
        .udp_port = server->udp_port,
        .tcp_port = server->tcp_port,
        .responder = server->responder,
    };
    int r = announcing_open(&server->loop, &options, &server->announcing);

    if (r < 0)
        log_error("discovery cannot be set up: %s", strerror(-r));
    return r;
}

static void on_networks(void *userdata)
{
    server_follow_networks(userdata);
}

static void control_status(void *userdata, bool json, struct buffer *out)
{
    server_put_status(userdata, json, out);
}

static void control_pause(void *userdata, uint32_t secs)
{
    struct server *server = userdata;

    if (secs)
        log_info("paused for %u s by the administrator", secs);
    else
        log_info("paused by the administrator");
    sampling_pause(server->sampling, secs * NS_PER_S);
}

static bool control_is_leaving(void *userdata)
{
    struct server *server = userdata;

    return sampling_is_leaving(server->sampling);
}

static bool control_resume(void *userdata)
{
    struct server *server = userdata;

    if (sampling_state(server->sampling) != SAMPLING_PAUSED)
        return false;
    sampling_resume(server->sampling);
    return true;
}

/* Serving matters more: without the socket it goes on. */
static void open_control(struct server *server)
{
    _cleanup_(buffer_deinit) struct buffer why = BUFFER_EMPTY;
    char usual[CONTROL_PATH_CAP];
    const char *path = server->options->control_path;
    struct control_events events = {.on_status = control_status,
                                    .on_pause = control_pause,
                                    .is_leaving = control_is_leaving,
                                    .on_resume = control_resume,
                                    .userdata = server};

    if (!path)
        path = control_default_path(true, usual);
    if (control_open(&server->loop, path, &events, &server->control, &why) < 0)
        log_warning("no control socket (status, pause, resume do not work): %.*s", (int)why.len,
                    buffer_text(&why).bytes);
}

/* ---- signals and the service manager ---- */

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;

    if (number == SIGHUP) {
        server_reload(server);
        return;
    }
    log_info("%s: stopping", number == SIGTERM ? "SIGTERM" : "SIGINT");
    server->stopping = true;
    uv_stop(&server->loop);
}

static void catch_signals(struct server *server)
{
    static const int numbers[SERVER_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < SERVER_SIGNALS; i++) {
        uv_signal_init(&server->loop, &server->signals[i]);
        server->signals[i].data = server;
        uv_signal_start(&server->signals[i], on_signal, numbers[i]);
    }
}

static void on_watchdog(void *userdata)
{
    struct server *server = userdata;
    int64_t half_ns = (int64_t)(server->notify.watchdog_us / 2) * NS_PER_US;

    net_notify_watchdog(&server->notify);
    net_timer_set(&server->watchdog, instant_add_ns(clock_now(), half_ns));
}

/* ---- life ---- */

int server_open(const struct options *options, struct settings *take_settings, struct server *ret_server)
{
    struct server *server = ret_server;
    int r;

    *server = (struct server){
        .options = options, .started_at = clock_now(), .started = *take_settings, .notify = {.fd = -1}};
    *take_settings = (struct settings){0};
    server->settings = &server->started;
    uv_loop_init(&server->loop);
    net_notify_open(&server->notify);
    net_timer_init(&server->watchdog, &server->loop, on_watchdog, server);
    catch_signals(server);
    make_node(server);
    server_follow_networks(server);
    r = latest_new(text_from_string(server->hostname), &server->latest);
    if (r == 0)
        r = server_open_sampling(server);
    if (r < 0) {
        log_error("out of memory");
        return r;
    }
    r = open_responder(server);
    if (r == 0)
        r = open_announcing(server);
    if (r < 0)
        return r;
    if (net_interface_watch_open(&server->loop, NETWORKS_LOOK_MS, on_networks, server, &server->interfaces) <
        0)
        log_warning("changes of the network are not followed");
    open_control(server);
    return 0;
}

void server_ready(struct server *server)
{
    char status[128];

    if (!server->settings->keys.count)
        log_info("traffic is not sealed: everyone in security.allow can read and forge it (clustat-server "
                 "keygen)");
    snprintf(status, sizeof(status), "serving on UDP port %u and TCP port %u", server->udp_port,
             server->tcp_port);
    log_info("node %s, %s", server->hostname, status);
    net_notify_ready(&server->notify, status);
    if (server->notify.watchdog_us)
        on_watchdog(server);
}

void server_run(struct server *server)
{
    sampling_start(server->sampling);
    while (!server->stopping)
        uv_run(&server->loop, UV_RUN_DEFAULT);
}

static void wake(void *userdata)
{
    (void)userdata;
}

/* Lets goodbyes leave, and connections end in order. */
static void say_goodbye(struct server *server)
{
    struct instant limit = instant_add_ns(clock_now(), STOP_MS * NS_PER_MS);
    struct net_timer timer;

    net_notify_stopping(&server->notify);
    announcing_stop(server->announcing);
    responder_stop(server->responder);
    net_timer_init(&timer, &server->loop, wake, NULL);
    net_timer_set(&timer, limit);
    while (streams_count(responder_streams(server->responder)) > 0 &&
           instant_since_ns(limit, clock_now()) > 0)
        uv_run(&server->loop, UV_RUN_ONCE);
    net_timer_deinit(&timer);
    uv_run(&server->loop, UV_RUN_NOWAIT);
}

bool server_close(struct server *server)
{
    int r;

    if (server->stopping)
        say_goodbye(server);
    control_close(server->control);
    net_interface_watch_close(server->interfaces);
    announcing_close(server->announcing);
    responder_close(server->responder);
    if (server->sampling)
        sampling_close(server->sampling);
    net_timer_deinit(&server->watchdog);
    for (size_t i = 0; i < SERVER_SIGNALS; i++)
        uv_close((uv_handle_t *)&server->signals[i], NULL);
    r = net_loop_drain(&server->loop, STOP_MS);
    if (r < 0)
        return false;
    control_free(server->control);
    announcing_free(server->announcing);
    responder_free(server->responder);
    sampling_free(server->sampling);
    latest_free(server->latest);
    settings_deinit(&server->reloaded);
    settings_deinit(&server->started);
    net_notify_close(&server->notify);
    return true;
}
