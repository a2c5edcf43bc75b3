/*
 * The examples of docs/protocol.md: datagram, messages and seal; and its tables of types and caps.
 * usage: test_protocol_network docs/protocol.md
 */
#include "golden.h"

#include "support/any_message.h"
#include "wire/chunk.h"
#include "wire/seal.h"
#include "wire/snapshot_fit.h"

#define IDENTITY \
    { \
        0xd3, 0x1f, 0x5a, 0x07, 0x90, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb \
    }
#define COOKIE \
    { \
        0xc0, 0x0c, 0x1e, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f \
    }
#define NONCE  UINT64_C(0x1111111111111111)
#define SERVER UINT64_C(0x2222222222222222)
#define TOKEN  UINT64_C(0x7e57000000000001)

#define LITERAL_READER(literal) reader_over("" literal, sizeof(literal) - 1)

/* Encodes to the example, and decodes from it what encodes to the example again. */
static void check_message(const char *name, uint8_t type, const uint8_t *bytes, size_t len)
{
    uint8_t again[1024];
    struct writer writer = writer_over(again, sizeof(again));

    assert_golden(name, bytes, len);
    assert_int_equal(recode_message(type, golden(name), &writer), 0);
    assert_false(writer.failed);
    assert_int_equal(writer.pos, len);
    assert_memory_equal(again, bytes, len);
}

