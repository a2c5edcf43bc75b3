#include "server/settings.h"

#include "config/key_file.h"
#include "model/host_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void report_error(struct config_report *report, const struct config *config, const char *what)
{
    buffer_printf(&report->errors, "%s: %s\n", config->path, what);
    report->error_count++;
}

/* ---- texts become values ---- */

static int parse_addresses(struct settings *settings, struct config_report *report)
{
    const struct config_list *outbound = &settings->config.connecting.multicast_outbound_ip;
    const char *group = settings->config.connecting.multicast_addr;

    if (group[0] && net_address_parse(text_from_string(group), 0, &settings->group) < 0)
        return -EINVAL; /* cannot be: the configuration has checked it */
    if (outbound->count > NET_INTERFACES_MULTICAST_CAP) {
        report_error(report, &settings->config, "connecting.multicast_outbound_ip: allowed are 16 addresses");
        return -EINVAL;
    }
    for (uint32_t i = 0; i < outbound->count; i++)
        if (net_address_parse(text_from_string(outbound->items[i]), 0, &settings->outbound[i]) < 0)
            return -EINVAL;
    settings->outbound_count = outbound->count;
    return 0;
}

static int add_target(void *context, struct text name)
{
    struct settings *settings = context;

    if (settings->target_count == SETTINGS_TARGETS_MAX)
        return -E2BIG;
    settings->targets[settings->target_count] = strndup(name.bytes, name.len);
    return settings->targets[settings->target_count++] ? 0 : -ENOMEM;
}

static int expand_targets(struct settings *settings, struct config_report *report)
{
    const struct config_list *list = &settings->config.connecting.announce_to;

    if (!list->count)
        return 0;
    settings->targets = calloc(SETTINGS_TARGETS_MAX, sizeof(*settings->targets));
    if (!settings->targets)
        return -ENOMEM;
    for (uint32_t i = 0; i < list->count; i++) {
        struct host_list_error error;
        int r = host_list_expand(text_from_string(list->items[i]), add_target, settings, &error);

        if (r == -E2BIG)
            report_error(report, &settings->config, "connecting.announce_to: more than 4096 hosts");
        if (r < 0)
            return r;
    }
    return 0;
}

static int parse_allow(struct settings *settings, struct config_report *report)
{
    const struct config_list *list = &settings->config.security.allow;

    for (uint32_t i = 0; i < list->count; i++) {
        char why[NET_CIDR_ERROR_CAP], line[NET_CIDR_ERROR_CAP + 32];
        struct net_cidr cidr;

        if (net_cidr_parse(text_from_string(list->items[i]), &cidr, why) < 0) {
            snprintf(line, sizeof(line), "security.allow: %s", why);
            report_error(report, &settings->config, line);
            return -EINVAL;
        }
        if (net_cidr_list_add(&settings->allow, &cidr) < 0) {
            report_error(report, &settings->config, "security.allow: allowed are 256 ranges");
            return -EINVAL;
        }
    }
    return 0;
}

static int read_keys(struct settings *settings, struct config_report *report)
{
    const char *path = settings->config.security.key_file;
    size_t start = report->errors.len;
    int r;

    if (!path[0])
        return 0;
    buffer_printf(&report->errors, "%s: security.key_file: ", settings->config.path);
    r = key_file_read(path, &settings->keys, &report->errors);
    if (r == 0) {
        report->errors.len = start;
        return 0;
    }
    buffer_put_char(&report->errors, '\n');
    report->error_count++;
    return r;
}

/* CLUSTAT_NVML_LIB comes first, as in the CLI. */
static void fill_sampler(struct settings *settings)
{
    const struct config *config = &settings->config;
    const char *library = getenv("CLUSTAT_NVML_LIB");

    settings->sampler = sampler_options_default();
    if (!library || !library[0])
        library = config->runtime.nvml_lib_path;
    settings->sampler.library_path = library[0] ? library : NULL;
    settings->sampler.tick_ns = config->services.collector_interval_ns;
    settings->sampler.driver_time_ppm = config->runtime.driver_time_ppm;
    settings->sampler.stuck_call_ns = config->runtime.stuck_call_ns;
    settings->sampler.command_line = config->runtime.command_line;
}

