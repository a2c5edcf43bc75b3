/* Sealed frames, the key file, replay window, cookies and identities. */
#include "codec_helpers.h"

#include "wire/cookie.h"
#include "wire/replay.h"
#include "wire/seal.h"

#include <stdio.h>

static struct random seed;

static struct seal_key random_key(void)
{
    struct seal_key key;
    uint8_t bytes[SEAL_KEY_SIZE];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)random_u64(&seed);
    seal_key_set(&key, bytes);
    return key;
}

/* A frame of `len` bytes of body, in a buffer of exactly its size. */
static struct reader make_frame(const struct seal_key *key, enum seal_direction direction, uint64_t sequence,
                                size_t len)
{
    static uint8_t bytes[4096];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    struct frame_header header = {.version = FRAME_VERSION, .type = FRAME_QUERY, .request_id = 5};
    uint8_t nonce[SEAL_NONCE_SIZE];
    size_t mark;

    write_bytes(&writer, "before", 6); /* frames may stand behind one another */
    seal_nonce((const uint8_t *)"sixteen bytes...", sequence, nonce);
    mark = seal_begin(&writer, &header, key);
    for (size_t i = 0; i < len; i++)
        write_u8(&writer, (uint8_t)i);
    seal_end(&writer, mark, key, direction, nonce);
    assert_false(writer.failed);
    assert_int_equal(writer.pos, 6 + FRAME_HEADER_SIZE + len + (key ? SEAL_OVERHEAD : 0));
    return guarded_copy(bytes + 6, writer.pos - 6);
}

static int open_frame(const struct seal_key *keys, size_t key_count, enum seal_direction direction,
                      struct reader frame, struct reader *ret_body, uint64_t *ret_sequence)
{
    return seal_open(keys, key_count, direction, (uint8_t *)(uintptr_t)frame.bytes, frame.len, ret_body,
                     ret_sequence);
}

static void sealed_frames_round_trip(void **state)
{
    struct seal_key key = random_key();

    (void)state;
    for (size_t len = 0; len < 200; len++) {
        struct reader frame = make_frame(&key, SEAL_TO_SERVER, 1000 + len, len), body, at = frame;
        struct frame_header header;
        uint64_t sequence;

        assert_int_equal(frame_read_header(&at, &header), FRAME_OK);
        assert_int_equal(header.flags, FRAME_SEALED);
        assert_int_equal(header.body_len, reader_left(&at));
        assert_int_equal(open_frame(&key, 1, SEAL_TO_SERVER, frame, &body, &sequence), SEAL_OK);
        assert_true(sequence == 1000 + len);
        assert_int_equal(body.len, len);
        for (size_t i = 0; i < len; i++)
            assert_int_equal(body.bytes[i], (uint8_t)i);
        free_body(frame);
    }
}

static void without_a_key_frames_stay_plain(void **state)
{
    struct reader frame = make_frame(NULL, SEAL_TO_SERVER, 0, 100), at = frame;
    struct frame_header header;

    (void)state;
    assert_int_equal(frame_read_header(&at, &header), FRAME_OK);
    assert_int_equal(header.flags, 0);
    assert_int_equal(header.body_len, 100);
    assert_int_equal(read_u8(&at), 0);
    free_body(frame);
}

/* Nothing of the body is readable, and the frame does not grow beyond what was promised. */
static void sealed_bytes_are_not_the_plain_ones(void **state)
{
    struct seal_key key = random_key();
    struct reader sealed = make_frame(&key, SEAL_TO_SERVER, 1, 64), plain = make_frame(NULL, 0, 1, 64);

    (void)state;
    for (size_t at = 0; at + 4 <= sealed.len; at++)
        for (size_t k = FRAME_HEADER_SIZE; k + 4 <= plain.len; k++)
            assert_memory_not_equal(sealed.bytes + at, plain.bytes + k, 4);
    free_body(sealed);
    free_body(plain);
}

