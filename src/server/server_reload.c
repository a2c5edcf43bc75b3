/* SIGHUP, and networks that come and go. */
#include "server/server.h"

#include "core/cleanup.h"

#include <string.h>

static void log_lines(enum log_level level, const struct buffer *lines)
{
    struct text text = buffer_text(lines);

    while (text.len) {
        const char *end = memchr(text.bytes, '\n', text.len);
        size_t len = end ? (size_t)(end - text.bytes) : text.len;

        log_write(level, "%.*s", (int)len, text.bytes);
        text.bytes += len + (end != NULL);
        text.len -= len + (end != NULL);
    }
}

void server_follow_networks(struct server *server)
{
    settings_allow(server->settings, &server->allow);
}

/* From here on nobody borrows from the settings of an earlier reload. */
static void take_over(struct server *server, struct settings *take_fresh)
{
    struct settings earlier = server->reloaded;
    bool same_sampler = settings_same_sampler(server->settings, take_fresh);

    server->reloaded = *take_fresh;
    server->settings = &server->reloaded;
    responder_set_keys(server->responder, &server->reloaded.keys);
    announcing_set_keys(server->announcing, &server->reloaded.keys);
    server_follow_networks(server);
    if (!same_sampler && sampling_set_options(server->sampling, &server->reloaded.sampler) < 0)
        log_error("out of memory: the sampler keeps its settings");
    settings_deinit(&earlier);
}

void server_reload(struct server *server)
{
    _cleanup_(config_report_deinit) struct config_report report = {.errors = BUFFER_EMPTY};
    _cleanup_(buffer_deinit) struct buffer restart = BUFFER_EMPTY;
    struct settings fresh;
    int r;

    net_notify_reloading(&server->notify);
    r = settings_load(server->options->config_path, &fresh, &report);
    log_lines(LOG_LEVEL_WARNING, &report.warnings);
    log_lines(LOG_LEVEL_ERROR, &report.errors);
    if (r < 0) {
        log_error("the configuration was not taken over: it goes on with what it had");
        settings_deinit(&fresh);
    } else {
        settings_put_restart(&server->started, &fresh, &restart);
        take_over(server, &fresh);
        if (restart.len)
            log_warning("reloaded; these keys need a restart: %.*s", (int)restart.len, restart.bytes);
        else
            log_info("reloaded");
    }
    net_notify_ready(&server->notify, NULL);
}
