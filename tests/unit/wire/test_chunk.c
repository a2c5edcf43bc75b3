/* Frames cut into datagrams and back; each rung of the receiver's ladder; damage. */
#include "codec_helpers.h"

#include "wire/chunk.h"

#include <errno.h>
#include <zlib.h>

static struct random seed;
static uint8_t frame[CHUNK_FRAME_MAX];

#define DATAGRAM_MAX 70000

struct datagram {
    uint8_t bytes[DATAGRAM_MAX];
    size_t len;
};

static void get_datagram(struct chunk_sender *sender, uint32_t chunk, struct datagram *ret_datagram)
{
    struct text payload = chunk_sender_get(sender, chunk, ret_datagram->bytes);

    assert_true(payload.len > 0 && CHUNK_HEADER_SIZE + payload.len <= DATAGRAM_MAX);
    memcpy(ret_datagram->bytes + CHUNK_HEADER_SIZE, payload.bytes, payload.len);
    ret_datagram->len = CHUNK_HEADER_SIZE + payload.len;
}

static int read_datagram(const struct datagram *datagram, struct chunk *ret_chunk)
{
    return chunk_read(reader_over(datagram->bytes, datagram->len), ret_chunk);
}

static void check_round_trip(size_t frame_len, size_t payload_size)
{
    static uint8_t again[CHUNK_FRAME_MAX];
    static struct datagram datagram;
    struct chunk_sender sender;
    struct chunk before, chunk;
    size_t sum = 0;

    assert_int_equal(chunk_sender_init(&sender, frame, frame_len, 77, payload_size), 0);
    memset(again, 0, frame_len);
    for (uint32_t i = 0; i < sender.chunks; i++) {
        get_datagram(&sender, i, &datagram);
        assert_true(datagram.len <= CHUNK_HEADER_SIZE + payload_size);
        assert_int_equal(read_datagram(&datagram, &chunk), CHUNK_OK);
        assert_int_equal(chunk.frame_id, 77);
        assert_int_equal(chunk.chunk, i);
        assert_int_equal(chunk.chunks, sender.chunks);
        assert_int_equal(chunk.frame_len, frame_len);
        assert_int_equal(chunk.chunk_size, sender.chunk_size);
        assert_int_equal(chunk.offset, sum);
        assert_int_equal(chunk.crc, crc32(0, frame + sum, chunk.payload_len));
        if (i)
            assert_true(chunk_same_frame(&before, &chunk) && chunk_same_frame(&chunk, &before));
        memcpy(again + chunk.offset, chunk.payload, chunk.payload_len);
        sum += chunk.payload_len;
        before = chunk;
    }
    assert_int_equal(sum, frame_len);
    assert_memory_equal(again, frame, frame_len);
}

static void frames_round_trip(void **state)
{
    (void)state;
    check_round_trip(FRAME_HEADER_SIZE, 1144);
    check_round_trip(FRAME_HEADER_SIZE, 1);
    check_round_trip(1144, 1144);
    check_round_trip(1145, 1144);
    check_round_trip(2 * 1144, 1144);
    check_round_trip(CHUNK_FRAME_MAX, chunk_payload_size(65535));
    check_round_trip(CHUNK_FRAME_MAX, CHUNK_PAYLOAD_FOR_ALL);
    for (int i = 0; i < 300; i++) {
        size_t payload_size = 1 + random_below(&seed, 2000);
        size_t most = payload_size * CHUNK_MAX < 40000 ? payload_size * CHUNK_MAX : 40000;

        check_round_trip(FRAME_HEADER_SIZE + random_below(&seed, most - FRAME_HEADER_SIZE + 1), payload_size);
    }
}

static void chunks_can_be_had_in_any_order(void **state)
{
    static struct datagram one, other;
    struct chunk_sender ascending, jumping;

    (void)state;
    assert_int_equal(chunk_sender_init(&ascending, frame, 100000, 1, 1372), 0);
    assert_int_equal(chunk_sender_init(&jumping, frame, 100000, 1, 1372), 0);
    for (int i = 0; i < 500; i++) {
        uint32_t chunk = (uint32_t)random_below(&seed, jumping.chunks);

        get_datagram(&jumping, chunk, &one);
        ascending.known[0].chunk_plus_1 = ascending.known[1].chunk_plus_1 = ascending.known[2].chunk_plus_1 =
            0;
        get_datagram(&ascending, chunk, &other);
        assert_int_equal(one.len, other.len);
        assert_memory_equal(one.bytes, other.bytes, one.len);
    }
}

static void too_many_chunks_are_not_sent(void **state)
{
    struct chunk_sender sender;

    (void)state;
    assert_int_equal(chunk_sender_init(&sender, frame, CHUNK_MAX * 100, 1, 100), 0);
    assert_int_equal(sender.chunks, CHUNK_MAX);
    assert_int_equal(chunk_sender_init(&sender, frame, CHUNK_MAX * 100 + 1, 1, 100), -EMSGSIZE);
    assert_int_equal(chunk_sender_init(&sender, frame, CHUNK_FRAME_MAX, 1, CHUNK_PAYLOAD_FOR_ALL - 1),
                     -EMSGSIZE);
    assert_int_equal(chunk_sender_init(&sender, frame, CHUNK_FRAME_MAX + 1, 1, 60000), -EMSGSIZE);
}

static void payload_leaves_room_for_the_headers(void **state)
{
    (void)state;
    assert_int_equal(chunk_payload_size(1500), 1444);
    assert_int_equal(chunk_payload_size(1200), 1144);
    assert_int_equal(chunk_payload_size(0), 68 - 56);
    assert_int_equal(chunk_payload_size(1u << 20), 65535 - 56);
}

/* ---- the ladder ---- */

