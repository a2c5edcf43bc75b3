#include "backend/static_nodes.h"

#include "core/cleanup.h"
#include "net/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_UP_MS      10000u
#define AGAIN_NS        (60 * NS_PER_S) /* a name that was found */
#define AGAIN_FAILED_NS (10 * NS_PER_S) /* one that was not */

struct static_node {
    struct static_nodes *nodes;
    char *host; /* owned */
    uint16_t port;
    bool is_wanted; /* by the configuration, during static_nodes_set() */
    bool is_hidden; /* was forgotten by a person */
    bool failed;    /* the last look-up, as the log knows it */
    struct node *placeholder;
    struct net_resolve_request *request; /* NULL: none is under way */
    struct instant look_up_at;
    struct endpoint *endpoints[NET_RESOLVE_ADDRESSES_CAP];
    size_t endpoint_count;
};

struct static_nodes {
    struct cluster *cluster;
    struct net_resolver *resolver;
    struct static_node **items; /* owned */
    size_t count;
    struct event_limit failures_logged;
};

int static_nodes_open(uv_loop_t *loop, struct cluster *cluster, struct static_nodes **ret_nodes)
{
    struct static_nodes *nodes = calloc(1, sizeof(*nodes));
    int r;

    if (!nodes)
        return -ENOMEM;
    nodes->cluster = cluster;
    r = net_resolver_open(loop, &nodes->resolver);
    if (r < 0) {
        free(nodes);
        return r;
    }
    *ret_nodes = nodes;
    return 0;
}

size_t static_nodes_count(const struct static_nodes *nodes)
{
    return nodes->count;
}

/* ---- placeholders ---- */

/* Some address of the name belongs to a node that has a row of its own. */
static bool is_covered(const struct static_node *item)
{
    for (size_t i = 0; i < item->endpoint_count; i++) {
        const struct node *node = item->endpoints[i]->node;

        if (node && !node->is_placeholder)
            return true;
    }
    return false;
}

static void add_placeholder(struct static_node *item, struct instant now)
{
    char id[KNOWN_HOSTNAME_MAX + 16];

    snprintf(id, sizeof(id), "%s:%u", item->host, item->port);
    item->placeholder = cluster_add_placeholder(item->nodes->cluster, now, item->host, id);
    if (!item->placeholder)
        return;
    for (size_t i = 0; i < item->endpoint_count; i++)
        cluster_use_again(item->nodes->cluster, item->endpoints[i], item->placeholder);
}

static void check_placeholder(struct static_node *item, struct instant now)
{
    bool covered;

    if (item->placeholder && !item->placeholder->is_placeholder)
        item->placeholder = NULL; /* it has become a node */
    covered = is_covered(item);
    if (covered)
        item->is_hidden = false;
    if (covered && item->placeholder)
        cluster_forget(item->nodes->cluster, item->placeholder); /* static_nodes_row_gone() clears it */
    else if (!covered && !item->placeholder && !item->is_hidden)
        add_placeholder(item, now);
}

void static_nodes_row_gone(struct static_nodes *nodes, const struct node *node)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->items[i]->placeholder == node)
            nodes->items[i]->placeholder = NULL;
}

void static_nodes_hide(struct static_nodes *nodes, const struct node *node)
{
    for (size_t i = 0; i < nodes->count; i++) {
        struct static_node *item = nodes->items[i];

        if (item->placeholder == node)
            item->is_hidden = true;
        for (size_t j = 0; j < item->endpoint_count; j++)
            if (item->endpoints[j]->node == node)
                item->is_hidden = true;
    }
}

/* ---- looking up ---- */

static bool has_address(const struct static_node *item, const struct net_address *address)
{
    for (size_t i = 0; i < item->endpoint_count; i++)
        if (net_address_equal(&item->endpoints[i]->address, address))
            return true;
    return false;
}

static bool is_among(const struct net_resolve_answer *answer, const struct net_address *address)
{
    for (size_t i = 0; i < answer->count; i++)
        if (net_address_equal(&answer->addresses[i], address))
            return true;
    return false;
}

/* The addresses that the name has now. */
static void take_addresses(struct static_node *item, const struct net_resolve_answer *answer,
                           struct instant now)
{
    struct cluster *cluster = item->nodes->cluster;
    size_t kept = 0;

    for (size_t i = 0; i < item->endpoint_count; i++) {
        if (is_among(answer, &item->endpoints[i]->address))
            item->endpoints[kept++] = item->endpoints[i];
        else
            cluster_unuse_address(cluster, item->endpoints[i]);
    }
    item->endpoint_count = kept;
    for (size_t i = 0; i < answer->count && item->endpoint_count < NET_RESOLVE_ADDRESSES_CAP; i++) {
        struct endpoint *endpoint;

        if (has_address(item, &answer->addresses[i]))
            continue;
        endpoint = cluster_use_address(cluster, now, &answer->addresses[i], item->placeholder);
        if (endpoint)
            item->endpoints[item->endpoint_count++] = endpoint;
    }
}