static void every_changed_bit_is_refused(void **state)
{
    struct seal_key key = random_key();
    struct reader frame = make_frame(&key, SEAL_TO_SERVER, 1, 40), body;
    uint8_t *bytes = (uint8_t *)(uintptr_t)frame.bytes, before[256];
    uint64_t sequence;

    (void)state;
    for (size_t at = 0; at < frame.len; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[at] ^= (uint8_t)(1u << bit);
            memcpy(before, bytes, frame.len);
            assert_int_not_equal(open_frame(&key, 1, SEAL_TO_SERVER, frame, &body, &sequence), SEAL_OK);
            assert_memory_equal(before, bytes, frame.len); /* and the frame left alone */
            bytes[at] ^= (uint8_t)(1u << bit);
        }
    }
    assert_int_equal(open_frame(&key, 1, SEAL_TO_SERVER, frame, &body, &sequence), SEAL_OK);
    free_body(frame);
}

static void every_truncation_is_refused(void **state)
{
    struct seal_key key = random_key();
    struct reader frame = make_frame(&key, SEAL_TO_SERVER, 1, 40), body;
    uint64_t sequence;

    (void)state;
    for (size_t len = 0; len < frame.len; len++) {
        struct reader part = guarded_copy(frame.bytes, len);

        assert_int_equal(open_frame(&key, 1, SEAL_TO_SERVER, part, &body, &sequence), SEAL_SHORT);
        free_body(part);
    }
    free_body(frame);
}

static void each_rung_has_its_outcome(void **state)
{
    struct seal_key keys[3] = {random_key(), random_key(), random_key()}, stranger = random_key();
    struct reader frame = make_frame(&keys[1], SEAL_TO_SERVER, 1, 40), body,
                  plain = make_frame(NULL, 0, 0, 43);
    uint64_t sequence;

    (void)state;
    assert_int_equal(open_frame(keys, 3, SEAL_TO_SERVER, plain, &body, &sequence), SEAL_SHORT);
    assert_int_equal(open_frame(keys, 0, SEAL_TO_SERVER, frame, &body, &sequence), SEAL_UNKNOWN_KEY);
    assert_int_equal(open_frame(&stranger, 1, SEAL_TO_SERVER, frame, &body, &sequence), SEAL_UNKNOWN_KEY);
    /* Sent back to where it came from. */
    assert_int_equal(open_frame(keys, 3, SEAL_TO_BACKEND, frame, &body, &sequence), SEAL_BROKEN);
    /* Two keys that happen to have one id: both are tried. */
    memcpy(keys[0].id, keys[1].id, SEAL_KEY_ID_SIZE);
    assert_int_equal(open_frame(keys, 1, SEAL_TO_SERVER, frame, &body, &sequence), SEAL_BROKEN);
    assert_memory_equal(seal_peek_key_id(reader_over(frame.bytes + FRAME_HEADER_SIZE, 84)), keys[1].id, 4);
    assert_null(seal_peek_key_id(reader_over(frame.bytes + FRAME_HEADER_SIZE, SEAL_OVERHEAD - 1)));
    assert_int_equal(open_frame(keys, 3, SEAL_TO_SERVER, frame, &body, &sequence), SEAL_OK);
    free_body(frame);
    free_body(plain);
}

/* A writer that is full, and one that only counts. */
static void writers_without_room_fail(void **state)
{
    static uint8_t bytes[FRAME_HEADER_SIZE + FRAME_BODY_MAX + 1], zeros[FRAME_BODY_MAX];
    struct frame_header header = {.version = FRAME_VERSION, .type = FRAME_QUERY};
    struct seal_key key = random_key();
    uint8_t nonce[SEAL_NONCE_SIZE] = {0};
    struct writer writer;
    size_t mark;

    (void)state;
    for (size_t cap = 0; cap <= 74; cap++) {
        writer = writer_over(bytes, cap);
        mark = seal_begin(&writer, &header, &key);
        write_bytes(&writer, "0123456789", 10);
        seal_end(&writer, mark, &key, SEAL_TO_SERVER, nonce);
        assert_int_equal(writer.failed, cap < 74);
    }
    writer = writer_counting();
    mark = seal_begin(&writer, &header, &key);
    write_bytes(&writer, "0123456789", 10);
    seal_end(&writer, mark, &key, SEAL_TO_SERVER, nonce);
    assert_int_equal(writer.pos, 74);
    writer = writer_over(bytes, sizeof(bytes)); /* one byte more than a frame may have */
    mark = seal_begin(&writer, &header, &key);
    write_bytes(&writer, zeros, FRAME_BODY_MAX - SEAL_OVERHEAD + 1);
    seal_end(&writer, mark, &key, SEAL_TO_SERVER, nonce);
    assert_true(writer.failed);
}