/* The outcome for the middle chunk of three with one header byte set. */
static int outcome_with(uint32_t chunk, size_t at, uint8_t byte)
{
    static struct datagram datagram;
    struct chunk_sender sender;
    struct chunk read;

    assert_int_equal(chunk_sender_init(&sender, frame, 250, 9, 100), 0);
    get_datagram(&sender, chunk, &datagram);
    datagram.bytes[at] = byte;
    return read_datagram(&datagram, &read);
}

static void each_rung_has_its_outcome(void **state)
{
    (void)state;
    assert_int_equal(outcome_with(1, 0, 0xC1), CHUNK_OK); /* as it was */
    assert_int_equal(outcome_with(1, 0, 0), CHUNK_BAD_MAGIC);
    assert_int_equal(outcome_with(1, 1, 0), CHUNK_BAD_MAGIC);
    assert_int_equal(outcome_with(1, 2, 2), CHUNK_BAD_VERSION);
    assert_int_equal(outcome_with(1, 3, 0xff), CHUNK_OK); /* flags of newer senders */
    assert_int_equal(outcome_with(1, 9, 3), CHUNK_BAD_COUNT);
    assert_int_equal(outcome_with(1, 11, 0), CHUNK_BAD_COUNT);
    assert_int_equal(outcome_with(1, 10, 5), CHUNK_BAD_COUNT);     /* 1283 chunks */
    assert_int_equal(outcome_with(1, 15, 0), CHUNK_BAD_LENGTH);    /* the frame is 0 bytes long */
    assert_int_equal(outcome_with(1, 13, 0xff), CHUNK_BAD_LENGTH); /* 16 MiB */
    assert_int_equal(outcome_with(1, 14, 1), CHUNK_BAD_LENGTH);    /* 506 bytes are not in three */
    assert_int_equal(outcome_with(1, 11, 2), CHUNK_BAD_ENDS);      /* the last of two has nothing behind it */
    assert_int_equal(outcome_with(0, 16, 1), CHUNK_BAD_ENDS);
    assert_int_equal(outcome_with(2, 24, 1), CHUNK_BAD_ENDS);
    assert_int_equal(outcome_with(1, CHUNK_HEADER_SIZE, (uint8_t)~frame[100]), CHUNK_BAD_CRC);
}

static void every_truncation_is_refused(void **state)
{
    static struct datagram datagram;
    struct chunk_sender sender;
    struct chunk chunk;

    (void)state;
    assert_int_equal(chunk_sender_init(&sender, frame, 250, 9, 100), 0);
    for (uint32_t i = 0; i < 3; i++) {
        get_datagram(&sender, i, &datagram);
        for (size_t len = 0; len < datagram.len; len++) {
            struct reader part = guarded_copy(datagram.bytes, len);
            int r = chunk_read(part, &chunk);

            assert_true(len <= CHUNK_HEADER_SIZE ? r == CHUNK_SHORT : r > CHUNK_SHORT);
            free_body(part);
        }
    }
}

/*
 * Each changed byte of the middle one of three is found: by itself, or because it does not agree with its
 * neighbours. The flags, which mean nothing, are the exception.
 */
static void every_changed_byte_is_found(void **state)
{
    static struct datagram first, middle, last;
    struct chunk_sender sender;
    struct chunk before, chunk, after;

    (void)state;
    assert_int_equal(chunk_sender_init(&sender, frame, 250, 9, 100), 0);
    get_datagram(&sender, 0, &first);
    get_datagram(&sender, 1, &middle);
    get_datagram(&sender, 2, &last);
    assert_int_equal(read_datagram(&first, &before), CHUNK_OK);
    assert_int_equal(read_datagram(&last, &after), CHUNK_OK);
    for (size_t at = 0; at < middle.len; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            middle.bytes[at] ^= (uint8_t)(1u << bit);
            if (read_datagram(&middle, &chunk) == CHUNK_OK && at != 3)
                assert_false(chunk_same_frame(&before, &chunk) && chunk_same_frame(&chunk, &after));
            middle.bytes[at] ^= (uint8_t)(1u << bit);
        }
    }
}

/* Two frames under one number: at each seam the checksums tell them apart. */
static void chunks_of_two_frames_do_not_mix(void **state)
{
    static struct datagram datagram;
    static uint8_t twin[250];
    struct chunk_sender sender, other;
    struct chunk chunk, foreign;

    (void)state;
    memcpy(twin, frame, sizeof(twin));
    twin[150] ^= 1; /* in the middle chunk */
    assert_int_equal(chunk_sender_init(&sender, frame, sizeof(twin), 9, 100), 0);
    assert_int_equal(chunk_sender_init(&other, twin, sizeof(twin), 9, 100), 0);
    for (uint32_t i = 0; i < 3; i++) {
        static struct datagram kept;

        get_datagram(&sender, i, &kept);
        assert_int_equal(read_datagram(&kept, &chunk), CHUNK_OK);
        for (uint32_t k = 0; k < 3; k++) {
            get_datagram(&other, k, &datagram);
            assert_int_equal(read_datagram(&datagram, &foreign), CHUNK_OK);
            if (i == 1 || k == 1 || i == k)
                assert_false(chunk_same_frame(&chunk, &foreign));
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_round_trip),
        cmocka_unit_test(chunks_can_be_had_in_any_order),
        cmocka_unit_test(too_many_chunks_are_not_sent),
        cmocka_unit_test(payload_leaves_room_for_the_headers),
        cmocka_unit_test(each_rung_has_its_outcome),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_changed_byte_is_found),
        cmocka_unit_test(chunks_of_two_frames_do_not_mix),
    };

    seed = random_from_environment();
    for (size_t i = 0; i < sizeof(frame); i++)
        frame[i] = (uint8_t)random_u64(&seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
