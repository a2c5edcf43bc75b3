/* What happens to the sessions, and what it means for the nodes. */
#include "backend/cluster_internal.h"

#include "core/cleanup.h"

#include <errno.h>
#include <string.h>

/* What the endpoint does counts for its node: it is the one in use, or there is none. */
static struct node *node_of(const struct endpoint *endpoint)
{
    struct node *node = endpoint->node;

    return node && (!node->endpoint || node->endpoint == endpoint) ? node : NULL;
}

static void handle_send(void *userdata, struct client *client, const uint8_t *bytes, size_t len)
{
    struct cluster *cluster = userdata;

    cluster->events.on_send(cluster->events.userdata, client_owner(client), bytes, len);
}

static void handle_open(void *userdata, struct client *client)
{
    struct cluster *cluster = userdata;
    struct node *node = node_of(client_owner(client));

    /* Where the connection is refused, nothing is ever sent: this is all the asking there is. */
    if (node)
        liveness_asked(&node->liveness, cluster->now);
    cluster->events.on_open(cluster->events.userdata, client_owner(client));
}

static void handle_asked(void *userdata, struct client *client)
{
    struct cluster *cluster = userdata;
    struct node *node = node_of(client_owner(client));

    if (node && !cluster->is_resting)
        liveness_asked(&node->liveness, cluster->now);
}

static void handle_heard(void *userdata, struct client *client)
{
    struct cluster *cluster = userdata;
    struct node *node = node_of(client_owner(client));

    if (!node)
        return;
    /* Of a placeholder nothing is known but the address; anybody may answer there. */
    liveness_heard(&node->liveness, cluster->now);
    if (cluster->rivals && client_state(client) == CLIENT_UP)
        cluster_rivals_heard(cluster, node, cluster->now);
}

static void handle_welcome(void *userdata, struct client *client, const struct message_welcome *welcome)
{
    struct endpoint *endpoint = client_owner(client);
    struct reader facts = welcome->facts;
    size_t len = reader_left(&facts);
    uint8_t *copy = len ? malloc(len) : NULL;

    (void)userdata;
    text_copy(welcome->software, endpoint->software, sizeof(endpoint->software));
    free(endpoint->facts);
    endpoint->facts = copy;
    endpoint->facts_len = copy ? len : 0;
    endpoint->facts_hash = welcome->facts_hash;
    if (copy)
        memcpy(copy, facts.bytes + facts.pos, len);
}

/* The node is not reached at the address in use: the others are tried too. */
static void try_others(struct node *node, const struct endpoint *endpoint, struct instant now)
{
    for (struct endpoint *other = node->endpoints; other; other = other->node_next)
        if (other != endpoint)
            client_start(other->client, now);
}

static void note_refused(struct cluster *cluster, struct endpoint *endpoint)
{
    char address[NET_ADDRESS_TEXT_CAP], problem[CLIENT_PROBLEM_SIZE];

    event_log(&cluster->log_problems, cluster->now, LOG_LEVEL_WARNING, "%s: %s",
              net_address_format(&endpoint->address, address), client_problem(endpoint->client, problem));
}

static void note_goodbye(struct cluster *cluster, struct node *node)
{
    char label[NODE_LABEL_CAP];

    liveness_stopped(&node->liveness, cluster->now);
    node->asked_once = true;
    node->told = NODE_STOPPED;
    event_log(&cluster->log_states, cluster->now, LOG_LEVEL_INFO, "%s was stopped", node_label(node, label));
    cluster->events.on_changed(cluster->events.userdata);
    cluster->events.on_settled(cluster->events.userdata, node);
}

/* The session is gone. */
static void note_lost(struct cluster *cluster, struct endpoint *endpoint, enum client_why why)
{
    struct node *node = node_of(endpoint);

    if (!node)
        return;
    if (why == CLIENT_WHY_GOODBYE)
        note_goodbye(cluster, node);
    cluster_rivals_silent(cluster, node, cluster->now);
    if (node == endpoint->node && (why == CLIENT_WHY_SILENT || why == CLIENT_WHY_DISCONNECTED))
        try_others(node, endpoint, cluster->now);
}

static void handle_state(void *userdata, struct client *client, enum client_state state, enum client_why why)
{
    struct cluster *cluster = userdata;
    struct endpoint *endpoint = client_owner(client);
    struct node *node;

    switch (state) {
    case CLIENT_UP:
        if (!endpoint->doomed) {
            cluster_bind(cluster, endpoint, cluster->now);
            cluster_end_candidate(cluster, endpoint);
        }
        break;
    case CLIENT_REFUSED:
        note_refused(cluster, endpoint);
        node = node_of(endpoint);
        if (node) {
            node->asked_once = true;
            liveness_late(&node->liveness, cluster->now);
            cluster->events.on_settled(cluster->events.userdata, node);
        }
        if (endpoint->is_candidate && !endpoint->node)
            cluster_give_up(cluster, endpoint, cluster->now);
        break;
    case CLIENT_STOPPED:
    case CLIENT_SHAKING:
    case CLIENT_OPENING:
        if (why != CLIENT_WHY_ASKED)
            note_lost(cluster, endpoint, why);
        break;
    case CLIENT_OFF:
        break;
    }
}