int settings_load(const char *path, struct settings *ret_settings, struct config_report *report)
{
    struct settings *settings = ret_settings;
    int (*const steps[])(struct settings *, struct config_report *) = {parse_addresses, expand_targets,
                                                                       parse_allow, read_keys};
    int first_error;

    *settings = (struct settings){.group = NET_ADDRESS_NONE};
    first_error = config_load(CONFIG_SERVER, path, &settings->config, report);
    if (first_error < 0)
        return first_error;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int r = steps[i](settings, report);

        if (r < 0 && !first_error)
            first_error = r;
    }
    if (first_error == -ENOMEM)
        report_error(report, &settings->config, "out of memory");
    fill_sampler(settings);
    return first_error;
}

void settings_deinit(struct settings *settings)
{
    for (size_t i = 0; i < settings->target_count; i++)
        free(settings->targets[i]);
    free(settings->targets);
    seal_keys_wipe(&settings->keys);
    config_deinit(&settings->config);
    *settings = (struct settings){0};
}

/* ---- what differs after a reload ---- */

static bool same_list(const struct config_list *a, const struct config_list *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return true;
}

static void put_if(struct buffer *out, bool differs, const char *key)
{
    if (!differs)
        return;
    if (out->len)
        buffer_put_string(out, ", ");
    buffer_put_string(out, key);
}

void settings_put_restart(const struct settings *started, const struct settings *fresh, struct buffer *out)
{
    const struct config *a = &started->config, *b = &fresh->config;

    put_if(out,
           a->connecting.port_first != b->connecting.port_first ||
               a->connecting.port_last != b->connecting.port_last,
           "connecting.port_range");
    put_if(out, a->connecting.udp_port != b->connecting.udp_port, "connecting.udp_port");
    put_if(out, a->connecting.tcp_port != b->connecting.tcp_port, "connecting.tcp_port");
    put_if(out, a->connecting.udp_mtu != b->connecting.udp_mtu, "connecting.udp_mtu");
    put_if(out, strcmp(a->connecting.multicast_addr, b->connecting.multicast_addr) != 0,
           "connecting.multicast_addr");
    put_if(out, !same_list(&a->connecting.multicast_outbound_ip, &b->connecting.multicast_outbound_ip),
           "connecting.multicast_outbound_ip");
    put_if(out, a->connecting.multicast_ttl != b->connecting.multicast_ttl, "connecting.multicast_ttl");
    put_if(out, a->connecting.multicast_retry_limit != b->connecting.multicast_retry_limit,
           "connecting.multicast_retry_limit");
    put_if(out, !same_list(&a->connecting.announce_to, &b->connecting.announce_to), "connecting.announce_to");
    put_if(out, a->connecting.max_connections != b->connecting.max_connections, "connecting.max_connections");
    put_if(out, a->connecting.connection_idle_timeout_ns != b->connecting.connection_idle_timeout_ns,
           "connecting.connection_idle_timeout");
}

bool settings_same_sampler(const struct settings *a, const struct settings *b)
{
    const struct sampler_options *x = &a->sampler, *y = &b->sampler;

    if ((x->library_path && !y->library_path) || (!x->library_path && y->library_path) ||
        (x->library_path && strcmp(x->library_path, y->library_path) != 0))
        return false;
    return x->tick_ns == y->tick_ns && x->driver_time_ppm == y->driver_time_ppm &&
           x->stuck_call_ns == y->stuck_call_ns && x->command_line == y->command_line;
}

void settings_allow(const struct settings *settings, struct net_cidr_list *ret_allow)
{
    *ret_allow = settings->allow;
    if (config_is_set(&settings->config, CONFIG_KEY_ALLOW))
        return;
    net_cidr_list_add_default(ret_allow);
    net_cidr_list_add_own_subnets(ret_allow);
}
