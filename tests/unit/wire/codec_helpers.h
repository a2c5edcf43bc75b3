/* What the codec's test programs share: a body in a buffer of exactly its size, and decoding it. */
#ifndef UNIT_WIRE_CODEC_HELPERS_H
#define UNIT_WIRE_CODEC_HELPERS_H

#include "support/random_snapshot.h"
#include "wire/frame.h"
#include "wire/snapshot_codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A copy whose end a sanitizer guards. Freed with free_body(). */
static inline struct reader guarded_copy(const void *bytes, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    return reader_over(copy, len);
}

static inline void free_body(struct reader body)
{
    free((void *)(uintptr_t)body.bytes);
}

static inline struct reader encode_guarded(const struct snapshot *snapshot)
{
    size_t size = snapshot_encoded_max(snapshot);
    uint8_t *bytes = malloc(size);
    struct writer writer = writer_over(bytes, size);

    assert_non_null(bytes);
    snapshot_encode(snapshot, &writer);
    assert_false(writer.failed);
    assert_int_equal(writer.pos, size); /* the bound is exact */
    return reader_over(bytes, size);
}

/* Measures, reserves and decodes as every reader does. */
static inline int decode_body(struct reader body, struct snapshot *snapshot)
{
    struct snapshot_need need;
    int r = snapshot_measure(body, &need);

    snapshot_clear(snapshot);
    if (r < 0)
        return r;
    assert_int_equal(snapshot_reserve(snapshot, need.devices, need.entries, need.processes), 0);
    return snapshot_decode(body, snapshot);
}

static inline void assert_same_snapshot(const struct snapshot *a, const struct snapshot *b)
{
    const char *difference = snapshot_difference(a, b);

    if (difference)
        fail_msg("%s differs", difference);
}

#endif
