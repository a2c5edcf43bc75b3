/* Frames come together whatever happens to their chunks; memory stays what it was. */
#include "proto_helpers.h"

#include "proto/reassembly.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#define PAYLOAD 1444u

static struct random seed;
static uint8_t frame[CHUNK_FRAME_MAX];

static struct instant at_ms(int64_t ms)
{
    return (struct instant){NS_PER_S + ms * NS_PER_MS};
}

static struct reassembly *make(size_t slots, size_t memory_bytes)
{
    struct reassembly_options options = {
        .slots = slots, .slots_per_owner = 4, .memory_bytes = memory_bytes, .lifetime_ns = NS_PER_S};
    struct reassembly *reassembly;

    assert_int_equal(reassembly_new(&options, &reassembly), 0);
    return reassembly;
}

static struct chunk_sender sender_of(size_t len, uint32_t frame_id, size_t payload)
{
    struct chunk_sender sender;

    for (size_t i = 0; i < len; i++)
        frame[i] = (uint8_t)random_u64(&seed);
    assert_int_equal(chunk_sender_init(&sender, frame, len, frame_id, payload), 0);
    return sender;
}

static int add(struct reassembly *reassembly, struct instant now, uint64_t owner, struct chunk_sender *sender,
               uint32_t i, struct reassembly_frame *ret_frame)
{
    static uint8_t datagram[70000];
    struct text payload = chunk_sender_get(sender, i, datagram);
    struct chunk chunk;

    memcpy(datagram + CHUNK_HEADER_SIZE, payload.bytes, payload.len);
    assert_int_equal(chunk_read(reader_over(datagram, CHUNK_HEADER_SIZE + payload.len), &chunk), CHUNK_OK);
    return reassembly_add(reassembly, now, owner, &chunk, ret_frame);
}

/* In any order, some twice. */
static void any_order(void **state)
{
    struct reassembly *reassembly = make(4, 4u << 20);
    struct reassembly_frame whole = {0};

    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        size_t len = FRAME_HEADER_SIZE + random_below(&seed, round % 10 ? 100000 : FRAME_BODY_MAX);
        struct chunk_sender sender = sender_of(len, round, PAYLOAD);
        uint32_t order[CHUNK_MAX], done = 0;

        for (uint32_t i = 0; i < sender.chunks; i++) {
            uint32_t k = (uint32_t)random_below(&seed, i + 1);

            order[i] = order[k];
            order[k] = i;
        }
        for (uint32_t i = 0; i < sender.chunks; i++) {
            int outcome = add(reassembly, at_ms(0), 7, &sender, order[i], &whole);

            done += outcome == REASSEMBLY_WHOLE;
            assert_int_equal(outcome, i + 1 < sender.chunks ? REASSEMBLY_PART : REASSEMBLY_WHOLE);
            if (i + 1 < sender.chunks && random_below(&seed, 4) == 0)
                assert_int_equal(add(reassembly, at_ms(0), 7, &sender, order[i], &whole),
                                 REASSEMBLY_DUPLICATE);
        }
        assert_int_equal(done, 1);
        assert_int_equal(whole.len, len);
        assert_memory_equal(whole.bytes, frame, len);
        assert_int_equal(reassembly_bytes_used(reassembly), 0);
        if (sender.chunks > 1) /* a late duplicate begins nothing */
            assert_int_equal(add(reassembly, at_ms(0), 7, &sender, 0, &whole), REASSEMBLY_DUPLICATE);
        assert_int_equal(reassembly_slots_used(reassembly), 0);
    }
    reassembly_free(reassembly);
}

