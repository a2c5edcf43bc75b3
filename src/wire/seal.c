#include "wire/seal.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

_Static_assert(SEAL_KEY_SIZE == crypto_aead_xchacha20poly1305_ietf_KEYBYTES &&
                   SEAL_NONCE_SIZE == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES &&
                   SEAL_TAG_SIZE == crypto_aead_xchacha20poly1305_ietf_ABYTES,
               "sizes of XChaCha20-Poly1305");

#define SEAL_PREFIX        (SEAL_KEY_ID_SIZE + SEAL_NONCE_SIZE) /* before the sealed bytes */
#define AUTHENTICATED_SIZE (FRAME_HEADER_SIZE + 1)

/* Personal labels of the hashes, so that none can stand for another. */
static const char label_key_id[] = "clustat key id";
static const char label_session[] = "clustat session";

int seal_start(void)
{
    return sodium_init() < 0 ? -ENOSYS : 0;
}

void seal_key_set(struct seal_key *key, const uint8_t bytes[SEAL_KEY_SIZE])
{
    uint8_t hash[crypto_generichash_BYTES_MIN];

    memmove(key->bytes, bytes, SEAL_KEY_SIZE);
    crypto_generichash(hash, sizeof(hash), (const unsigned char *)label_key_id, sizeof(label_key_id) - 1,
                       key->bytes, SEAL_KEY_SIZE);
    memcpy(key->id, hash, SEAL_KEY_ID_SIZE);
}

void seal_key_derive(struct seal_key *ret_key, const struct seal_key *key, uint64_t client_nonce,
                     uint64_t server_nonce)
{
    uint8_t input[sizeof(label_session) - 1 + 16], bytes[SEAL_KEY_SIZE];
    struct writer writer = writer_over(input, sizeof(input));

    write_bytes(&writer, label_session, sizeof(label_session) - 1);
    write_u64(&writer, client_nonce);
    write_u64(&writer, server_nonce);
    assert(!writer.failed);
    crypto_generichash(bytes, sizeof(bytes), input, sizeof(input), key->bytes, SEAL_KEY_SIZE);
    seal_key_set(ret_key, bytes);
    sodium_memzero(bytes, sizeof(bytes));
}

void seal_key_wipe(struct seal_key *key)
{
    sodium_memzero(key, sizeof(*key));
}

void seal_keys_wipe(struct seal_keys *keys)
{
    sodium_memzero(keys, sizeof(*keys));
}

void seal_nonce(const uint8_t random[16], uint64_t sequence, uint8_t ret_nonce[SEAL_NONCE_SIZE])
{
    struct writer writer = writer_over(ret_nonce, SEAL_NONCE_SIZE);

    write_bytes(&writer, random, 16);
    write_u64(&writer, sequence);
}

size_t seal_begin(struct writer *writer, const struct frame_header *header, const struct seal_key *key)
{
    static const uint8_t later[SEAL_PREFIX];
    struct frame_header sealed = *header;
    size_t mark;

    sealed.flags = (uint16_t)(key ? sealed.flags | FRAME_SEALED : sealed.flags & ~FRAME_SEALED);
    mark = frame_begin(writer, &sealed);
    if (key)
        write_bytes(writer, later, sizeof(later));
    return mark;
}

/* What a seal covers beside the body: the header as it is on the wire, and the direction. */
static void fill_authenticated(uint8_t bytes[AUTHENTICATED_SIZE], const uint8_t *header,
                               enum seal_direction direction)
{
    memcpy(bytes, header, FRAME_HEADER_SIZE);
    bytes[FRAME_HEADER_SIZE] = (uint8_t)direction;
}

void seal_end(struct writer *writer, size_t mark, const struct seal_key *key, enum seal_direction direction,
              const uint8_t *nonce)
{
    static const uint8_t later[SEAL_TAG_SIZE];
    uint8_t authenticated[AUTHENTICATED_SIZE], *frame, *plain;
    size_t plain_end = writer->pos;

    if (key)
        write_bytes(writer, later, sizeof(later));
    frame_end(writer, mark);
    if (!key || writer->failed || !writer->bytes)
        return;
    frame = writer->bytes + mark;
    plain = frame + FRAME_HEADER_SIZE + SEAL_PREFIX;
    memcpy(frame + FRAME_HEADER_SIZE, key->id, SEAL_KEY_ID_SIZE);
    memcpy(frame + FRAME_HEADER_SIZE + SEAL_KEY_ID_SIZE, nonce, SEAL_NONCE_SIZE);
    fill_authenticated(authenticated, frame, direction);
    crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
        plain, writer->bytes + plain_end, NULL, plain, (size_t)(writer->bytes + plain_end - plain),
        authenticated, sizeof(authenticated), NULL, nonce, key->bytes);
}

const uint8_t *seal_peek_key_id(struct reader body)
{
    return reader_left(&body) < SEAL_OVERHEAD ? NULL : read_bytes(&body, SEAL_KEY_ID_SIZE);
}

/* Checks the tag, and only then decrypts: a failed decryption would wipe what another key might open. */
static bool open_with(const struct seal_key *key, const uint8_t *authenticated, uint8_t *sealed, size_t len,
                      const uint8_t *nonce)
{
    return crypto_aead_xchacha20poly1305_ietf_decrypt_detached(NULL, NULL, sealed, len, sealed + len,
                                                               authenticated, AUTHENTICATED_SIZE, nonce,
                                                               key->bytes) == 0 &&
           crypto_aead_xchacha20poly1305_ietf_decrypt_detached(sealed, NULL, sealed, len, sealed + len,
                                                               authenticated, AUTHENTICATED_SIZE, nonce,
                                                               key->bytes) == 0;
}

int seal_open(const struct seal_key *keys, size_t key_count, enum seal_direction direction, uint8_t *frame,
              size_t frame_len, struct reader *ret_body, uint64_t *ret_sequence)
{
    struct reader reader = reader_over(frame, frame_len), tail;
    uint8_t authenticated[AUTHENTICATED_SIZE];
    const uint8_t *id, *nonce;
    struct frame_header header;
    bool known = false;
    size_t len;

    if (frame_read_header(&reader, &header) != FRAME_OK || header.body_len != reader_left(&reader) ||
        header.body_len < SEAL_OVERHEAD)
        return SEAL_SHORT;
    id = read_bytes(&reader, SEAL_KEY_ID_SIZE);
    nonce = read_bytes(&reader, SEAL_NONCE_SIZE);
    len = header.body_len - SEAL_OVERHEAD;
    fill_authenticated(authenticated, frame, direction);
    for (size_t i = 0; i < key_count; i++) {
        if (memcmp(keys[i].id, id, SEAL_KEY_ID_SIZE) != 0)
            continue;
        known = true;
        if (!open_with(&keys[i], authenticated, frame + reader.pos, len, nonce))
            continue;
        tail = reader_over(nonce + SEAL_NONCE_SIZE - sizeof(uint64_t), sizeof(uint64_t));
        *ret_sequence = read_u64(&tail);
        *ret_body = reader_over(frame + reader.pos, len);
        return SEAL_OK;
    }
    return known ? SEAL_BROKEN : SEAL_UNKNOWN_KEY;
}