static void session_keys_differ(void **state)
{
    struct seal_key key = random_key(), other = random_key(), derived[5];

    (void)state;
    seal_key_derive(&derived[0], &key, 1, 2);
    seal_key_derive(&derived[1], &key, 2, 1);
    seal_key_derive(&derived[2], &key, 1, 3);
    seal_key_derive(&derived[3], &other, 1, 2);
    derived[4] = key;
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(derived[i].bytes, derived[k].bytes, SEAL_KEY_SIZE);
    seal_key_derive(&derived[1], &key, 1, 2);
    assert_memory_equal(&derived[0], &derived[1], sizeof(derived[0]));
}

/* ---- key file ---- */

#define KEY_A "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define KEY_B "ff0102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F"
#define WEAK  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void key_files_are_read(void **state)
{
    static const struct {
        const char *file;
        int outcome;
        unsigned line, count;
    } cases[] = {
        {KEY_A "\n", SEAL_FILE_OK, 0, 1},
        {KEY_A, SEAL_FILE_OK, 0, 1},
        {"# new\n\n  " KEY_B " \r\n\t\n# old\n" KEY_A "\n", SEAL_FILE_OK, 0, 2},
        {"", SEAL_FILE_NO_KEY, 0, 0},
        {"# nothing\n\n", SEAL_FILE_NO_KEY, 0, 0},
        {KEY_A "0\n", SEAL_FILE_BAD_LINE, 1, 0},
        {"\n" KEY_A "\nkey = 1\n", SEAL_FILE_BAD_LINE, 3, 0},
        {KEY_A " # mine\n", SEAL_FILE_BAD_LINE, 1, 0},
        {"g00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", SEAL_FILE_BAD_LINE, 1, 0},
        {KEY_A "\n" KEY_B "\n" KEY_A "\n", SEAL_FILE_REPEATED_KEY, 3, 0},
        {WEAK "\n", SEAL_FILE_WEAK_KEY, 1, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct seal_keys keys = {.count = 0};
        unsigned line = 99;

        assert_int_equal(seal_parse_keys(text_from_string(cases[i].file), &keys, &line), cases[i].outcome);
        assert_int_equal(line, cases[i].line);
        assert_int_equal(keys.count, cases[i].count);
        assert_ptr_equal(seal_first_key(&keys), keys.count ? &keys.keys[0] : NULL);
        assert_true(strlen(seal_file_problem(cases[i].outcome)) > 5);
    }
    assert_null(seal_first_key(NULL));
}

static void key_files_have_caps(void **state)
{
    static char file[SEAL_FILE_MAX + 2];
    struct seal_keys keys;
    unsigned line;
    size_t len = 0;

    (void)state;
    for (unsigned i = 0; i <= SEAL_MAX_KEYS; i++) {
        assert_int_equal(seal_parse_keys((struct text){file, len}, &keys, &line),
                         i ? SEAL_FILE_OK : SEAL_FILE_NO_KEY);
        len += (size_t)snprintf(file + len, sizeof(file) - len, "%062d%02u\n", 0, i + 1);
    }
    assert_int_equal(seal_parse_keys((struct text){file, len}, &keys, &line), SEAL_FILE_TOO_MANY);
    assert_int_equal(line, SEAL_MAX_KEYS + 1);
    memset(file, '\n', sizeof(file));
    memcpy(file, KEY_A, 64);
    assert_int_equal(seal_parse_keys((struct text){file, SEAL_FILE_MAX}, &keys, &line), SEAL_FILE_OK);
    assert_int_equal(seal_parse_keys((struct text){file, SEAL_FILE_MAX + 1}, &keys, &line),
                     SEAL_FILE_TOO_LONG);
    assert_int_equal(line, 0);
    seal_keys_wipe(&keys);
    assert_int_equal(keys.count, 0);
}

/* ---- replay ---- */

static void each_number_is_accepted_once(void **state)
{
    struct replay_window window = {0};

    (void)state;
    assert_false(replay_accept(&window, 0));
    assert_true(replay_accept(&window, 1));
    assert_false(replay_accept(&window, 1));
    assert_true(replay_accept(&window, 100));
    assert_true(replay_accept(&window, 37)); /* 63 behind */
    assert_false(replay_accept(&window, 36));
    assert_false(replay_accept(&window, 37));
    assert_true(replay_accept(&window, 99));
    assert_true(replay_accept(&window, 163)); /* moves by 63: 100 is still known */
    assert_false(replay_accept(&window, 100));
    assert_true(replay_accept(&window, UINT64_MAX));
    assert_false(replay_accept(&window, UINT64_MAX));
    assert_false(replay_accept(&window, 163));
}

/* Against a plain list of what was seen. */
static void window_agrees_with_a_list(void **state)
{
    struct replay_window window = {0};
    static bool seen[4096];
    uint64_t highest = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint64_t number = 1 + random_below(&seed, 90) + (uint64_t)i / 8;
        bool wanted = number + REPLAY_WINDOW > highest && !seen[number];

        assert_int_equal(replay_accept(&window, number), wanted);
        seen[number] |= wanted;
        if (number > highest)
            highest = number;
    }
}

