/* A handshake has succeeded: whose address is it, and is there a second server of that identity? */
#include "backend/cluster_internal.h"

#include "core/cleanup.h"

#include <string.h>

/* How long a node has to show that it lives, when another claims its identity: several deadlines, in which a
 * question is repeated often. */
#define RIVAL_DEADLINES 3

/* A node's own endpoint is alive as far as one can tell without asking. */
static bool seems_alive(const struct node *node)
{
    return node->endpoint && endpoint_is_up(node->endpoint) && !node->liveness.stopped;
}

static void log_node(struct cluster *cluster, const struct node *node, const char *what)
{
    char label[NODE_LABEL_CAP];

    event_log(&cluster->log_states, cluster->now, LOG_LEVEL_INFO, "%s%s", node_label(node, label), what);
}

/* ---- several live instances ---- */

void cluster_check_twins(struct cluster *cluster, struct node *changed)
{
    struct node *first = NULL, *last = NULL;

    for (struct node *node = NULL; (node = cluster_next_of_identity(cluster, changed->identity, node));) {
        node->twin = last;
        if (!first)
            first = node;
        last = node;
    }
    if (!first || changed->is_placeholder)
        return;
    first->twin = first == last ? NULL : last;
    /* The one that is left is the node, whatever it was called beside its twin. */
    if (first == last && first->rank != 1) {
        first->rank = 1;
        node_set_connection_id(first);
        cluster->order_is_old = true;
    }
}

/* The smallest rank that no row of the identity has. */
static unsigned free_rank(const struct cluster *cluster, const uint8_t *identity)
{
    for (unsigned rank = 1;; rank++) {
        struct node *node = NULL;

        while ((node = cluster_next_of_identity(cluster, identity, node)) && node->rank != rank)
            continue;
        if (!node)
            return rank;
    }
}

void cluster_merge_twins(struct cluster *cluster, struct node *dead)
{
    log_node(cluster, dead, ": of two servers with one identity this one is gone");
    cluster_remove_row(cluster, dead);
}

/* ---- taking an address into use ---- */

/* Endpoints beyond what a node needs; static ones stay. */
static void limit_addresses(struct cluster *cluster, struct node *node, struct instant now)
{
    unsigned kept = 0;

    for (struct endpoint *endpoint = node->endpoints, *next; endpoint; endpoint = next) {
        next = endpoint->node_next;
        if (endpoint == node->endpoint || ++kept < CLUSTER_ADDRESSES_MAX || endpoint->static_uses)
            continue;
        cluster_detach(endpoint);
        cluster_give_up(cluster, endpoint, now);
    }
}

/* One session per node: the other addresses are kept in mind only. */
static void close_others(struct node *node, struct instant now)
{
    for (struct endpoint *endpoint = node->endpoints; endpoint; endpoint = endpoint->node_next)
        if (endpoint != node->endpoint)
            client_close(endpoint->client, now, GOODBYE_IDLE);
}

static void take_ports(const struct cluster *cluster, struct node *node, const struct endpoint *endpoint)
{
    if (endpoint->udp_port)
        node->udp_port = endpoint->udp_port;
    if (endpoint->tcp_port)
        node->tcp_port = endpoint->tcp_port;
    *(cluster->options.tcp ? &node->tcp_port : &node->udp_port) = endpoint->address.port;
}

static void take_facts(struct cluster *cluster, struct node *node, struct endpoint *endpoint)
{
    size_t before = picture_size(&node->picture);

    if (endpoint->software[0])
        memcpy(node->software, endpoint->software, sizeof(node->software));
    if (endpoint->facts_len)
        picture_take_facts(&node->picture, endpoint->facts_hash,
                           reader_over(endpoint->facts, endpoint->facts_len));
    cluster->picture_bytes += picture_size(&node->picture) - before;
    free(steal_pointer(&endpoint->facts));
    endpoint->facts_len = 0;
    if (node_take_names(node))
        cluster->order_is_old = true;
}