static void gaps_are_told(void **state)
{
    struct reassembly *reassembly = make(4, 4u << 20);
    struct chunk_sender sender = sender_of(40 * PAYLOAD, 1, PAYLOAD);
    struct reassembly_frame whole;
    struct reassembly_gaps gaps;

    (void)state;
    assert_false(reassembly_gaps(reassembly, 7, &gaps));
    for (uint32_t i = 0; i < 40; i++)
        if (i != 3 && i != 17 && i != 39)
            add(reassembly, at_ms(0), 7, &sender, i, &whole);
    assert_true(reassembly_gaps(reassembly, 7, &gaps));
    assert_false(reassembly_gaps(reassembly, 8, &gaps));
    assert_int_equal(gaps.chunks, 40);
    assert_int_equal(gaps.missing_count, 3);
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(gaps.missing[i / 8] >> i % 8 & 1, i == 3 || i == 17 || i == 39);
    add(reassembly, at_ms(0), 7, &sender, 3, &whole);
    add(reassembly, at_ms(0), 7, &sender, 39, &whole);
    assert_int_equal(add(reassembly, at_ms(0), 7, &sender, 17, &whole), REASSEMBLY_WHOLE);
    reassembly_free(reassembly);
}

/* Two frames that share number, length and count: where seams touch they do not mix. */
static void seams_must_agree(void **state)
{
    struct reassembly *reassembly = make(4, 4u << 20);
    static uint8_t other_frame[10 * PAYLOAD];
    struct chunk_sender sender = sender_of(sizeof(other_frame), 1, PAYLOAD), other;
    struct reassembly_frame whole;
    struct reassembly_gaps gaps;

    (void)state;
    memcpy(other_frame, frame, sizeof(other_frame));
    other_frame[5 * PAYLOAD] ^= 1; /* chunk 5 differs */
    assert_int_equal(chunk_sender_init(&other, other_frame, sizeof(other_frame), 1, PAYLOAD), 0);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(add(reassembly, at_ms(0), 7, &sender, i, &whole), REASSEMBLY_PART);
    /* 4 and 5 contradict each other: neither is kept. */
    assert_int_equal(add(reassembly, at_ms(0), 7, &other, 5, &whole), REASSEMBLY_CONFLICT);
    assert_true(reassembly_gaps(reassembly, 7, &gaps));
    assert_int_equal(gaps.missing_count, 6);
    assert_int_equal(reassembly_counters(reassembly)->conflicts, 1);
    for (uint32_t i = 4; i < 10; i++)
        assert_int_equal(add(reassembly, at_ms(0), 7, &sender, i, &whole),
                         i < 9 ? REASSEMBLY_PART : REASSEMBLY_WHOLE);
    assert_memory_equal(whole.bytes, frame, whole.len);
    reassembly_free(reassembly);
}

static void owners_do_not_mix(void **state)
{
    struct reassembly *reassembly = make(4, 4u << 20);
    struct chunk_sender sender = sender_of(2 * PAYLOAD, 1, PAYLOAD);
    struct reassembly_frame whole;

    (void)state;
    assert_int_equal(add(reassembly, at_ms(0), 1, &sender, 0, &whole), REASSEMBLY_PART);
    assert_int_equal(add(reassembly, at_ms(0), 2, &sender, 1, &whole), REASSEMBLY_PART);
    assert_int_equal(reassembly_slots_used(reassembly), 2);
    reassembly_forget(reassembly, 1);
    assert_int_equal(reassembly_slots_used(reassembly), 1);
    assert_int_equal(add(reassembly, at_ms(0), 2, &sender, 0, &whole), REASSEMBLY_WHOLE);
    reassembly_free(reassembly);
}

static void slots_expire(void **state)
{
    struct reassembly *reassembly = make(4, 4u << 20);
    struct chunk_sender sender = sender_of(2 * PAYLOAD, 1, PAYLOAD);
    struct reassembly_frame whole;

    (void)state;
    add(reassembly, at_ms(0), 1, &sender, 0, &whole);
    reassembly_expire(reassembly, at_ms(999));
    assert_int_equal(reassembly_slots_used(reassembly), 1);
    reassembly_expire(reassembly, at_ms(1000));
    assert_int_equal(reassembly_slots_used(reassembly), 0);
    assert_int_equal(reassembly_bytes_used(reassembly), 0);
    assert_int_equal(reassembly_counters(reassembly)->expired, 1);
    reassembly_free(reassembly);
}

/* Chunks of ever other frames of the largest size: bytes are charged as they come, slots and bytes are
 * capped. */
