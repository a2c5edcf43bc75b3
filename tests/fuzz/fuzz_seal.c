/*
 * Any bytes as a sealed frame, which must not open; and as a body that is sealed, changed in one place (the
 * first two bytes say where and how) and opened: it opens if nothing was changed, and only then.
 */
#include "fuzz/fuzz.h"

#include "wire/seal.h"

#include <string.h>

static void open_any(const struct seal_key *key, const uint8_t *bytes, size_t len)
{
    uint8_t *frame = malloc(len ? len : 1);
    struct reader body;
    uint64_t sequence;
    int r;

    MUST(frame);
    if (len)
        memcpy(frame, bytes, len);
    r = seal_open(key, 1, SEAL_TO_SERVER, frame, len, &body, &sequence);
    MUST(r > SEAL_OK && r < SEAL_OUTCOMES);
    MUST(!len || memcmp(frame, bytes, len) == 0);
    free(frame);
}

static void seal_and_open(const struct seal_key *key, const uint8_t *bytes, size_t len, uint8_t at,
                          uint8_t change)
{
    const struct frame_header header = {.version = FRAME_VERSION, .type = FRAME_QUERY, .request_id = 1};
    size_t size = FRAME_HEADER_SIZE + SEAL_OVERHEAD + len, mark;
    uint8_t *frame = malloc(size), nonce[SEAL_NONCE_SIZE];
    struct writer writer = writer_over(frame, size);
    struct reader body;
    uint64_t sequence;
    int r;

    MUST(frame);
    seal_nonce((const uint8_t *)"0123456789abcdef", 77, nonce);
    mark = seal_begin(&writer, &header, key);
    write_bytes(&writer, bytes, len);
    seal_end(&writer, mark, key, SEAL_TO_BACKEND, nonce);
    MUST(!writer.failed && writer.pos == size);
    frame[at % size] ^= change;
    r = seal_open(key, 1, SEAL_TO_BACKEND, frame, size, &body, &sequence);
    MUST((r == SEAL_OK) == !change);
    if (r == SEAL_OK)
        MUST(sequence == 77 && body.len == len && (!len || memcmp(body.bytes, bytes, len) == 0));
    free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const uint8_t secret[SEAL_KEY_SIZE] = {1, 2, 3};
    struct seal_key key;

    if (len < 2 || len > 1u << 16)
        return 0;
    seal_key_set(&key, secret);
    open_any(&key, bytes + 2, len - 2);
    seal_and_open(&key, bytes + 2, len - 2, bytes[0], bytes[1]);
    return 0;
}
