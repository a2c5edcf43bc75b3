/* QUERY, REPLY, RESEND, GOODBYE, PING and PONG. */
#include "wire/chunk.h"
#include "wire/message_format.h"

#include <assert.h>

_Static_assert(MESSAGE_BITMAP_MAX * 8 == CHUNK_MAX, "a bit per chunk");

void message_put_query(struct writer *writer, const struct message_query *message)
{
    write_u64(writer, message->token);
    write_u64(writer, message->facts_hash);
    write_u64(writer, message->process_generation);
    write_u32(writer, message->interval_us);
}

int message_get_query(struct reader body, struct message_query *ret_message)
{
    struct message_query message = {0};

    message.token = read_u64(&body);
    message.facts_hash = read_u64(&body);
    message.process_generation = read_u64(&body);
    message.interval_us = read_u32(&body);
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void message_put_reply(struct writer *writer, const struct message_reply *message)
{
    write_u64(writer, message->token);
    write_u16(writer, (uint16_t)message->flags);
    write_u64(writer, message->age_us);
    write_u64(writer, message->facts_hash);
    write_u64(writer, message->process_generation);
    write_u64(writer, message->process_base_generation);
    put_part(writer, message->readings);
    put_part(writer, message->facts);
    put_part(writer, message->process_facts);
}

int message_get_reply(struct reader body, struct message_reply *ret_message)
{
    struct message_reply message = {0};

    message.token = read_u64(&body);
    message.flags = read_u16(&body) & REPLY_WARMING;
    message.age_us = read_u64(&body);
    message.facts_hash = read_u64(&body);
    message.process_generation = read_u64(&body);
    message.process_base_generation = read_u64(&body);
    message.readings = get_part(&body);
    message.facts = get_part(&body);
    message.process_facts = get_part(&body);
    if (body.failed || message.process_base_generation > message.process_generation)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void message_put_resend(struct writer *writer, const struct message_resend *message)
{
    assert(message->chunks && message->chunks <= CHUNK_MAX);
    write_u64(writer, message->token);
    write_u64(writer, message->request_id);
    write_u16(writer, message->chunks);
    write_bytes(writer, message->missing, (message->chunks + 7u) / 8);
}

int message_get_resend(struct reader body, struct message_resend *ret_message)
{
    struct message_resend message = {0};

    message.token = read_u64(&body);
    message.request_id = read_u64(&body);
    message.chunks = read_u16(&body);
    if (!message.chunks || message.chunks > CHUNK_MAX)
        return -EBADMSG;
    get_fixed(&body, message.missing, (message.chunks + 7u) / 8);
    if (message.chunks % 8 && message.missing[message.chunks / 8] >> message.chunks % 8)
        return -EBADMSG; /* chunks beyond the last */
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void message_put_goodbye(struct writer *writer, const struct message_goodbye *message)
{
    write_u64(writer, message->token);
    write_u8(writer, message->reason);
}

int message_get_goodbye(struct reader body, struct message_goodbye *ret_message)
{
    struct message_goodbye message = {0};

    message.token = read_u64(&body);
    message.reason = read_u8(&body);
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void message_put_ping(struct writer *writer, const struct message_ping *message)
{
    write_u64(writer, message->token);
    write_u64(writer, message->stamp);
}

int message_get_ping(struct reader body, struct message_ping *ret_message)
{
    struct message_ping message = {0};

    message.token = read_u64(&body);
    message.stamp = read_u64(&body);
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}
