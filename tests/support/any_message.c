#include "support/any_message.h"

#include "wire/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const uint8_t message_types[] = {
#define X(TYPE, name) FRAME_##TYPE,
    MESSAGES(X)
#undef X
        FRAME_PONG,
};
const unsigned message_type_count = sizeof(message_types);

/* Bytes to borrow. */
static const uint8_t *pool(void)
{
    static uint8_t bytes[4096];
    struct random filler = {7};

    for (size_t i = 0; !bytes[0] && i < sizeof(bytes); i++)
        bytes[sizeof(bytes) - 1 - i] = (uint8_t)(random_u64(&filler) | (i == sizeof(bytes) - 1));
    return bytes;
}

static uint64_t any(struct random *random)
{
    return random_u64(random) >> random_below(random, 64);
}

static bool coin(struct random *random)
{
    return random_u64(random) & 1;
}

static void any_bytes(struct random *random, uint8_t *bytes, size_t len)
{
    memcpy(bytes, pool() + random_below(random, 1024), len);
}

/* Absent, empty, short or as long as may be. */
static struct text any_text(struct random *random, size_t max)
{
    const char *bytes = (const char *)pool() + random_below(random, 1024);

    switch (random_below(random, 6)) {
    case 0:
        return TEXT_ABSENT;
    case 1:
        return (struct text){bytes, 0};
    case 2:
        return (struct text){bytes, max < 2048 ? max : 2048};
    default:
        return (struct text){bytes, random_below(random, 40)};
    }
}

static struct reader any_part(struct random *random)
{
    return coin(random) ? reader_over("", 0) : reader_over(pool(), random_below(random, 300));
}

static void random_hello(struct random *random, struct message_hello *message)
{
    message->version_max = (uint8_t)any(random);
    message->version_min = (uint8_t)random_below(random, message->version_max + 1u);
    message->nonce = any(random);
    message->instance = any(random);
    message->has_cookie = coin(random);
    any_bytes(random, message->cookie, COOKIE_SIZE);
}

static void random_challenge(struct random *random, struct message_challenge *message)
{
    message->nonce = any(random);
    any_bytes(random, message->cookie, COOKIE_SIZE);
}

static void random_node(struct random *random, struct message_node *node)
{
    any_bytes(random, node->identity, IDENTITY_SIZE);
    node->instance = any(random);
}

static void random_welcome(struct random *random, struct message_welcome *message)
{
    message->nonce = any(random);
    message->token = any(random) | 1;
    message->server_nonce = any(random);
    random_node(random, &message->node);
    message->version = (uint8_t)any(random);
    message->idle_timeout_ms = (uint32_t)any(random);
    message->software = any_text(random, MESSAGE_TEXT_MAX);
    message->facts_hash = any(random);
    message->facts = any_part(random);
}

static void random_refuse(struct random *random, struct message_refuse *message)
{
    *message = (struct message_refuse){any(random), (uint8_t)any(random), 1, (uint8_t)any(random)};
}

static void random_query(struct random *random, struct message_query *message)
{
    *message = (struct message_query){any(random), any(random), any(random), (uint32_t)any(random)};
}

static void random_reply(struct random *random, struct message_reply *message)
{
    message->token = any(random);
    message->flags = coin(random) ? REPLY_WARMING : 0;
    message->age_us = any(random);
    message->facts_hash = any(random);
    message->process_base_generation = any(random) >> 1;
    message->process_generation = message->process_base_generation + random_below(random, 9);
    message->readings = any_part(random);
    message->facts = any_part(random);
    message->process_facts = any_part(random);
}

static void random_resend(struct random *random, struct message_resend *message)
{
    message->token = any(random);
    message->request_id = any(random);
    message->chunks = (uint16_t)(1 + random_below(random, CHUNK_MAX));
    for (unsigned i = 0; i < message->chunks; i++)
        message->missing[i / 8] |= (uint8_t)(coin(random) << i % 8);
}

static void random_goodbye(struct random *random, struct message_goodbye *message)
{
    *message = (struct message_goodbye){any(random), (uint8_t)any(random)};
}

static void random_ping(struct random *random, struct message_ping *message)
{
    *message = (struct message_ping){any(random), any(random)};
}