/* Keeps the cache within its bounds: what nobody asked for longest goes, and comes back when asked for. */
static void limit_pictures(struct cluster *cluster, const struct node *keep)
{
    while (cluster->picture_bytes > CLUSTER_CACHE_BYTES) {
        struct node *oldest = NULL;

        for (size_t i = 0; i < cluster->slots; i++) {
            struct node *node = cluster->nodes[i];

            if (node && node != keep && node->picture.bytes &&
                (!oldest || node->asked_at.ns < oldest->asked_at.ns))
                oldest = node;
        }
        if (!oldest)
            return;
        cluster->picture_bytes -= picture_size(&oldest->picture);
        picture_drop(&oldest->picture);
        oldest->has_answer = false;
        event_log(&cluster->log_problems, cluster->now, LOG_LEVEL_WARNING,
                  "the cache is full (%u MiB): values of nodes that are asked for least are dropped",
                  CLUSTER_CACHE_BYTES >> 20);
    }
}

/* The reply built on something that we do not have: the question is put again, for everything. */
static void ask_for_all(struct node *node, struct client *client, struct instant now)
{
    struct client_query query = {.interval_us = node->interval_us, .deadline = node->deadline};

    client_ask(client, now, &query);
}

static void settle(struct cluster *cluster, struct node *node)
{
    node->asked_once = true;
    cluster->events.on_settled(cluster->events.userdata, node);
}

static void handle_reply(void *userdata, struct client *client, const struct client_reply *reply)
{
    struct cluster *cluster = userdata;
    struct endpoint *endpoint = client_owner(client);
    struct node *node = node_of(endpoint);
    size_t before;
    int r;

    if (!node || node->endpoint != endpoint)
        return;
    before = picture_size(&node->picture);
    r = picture_take_reply(&node->picture, &reply->message, reply->asked_at);
    cluster->picture_bytes += picture_size(&node->picture) - before;
    if (r == PICTURE_ASK_AGAIN) {
        ask_for_all(node, client, cluster->now);
        return;
    }
    node->unreadable = r == -EBADMSG;
    node->has_answer = true;
    if (r == PICTURE_TAKEN) {
        if (!node->liveness.answered)
            cluster->events.on_changed(cluster->events.userdata);
        cluster_note_state(cluster, node);
        liveness_answered(&node->liveness, cluster->now, !reply->late);
        cluster_note_state(cluster, node);
        if (node_take_names(node))
            cluster->order_is_old = true;
        limit_pictures(cluster, node);
    }
    settle(cluster, node);
}

static void handle_late(void *userdata, struct client *client)
{
    struct cluster *cluster = userdata;
    struct node *node = node_of(client_owner(client));

    if (!node)
        return;
    liveness_late(&node->liveness, cluster->now);
    settle(cluster, node);
    cluster_rivals_silent(cluster, node, cluster->now);
}

const struct client_events cluster_client_events = {
    .on_send = handle_send,
    .on_open = handle_open,
    .on_state = handle_state,
    .on_welcome = handle_welcome,
    .on_reply = handle_reply,
    .on_late = handle_late,
    .on_heard = handle_heard,
    .on_asked = handle_asked,
};

/* ---- what comes from the network ---- */

enum client_input cluster_datagram(struct cluster *cluster, struct instant now, const struct peer *from,
                                   const uint8_t *bytes, size_t len)
{
    cluster->now = now;
    return client_set_datagram(cluster->clients, now, from, bytes, len);
}

void cluster_stream_opened(struct endpoint *endpoint, struct instant now)
{
    endpoint->cluster->now = now;
    client_stream_opened(endpoint->client, now);
}

void cluster_stream_closed(struct endpoint *endpoint, struct instant now)
{
    endpoint->cluster->now = now;
    client_stream_closed(endpoint->client, now);
}

enum client_input cluster_stream_frame(struct endpoint *endpoint, struct instant now, uint8_t *frame,
                                       size_t len)
{
    endpoint->cluster->now = now;
    return client_stream_frame(endpoint->client, now, frame, len);
}

void cluster_overflowed(struct cluster *cluster, struct instant now)
{
    cluster->now = now;
    client_set_overflowed(cluster->clients, now);
}