#define CHECK_MESSAGE(name, TYPE, kind, ...) \
    do { \
        const struct message_##kind message_ = __VA_ARGS__; \
        uint8_t bytes_[1024]; \
        struct writer writer_ = writer_over(bytes_, sizeof(bytes_)); \
\
        message_put_##kind(&writer_, &message_); \
        assert_false(writer_.failed); \
        check_message(name, FRAME_##TYPE, bytes_, writer_.pos); \
    } while (0)

static void handshake_is_as_documented(void **state)
{
    (void)state;
    CHECK_MESSAGE("hello", HELLO, hello,
                  {.version_min = 1, .version_max = 1, .nonce = NONCE, .instance = 0xbac0});
    CHECK_MESSAGE("hello-cookie", HELLO, hello,
                  {.version_min = 1,
                   .version_max = 1,
                   .nonce = NONCE,
                   .instance = 0xbac0,
                   .has_cookie = true,
                   .cookie = COOKIE});
    CHECK_MESSAGE("challenge", CHALLENGE, challenge, {.nonce = NONCE, .cookie = COOKIE});
    CHECK_MESSAGE("welcome", WELCOME, welcome,
                  {.nonce = NONCE,
                   .token = TOKEN,
                   .server_nonce = SERVER,
                   .node = {.identity = IDENTITY, .instance = 0x5e12},
                   .version = 1,
                   .idle_timeout_ms = 5000,
                   .software = TEXT_LITERAL("0.1.0"),
                   .facts_hash = UINT64_C(0xfac7000000000001),
                   .facts = LITERAL_READER("\x01\0\0\0\x03\0\0\0\x02\0\0\0\x01\0")});
    CHECK_MESSAGE("refuse", REFUSE, refuse,
                  {.echo = NONCE, .reason = REFUSE_VERSION, .version_min = 1, .version_max = 1});
}

static void session_is_as_documented(void **state)
{
    (void)state;
    CHECK_MESSAGE("query", QUERY, query,
                  {.token = TOKEN,
                   .facts_hash = UINT64_C(0xfac7000000000001),
                   .process_generation = 3,
                   .interval_us = 2000000});
    CHECK_MESSAGE("reply", REPLY, reply,
                  {.token = TOKEN,
                   .age_us = 15000,
                   .facts_hash = UINT64_C(0xfac7000000000001),
                   .process_generation = 3,
                   .process_base_generation = 3,
                   .readings = LITERAL_READER("\x04\0\0\0\x0e\x07\0\x01\0\0\0\0\x01\0\0\0\0\0\0"
                                              "\x05\0\0\0\x01\0\x07\0\0\0\x01\0\x06\0\0\0\x01\0")});
    CHECK_MESSAGE("resend", RESEND, resend,
                  {.token = TOKEN, .request_id = 42, .chunks = 10, .missing = {0x08, 0x02}});
    CHECK_MESSAGE("goodbye", GOODBYE, goodbye, {.token = TOKEN, .reason = GOODBYE_STOPPING});
    CHECK_MESSAGE("ping", PING, ping, {.token = TOKEN, .stamp = 123456789});
}

static void discovery_is_as_documented(void **state)
{
    uint8_t bloom[8] = {0}, identity[IDENTITY_SIZE] = IDENTITY;

    (void)state;
    CHECK_MESSAGE("announce", ANNOUNCE, announce,
                  {.node = {.identity = IDENTITY, .instance = 0x5e12},
                   .sequence = UINT64_C(1790000600000001),
                   .udp_port = 30000,
                   .tcp_port = 30000,
                   .hostname = TEXT_LITERAL("gpu01")});
    message_bloom_add(bloom, sizeof(bloom), 0x5a17, 4, identity);
    CHECK_MESSAGE("probe", PROBE, probe,
                  {.instance = 0xbac0,
                   .salt = 0x5a17,
                   .hashes = 4,
                   .answer_within_ms = 200,
                   .bloom = {(const char *)bloom, sizeof(bloom)}});
}

static void api_is_as_documented(void **state)
{
    uint8_t uids[8];
    struct message_view_query with_users = {.interval_us = 50000, .filter = TEXT_LITERAL("gpu[01-08]")};

    (void)state;
    message_users_put(&with_users, (const uint32_t[]){1000, 1001}, 2, uids);
    CHECK_MESSAGE("view-query", VIEW_QUERY, view_query, with_users);
    CHECK_MESSAGE("view-node", VIEW_NODE, view_node,
                  {.node = {.connection_id = TEXT_LITERAL("conn-d31f5a0790"),
                            .addr = TEXT_LITERAL("10.0.0.1:30000"),
                            .error = TEXT_ABSENT,
                            .state = NODE_UP,
                            .age_us = 15300,
                            .has_delay = true,
                            .delay_us = 280,
                            .delay_age_us = 300},
                   .software = TEXT_LITERAL("0.1.0"),
                   .has_last_seen = true,
                   .last_seen_age_us = 300});
    CHECK_MESSAGE("view-end", VIEW_END, view_end, {.known = 16, .matched = 8, .flags = VIEW_INEXACT});
    CHECK_MESSAGE("api-error", API_ERROR, api_error,
                  {.code = API_ERROR_BAD_REQUEST, .text = TEXT_LITERAL("no such filter")});
    CHECK_MESSAGE("forget", FORGET, forget, {.filter = TEXT_LITERAL("gpu07")});
    CHECK_MESSAGE("forgotten", FORGOTTEN, forgotten, {.forgotten = 1});
}

/* ---- datagram and seal ---- */

/* The PING of the examples as a whole frame. */
static size_t put_ping_frame(uint8_t *bytes, size_t cap, const struct seal_key *key, const uint8_t *nonce)
{
    struct writer writer = writer_over(bytes, cap);
    const struct frame_header header = {.version = FRAME_VERSION, .type = FRAME_PING, .request_id = 42};
    const struct message_ping ping = {.token = TOKEN, .stamp = 123456789};
    size_t mark = seal_begin(&writer, &header, key);

    message_put_ping(&writer, &ping);
    seal_end(&writer, mark, key, SEAL_TO_SERVER, nonce);
    assert_false(writer.failed);
    return writer.pos;
}

static void datagrams_are_as_documented(void **state)
{
    static const char *const names[] = {"datagram-first", "datagram-last"};
    uint8_t frame[128], bytes[128];
    size_t len = put_ping_frame(frame, sizeof(frame), NULL, NULL);
    struct chunk_sender sender;

    (void)state;
    assert_int_equal(chunk_sender_init(&sender, frame, len, 7, 20), 0);
    assert_int_equal(sender.chunks, 2);
    for (uint32_t i = 0; i < 2; i++) {
        struct text payload = chunk_sender_get(&sender, i, bytes);
        struct chunk chunk;

        memcpy(bytes + CHUNK_HEADER_SIZE, payload.bytes, payload.len);
        assert_golden(names[i], bytes, CHUNK_HEADER_SIZE + payload.len);
        assert_int_equal(chunk_read(golden(names[i]), &chunk), CHUNK_OK);
        assert_int_equal(chunk.offset, i * 20);
    }
}

static struct seal_key example_key(void)
{
    uint8_t bytes[SEAL_KEY_SIZE];
    struct seal_key key;

    for (uint8_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = i;
    seal_key_set(&key, bytes);
    return key;
}

static void seal_is_as_documented(void **state)
{
    struct seal_key key = example_key(), session;
    uint8_t frame[128], nonce[SEAL_NONCE_SIZE];
    struct reader body;
    uint64_t sequence;
    size_t len;

    (void)state;
    assert_golden("key-id", key.id, sizeof(key.id));
    seal_key_derive(&session, &key, NONCE, SERVER);
    assert_golden("session-key", session.bytes, sizeof(session.bytes));
    seal_nonce((const uint8_t *)"random bytes, 16", 9, nonce);
    len = put_ping_frame(frame, sizeof(frame), &session, nonce);
    assert_golden("sealed", frame, len);
    assert_int_equal(seal_open(&session, 1, SEAL_TO_SERVER, frame, len, &body, &sequence), SEAL_OK);
    assert_true(sequence == 9);
    assert_golden("ping", body.bytes, body.len);
}

static void identity_is_as_documented(void **state)
{
    uint8_t identity[IDENTITY_SIZE];

    (void)state;
    identity_make(TEXT_LITERAL("0123456789abcdef0123456789abcdef"), TEXT_LITERAL("gpu01"), identity);
    assert_golden("identity", identity, sizeof(identity));
}

/* ---- tables ---- */

static void every_message_is_in_the_table(void **state)
{
    (void)state;
    for (unsigned t = 0; t < message_type_count; t++) {
        uint8_t type = message_types[t];
        char row[128], max[32] = "up to the frame's";

        if (message_body_max(type) < FRAME_BODY_MAX - SEAL_OVERHEAD)
            snprintf(max, sizeof(max), "%zu", message_body_max(type));
        snprintf(row, sizeof(row), "| %u | %s | %zu | %s |", type, message_type_name(type),
                 message_body_min(type), max);
        if (!document_has_line_beginning(row))
            fail_msg("docs/protocol.md lacks a row that begins with: %s", row);
    }
}

static void every_cap_is_in_the_table(void **state)
{
    static const struct {
        const char *what;
        unsigned value;
    } caps[] = {
        {"body of a frame", FRAME_BODY_MAX},
        {"chunks of a frame", CHUNK_MAX},
        {"body of a snapshot", SNAPSHOT_BODY_MAX},
        {"devices of a node", SNAPSHOT_MAX_DEVICES},
        {"entries of a node", SNAPSHOT_MAX_ENTRIES},
        {"processes of a node", SNAPSHOT_MAX_PROCESSES},
        {"filter", MESSAGE_FILTER_MAX},
        {"users of a question", MESSAGE_USERS_MAX},
        {"digest of a probe", MESSAGE_BLOOM_MAX},
        {"text of an error", MESSAGE_ERROR_MAX},
        {"other texts of messages", MESSAGE_TEXT_MAX},
        {"keys in a key file", SEAL_MAX_KEYS},
        {"key file", SEAL_FILE_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
        char row[128];

        snprintf(row, sizeof(row), "| %s | %u", caps[i].what, caps[i].value);
        if (!document_has_line_beginning(row))
            fail_msg("docs/protocol.md lacks a row that begins with: %s", row);
    }
}

int main(int argc, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(handshake_is_as_documented),  cmocka_unit_test(session_is_as_documented),
        cmocka_unit_test(discovery_is_as_documented),  cmocka_unit_test(api_is_as_documented),
        cmocka_unit_test(datagrams_are_as_documented), cmocka_unit_test(seal_is_as_documented),
        cmocka_unit_test(identity_is_as_documented),   cmocka_unit_test(every_message_is_in_the_table),
        cmocka_unit_test(every_cap_is_in_the_table),
    };

    if (argc != 2)
        return 2;
    document = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
