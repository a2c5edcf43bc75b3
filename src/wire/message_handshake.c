/* HELLO, CHALLENGE, WELCOME and REFUSE. */
#include "wire/message_format.h"

void message_put_hello(struct writer *writer, const struct message_hello *message)
{
    size_t start = writer->pos, cookie_len = message->has_cookie ? COOKIE_SIZE : 0;

    write_u8(writer, message->version_min);
    write_u8(writer, message->version_max);
    write_u64(writer, message->nonce);
    write_u64(writer, message->instance);
    write_u8(writer, (uint8_t)cookie_len);
    write_bytes(writer, message->cookie, cookie_len);
    put_padding(writer, start, HELLO_BODY_SIZE);
}

int message_get_hello(struct reader body, struct message_hello *ret_message)
{
    struct message_hello message = {0};
    uint8_t cookie_len;

    if (reader_left(&body) < HELLO_BODY_SIZE)
        return -EBADMSG;
    message.version_min = read_u8(&body);
    message.version_max = read_u8(&body);
    message.nonce = read_u64(&body);
    message.instance = read_u64(&body);
    cookie_len = read_u8(&body);
    message.has_cookie = cookie_len == COOKIE_SIZE;
    if (message.has_cookie)
        get_fixed(&body, message.cookie, COOKIE_SIZE);
    skip_padding(&body);
    if (body.failed || (cookie_len && !message.has_cookie) || message.version_min > message.version_max)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void message_put_challenge(struct writer *writer, const struct message_challenge *message)
{
    write_u64(writer, message->nonce);
    write_bytes(writer, message->cookie, COOKIE_SIZE);
}

int message_get_challenge(struct reader body, struct message_challenge *ret_message)
{
    struct message_challenge message = {0};

    message.nonce = read_u64(&body);
    get_fixed(&body, message.cookie, COOKIE_SIZE);
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void message_put_welcome(struct writer *writer, const struct message_welcome *message)
{
    write_u64(writer, message->nonce);
    write_u64(writer, message->token);
    write_u64(writer, message->server_nonce);
    write_bytes(writer, message->node.identity, IDENTITY_SIZE);
    write_u64(writer, message->node.instance);
    write_u8(writer, message->version);
    write_u32(writer, message->idle_timeout_ms);
    put_text(writer, message->software, MESSAGE_TEXT_MAX);
    write_u64(writer, message->facts_hash);
    put_part(writer, message->facts);
}

int message_get_welcome(struct reader body, struct message_welcome *ret_message)
{
    struct message_welcome message = {0};

    message.nonce = read_u64(&body);
    message.token = read_u64(&body);
    message.server_nonce = read_u64(&body);
    get_fixed(&body, message.node.identity, IDENTITY_SIZE);
    message.node.instance = read_u64(&body);
    message.version = read_u8(&body);
    message.idle_timeout_ms = read_u32(&body);
    message.software = read_optional_text(&body, MESSAGE_TEXT_MAX);
    message.facts_hash = read_u64(&body);
    message.facts = get_part(&body);
    if (body.failed || !message.token)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void message_put_refuse(struct writer *writer, const struct message_refuse *message)
{
    write_u64(writer, message->echo);
    write_u8(writer, message->reason);
    write_u8(writer, message->version_min);
    write_u8(writer, message->version_max);
}

int message_get_refuse(struct reader body, struct message_refuse *ret_message)
{
    struct message_refuse message = {0};

    message.echo = read_u64(&body);
    message.reason = read_u8(&body);
    message.version_min = read_u8(&body);
    message.version_max = read_u8(&body);
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}
