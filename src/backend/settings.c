#include "backend/settings.h"

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

/* The same name twice, as by the file and CLUSTAT_STATIC_NODES, is one. */
static bool has_static(const struct settings *settings, struct text host, uint16_t port)
{
    for (size_t i = 0; i < settings->static_count; i++)
        if (settings->statics[i].port == port && text_equal_string(host, settings->statics[i].host))
            return true;
    return false;
}

static int add_static(void *context, struct text name)
{
    struct settings *settings = context;
    struct settings_static *item;
    struct text host;
    uint16_t port;
    int r = net_address_split(name, settings->config.connecting.port_first, &host, &port);

    if (r < 0 || has_static(settings, host, port))
        return r;
    if (settings->static_count == SETTINGS_STATIC_MAX)
        return -E2BIG;
    item = &settings->statics[settings->static_count];
    item->host = strndup(host.bytes, host.len);
    item->port = port;
    if (!item->host)
        return -ENOMEM;
    settings->static_count++;
    return 0;
}

static int expand_statics(struct settings *settings, struct config_report *report)
{
    const struct config_list *list = &settings->config.connecting.static_nodes;

    settings->statics = calloc(SETTINGS_STATIC_MAX, sizeof(*settings->statics));
    if (!settings->statics)
        return -ENOMEM;
    for (uint32_t i = 0; i < list->count; i++) {
        struct host_list_error error;
        int r = host_list_expand(text_from_string(list->items[i]), add_static, settings, &error);

        if (r == -E2BIG)
            report_error(report, &settings->config, "connecting.static_nodes: allowed are 4096 nodes in all");
        else if (r == -EINVAL || r == -ERANGE)
            report_error(report, &settings->config,
                         "connecting.static_nodes: a node is neither a name nor an address with a port");
        if (r < 0)
            return r;
    }
    return 0;
}

static int parse_allow(struct settings *settings, struct config_report *report)
{
    const struct config_list *list = &settings->config.security.allow;

    settings->has_allow = config_is_set(&settings->config, CONFIG_KEY_ALLOW);
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

int settings_load(const char *path, struct settings *ret_settings, struct config_report *report)
{
    struct settings *settings = ret_settings;
    int (*const steps[])(struct settings *, struct config_report *) = {parse_addresses, expand_statics,
                                                                       parse_allow, read_keys};
    int first_error;

    *settings = (struct settings){.group = NET_ADDRESS_NONE};
    first_error = config_load(CONFIG_BACKEND, path, &settings->config, report);
    if (first_error < 0)
        return first_error;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int r = steps[i](settings, report);

        if (r < 0 && !first_error)
            first_error = r;
    }
    if (first_error == -ENOMEM)
        report_error(report, &settings->config, "out of memory");
    return first_error;
}

void settings_deinit(struct settings *settings)
{
    for (size_t i = 0; i < settings->static_count; i++)
        free(settings->statics[i].host);
    free(settings->statics);
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

    put_if(out, a->connecting.protocol != b->connecting.protocol, "connecting.protocol");
    put_if(out, strcmp(a->connecting.multicast_addr, b->connecting.multicast_addr) != 0,
           "connecting.multicast_addr");
    put_if(out, !same_list(&a->connecting.multicast_outbound_ip, &b->connecting.multicast_outbound_ip),
           "connecting.multicast_outbound_ip");
    put_if(out, a->connecting.multicast_ttl != b->connecting.multicast_ttl, "connecting.multicast_ttl");
    put_if(out, a->connecting.max_connections != b->connecting.max_connections, "connecting.max_connections");
    put_if(out, strcmp(a->services.uds_path, b->services.uds_path) != 0, "services.uds_path");
    put_if(out, strcmp(a->services.state_dir, b->services.state_dir) != 0, "services.state_dir");
}
