/* All messages: round trips, damage, newer and older peers, sizes, and the rule against amplification. */
#include "codec_helpers.h"

#include "support/any_message.h"
#include "wire/chunk.h"
#include "wire/seal.h"

#include <errno.h>

static struct random seed;

#define ROUNDS 60

/* A random body, in a buffer of exactly its size. */
static struct reader random_body(uint8_t type)
{
    static uint8_t bytes[128u << 10];
    struct writer writer = writer_over(bytes, sizeof(bytes));

    put_random_message(&seed, type, &writer);
    assert_false(writer.failed);
    return guarded_copy(bytes, writer.pos);
}

/* Decoded and encoded again; the bytes are static. */
static int recode(uint8_t type, struct reader body, struct reader *ret_again)
{
    static uint8_t bytes[256u << 10];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    int r = recode_message(type, body, &writer);

    assert_false(writer.failed);
    *ret_again = reader_over(bytes, writer.pos);
    return r;
}

static void assert_same_bytes(uint8_t type, struct reader a, struct reader b)
{
    if (a.len != b.len || memcmp(a.bytes, b.bytes, a.len) != 0)
        fail_msg("%s: other bytes after decoding", message_type_name(type));
}

static void every_message_round_trips(void **state)
{
    (void)state;
    for (unsigned i = 0; i < message_type_count * ROUNDS; i++) {
        uint8_t type = message_types[i % message_type_count];
        struct reader body = random_body(type), again;

        if (recode(type, body, &again) != 0)
            fail_msg("%s: refused", message_type_name(type));
        assert_same_bytes(type, body, again);
        assert_true(body.len >= message_body_min(type) && body.len <= message_body_max(type));
        free_body(body);
    }
}

/* The bounds are the real ones, not only safe ones: bodies come near to both. */
static void the_bounds_are_reached(void **state)
{
    (void)state;
    for (unsigned t = 0; t < message_type_count; t++) {
        uint8_t type = message_types[t];
        size_t min = SIZE_MAX, max = 0;

        for (unsigned i = 0; i < 4000; i++) {
            struct reader body = random_body(type);

            min = body.len < min ? body.len : min;
            max = body.len > max ? body.len : max;
            free_body(body);
        }
        if (min > message_body_min(type) + 8)
            fail_msg("%s: never shorter than %zu", message_type_name(type), min);
        /* Long filters and parts would take long to make up. */
        if (message_body_max(type) < 1024 && max + 8 < message_body_max(type))
            fail_msg("%s: never longer than %zu", message_type_name(type), max);
    }
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < message_type_count * 3; i++) {
        uint8_t type = message_types[i % message_type_count];
        struct reader body = random_body(type), again;

        for (size_t len = 0; len < body.len; len += 1 + len / 64) {
            struct reader part = guarded_copy(body.bytes, len);

            if (recode(type, part, &again) != -EBADMSG)
                fail_msg("%s: %zu of %zu bytes are taken for a message", message_type_name(type), len,
                         body.len);
            free_body(part);
        }
        free_body(body);
    }
}

/* A changed byte is refused, or gives another message that is just as well formed. */
static void every_changed_byte_survives(void **state)
{
    (void)state;
    for (unsigned t = 0; t < message_type_count; t++) {
        uint8_t type = message_types[t];
        struct reader body = random_body(type), again, copy, twice;
        uint8_t *bytes = (uint8_t *)(uintptr_t)body.bytes;

        for (size_t at = 0; at < body.len; at += 1 + at / 128) {
            uint8_t kept = bytes[at];

            bytes[at] = (uint8_t)(kept ^ 1u << random_below(&seed, 8));
            if (recode(type, body, &again) == 0) {
                copy = guarded_copy(again.bytes, again.len);
                assert_int_equal(recode(type, copy, &twice), 0);
                assert_same_bytes(type, copy, twice);
                free_body(copy);
            }
            bytes[at] = kept;
        }
        free_body(body);
    }
}

/* What a newer peer puts behind the members that we know changes nothing. */
static void appended_members_are_skipped(void **state)
{
    (void)state;
    for (unsigned i = 0; i < message_type_count * 10; i++) {
        uint8_t type = message_types[i % message_type_count], extra = (uint8_t)(1 + random_below(&seed, 200));
        struct reader body = random_body(type), newer, again;
        uint8_t *bytes = malloc(body.len + extra);

        assert_non_null(bytes);
        memcpy(bytes, body.bytes, body.len);
        memset(bytes + body.len, 0xff, extra);
        newer = reader_over(bytes, body.len + extra);
        assert_int_equal(recode(type, newer, &again), 0);
        assert_same_bytes(type, body, again);
        free_body(newer);
        free_body(body);
    }
}

