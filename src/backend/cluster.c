/* The table of nodes: rows, their order, asking and forgetting. */
#include "backend/cluster.h"

#include "backend/cluster_internal.h"

#include "core/cleanup.h"
#include "model/natural_order.h"
#include "proto/timers.h"

#include <errno.h>
#include <string.h>

int cluster_new(const struct cluster_options *options, const struct cluster_events *events,
                struct cluster **ret_cluster)
{
    struct cluster *cluster = calloc(1, sizeof(*cluster));
    struct client_set_options set_options = {
        .random = options->random,
        .instance = options->instance,
        .receive_buffer_bytes = options->receive_buffer_bytes,
        .heartbeat_ns = options->heartbeat_ns,
        .idle_timeout_ns = options->idle_timeout_ns,
        .keys = options->keys,
    };
    struct client_events client_events = cluster_client_events;
    int r;

    if (!cluster)
        return -ENOMEM;
    client_events.userdata = cluster;
    cluster->options = *options;
    cluster->events = *events;
    /* Rows with a second address, candidates, and static names that nobody answers to. */
    cluster->endpoint_max = 2 * options->nodes_max + 4096;
    if (cluster->endpoint_max > CLIENT_SET_MAX)
        cluster->endpoint_max = CLIENT_SET_MAX;
    set_options.clients_max = cluster->endpoint_max;
    cluster->nodes = calloc(options->nodes_max, sizeof(struct node *));
    cluster->order = calloc(options->nodes_max, sizeof(struct node *));
    cluster->left_out = calloc(LEFT_OUT_MAX, sizeof(struct left_out));
    r = cluster->nodes && cluster->order && cluster->left_out ? 0 : -ENOMEM;
    if (r == 0)
        r = client_set_new(&set_options, &client_events, &cluster->clients);
    if (r < 0) {
        cluster_free(cluster);
        return r;
    }
    *ret_cluster = cluster;
    return 0;
}

void cluster_free(struct cluster *cluster)
{
    if (!cluster)
        return;
    for (size_t i = 0; i < cluster->endpoint_count; i++) {
        struct endpoint *endpoint = cluster->endpoints[i];

        if (endpoint->stream)
            cluster->events.on_close(cluster->events.userdata, endpoint);
        client_free(endpoint->client);
        free(endpoint->facts);
        free(endpoint);
    }
    for (size_t i = 0; i < cluster->slots; i++)
        node_free(cluster->nodes[i]);
    client_set_free(cluster->clients);
    free(cluster->nodes);
    free(cluster->order);
    free(cluster->endpoints);
    free(cluster->left_out);
    free(cluster);
}

const struct client_counters *cluster_counters(const struct cluster *cluster)
{
    return client_set_counters(cluster->clients);
}

size_t cluster_count(const struct cluster *cluster)
{
    return cluster->count;
}

size_t cluster_slots(const struct cluster *cluster)
{
    return cluster->slots;
}

size_t cluster_picture_bytes(const struct cluster *cluster)
{
    return cluster->picture_bytes;
}

size_t cluster_endpoints(const struct cluster *cluster)
{
    return cluster->endpoint_count;
}

void cluster_set_keys(struct cluster *cluster, struct instant now, const struct seal_keys *keys)
{
    cluster->now = now;
    client_set_keys(cluster->clients, now, keys);
}

void cluster_set_times(struct cluster *cluster, int64_t deadline_ns, int64_t heartbeat_ns,
                       int64_t idle_timeout_ns)
{
    cluster->options.deadline_ns = deadline_ns;
    cluster->options.heartbeat_ns = heartbeat_ns;
    cluster->options.idle_timeout_ns = idle_timeout_ns;
    client_set_times(cluster->clients, heartbeat_ns, idle_timeout_ns);
}

/* ---- rows ---- */

static size_t free_slot(const struct cluster *cluster)
{
    size_t slot = 0;

    while (slot < cluster->slots && cluster->nodes[slot])
        slot++;
    return slot;
}

struct node *cluster_new_row(struct cluster *cluster, struct instant now, const uint8_t *identity)
{
    struct node *node;