/* The node is asked here from now on. */
static void use_endpoint(struct cluster *cluster, struct node *node, struct endpoint *endpoint,
                         struct instant now)
{
    const struct message_node *run = client_node(endpoint->client);
    bool other_run = !node->has_instance || node->instance != run->instance;
    bool moved = !net_address_equal(&node->address, &endpoint->address);

    if (endpoint->node != node) {
        cluster_detach(endpoint);
        cluster_attach(endpoint, node);
    }
    node->endpoint = endpoint;
    node->address = endpoint->address;
    if (other_run)
        picture_server_restarted(&node->picture);
    node->has_instance = true;
    node->instance = run->instance;
    take_ports(cluster, node, endpoint);
    take_facts(cluster, node, endpoint);
    liveness_heard(&node->liveness, now);
    node->asked_once = false; /* a new session: it is waited for again */
    close_others(node, now);
    limit_addresses(cluster, node, now);
    if (moved)
        cluster->order_is_old = true;
    if (moved || other_run)
        cluster->events.on_changed(cluster->events.userdata);
    /* Somebody waits for the node, though he asked at another address or for another run's facts. */
    if (node->has_asked && !node->has_answer && instant_since_ns(node->deadline, now) > 0)
        cluster_ask(cluster, node, now, node->deadline, node->interval_us);
}

/* A row's endpoint is another's from now on. */
static void take_over(struct cluster *cluster, struct node *node, struct endpoint *endpoint,
                      struct instant now)
{
    struct endpoint *old = node->endpoint;

    use_endpoint(cluster, node, endpoint, now);
    if (old && old != endpoint && old->node == node &&
        !net_address_same_host(&old->address, &endpoint->address)) {
        cluster_detach(old);
        cluster_give_up(cluster, old, now);
    }
    log_node(cluster, node, ": the server was restarted here");
}

static void add_row(struct cluster *cluster, struct endpoint *endpoint, struct instant now)
{
    const struct message_node *run = client_node(endpoint->client);
    unsigned rank = free_rank(cluster, run->identity);
    struct node *node = cluster_new_row(cluster, now, run->identity);

    if (!node) { /* no place; a static address stays closed, or it would shake hands for ever */
        client_close(endpoint->client, now, GOODBYE_IDLE);
        if (!endpoint->static_uses)
            cluster_give_up(cluster, endpoint, now);
        return;
    }
    node->rank = rank;
    node_set_connection_id(node);
    cluster_detach(endpoint);
    cluster_attach(endpoint, node);
    cluster_row_added(cluster, node);
    use_endpoint(cluster, node, endpoint, now);
    log_node(cluster, node, ": found");
    cluster_check_twins(cluster, node);
    if (node->twin)
        log_warning("two running servers have one identity: %s and %s (cloned machine id and name?)",
                    node->connection_id, node->twin->connection_id);
}

/* The static node's placeholder becomes the node. The other addresses of its name may be other nodes. */
static void become_node(struct cluster *cluster, struct node *node, struct endpoint *endpoint,
                        struct instant now)
{
    const struct message_node *run = client_node(endpoint->client);

    for (struct endpoint *other = node->endpoints, *next; other; other = next) {
        next = other->node_next;
        if (other != endpoint)
            cluster_detach(other);
    }
    node->is_placeholder = false;
    memcpy(node->identity, run->identity, IDENTITY_SIZE);
    node_set_connection_id(node);
    cluster->order_is_old = true;
    use_endpoint(cluster, node, endpoint, now);
    log_node(cluster, node, ": found");
}

/* ---- rivals ---- */

static void begin_rivalry(struct cluster *cluster, struct node *node, struct endpoint *endpoint,
                          struct instant now)
{
    if (!endpoint->rival)
        cluster->rivals++;
    endpoint->rival = node;
    endpoint->rival_until = instant_add_ns(now, RIVAL_DEADLINES * cluster->options.deadline_ns);
    cluster_ask(cluster, node, now, instant_add_ns(now, cluster->options.deadline_ns), 0);
}