/* Encodes `name` and decodes it into `name_again`. */
#define ASSERT_AGAIN(type, name) \
    do { \
        struct writer writer_ = writer_over(bytes, sizeof(bytes)); \
\
        message_put_##type(&writer_, &name); \
        assert_false(writer_.failed); \
        assert_int_equal(message_get_##type(reader_over(bytes, writer_.pos), &name##_again), 0); \
    } while (0)

/* Flags, reasons and states of tomorrow. */
static void unknown_numbers_are_read_as_documented(void **state)
{
    struct message_reply reply = {.token = 1, .flags = 0xffff}, reply_again;
    struct message_announce announce = {.flags = 0xffff}, announce_again;
    struct message_view_end end = {.flags = 0xffff}, end_again;
    struct message_view_node node = {.node.state = (enum node_state)9}, node_again;
    struct message_refuse refuse = {.reason = 200}, refuse_again;
    uint8_t bytes[512];

    (void)state;
    ASSERT_AGAIN(reply, reply);
    assert_int_equal(reply_again.flags, REPLY_WARMING);
    ASSERT_AGAIN(announce, announce);
    assert_int_equal(announce_again.flags, ANNOUNCE_STOPPING);
    ASSERT_AGAIN(view_end, end);
    assert_int_equal(end_again.flags, 7);
    ASSERT_AGAIN(view_node, node);
    assert_int_equal(node_again.node.state, NODE_STALE);
    ASSERT_AGAIN(refuse, refuse);
    assert_int_equal(refuse_again.reason, 200);
}

/* ---- caps ---- */

static void long_texts_are_cut(void **state)
{
    static char name[300];
    uint8_t bytes[512];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    struct message_announce announce = {.hostname = {name, sizeof(name)}}, again;

    (void)state;
    message_put_announce(&writer, &announce);
    assert_false(writer.failed);
    assert_int_equal(writer.pos, message_body_max(FRAME_ANNOUNCE));
    assert_int_equal(message_get_announce(reader_over(bytes, writer.pos), &again), 0);
    assert_int_equal(again.hostname.len, MESSAGE_TEXT_MAX);
}

static void lists_beyond_the_caps_fail_the_writer(void **state)
{
    static uint8_t bytes[128u << 10], uids[4 * (MESSAGE_USERS_MAX + 1)];
    static const char filter[MESSAGE_FILTER_MAX + 1];
    struct message_view_query query = {.user_count = MESSAGE_USERS_MAX + 1,
                                       .users = reader_over(uids, sizeof(uids))};
    struct message_probe probe = {.hashes = 1, .bloom = {filter, MESSAGE_BLOOM_MAX + 1}};
    struct message_forget forget = {.filter = {filter, sizeof(filter)}};
    struct writer writer = writer_over(bytes, sizeof(bytes));

    (void)state;
    message_put_view_query(&writer, &query);
    assert_true(writer.failed);
    writer = writer_over(bytes, sizeof(bytes));
    message_put_probe(&writer, &probe);
    assert_true(writer.failed);
    writer = writer_over(bytes, sizeof(bytes));
    message_put_forget(&writer, &forget);
    assert_true(writer.failed);
    writer = writer_over(bytes, sizeof(bytes));
    query = (struct message_view_query){.filter = {filter, sizeof(filter)}};
    message_put_view_query(&writer, &query);
    assert_true(writer.failed);
}

/* The same caps on the reading side, where nobody was kind enough to fail before. */
static void lists_beyond_the_caps_are_refused(void **state)
{
    static uint8_t bytes[128u << 10];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    struct message_view_query query;
    struct message_forget forget;
    struct message_resend resend;
    struct message_probe probe;

    (void)state;
    write_bytes(&writer, "\0\0\0\0\0\0\0\x04\x01", 9); /* 1025 users */
    assert_int_equal(message_get_view_query(reader_over(bytes, sizeof(bytes)), &query), -EBADMSG);
    writer = writer_over(bytes, sizeof(bytes));
    write_varint(&writer, MESSAGE_FILTER_MAX + 2);
    assert_int_equal(message_get_forget(reader_over(bytes, sizeof(bytes)), &forget), -EBADMSG);
    bytes[0] = 1; /* an empty filter */
    assert_int_equal(message_get_forget(reader_over(bytes, sizeof(bytes)), &forget), -EBADMSG);
    memset(bytes, 0, 32);
    assert_int_equal(message_get_resend(reader_over(bytes, 300), &resend), -EBADMSG); /* no chunks */
    bytes[16] = 4, bytes[17] = 1;                                                     /* 1025 */
    assert_int_equal(message_get_resend(reader_over(bytes, 300), &resend), -EBADMSG);
    bytes[16] = 0, bytes[17] = 3, bytes[18] = 8; /* the fourth of three */
    assert_int_equal(message_get_resend(reader_over(bytes, 300), &resend), -EBADMSG);
    bytes[18] = 7;
    assert_int_equal(message_get_resend(reader_over(bytes, 300), &resend), 0);
    assert_int_equal(message_get_probe(reader_over(bytes, 600), &probe), -EBADMSG); /* hashes 7, bloom ... */
    memset(bytes, 0, 600);
    assert_int_equal(message_get_probe(reader_over(bytes, 600), &probe), -EBADMSG); /* no hashes */
    bytes[16] = 4, bytes[19] = 2, bytes[20] = 1;                                    /* 513 bytes of digest */
    assert_int_equal(message_get_probe(reader_over(bytes, 600), &probe), -EBADMSG);
    bytes[20] = 0;
    assert_int_equal(message_get_probe(reader_over(bytes, 600), &probe), 0);
}

/* ---- digest of a probe ---- */

static void digest_holds_what_was_put_in(void **state)
{
    uint8_t bloom[MESSAGE_BLOOM_MAX] = {0};
    struct message_probe probe = {.salt = 99, .hashes = 4, .bloom = {(const char *)bloom, sizeof(bloom)}};
    unsigned wrong = 0;

    (void)state;
    for (unsigned i = 0; i < 2000; i++) {
        uint8_t identity[IDENTITY_SIZE];

        memset(identity, 0, sizeof(identity));
        identity[0] = (uint8_t)i, identity[1] = (uint8_t)(i >> 8);
        if (i < 400)
            message_bloom_add(bloom, sizeof(bloom), probe.salt, probe.hashes, identity);
        if (i < 400)
            assert_true(message_bloom_has(&probe, identity));
        else
            wrong += message_bloom_has(&probe, identity);
    }
    assert_true(wrong < 60); /* (1 - e^(-4 * 400 / 4096))^4 = 1.1 % of 1600 would be 18 */
    probe.bloom.len = 0;
    assert_false(message_bloom_has(&probe, bloom));
}

/* ---- amplification ---- */

/*
 * Over all pairs of types: whatever a stranger sends, and whatever may answer it, the answer is no longer.
 * The sizes are those of whole datagrams, plain or sealed alike, because both have the same envelope.
 */
static void no_stranger_gets_more_than_he_sent(void **state)
{
    unsigned answered = 0;

    (void)state;
    for (unsigned request = 0; request < 256; request++) {
        for (unsigned reply = 0; reply < 256; reply++) {
            if (!message_may_answer_stranger((uint8_t)request, (uint8_t)reply))
                continue;
            answered++;
            assert_true(message_body_max((uint8_t)reply) > 0);
            if (message_body_max((uint8_t)reply) > message_body_min((uint8_t)request))
                fail_msg("%s of %zu bytes answers %s of %zu", message_type_name((uint8_t)reply),
                         message_body_max((uint8_t)reply), message_type_name((uint8_t)request),
                         message_body_min((uint8_t)request));
        }
    }
    assert_int_equal(answered, 7); /* HELLO 2, QUERY, RESEND, PING, PROBE, ANNOUNCE */
}

/* The minima of the rule are enforced: nothing shorter is a request at all. */
static void shorter_requests_are_no_requests(void **state)
{
    (void)state;
    for (unsigned t = 0; t < message_type_count; t++) {
        uint8_t type = message_types[t];
        static uint8_t bytes[1024];
        struct reader again;

        for (unsigned value = 0; value < 2; value++) {
            memset(bytes, (int)value, sizeof(bytes));
            for (size_t len = 0; len < message_body_min(type); len++)
                assert_int_equal(recode(type, reader_over(bytes, len), &again), -EBADMSG);
        }
    }
}

/* An answer of the handshake ends nobody's hope of one datagram. */
static void small_messages_fit_the_smallest_datagram(void **state)
{
    (void)state;
    for (unsigned t = 0; t < message_type_count; t++)
        if (message_types[t] < FRAME_VIEW_QUERY && message_types[t] != FRAME_WELCOME &&
            message_types[t] != FRAME_REPLY)
            assert_true(FRAME_HEADER_SIZE + message_body_max(message_types[t]) + SEAL_OVERHEAD <=
                        chunk_payload_size(1200));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_round_trips),
        cmocka_unit_test(the_bounds_are_reached),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_changed_byte_survives),
        cmocka_unit_test(appended_members_are_skipped),
        cmocka_unit_test(unknown_numbers_are_read_as_documented),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(lists_beyond_the_caps_fail_the_writer),
        cmocka_unit_test(lists_beyond_the_caps_are_refused),
        cmocka_unit_test(digest_holds_what_was_put_in),
        cmocka_unit_test(no_stranger_gets_more_than_he_sent),
        cmocka_unit_test(shorter_requests_are_no_requests),
        cmocka_unit_test(small_messages_fit_the_smallest_datagram),
    };

    seed = random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
