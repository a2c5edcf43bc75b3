#include "wire/cookie.h"

#include "core/cursor.h"

#include <sodium.h>
#include <string.h>

_Static_assert(COOKIE_SIZE >= crypto_generichash_BYTES_MIN, "BLAKE2b must be able to make a cookie");

void cookie_make(const uint8_t *secret, struct text address, uint64_t nonce, uint64_t epoch,
                 uint8_t ret_cookie[COOKIE_SIZE])
{
    crypto_generichash_state state;
    uint8_t numbers[16];
    struct writer writer = writer_over(numbers, sizeof(numbers));

    write_u64(&writer, nonce);
    write_u64(&writer, epoch);
    crypto_generichash_init(&state, secret, COOKIE_SECRET_SIZE, COOKIE_SIZE);
    crypto_generichash_update(&state, numbers, sizeof(numbers));
    crypto_generichash_update(&state, (const unsigned char *)address.bytes, address.len);
    crypto_generichash_final(&state, ret_cookie, COOKIE_SIZE);
}

bool cookie_check(const uint8_t *secret, struct text address, uint64_t nonce, uint64_t epoch,
                  const uint8_t cookie[COOKIE_SIZE])
{
    uint8_t made[COOKIE_SIZE];
    bool same;

    cookie_make(secret, address, nonce, epoch, made);
    same = sodium_memcmp(made, cookie, COOKIE_SIZE) == 0;
    if (epoch)
        cookie_make(secret, address, nonce, epoch - 1, made);
    return (sodium_memcmp(made, cookie, COOKIE_SIZE) == 0) | same;
}

/* Sixteen bytes: also the shortest key that BLAKE2b takes from libsodium. */
static const unsigned char identity_key[16] = "clustat identity";

void identity_make(struct text machine_id, struct text node_name, uint8_t ret_identity[IDENTITY_SIZE])
{
    crypto_generichash_state state;

    crypto_generichash_init(&state, identity_key, sizeof(identity_key), IDENTITY_SIZE);
    crypto_generichash_update(&state, (const unsigned char *)machine_id.bytes, machine_id.len);
    crypto_generichash_update(&state, (const unsigned char *)"",
                              1); /* a NUL: neither can run into the other */
    crypto_generichash_update(&state, (const unsigned char *)node_name.bytes, node_name.len);
    crypto_generichash_final(&state, ret_identity, IDENTITY_SIZE);
}

void identity_connection_id(const uint8_t identity[IDENTITY_SIZE], char ret_id[CONNECTION_ID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 5;

    memcpy(ret_id, "conn-", at);
    for (size_t i = 0; i < 5; i++) {
        ret_id[at++] = digits[identity[i] >> 4];
        ret_id[at++] = digits[identity[i] & 15];
    }
    ret_id[at] = '\0';
}
