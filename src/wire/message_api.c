/* The local API between CLI and backend. */
#include "wire/message_format.h"

/* Optional members of a VIEW_NODE. */
enum view_node_flag {
    VIEW_NODE_HAS_DELAY = 1 << 0,
    VIEW_NODE_HAS_LAST_SEEN = 1 << 1,
};

void message_users_put(struct message_view_query *query, const uint32_t *uids, uint16_t count, uint8_t *bytes)
{
    struct writer writer = writer_over(bytes, count * sizeof(uint32_t));

    for (uint16_t i = 0; i < count; i++)
        write_u32(&writer, uids[i]);
    query->user_count = count;
    query->users = reader_over(bytes, writer.pos);
}

uint32_t message_users_next(struct message_view_query *query)
{
    return read_u32(&query->users);
}

void message_put_view_query(struct writer *writer, const struct message_view_query *message)
{
    if (message->user_count > MESSAGE_USERS_MAX || message->filter.len > MESSAGE_FILTER_MAX)
        writer->failed = true;
    write_u16(writer, (uint16_t)message->flags);
    write_u32(writer, message->interval_us);
    write_optional_text(writer, message->filter);
    write_u16(writer, message->user_count);
    if (message->user_count)
        write_bytes(writer, message->users.bytes, message->user_count * sizeof(uint32_t));
}

int message_get_view_query(struct reader body, struct message_view_query *ret_message)
{
    struct message_view_query message = {0};

    message.flags = read_u16(&body) & (VIEW_NO_SNAPSHOTS | VIEW_NO_WAIT);
    message.interval_us = read_u32(&body);
    message.filter = read_optional_text(&body, MESSAGE_FILTER_MAX);
    message.user_count = read_u16(&body);
    if (message.user_count > MESSAGE_USERS_MAX)
        return -EBADMSG;
    message.users = read_nested(&body, message.user_count * sizeof(uint32_t));
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void message_put_view_node(struct writer *writer, const struct message_view_node *message)
{
    const struct view_node *node = &message->node;
    unsigned flags = (node->has_delay ? VIEW_NODE_HAS_DELAY : 0u) |
                     (message->has_last_seen ? VIEW_NODE_HAS_LAST_SEEN : 0u);

    put_text(writer, node->connection_id, MESSAGE_TEXT_MAX);
    put_text(writer, node->addr, MESSAGE_TEXT_MAX);
    put_text(writer, node->error, MESSAGE_ERROR_MAX);
    write_u8(writer, (uint8_t)node->state);
    write_zigzag(writer, node->since_unix_us);
    write_varint(writer, node->age_us);
    write_u8(writer, (uint8_t)flags);
    if (node->has_delay) {
        write_varint(writer, node->delay_us);
        write_varint(writer, node->delay_age_us);
    }
    if (message->has_last_seen)
        write_varint(writer, message->last_seen_age_us);
    put_text(writer, message->software, MESSAGE_TEXT_MAX);
    put_part(writer, message->snapshot);
}

/* A state that this version does not know: the values are shown with their age, as of a late node. */
static enum node_state get_state(struct reader *body)
{
    uint8_t state = read_u8(body);

    return state <= NODE_STOPPED ? (enum node_state)state : NODE_STALE;
}

int message_get_view_node(struct reader body, struct message_view_node *ret_message)
{
    struct message_view_node message = {0};
    struct view_node *node = &message.node;
    unsigned flags;

    node->connection_id = read_optional_text(&body, MESSAGE_TEXT_MAX);
    node->addr = read_optional_text(&body, MESSAGE_TEXT_MAX);
    node->error = read_optional_text(&body, MESSAGE_ERROR_MAX);
    node->state = get_state(&body);
    node->since_unix_us = read_zigzag(&body);
    node->age_us = read_varint(&body);
    flags = read_u8(&body);
    node->has_delay = flags & VIEW_NODE_HAS_DELAY;
    if (node->has_delay) {
        node->delay_us = read_varint(&body);
        node->delay_age_us = read_varint(&body);
    }
    message.has_last_seen = flags & VIEW_NODE_HAS_LAST_SEEN;
    if (message.has_last_seen)
        message.last_seen_age_us = read_varint(&body);
    message.software = read_optional_text(&body, MESSAGE_TEXT_MAX);
    message.snapshot = get_part(&body);
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void message_put_view_end(struct writer *writer, const struct message_view_end *message)
{
    write_u32(writer, message->known);
    write_u32(writer, message->matched);
    write_u32(writer, message->left_out);
    write_u16(writer, (uint16_t)message->flags);
}

int message_get_view_end(struct reader body, struct message_view_end *ret_message)
{
    struct message_view_end message = {0};

    message.known = read_u32(&body);
    message.matched = read_u32(&body);
    message.left_out = read_u32(&body);
    message.flags = read_u16(&body) & (VIEW_INEXACT | VIEW_MAX_CONNECTIONS | VIEW_WARMING);
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void message_put_api_error(struct writer *writer, const struct message_api_error *message)
{
    write_u8(writer, message->code);
    put_text(writer, message->text, MESSAGE_ERROR_MAX);
}

int message_get_api_error(struct reader body, struct message_api_error *ret_message)
{
    struct message_api_error message = {0};

    message.code = read_u8(&body);
    message.text = read_optional_text(&body, MESSAGE_ERROR_MAX);
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void message_put_forget(struct writer *writer, const struct message_forget *message)
{
    if (message->filter.len > MESSAGE_FILTER_MAX)
        writer->failed = true;
    write_optional_text(writer, message->filter);
}

int message_get_forget(struct reader body, struct message_forget *ret_message)
{
    struct message_forget message = {0};

    message.filter = read_optional_text(&body, MESSAGE_FILTER_MAX);
    if (body.failed || !message.filter.len)
        return -EBADMSG; /* never everything by accident */
    *ret_message = message;
    return 0;
}

void message_put_forgotten(struct writer *writer, const struct message_forgotten *message)
{
    write_u32(writer, message->forgotten);
    write_u32(writer, message->still_up);
}

int message_get_forgotten(struct reader body, struct message_forgotten *ret_message)
{
    struct message_forgotten message = {0};

    message.forgotten = read_u32(&body);
    message.still_up = read_u32(&body);
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}