static void flood_is_bounded(void **state)
{
    struct reassembly *reassembly = make(16, 2u << 20);
    struct reassembly_frame whole;
    size_t before;

    (void)state;
    sender_of(CHUNK_FRAME_MAX, 0, PAYLOAD);
    before = mallinfo2().uordblks;
    for (unsigned i = 0; i < 5000; i++) {
        struct chunk_sender sender;

        chunk_sender_init(&sender, frame, CHUNK_FRAME_MAX, 1000 + i / 3, CHUNK_PAYLOAD_FOR_ALL);
        add(reassembly, at_ms(i / 100), random_below(&seed, 40), &sender,
            (uint32_t)random_below(&seed, sender.chunks), &whole);
        assert_true(reassembly_slots_used(reassembly) <= 16);
        assert_true(reassembly_bytes_used(reassembly) <= 2u << 20);
        assert_true(reassembly_bytes_used(reassembly) <= (i + 1) * 2 * REASSEMBLY_BLOCK_SIZE);
    }
    assert_int_equal(mallinfo2().uordblks, before);
    reassembly_free(reassembly);
}

/* The memory of one whole frame is enough for two at a time: the older one gives way, the newer one is made.
 */
static void oldest_gives_way(void **state)
{
    struct reassembly *reassembly = make(4, CHUNK_FRAME_MAX + REASSEMBLY_BLOCK_SIZE);
    struct chunk_sender old = sender_of(CHUNK_FRAME_MAX, 1, PAYLOAD), new;
    struct reassembly_frame whole;

    (void)state;
    for (uint32_t i = 0; i + 1 < old.chunks; i++)
        assert_int_equal(add(reassembly, at_ms(0), 1, &old, i, &whole), REASSEMBLY_PART);
    new = sender_of(CHUNK_FRAME_MAX, 2, PAYLOAD);
    for (uint32_t i = 0; i + 1 < new.chunks; i++)
        assert_int_equal(add(reassembly, at_ms(0), 2, &new, i, &whole), REASSEMBLY_PART);
    assert_int_equal(add(reassembly, at_ms(0), 2, &new, new.chunks - 1, &whole), REASSEMBLY_WHOLE);
    assert_memory_equal(whole.bytes, frame, whole.len);
    assert_true(reassembly_counters(reassembly)->evicted >= 1);
    reassembly_free(reassembly);
}

static void own_slots_are_capped(void **state)
{
    struct reassembly *reassembly = make(64, 4u << 20);
    struct reassembly_frame whole;
    struct chunk_sender victim = sender_of(2 * PAYLOAD, 1, PAYLOAD);

    (void)state;
    add(reassembly, at_ms(0), 99, &victim, 0, &whole);
    for (uint32_t i = 0; i < 1000; i++) {
        struct chunk_sender sender = sender_of(2 * PAYLOAD, i, PAYLOAD);

        add(reassembly, at_ms(0), 1, &sender, 0, &whole);
    }
    assert_int_equal(reassembly_slots_used(reassembly), 5); /* 4 of the one, and the other's */
    reassembly_free(reassembly);
}

static void options_are_checked(void **state)
{
    struct reassembly_options options = {.slots = 0, .slots_per_owner = 1, .memory_bytes = 4u << 20};
    struct reassembly *reassembly;

    (void)state;
    assert_int_equal(reassembly_new(&options, &reassembly), -EINVAL);
    options.slots = REASSEMBLY_SLOTS_MAX + 1;
    assert_int_equal(reassembly_new(&options, &reassembly), -EINVAL);
    options.slots = 1;
    options.memory_bytes = CHUNK_FRAME_MAX - 1;
    assert_int_equal(reassembly_new(&options, &reassembly), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order),           cmocka_unit_test(gaps_are_told),
        cmocka_unit_test(seams_must_agree),    cmocka_unit_test(owners_do_not_mix),
        cmocka_unit_test(slots_expire),        cmocka_unit_test(flood_is_bounded),
        cmocka_unit_test(oldest_gives_way),    cmocka_unit_test(own_slots_are_capped),
        cmocka_unit_test(options_are_checked),
    };

    seed = random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
