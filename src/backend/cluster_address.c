/* The addresses that nodes are asked at: whose they are, who uses them, and when they are given up. */
#include "backend/cluster_internal.h"

#include "core/cleanup.h"
#include "net/peer_address.h"

#include <assert.h>

bool endpoint_is_up(const struct endpoint *endpoint)
{
    return client_state(endpoint->client) == CLIENT_UP;
}

struct endpoint *cluster_find_endpoint(const struct cluster *cluster, const struct net_address *address)
{
    for (size_t i = 0; i < cluster->endpoint_count; i++)
        if (!cluster->endpoints[i]->doomed && net_address_equal(&cluster->endpoints[i]->address, address))
            return cluster->endpoints[i];
    return NULL;
}

static bool make_room(struct cluster *cluster)
{
    size_t cap = cluster->endpoint_cap ? 2 * cluster->endpoint_cap : 64;
    struct endpoint **larger;

    if (cluster->endpoint_count < cluster->endpoint_cap)
        return true;
    larger = reallocarray(cluster->endpoints, cap, sizeof(*larger));
    if (!larger)
        return false;
    cluster->endpoints = larger;
    cluster->endpoint_cap = cap;
    return true;
}

struct endpoint *cluster_add_endpoint(struct cluster *cluster, const struct net_address *address)
{
    struct net_address any = NET_ADDRESS_NONE;
    struct endpoint *endpoint;
    struct peer peer = net_peer_make(address, &any, cluster->options.seed, cluster->options.tcp ? 1 : 0);

    if (cluster->endpoint_count >= cluster->endpoint_max || !make_room(cluster))
        return NULL;
    endpoint = calloc(1, sizeof(*endpoint));
    if (!endpoint)
        return NULL;
    endpoint->cluster = cluster;
    endpoint->address = *address;
    if (client_new(cluster->clients, &peer, endpoint, &endpoint->client) < 0) {
        free(endpoint);
        return NULL;
    }
    cluster->endpoints[cluster->endpoint_count++] = endpoint;
    return endpoint;
}

void cluster_attach(struct endpoint *endpoint, struct node *node)
{
    assert(!endpoint->node);
    endpoint->node = node;
    endpoint->node_next = node->endpoints;
    node->endpoints = endpoint;
}

void cluster_detach(struct endpoint *endpoint)
{
    struct node *node = endpoint->node;
    struct endpoint **at;

    if (!node)
        return;
    for (at = &node->endpoints; *at != endpoint;)
        at = &(*at)->node_next;
    *at = endpoint->node_next;
    endpoint->node_next = NULL;
    endpoint->node = NULL;
    if (node->endpoint == endpoint)
        node->endpoint = NULL;
}

void cluster_end_candidate(struct cluster *cluster, struct endpoint *endpoint)
{
    if (!endpoint->is_candidate)
        return;
    endpoint->is_candidate = false;
    cluster->events.on_candidate_done(cluster->events.userdata, endpoint->candidate);
}

static void clear_rival(struct cluster *cluster, struct endpoint *endpoint)
{
    if (!endpoint->rival)
        return;
    endpoint->rival = NULL;
    cluster->rivals--;
}

void cluster_give_up(struct cluster *cluster, struct endpoint *endpoint, struct instant now)
{
    clear_rival(cluster, endpoint);
    cluster_end_candidate(cluster, endpoint);
    client_close(endpoint->client, now, GOODBYE_IDLE);
    if (endpoint->static_uses) {
        client_start(endpoint->client, now);
        return;
    }
    if (!endpoint->doomed)
        cluster->doomed++;
    endpoint->doomed = true;
}

static void free_endpoint(struct cluster *cluster, struct endpoint *endpoint)
{
    cluster_detach(endpoint);
    if (endpoint->stream)
        cluster->events.on_close(cluster->events.userdata, endpoint);
    client_free(endpoint->client);
    free(endpoint->facts);
    free(endpoint);
}

void cluster_settle(struct cluster *cluster, struct instant now)
{
    cluster->now = now;
    for (size_t i = 0; i < cluster->endpoint_count; i++) {
        struct endpoint *endpoint = cluster->endpoints[i];

        if (endpoint->stream && client_state(endpoint->client) == CLIENT_OFF)
            cluster->events.on_close(cluster->events.userdata, endpoint);
        if (!cluster->doomed || !endpoint->doomed)
            continue;
        cluster->doomed--;
        cluster->endpoints[i--] = cluster->endpoints[--cluster->endpoint_count];
        free_endpoint(cluster, endpoint);
    }
}

/* ---- static nodes ---- */