static struct endpoint *next_rival(struct cluster *cluster, const struct node *node)
{
    for (size_t i = 0; cluster->rivals && i < cluster->endpoint_count; i++)
        if (cluster->endpoints[i]->rival == node)
            return cluster->endpoints[i];
    return NULL;
}

static void end_rivalry(struct cluster *cluster, struct endpoint *endpoint)
{
    endpoint->rival = NULL;
    cluster->rivals--;
}

void cluster_rivals_heard(struct cluster *cluster, struct node *node, struct instant now)
{
    struct endpoint *endpoint;

    while ((endpoint = next_rival(cluster, node))) {
        end_rivalry(cluster, endpoint);
        if (endpoint_is_up(endpoint))
            add_row(cluster, endpoint, now);
    }
}

void cluster_rivals_silent(struct cluster *cluster, struct node *node, struct instant now)
{
    struct endpoint *endpoint;

    while ((endpoint = next_rival(cluster, node))) {
        end_rivalry(cluster, endpoint);
        if (endpoint_is_up(endpoint))
            take_over(cluster, node, endpoint, now);
    }
}

/* ---- whose is it? ---- */

/* The row of exactly this run of the server; else one that is to be replaced by it, or NULL. *ret_alive: all
 * rows of the identity are alive; then it is one of them. */
static struct node *find_row(const struct cluster *cluster, const struct message_node *run, bool *ret_alive)
{
    struct node *dead = NULL, *alive = NULL;

    for (struct node *node = NULL; (node = cluster_next_of_identity(cluster, run->identity, node));) {
        if (node->has_instance && node->instance == run->instance) {
            *ret_alive = false;
            return node;
        }
        if (seems_alive(node))
            alive = node;
        else
            dead = node;
    }
    *ret_alive = !dead && alive;
    return dead ? dead : alive;
}

/* A second way to a node that has one: kept in mind. */
static void keep_as_second(struct cluster *cluster, struct node *node, struct endpoint *endpoint,
                           struct instant now)
{
    if (endpoint->node != node) {
        cluster_detach(endpoint);
        cluster_attach(endpoint, node);
        cluster->events.on_changed(cluster->events.userdata);
    }
    client_close(endpoint->client, now, GOODBYE_IDLE);
    limit_addresses(cluster, node, now);
}

static void bind_to(struct cluster *cluster, struct node *node, struct endpoint *endpoint, struct instant now)
{
    const struct message_node *run = client_node(endpoint->client);
    bool same_run = node->has_instance && node->instance == run->instance;

    if (node->endpoint && node->endpoint != endpoint && endpoint_is_up(node->endpoint) && same_run)
        keep_as_second(cluster, node, endpoint, now);
    else if (node->has_instance && !same_run)
        take_over(cluster, node, endpoint, now);
    else
        use_endpoint(cluster, node, endpoint, now);
}

void cluster_bind(struct cluster *cluster, struct endpoint *endpoint, struct instant now)
{
    const struct message_node *run = client_node(endpoint->client);
    struct node *present = endpoint->node, *node;
    bool alive;

    /* The node that was always here, perhaps restarted. */
    if (present && !present->is_placeholder && memcmp(present->identity, run->identity, IDENTITY_SIZE) == 0 &&
        (present->endpoint == endpoint || !seems_alive(present) || present->instance == run->instance)) {
        bind_to(cluster, present, endpoint, now);
        return;
    }
    node = find_row(cluster, run, &alive);
    if (!node && present && present->is_placeholder) {
        become_node(cluster, present, endpoint, now);
        return;
    }
    cluster_detach(endpoint);
    if (present && !present->endpoints) { /* the address has moved to another host */
        cluster_note_unreachable(cluster, present);
        cluster->events.on_settled(cluster->events.userdata, present);
    }
    if (!node)
        add_row(cluster, endpoint, now);
    else if (alive)
        begin_rivalry(cluster, node, endpoint, now);
    else
        bind_to(cluster, node, endpoint, now);
}
