#include "backend/node.h"

#include "backend/endpoint.h"
#include "core/cleanup.h"
#include "wire/snapshot_codec.h"
#include "wire/snapshot_parts.h"

#include <sodium.h>
#include <string.h>

#define ID_BYTES 5 /* of the identity, as 10 hex digits */

static void put_connection_id(struct node *node, const uint8_t bytes[ID_BYTES])
{
    char hex[2 * ID_BYTES + 1];

    sodium_bin2hex(hex, sizeof(hex), bytes, ID_BYTES);
    if (node->rank > 1)
        snprintf(node->connection_id, sizeof(node->connection_id), "conn-%s-%u", hex, node->rank);
    else
        snprintf(node->connection_id, sizeof(node->connection_id), "conn-%s", hex);
}

void node_set_connection_id(struct node *node)
{
    put_connection_id(node, node->identity);
}

void node_set_placeholder_id(struct node *node, const char *name)
{
    static const char context[] = "clustat static node";
    uint8_t hash[crypto_generichash_BYTES_MIN];

    crypto_generichash(hash, sizeof(hash), (const uint8_t *)name, strlen(name), (const uint8_t *)context,
                       sizeof(context) - 1);
    node->rank = 1;
    put_connection_id(node, hash);
}

bool node_take_names(struct node *node)
{
    struct snapshot_summary summary;
    char before[sizeof(node->hostname)];

    if (snapshot_summarize(picture_facts(&node->picture), &summary) < 0 || !summary.hostname.len)
        return false;
    memcpy(before, node->hostname, sizeof(before));
    text_copy(summary.hostname, node->hostname, sizeof(node->hostname));
    return strcmp(before, node->hostname) != 0;
}

char *node_label(const struct node *node, char buf[static NODE_LABEL_CAP])
{
    char address[NET_ADDRESS_TEXT_CAP];

    if (node->address.family == NET_FAMILY_NONE)
        snprintf(buf, NODE_LABEL_CAP, "%s", node->hostname);
    else
        snprintf(buf, NODE_LABEL_CAP, "%s (%s)", node->hostname[0] ? node->hostname : node->connection_id,
                 net_address_format(&node->address, address));
    return buf;
}

/* The endpoint whose troubles are the node's. */
static const struct endpoint *main_endpoint(const struct node *node)
{
    return node->endpoint ? node->endpoint : node->endpoints;
}

static void put_part(struct buffer *out, const char *part)
{
    if (part[0] && out->len)
        buffer_put_string(out, "; ");
    buffer_put_string(out, part);
}

static void put_error(const struct node *node, struct buffer *out)
{
    const struct endpoint *endpoint = main_endpoint(node);
    char problem[CLIENT_PROBLEM_SIZE];

    if (endpoint)
        put_part(out, client_problem(endpoint->client, problem));
    if (node->why_unresolved[0])
        put_part(out, node->why_unresolved);
    if (node->unreadable)
        put_part(out, "its last answer cannot be read (a server of another version?)");
    if (node->twin) {
        put_part(out, "another running server has this node's identity: ");
        buffer_put_string(out, node->twin->connection_id);
    }
}

static uint64_t since_us(struct instant now, struct instant then)
{
    int64_t ns = instant_since_ns(now, then);

    return ns > 0 ? (uint64_t)(ns / NS_PER_US) : 0;
}

/* The wall clock's time of a moment. */
static int64_t wall_of(const struct node_clock *clock, struct instant then)
{
    return clock->unix_us - instant_since_ns(clock->now, then) / NS_PER_US;
}

static void fill_delay(const struct node *node, const struct node_clock *clock, struct view_node *view)
{
    struct instant measured;

    if (!node->endpoint || !client_delay(node->endpoint->client, &view->delay_us, &measured))
        return;
    view->has_delay = true;
    view->delay_age_us = since_us(clock->now, measured);
}

void node_fill_view(struct node *node, const struct node_clock *clock, struct node_texts *texts,
                    struct message_view_node *ret_view)
{
    struct liveness_state state = liveness_state(&node->liveness, clock->now, clock->idle_timeout_ns);
    struct message_view_node view = {.node = {.state = state.state}};