/* ---- cookies and identities ---- */

static void cookies_are_bound_to_all_that_they_cover(void **state)
{
    static const uint8_t secret[COOKIE_SECRET_SIZE] = {1}, other_secret[COOKIE_SECRET_SIZE] = {2};
    const struct text address = TEXT_LITERAL("\x0a\0\0\x01\x75\x30"),
                      other = TEXT_LITERAL("\x0a\0\0\x01\x75\x31");
    uint8_t cookie[COOKIE_SIZE];

    (void)state;
    cookie_make(secret, address, 7, 1000, cookie);
    assert_true(cookie_check(secret, address, 7, 1000, cookie));
    assert_true(cookie_check(secret, address, 7, 1001, cookie)); /* one epoch on */
    assert_false(cookie_check(secret, address, 7, 1002, cookie));
    assert_false(cookie_check(secret, address, 7, 999, cookie));
    assert_false(cookie_check(secret, other, 7, 1000, cookie));
    assert_false(cookie_check(secret, address, 8, 1000, cookie));
    assert_false(cookie_check(other_secret, address, 7, 1000, cookie));
    for (size_t i = 0; i < 8 * COOKIE_SIZE; i++) {
        cookie[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_false(cookie_check(secret, address, 7, 1000, cookie));
        cookie[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    cookie_make(secret, address, 7, 0, cookie);
    assert_true(cookie_check(secret, address, 7, 0, cookie));
}

static void identities_tell_machines_and_names_apart(void **state)
{
    uint8_t a[IDENTITY_SIZE], b[IDENTITY_SIZE];
    char id[CONNECTION_ID_SIZE];

    (void)state;
    identity_make(TEXT_LITERAL("machine"), TEXT_LITERAL("gpu01"), a);
    identity_make(TEXT_LITERAL("machine"), TEXT_LITERAL("gpu01"), b);
    assert_memory_equal(a, b, IDENTITY_SIZE);
    identity_make(TEXT_LITERAL("machine"), TEXT_LITERAL("gpu02"), b);
    assert_memory_not_equal(a, b, IDENTITY_SIZE);
    identity_make(TEXT_LITERAL("machinegpu"), TEXT_LITERAL("01"), b);
    assert_memory_not_equal(a, b, IDENTITY_SIZE);
    identity_make(TEXT_ABSENT, TEXT_ABSENT, b);
    identity_connection_id((const uint8_t *)"\x01\x23\x45\xcd\xef...........", id);
    assert_string_equal(id, "conn-012345cdef");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sealed_frames_round_trip),
        cmocka_unit_test(without_a_key_frames_stay_plain),
        cmocka_unit_test(sealed_bytes_are_not_the_plain_ones),
        cmocka_unit_test(every_changed_bit_is_refused),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(each_rung_has_its_outcome),
        cmocka_unit_test(writers_without_room_fail),
        cmocka_unit_test(session_keys_differ),
        cmocka_unit_test(key_files_are_read),
        cmocka_unit_test(key_files_have_caps),
        cmocka_unit_test(each_number_is_accepted_once),
        cmocka_unit_test(window_agrees_with_a_list),
        cmocka_unit_test(cookies_are_bound_to_all_that_they_cover),
        cmocka_unit_test(identities_tell_machines_and_names_apart),
    };

    if (seal_start() < 0)
        return 2;
    seed = random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
