/* ANNOUNCE, PROBE and its digest. */
#include "wire/message_format.h"

#include <sodium.h>

#define BLOOM_HASHES_MAX 16

void message_put_announce(struct writer *writer, const struct message_announce *message)
{
    size_t start = writer->pos;

    write_bytes(writer, message->node.identity, IDENTITY_SIZE);
    write_u64(writer, message->node.instance);
    write_u64(writer, message->sequence);
    write_u16(writer, message->udp_port);
    write_u16(writer, message->tcp_port);
    write_u16(writer, (uint16_t)message->flags);
    put_text(writer, message->hostname, MESSAGE_TEXT_MAX);
    put_padding(writer, start, ANNOUNCE_BODY_MIN);
}

int message_get_announce(struct reader body, struct message_announce *ret_message)
{
    struct message_announce message = {0};

    if (reader_left(&body) < ANNOUNCE_BODY_MIN)
        return -EBADMSG;
    get_fixed(&body, message.node.identity, IDENTITY_SIZE);
    message.node.instance = read_u64(&body);
    message.sequence = read_u64(&body);
    message.udp_port = read_u16(&body);
    message.tcp_port = read_u16(&body);
    message.flags = read_u16(&body) & ANNOUNCE_STOPPING;
    message.hostname = read_optional_text(&body, MESSAGE_TEXT_MAX);
    skip_padding(&body);
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void message_put_probe(struct writer *writer, const struct message_probe *message)
{
    size_t start = writer->pos;

    if (message->bloom.len > MESSAGE_BLOOM_MAX)
        writer->failed = true;
    write_u64(writer, message->instance);
    write_u64(writer, message->salt);
    write_u8(writer, message->hashes);
    write_u16(writer, message->answer_within_ms);
    write_u16(writer, (uint16_t)message->bloom.len);
    write_bytes(writer, message->bloom.bytes, message->bloom.len);
    put_padding(writer, start, PROBE_BODY_MIN);
}

int message_get_probe(struct reader body, struct message_probe *ret_message)
{
    struct message_probe message = {0};

    if (reader_left(&body) < PROBE_BODY_MIN)
        return -EBADMSG;
    message.instance = read_u64(&body);
    message.salt = read_u64(&body);
    message.hashes = read_u8(&body);
    message.answer_within_ms = read_u16(&body);
    message.bloom.len = read_u16(&body);
    if (message.bloom.len > MESSAGE_BLOOM_MAX || !message.hashes || message.hashes > BLOOM_HASHES_MAX)
        return -EBADMSG;
    message.bloom.bytes = (const char *)read_bytes(&body, message.bloom.len);
    skip_padding(&body);
    if (body.failed)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

/* Two numbers from which all places of an identity follow: first + i * step. */
struct places {
    uint64_t first, step;
};

static struct places places_of(uint64_t salt, const uint8_t identity[IDENTITY_SIZE])
{
    uint8_t input[sizeof(salt) + IDENTITY_SIZE], hash[16];
    struct writer writer = writer_over(input, sizeof(input));
    struct reader reader = reader_over(hash, sizeof(hash));
    struct places places;

    write_u64(&writer, salt);
    write_bytes(&writer, identity, IDENTITY_SIZE);
    crypto_generichash(hash, sizeof(hash), input, sizeof(input), NULL, 0);
    places.first = read_u64(&reader);
    places.step = read_u64(&reader) | 1;
    return places;
}

void message_bloom_add(uint8_t *bloom, size_t len, uint64_t salt, uint8_t hashes,
                       const uint8_t identity[IDENTITY_SIZE])
{
    struct places places = places_of(salt, identity);

    for (unsigned i = 0; len && i < hashes; i++) {
        uint64_t bit = (places.first + i * places.step) % (8 * len);

        bloom[bit / 8] |= (uint8_t)(1u << bit % 8);
    }
}

bool message_bloom_has(const struct message_probe *probe, const uint8_t identity[IDENTITY_SIZE])
{
    struct places places = places_of(probe->salt, identity);

    for (unsigned i = 0; probe->bloom.len && i < probe->hashes; i++) {
        uint64_t bit = (places.first + i * places.step) % (8 * probe->bloom.len);

        if (!((uint8_t)probe->bloom.bytes[bit / 8] >> bit % 8 & 1))
            return false;
    }
    return probe->bloom.len && probe->hashes;
}