    if (cluster->count >= cluster->options.nodes_max) {
        if (identity)
            cluster_note_left_out(cluster, now, identity);
        return NULL;
    }
    node = calloc(1, sizeof(*node));
    if (!node)
        return NULL;
    node->rank = 1;
    node->told = NODE_WARMING;
    if (identity) {
        memcpy(node->identity, identity, IDENTITY_SIZE);
        node_set_connection_id(node);
    }
    liveness_init(&node->liveness, now);
    return node;
}

void cluster_row_added(struct cluster *cluster, struct node *node)
{
    size_t slot = free_slot(cluster);

    node->slot = (unsigned)slot;
    cluster->nodes[slot] = node;
    if (slot == cluster->slots)
        cluster->slots++;
    cluster->count++;
    cluster->order_is_old = true;
    cluster->events.on_rows(cluster->events.userdata, node, false);
    cluster->events.on_changed(cluster->events.userdata);
}

void cluster_remove_row(struct cluster *cluster, struct node *node)
{
    cluster_rivals_silent(cluster, node, cluster->now);
    while (node->endpoints) {
        struct endpoint *endpoint = node->endpoints;

        cluster_detach(endpoint);
        cluster_give_up(cluster, endpoint, cluster->now);
    }
    cluster->nodes[node->slot] = NULL;
    cluster->count--;
    cluster->picture_bytes -= picture_size(&node->picture);
    cluster->order_is_old = true;
    cluster->events.on_rows(cluster->events.userdata, node, true);
    cluster->events.on_changed(cluster->events.userdata);
    cluster_check_twins(cluster, node);
    node_free(node);
}

struct node *cluster_next_of_identity(const struct cluster *cluster, const uint8_t *identity,
                                      const struct node *after)
{
    for (size_t i = after ? after->slot + 1 : 0; i < cluster->slots; i++) {
        struct node *node = cluster->nodes[i];

        if (node && !node->is_placeholder && memcmp(node->identity, identity, IDENTITY_SIZE) == 0)
            return node;
    }
    return NULL;
}

static int compare_rows(const void *a, const void *b)
{
    const struct node *left = *(struct node *const *)a, *right = *(struct node *const *)b;
    struct text left_name = text_from_string(left->hostname[0] ? left->hostname : NULL);
    struct text right_name = text_from_string(right->hostname[0] ? right->hostname : NULL);
    int order = natural_compare(left_name, right_name);

    if (!order)
        order = net_address_compare(&left->address, &right->address);
    return order ? order : strcmp(left->connection_id, right->connection_id);
}

struct node *const *cluster_rows(struct cluster *cluster)
{
    size_t count = 0;

    if (!cluster->order_is_old)
        return cluster->order;
    for (size_t i = 0; i < cluster->slots; i++)
        if (cluster->nodes[i])
            cluster->order[count++] = cluster->nodes[i];
    qsort(cluster->order, count, sizeof(cluster->order[0]), compare_rows);
    cluster->order_is_old = false;
    return cluster->order;
}

static bool is_live(const struct node *node)
{
    return node && node->endpoint && endpoint_is_up(node->endpoint) && !node->liveness.late &&
           !node->liveness.stopped;
}

bool cluster_is_live(const struct cluster *cluster, const struct message_node *wanted)
{
    for (struct node *node = NULL; (node = cluster_next_of_identity(cluster, wanted->identity, node));)
        if (node->has_instance && node->instance == wanted->instance && is_live(node))
            return true;
    return false;
}

bool cluster_live_identity(struct cluster *cluster, size_t i, uint8_t ret_identity[IDENTITY_SIZE])
{
    size_t slot = cluster->live_slot, found = cluster->live_i;

    if (i == 0 || i < found)
        slot = found = 0;
    for (; slot < cluster->slots; slot++) {
        if (!is_live(cluster->nodes[slot]) || found++ != i)
            continue;
        memcpy(ret_identity, cluster->nodes[slot]->identity, IDENTITY_SIZE);
        cluster->live_i = found;
        cluster->live_slot = slot + 1;
        return true;
    }
    cluster->live_i = cluster->live_slot = 0;
    return false;
}

/* ---- what has no place ---- */