static void random_announce(struct random *random, struct message_announce *message)
{
    random_node(random, &message->node);
    message->sequence = any(random);
    message->udp_port = (uint16_t)any(random);
    message->tcp_port = (uint16_t)any(random);
    message->flags = coin(random) ? ANNOUNCE_STOPPING : 0;
    message->hostname = any_text(random, MESSAGE_TEXT_MAX);
}

static void random_probe(struct random *random, struct message_probe *message)
{
    message->instance = any(random);
    message->salt = any(random);
    message->hashes = (uint8_t)(1 + random_below(random, 16));
    message->answer_within_ms = (uint16_t)any(random);
    message->bloom = (struct text){(const char *)pool(), random_below(random, MESSAGE_BLOOM_MAX + 1)};
}

static void random_view_query(struct random *random, struct message_view_query *message)
{
    static uint8_t bytes[MESSAGE_USERS_MAX * 4];
    static uint32_t uids[MESSAGE_USERS_MAX];
    uint16_t count = (uint16_t)(coin(random) ? random_below(random, 5) : random_below(random, 1025));

    for (uint16_t i = 0; i < count; i++)
        uids[i] = (uint32_t)any(random);
    message->flags = (unsigned)random_below(random, 4);
    message->interval_us = (uint32_t)any(random);
    message->filter = any_text(random, MESSAGE_FILTER_MAX);
    message_users_put(message, uids, count, bytes);
}

static void random_view_node(struct random *random, struct message_view_node *message)
{
    struct view_node *node = &message->node;

    node->connection_id = any_text(random, MESSAGE_TEXT_MAX);
    node->addr = any_text(random, MESSAGE_TEXT_MAX);
    node->error = any_text(random, MESSAGE_ERROR_MAX);
    node->state = (enum node_state)random_below(random, NODE_STOPPED + 1);
    node->since_unix_us = coin(random) ? (int64_t)random_u64(random) : 0;
    node->age_us = any(random);
    node->has_delay = coin(random);
    node->delay_us = any(random);
    node->delay_age_us = any(random);
    message->has_last_seen = coin(random);
    message->last_seen_age_us = any(random);
    message->software = any_text(random, MESSAGE_TEXT_MAX);
    message->snapshot = any_part(random);
}

static void random_view_end(struct random *random, struct message_view_end *message)
{
    *message = (struct message_view_end){(uint32_t)any(random), (uint32_t)any(random), (uint32_t)any(random),
                                         (unsigned)random_below(random, 8)};
}

static void random_api_error(struct random *random, struct message_api_error *message)
{
    *message = (struct message_api_error){(uint8_t)any(random), any_text(random, MESSAGE_ERROR_MAX)};
}

static void random_forget(struct random *random, struct message_forget *message)
{
    do
        message->filter = any_text(random, MESSAGE_FILTER_MAX);
    while (!message->filter.len);
}

static void random_forgotten(struct random *random, struct message_forgotten *message)
{
    *message = (struct message_forgotten){(uint32_t)any(random), (uint32_t)any(random)};
}

void put_random_message(struct random *random, uint8_t type, struct writer *writer)
{
    switch (type) {
#define X(TYPE, name) \
    case FRAME_##TYPE: { \
        struct message_##name message = {0}; \
\
        random_##name(random, &message); \
        message_put_##name(writer, &message); \
        break; \
    }
        MESSAGES(X)
#undef X
    case FRAME_PONG: {
        struct message_ping message;

        random_ping(random, &message);
        message_put_pong(writer, &message);
        break;
    }
    default:
        abort();
    }
}

int recode_message(uint8_t type, struct reader body, struct writer *writer)
{
    int r;

    switch (type) {
#define X(TYPE, name) \
    case FRAME_##TYPE: { \
        struct message_##name message; \
\
        r = message_get_##name(body, &message); \
        if (r == 0) \
            message_put_##name(writer, &message); \
        return r; \
    }
        MESSAGES(X)
#undef X
    case FRAME_PONG: {
        struct message_ping message;

        r = message_get_pong(body, &message);
        if (r == 0)
            message_put_pong(writer, &message);
        return r;
    }
    default:
        return -ENOENT;
    }
}
