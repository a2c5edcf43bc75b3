/* SIGHUP. */
#include "backend/backend.h"

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

/* From here on nobody borrows from the settings of an earlier reload. */
static void take_over(struct backend *backend, struct settings *take_fresh)
{
    struct settings earlier = backend->reloaded;
    const struct config *config;
    struct instant now = clock_now();
    struct questions_times times;

    backend->reloaded = *take_fresh;
    backend->settings = &backend->reloaded;
    config = &backend->settings->config;
    times = (struct questions_times){.cache_ttl_ns = config->services.cache_ttl_ns,
                                     .deadline_ns = config->services.node_deadline_ns};
    questions_set_times(backend->questions, &times);
    cluster_set_times(backend->cluster, times.deadline_ns, config->connecting.heartbeat_interval_ns,
                      config->connecting.connection_idle_timeout_ns);
    transport_set_idle_timeout(backend->transport, config->connecting.connection_idle_timeout_ns);
    backend_set_discovery_times(backend);
    cluster_set_keys(backend->cluster, now, &backend->reloaded.keys);
    discovery_set_keys(backend->discovery, &backend->reloaded.keys);
    discovery_set_allow(backend->discovery, backend->reloaded.has_allow ? &backend->reloaded.allow : NULL);
    if (static_nodes_set(backend->statics, now, backend->reloaded.statics, backend->reloaded.static_count) <
        0)
        log_error("out of memory: the static nodes stay as they were");
    settings_deinit(&earlier);
}

void backend_reload(struct backend *backend)
{
    _cleanup_(config_report_deinit) struct config_report report = {.errors = BUFFER_EMPTY};
    _cleanup_(buffer_deinit) struct buffer restart = BUFFER_EMPTY;
    struct settings fresh;
    int r;

    net_notify_reloading(&backend->notify);
    r = settings_load(backend->options->config_path, &fresh, &report);
    log_lines(LOG_LEVEL_WARNING, &report.warnings);
    log_lines(LOG_LEVEL_ERROR, &report.errors);
    if (r < 0) {
        log_error("the configuration was not taken over: it goes on with what it had");
        settings_deinit(&fresh);
    } else {
        settings_put_restart(&backend->started, &fresh, &restart);
        take_over(backend, &fresh);
        if (restart.len)
            log_warning("reloaded; these keys need a restart: %.*s", (int)restart.len, restart.bytes);
        else
            log_info("reloaded");
    }
    net_notify_ready(&backend->notify, NULL);
}