void cluster_note_left_out(struct cluster *cluster, struct instant now, const uint8_t *identity)
{
    struct left_out *place = NULL;

    for (size_t i = 0; i < cluster->left_out_count && !place; i++)
        if (memcmp(cluster->left_out[i].identity, identity, IDENTITY_SIZE) == 0)
            place = &cluster->left_out[i];
    if (!place && cluster->left_out_count < LEFT_OUT_MAX)
        place = &cluster->left_out[cluster->left_out_count++];
    if (!place)
        return;
    memcpy(place->identity, identity, IDENTITY_SIZE);
    place->seen = now;
    event_log(&cluster->log_problems, now, LOG_LEVEL_WARNING,
              "connecting.max_connections = %zu is reached: further nodes are left out",
              cluster->options.nodes_max);
}

size_t cluster_left_out(struct cluster *cluster, struct instant now)
{
    size_t kept = 0;

    for (size_t i = 0; i < cluster->left_out_count; i++)
        if (instant_since_ns(now, cluster->left_out[i].seen) < LEFT_OUT_NS)
            cluster->left_out[kept++] = cluster->left_out[i];
    cluster->left_out_count = kept;
    return kept;
}

/* ---- asking ---- */

/* There is no address left to ask it at. (That of a placeholder is still being looked up.) */
void cluster_note_unreachable(struct cluster *cluster, struct node *node)
{
    liveness_asked(&node->liveness, cluster->now);
    if (node->is_placeholder)
        return;
    liveness_late(&node->liveness, cluster->now);
    node->asked_once = true;
}

bool cluster_is_asking(const struct node *node)
{
    return node->endpoint && client_is_asking(node->endpoint->client);
}

void cluster_ask(struct cluster *cluster, struct node *node, struct instant now, struct instant deadline,
                 uint32_t interval_us)
{
    struct client_query query = {
        .facts_hash = node->picture.facts_hash,
        .process_generation = node->picture.process_generation,
        .interval_us = interval_us,
        .deadline = deadline,
    };

    cluster->now = now;
    node->has_asked = true;
    node->has_answer = false;
    node->asked_at = now;
    node->deadline = deadline;
    node->interval_us = interval_us;
    if (!node->endpoints)
        cluster_note_unreachable(cluster, node);
    if (node->endpoint && endpoint_is_up(node->endpoint)) {
        client_ask(node->endpoint->client, now, &query);
        return;
    }
    /* Nothing may be sent for a while: before another connection is tried. */
    liveness_asked(&node->liveness, now);
    for (struct endpoint *endpoint = node->endpoints, *next; endpoint; endpoint = next) {
        next = endpoint->node_next;
        client_ask(endpoint->client, now, &query);
    }
}

bool cluster_worth_waiting(struct cluster *cluster, struct node *node, struct instant now)
{
    /* Also of one that was silent when the file was written, or has only a name: who asks first waits for it.
     */
    if (!node->asked_once)
        return true;
    return liveness_worth_waiting(&node->liveness, now, cluster->options.idle_timeout_ns);
}

void cluster_forget(struct cluster *cluster, struct node *node)
{
    cluster_remove_row(cluster, node);
}

void cluster_recall(struct cluster *cluster, const struct node_clock *clock, const struct known_node *known)
{
    int64_t ago_us = clock->unix_us - known->answered_unix_us;
    uint16_t port = cluster->options.tcp ? known->tcp_port : known->udp_port;
    struct node *node;

    cluster->now = clock->now;
    if (cluster_next_of_identity(cluster, known->identity, NULL))
        return;
    node = cluster_new_row(cluster, clock->now, known->identity);
    if (!node)
        return;
    memcpy(node->hostname, known->hostname, sizeof(node->hostname));
    memcpy(node->software, known->software, sizeof(node->software));
    node->udp_port = known->udp_port;
    node->tcp_port = known->tcp_port;
    if (!port) /* of the other protocol: mostly the same number */
        port = known->udp_port ? known->udp_port : known->tcp_port;
    node->address = known->addresses[0];
    node->address.port = port;
    /* A clock that was set back makes no node younger than now; one set forward must not forget it at once.
     */
    if (ago_us < 0)
        ago_us = 0;
    if (ago_us > CLUSTER_FORGET_NS / NS_PER_US / 2)
        ago_us = CLUSTER_FORGET_NS / NS_PER_US / 2;
    if (known->answered_unix_us)
        liveness_recall(&node->liveness, instant_add_ns(clock->now, -ago_us * NS_PER_US), known->stopped);
    cluster_row_added(cluster, node);
    for (size_t i = 0; i < known->address_count; i++) {
        struct net_address address = known->addresses[i];
        struct endpoint *endpoint;

        address.port = port;
        endpoint = cluster_find_endpoint(cluster, &address);
        if (!endpoint)
            endpoint = cluster_add_endpoint(cluster, &address);
        if (!endpoint || endpoint->node)
            continue;
        cluster_attach(endpoint, node);
        client_start(endpoint->client, clock->now);
    }
}