static void note_failure(struct static_node *item, const struct net_resolve_answer *answer,
                         struct instant now)
{
    const char *why = answer->text[0] ? answer->text : strerror(-answer->error);

    if (item->placeholder)
        snprintf(item->placeholder->why_unresolved, sizeof(item->placeholder->why_unresolved),
                 "no address: %s", why);
    if (!item->failed)
        event_log(&item->nodes->failures_logged, now, LOG_LEVEL_WARNING, "connecting.static_nodes: %s: %s",
                  item->host, why);
    item->failed = true;
}

static void take_answer(void *userdata, const struct net_resolve_answer *answer)
{
    struct static_node *item = userdata;
    struct instant now = clock_now();

    item->request = NULL;
    item->look_up_at = instant_add_ns(now, answer->error ? AGAIN_FAILED_NS : AGAIN_NS);
    if (answer->error) {
        note_failure(item, answer, now); /* the addresses of before stay: a name service may be down */
        return;
    }
    item->failed = false;
    if (item->placeholder)
        item->placeholder->why_unresolved[0] = '\0';
    take_addresses(item, answer, now);
    check_placeholder(item, now);
}

static void look_up(struct static_node *item, struct instant now)
{
    if (item->request || instant_since_ns(now, item->look_up_at) < 0)
        return;
    if (net_resolve(item->nodes->resolver, text_from_string(item->host), item->port, LOOK_UP_MS, take_answer,
                    item, &item->request) < 0) {
        item->request = NULL;
        item->look_up_at = instant_add_ns(now, AGAIN_FAILED_NS);
    }
}

void static_nodes_sweep(struct static_nodes *nodes, struct instant now)
{
    for (size_t i = 0; i < nodes->count; i++) {
        check_placeholder(nodes->items[i], now);
        look_up(nodes->items[i], now);
    }
}

/* ---- the list ---- */

static void drop_item(struct static_node *item)
{
    struct cluster *cluster = item->nodes->cluster;

    if (item->request)
        net_resolve_cancel(item->request);
    for (size_t i = 0; i < item->endpoint_count; i++)
        cluster_unuse_address(cluster, item->endpoints[i]);
    item->endpoint_count = 0;
    if (item->placeholder && item->placeholder->is_placeholder)
        cluster_forget(cluster, item->placeholder);
    free(item->host);
    free(item);
}

static struct static_node *find_item(const struct static_nodes *nodes, const struct settings_static *wanted)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->items[i]->port == wanted->port && strcmp(nodes->items[i]->host, wanted->host) == 0)
            return nodes->items[i];
    return NULL;
}

static struct static_node *new_item(struct static_nodes *nodes, const struct settings_static *wanted,
                                    struct instant now)
{
    struct static_node *item = calloc(1, sizeof(*item));

    if (!item)
        return NULL;
    item->nodes = nodes;
    item->port = wanted->port;
    item->look_up_at = now;
    item->host = strdup(wanted->host);
    if (!item->host)
        free(steal_pointer(&item));
    return item;
}

int static_nodes_set(struct static_nodes *nodes, struct instant now, const struct settings_static *statics,
                     size_t count)
{
    struct static_node **items = calloc(count ? count : 1, sizeof(struct static_node *)), **old;
    size_t old_count = nodes->count, kept = 0;

    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct static_node *item = find_item(nodes, &statics[i]);

        if (!item)
            item = new_item(nodes, &statics[i], now);
        if (!item)
            continue; /* no memory: one node less, till the next reload */
        item->is_wanted = true;
        items[kept++] = item;
    }
    old = nodes->items;
    nodes->items = items;
    nodes->count = kept;
    for (size_t i = 0; i < old_count; i++)
        if (!old[i]->is_wanted)
            drop_item(old[i]);
    free(old);
    for (size_t i = 0; i < kept; i++)
        items[i]->is_wanted = false;
    static_nodes_sweep(nodes, now);
    return 0;
}

void static_nodes_close(struct static_nodes *nodes)
{
    if (!nodes)
        return;
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->items[i]->request)
            net_resolve_cancel(steal_pointer(&nodes->items[i]->request));
    net_resolver_close(nodes->resolver);
    nodes->resolver = NULL;
}

void static_nodes_free(struct static_nodes *nodes)
{
    if (!nodes)
        return;
    for (size_t i = 0; i < nodes->count; i++) {
        free(nodes->items[i]->host);
        free(nodes->items[i]);
    }
    free(nodes->items);
    free(nodes);
}