struct endpoint *cluster_use_address(struct cluster *cluster, struct instant now,
                                     const struct net_address *address, struct node *placeholder)
{
    struct endpoint *endpoint = cluster_find_endpoint(cluster, address);

    cluster->now = now;
    if (!endpoint)
        endpoint = cluster_add_endpoint(cluster, address);
    if (!endpoint)
        return NULL;
    endpoint->static_uses++;
    if (!endpoint->node && placeholder) {
        cluster_attach(endpoint, placeholder);
        if (placeholder->address.family == NET_FAMILY_NONE)
            placeholder->address = *address;
    }
    if (!endpoint->node || endpoint->node == placeholder)
        client_start(endpoint->client, now);
    /* Whoever asked for the node before its address was known is served now. */
    if (placeholder && endpoint->node == placeholder && placeholder->has_asked && !placeholder->asked_once &&
        instant_since_ns(placeholder->deadline, now) > 0)
        cluster_ask(cluster, placeholder, now, placeholder->deadline, placeholder->interval_us);
    return endpoint;
}

void cluster_use_again(struct cluster *cluster, struct endpoint *endpoint, struct node *placeholder)
{
    if (endpoint->node)
        return;
    cluster_attach(endpoint, placeholder);
    if (placeholder->address.family == NET_FAMILY_NONE)
        placeholder->address = endpoint->address;
    client_start(endpoint->client, cluster->now);
}

void cluster_unuse_address(struct cluster *cluster, struct endpoint *endpoint)
{
    endpoint->static_uses--;
    if (!endpoint->static_uses && (!endpoint->node || endpoint->node->is_placeholder) &&
        !endpoint->is_candidate) {
        cluster_detach(endpoint);
        cluster_give_up(cluster, endpoint, cluster->now);
    }
}

struct node *cluster_add_placeholder(struct cluster *cluster, struct instant now, const char *hostname,
                                     const char *id)
{
    struct node *node = cluster_new_row(cluster, now, NULL);

    cluster->now = now;
    if (!node)
        return NULL;
    node->is_placeholder = true;
    snprintf(node->hostname, sizeof(node->hostname), "%s", hostname);
    node_set_placeholder_id(node, id);
    cluster_row_added(cluster, node);
    return node;
}

/* ---- candidates ---- */

static void remember_ports(struct endpoint *endpoint, const struct message_announce *announce)
{
    endpoint->udp_port = announce->udp_port;
    endpoint->tcp_port = announce->tcp_port;
}

/*
 * The address has a session, or one is being made. If it is one with another run of the server, asking shows:
 * the server does not know the session any more.
 */
static void remind(struct cluster *cluster, struct endpoint *endpoint, struct instant now)
{
    struct node *node = endpoint->node;

    if (node && node->endpoint == endpoint && endpoint_is_up(endpoint))
        cluster_ask(cluster, node, now, instant_add_ns(now, cluster->options.deadline_ns), 0);
    else if (client_state(endpoint->client) == CLIENT_OFF)
        client_start(endpoint->client, now);
    else
        client_kick(endpoint->client, now);
}

enum cluster_candidate cluster_try_candidate(struct cluster *cluster, struct instant now,
                                             const struct net_address *address, unsigned number,
                                             const struct message_announce *announce)
{
    struct endpoint *endpoint = cluster_find_endpoint(cluster, address);

    cluster->now = now;
    if (endpoint) {
        remind(cluster, endpoint, now);
        return CLUSTER_CANDIDATE_OLD;
    }
    if (cluster->count >= cluster->options.nodes_max &&
        !cluster_next_of_identity(cluster, announce->node.identity, NULL)) {
        cluster_note_left_out(cluster, now, announce->node.identity);
        return CLUSTER_CANDIDATE_FULL;
    }
    endpoint = cluster_add_endpoint(cluster, address);
    if (!endpoint)
        return CLUSTER_CANDIDATE_FULL;
    endpoint->is_candidate = true;
    endpoint->candidate = number;
    remember_ports(endpoint, announce);
    client_start_tentative(endpoint->client, now);
    return CLUSTER_CANDIDATE_TRIED;
}

void cluster_drop_candidate(struct cluster *cluster, unsigned number)
{
    for (size_t i = 0; i < cluster->endpoint_count; i++) {
        struct endpoint *endpoint = cluster->endpoints[i];

        if (!endpoint->is_candidate || endpoint->candidate != number)
            continue;
        endpoint->is_candidate = false; /* discovery knows already */
        if (!endpoint->node && !endpoint->rival)
            cluster_give_up(cluster, endpoint, cluster->now);
        return;
    }
}