/* ---- time ---- */

struct instant cluster_next(const struct cluster *cluster)
{
    struct instant next = client_set_next(cluster->clients);

    for (size_t i = 0; cluster->rivals && i < cluster->endpoint_count; i++)
        if (cluster->endpoints[i]->rival)
            next = instant_earlier(next, cluster->endpoints[i]->rival_until);
    return next;
}

void cluster_tick(struct cluster *cluster, struct instant now)
{
    cluster->now = now;
    client_set_tick(cluster->clients, now);
    for (size_t i = 0; cluster->rivals && i < cluster->endpoint_count; i++) {
        struct endpoint *endpoint = cluster->endpoints[i];

        if (endpoint->rival && instant_since_ns(now, endpoint->rival_until) >= 0)
            cluster_rivals_silent(cluster, endpoint->rival, now);
    }
}

void cluster_note_state(struct cluster *cluster, struct node *node)
{
    struct liveness_state state =
        liveness_state(&node->liveness, cluster->now, cluster->options.idle_timeout_ns);
    char label[NODE_LABEL_CAP];
    enum node_state before = node->told;

    node->told = state.state;
    if (before == state.state)
        return;
    if (state.state == NODE_DOWN)
        event_log(&cluster->log_states, cluster->now, LOG_LEVEL_WARNING,
                  "%s is down: nothing heard for %lld s", node_label(node, label),
                  (long long)(instant_since_ns(cluster->now, state.since) / NS_PER_S));
    else if (state.state == NODE_UP && (before == NODE_DOWN || before == NODE_STOPPED))
        event_log(&cluster->log_states, cluster->now, LOG_LEVEL_INFO, "%s is back", node_label(node, label));
    if (state.state == NODE_STOPPED || before == NODE_STOPPED)
        cluster->events.on_changed(cluster->events.userdata);
}

static bool is_forgotten(const struct node *node, const struct node_clock *clock, struct liveness_state state)
{
    return !node->is_placeholder && (state.state == NODE_DOWN || state.state == NODE_STOPPED) &&
           instant_since_ns(clock->now, state.since) >= CLUSTER_FORGET_NS;
}

void cluster_sweep(struct cluster *cluster, const struct node_clock *clock)
{
    cluster->now = clock->now;
    for (size_t i = 0; i < cluster->slots; i++) {
        struct node *node = cluster->nodes[i];
        struct liveness_state state;

        if (!node)
            continue;
        state = liveness_state(&node->liveness, clock->now, clock->idle_timeout_ns);
        cluster_note_state(cluster, node);
        if (is_forgotten(node, clock, state)) {
            char label[NODE_LABEL_CAP];

            log_info("%s has been silent for 7 days: it is forgotten", node_label(node, label));
            cluster_remove_row(cluster, node);
        } else if (node->twin && (state.state == NODE_DOWN || state.state == NODE_STOPPED)) {
            cluster_merge_twins(cluster, node);
        }
    }
}

void cluster_rest(struct cluster *cluster, struct instant now)
{
    cluster->now = now;
    cluster->is_resting = true; /* goodbyes are no questions */
    for (size_t i = 0; i < cluster->endpoint_count; i++)
        if (!cluster->endpoints[i]->is_candidate)
            client_close(cluster->endpoints[i]->client, now, GOODBYE_IDLE);
    cluster->is_resting = false;
}

void cluster_wake(struct cluster *cluster, struct instant now)
{
    cluster->now = now;
    for (size_t i = 0; i < cluster->endpoint_count; i++)
        if (!cluster->endpoints[i]->node && cluster->endpoints[i]->static_uses)
            client_start(cluster->endpoints[i]->client, now);
}

void cluster_stop(struct cluster *cluster, struct instant now)
{
    cluster->now = now;
    for (size_t i = 0; i < cluster->endpoint_count; i++)
        client_close(cluster->endpoints[i]->client, now, GOODBYE_STOPPING);
}