    buffer_clear(&texts->error);
    put_error(node, &texts->error);
    view.node.connection_id = text_from_string(node->connection_id);
    if (node->address.family != NET_FAMILY_NONE)
        view.node.addr = text_from_string(net_address_format(&node->address, texts->address));
    if (texts->error.len)
        view.node.error = buffer_text(&texts->error);
    if (state.state != NODE_UP && state.state != NODE_WARMING)
        view.node.since_unix_us = wall_of(clock, state.since);
    if (picture_has_readings(&node->picture))
        view.node.age_us = since_us(clock->now, node->picture.taken);
    fill_delay(node, clock, &view.node);
    if (node->software[0])
        view.software = text_from_string(node->software);
    if (node->liveness.last_heard.ns || node->liveness.answered) {
        struct instant seen =
            node->liveness.last_heard.ns ? node->liveness.last_heard : node->liveness.last_answer;

        view.has_last_seen = true;
        view.last_seen_age_us = since_us(clock->now, seen);
    }
    *ret_view = view;
}

static int decode(struct reader body, struct snapshot *snapshot)
{
    struct snapshot_need need;
    int r = snapshot_measure(body, &need);

    if (r == 0)
        r = snapshot_reserve(snapshot, need.devices, need.entries, need.processes);
    return r == 0 ? snapshot_decode(body, snapshot) : r;
}

void node_put_bare_body(const struct node *node, struct buffer *out)
{
    _cleanup_(snapshot_deinit) struct snapshot bare;
    struct writer writer;

    snapshot_init(&bare);
    if (picture_has_readings(&node->picture))
        decode(picture_body(&node->picture), &bare); /* empty if it cannot be read */
    bare.device_count = bare.entry_count = bare.process_count = 0;
    if (!bare.hostname.len)
        bare.hostname = text_from_string(node->hostname);
    if (buffer_reserve(out, snapshot_encoded_max(&bare)) < 0)
        return;
    writer = writer_over(out->bytes + out->len, out->cap - out->len);
    snapshot_encode(&bare, &writer);
    if (!writer.failed)
        out->len += writer.pos;
}

struct node_names node_names_of(const struct node *node, char address[static NET_ADDRESS_TEXT_CAP])
{
    struct node_names names = {.connection_id = text_from_string(node->connection_id)};

    if (node->hostname[0])
        names.hostname = text_from_string(node->hostname);
    if (node->address.family != NET_FAMILY_NONE)
        names.addr = text_from_string(net_address_format(&node->address, address));
    return names;
}

static void add_address(struct known_node *known, struct net_address address)
{
    address.port = 0;
    address.scope = 0;
    for (size_t i = 0; i < known->address_count; i++)
        if (net_address_equal(&known->addresses[i], &address))
            return;
    if (known->address_count < KNOWN_ADDRESSES_MAX)
        known->addresses[known->address_count++] = address;
}

bool node_to_known(const struct node *node, const struct node_clock *clock, struct known_node *ret_known)
{
    struct known_node known = {.udp_port = node->udp_port, .tcp_port = node->tcp_port};
    /* A link-local address means nothing without its interface, which may have another number after a boot.
     */
    bool usable = node->address.family != NET_FAMILY_NONE && !node->address.scope;

    if (node->is_placeholder || !usable || (!known.udp_port && !known.tcp_port))
        return false;
    memcpy(known.identity, node->identity, sizeof(known.identity));
    memcpy(known.hostname, node->hostname, sizeof(known.hostname));
    memcpy(known.software, node->software, sizeof(known.software));
    add_address(&known, node->address);
    for (const struct endpoint *endpoint = node->endpoints; endpoint; endpoint = endpoint->node_next)
        if (!endpoint->address.scope)
            add_address(&known, endpoint->address);
    if (node->liveness.answered)
        known.answered_unix_us = wall_of(clock, node->liveness.last_answer);
    if (known.answered_unix_us < 0)
        known.answered_unix_us = 0;
    known.stopped = node->liveness.stopped;
    *ret_known = known;
    return true;
}

void node_free(struct node *node)
{
    if (!node)
        return;
    picture_deinit(&node->picture);
    free(node);
}
