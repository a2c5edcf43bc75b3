/* The server's table of sessions against peers that the test plays by hand. */
#include "proto_helpers.h"

#include "proto/envelope.h"
#include "proto/peers.h"

#include <errno.h>

#define IDLE_NS (10 * NS_PER_S)
#define MTU     528u /* payloads of 472 bytes */

struct sent {
    struct peer to;
    uint8_t bytes[4096];
    size_t len;
};

struct bench {
    struct random random;
    struct random_source source;
    struct instant now;
    struct peers *peers;
    struct sent sent[256];
    unsigned sent_count, queries, refused, changes[8];
    struct peers_query query;
    bool answer_at_once, banned;
    size_t readings;
    uint32_t frame_id;
};

static struct bench bench;
static uint8_t readings[1u << 20];

static void on_send(void *userdata, const struct peer *peer, const uint8_t *bytes, size_t len)
{
    struct sent *sent = &bench.sent[bench.sent_count % 256];

    (void)userdata;
    bench.sent_count++;
    sent->to = *peer;
    sent->len = len;
    memcpy(sent->bytes, bytes, len < sizeof(sent->bytes) ? len : sizeof(sent->bytes));
}

static bool on_allow(void *userdata, const struct peer *peer)
{
    (void)userdata;
    (void)peer;
    return !bench.banned;
}

static int answer(const struct peers_ticket *ticket)
{
    struct message_reply reply = {.facts_hash = 1, .readings = reader_over(readings, bench.readings)};

    return peers_answer(bench.peers, bench.now, ticket, &reply);
}

static void on_query(void *userdata, const struct peers_query *query)
{
    (void)userdata;
    bench.queries++;
    bench.query = *query;
    if (bench.answer_at_once)
        assert_int_equal(answer(&query->ticket), 0);
}

static void on_facts(void *userdata, uint64_t *ret_hash, struct reader *ret_facts)
{
    (void)userdata;
    *ret_hash = 1;
    *ret_facts = reader_over("facts", 5);
}

static size_t on_mtu(void *userdata, const struct peer *peer)
{
    (void)userdata;
    (void)peer;
    return MTU;
}

static void on_session(void *userdata, const struct peer *peer, enum peers_change change)
{
    (void)userdata;
    (void)peer;
    bench.changes[change]++;
}

static void on_refused(void *userdata, const struct peer *peer, enum refuse_reason reason)
{
    (void)userdata;
    (void)peer;
    (void)reason;
    bench.refused++;
}

static void begin(size_t max_connections)
{
    struct peers_events events = {
        .on_send = on_send,
        .on_allow = on_allow,
        .on_query = on_query,
        .on_facts = on_facts,
        .on_mtu = on_mtu,
        .on_session = on_session,
        .on_refused = on_refused,
    };
    struct peers_options options = {
        .node = {.instance = 5},
        .software = TEXT_LITERAL("0.1.0"),
        .secret = {1, 2, 3},
        .max_connections = max_connections,
        .reply_bytes = 2 * CHUNK_FRAME_MAX,
        .idle_timeout_ns = IDLE_NS,
    };

    bench = (struct bench){.random = random_from_environment(), .now = {1000 * NS_PER_S}, .readings = 100};
    bench.source = random_source_of(&bench.random);
    bench.answer_at_once = true;
    options.random = bench.source;
    assert_int_equal(peers_new(&options, &events, &bench.peers), 0);
}

static void end(void)
{
    peers_free(bench.peers);
}

static void pass(int64_t ns)
{
    bench.now = instant_add_ns(bench.now, ns);
    peers_tick(bench.peers, bench.now);
}

static enum peers_input give(const struct peer *from, struct envelope *envelope)
{
    struct envelope_way way = {
        .random = &bench.source,
        .direction = SEAL_TO_SERVER,
        .stream = from->stream != 0,
        .frame_id = bench.frame_id++,
    };
    struct text bytes = envelope_end(envelope, &way);

    if (from->stream)
        return peers_stream_frame(bench.peers, bench.now, from, envelope->bytes + CHUNK_HEADER_SIZE,
                                  bytes.len);
    return peers_datagram(bench.peers, bench.now, from, (const uint8_t *)bytes.bytes, bytes.len);
}

/* The last thing sent: its type is checked, its body returned. */
static struct reader last_body(uint8_t type, const struct peer *to)
{
    const struct sent *sent = &bench.sent[(bench.sent_count - 1) % 256];
    struct reader reader = reader_over(sent->bytes, sent->len);
    struct frame_header header;
    struct chunk chunk;

    assert_true(bench.sent_count > 0);
    assert_true(peer_equal(&sent->to, to));
    if (!to->stream) {
        assert_int_equal(chunk_read(reader, &chunk), CHUNK_OK);
        reader = reader_over(chunk.payload, chunk.payload_len);
    }
    assert_int_equal(frame_read_header(&reader, &header), FRAME_OK);
    assert_int_equal(header.type, type);
    return reader;
}

static enum peers_input give_hello(const struct peer *from, uint64_t nonce, const uint8_t *cookie)
{
    struct message_hello hello = {.version_min = 1, .version_max = 1, .nonce = nonce, .instance = 7};
    struct envelope envelope;

    hello.has_cookie = cookie != NULL;
    if (cookie)
        memcpy(hello.cookie, cookie, COOKIE_SIZE);
    envelope_begin(&envelope, FRAME_HELLO, nonce, NULL);
    message_put_hello(&envelope.writer, &hello);
    return give(from, &envelope);
}

static struct message_challenge get_challenge(const struct peer *from, uint64_t nonce)
{
    struct message_challenge challenge;

    assert_int_equal(give_hello(from, nonce, NULL), PEERS_INPUT_TAKEN);
    assert_int_equal(message_get_challenge(last_body(FRAME_CHALLENGE, from), &challenge), 0);
    assert_true(challenge.nonce == nonce);
    return challenge;
}

static struct message_welcome last_welcome(const struct peer *from)
{
    struct message_welcome welcome;

    assert_int_equal(message_get_welcome(last_body(FRAME_WELCOME, from), &welcome), 0);
    return welcome;
}

/* Returns the token. */
static uint64_t shake_hands(const struct peer *from, uint64_t nonce)
{
    struct message_challenge challenge;

    if (from->stream) {
        assert_int_equal(give_hello(from, nonce, NULL), PEERS_INPUT_TAKEN);
    } else {
        challenge = get_challenge(from, nonce);
        assert_int_equal(give_hello(from, nonce, challenge.cookie), PEERS_INPUT_TAKEN);
    }
    return last_welcome(from).token;
}

static enum peers_input give_ping(const struct peer *from, uint64_t token)
{
    struct message_ping ping = {.token = token, .stamp = 42};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_PING, 42, NULL);
    message_put_ping(&envelope.writer, &ping);
    return give(from, &envelope);
}

static enum peers_input give_query(const struct peer *from, uint64_t token, uint64_t request_id)
{
    struct message_query query = {.token = token, .facts_hash = 1, .interval_us = 50000};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_QUERY, request_id, NULL);
    message_put_query(&envelope.writer, &query);
    return give(from, &envelope);
}

static enum peers_input give_resend(const struct peer *from, uint64_t token, uint64_t request_id,
                                    uint16_t chunks, uint8_t missing)
{
    struct message_resend resend = {
        .token = token, .request_id = request_id, .chunks = chunks, .missing = {missing}};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_RESEND, request_id, NULL);
    message_put_resend(&envelope.writer, &resend);
    return give(from, &envelope);
}

static enum peers_input give_goodbye(const struct peer *from, uint64_t token)
{
    struct message_goodbye goodbye = {.token = token, .reason = GOODBYE_IDLE};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_GOODBYE, 0, NULL);
    message_put_goodbye(&envelope.writer, &goodbye);
    return give(from, &envelope);
}

static struct message_refuse last_refusal(const struct peer *to)
{
    struct message_refuse refuse;

    assert_int_equal(message_get_refuse(last_body(FRAME_REFUSE, to), &refuse), 0);
    return refuse;
}

/* ---- handshake ---- */

static void cookies(void **state)
{
    struct peer alice = peer_numbered(1, 100), bob = peer_numbered(2, 100),
                other_port = peer_numbered(1, 101);
    struct message_challenge challenge;
    struct message_welcome welcome;

    (void)state;
    begin(8);
    challenge = get_challenge(&alice, 11);
    assert_int_equal(peers_sessions(bench.peers), 0); /* nothing is kept */
    assert_int_equal(give_hello(&bob, 11, challenge.cookie), PEERS_INPUT_BAD_COOKIE);
    last_body(FRAME_CHALLENGE, &bob);
    assert_int_equal(give_hello(&other_port, 11, challenge.cookie), PEERS_INPUT_BAD_COOKIE);
    assert_int_equal(give_hello(&alice, 12, challenge.cookie), PEERS_INPUT_BAD_COOKIE);
    assert_int_equal(peers_sessions(bench.peers), 0);
    pass(59 * NS_PER_S);
    assert_int_equal(give_hello(&alice, 11, challenge.cookie), PEERS_INPUT_TAKEN);
    welcome = last_welcome(&alice);
    assert_true(welcome.nonce == 11 && welcome.token != 0 && welcome.node.instance == 5);
    assert_int_equal(welcome.idle_timeout_ms, 10000);
    assert_int_equal(reader_left(&welcome.facts), 5);
    /* The WELCOME was lost: the same session again. */
    assert_int_equal(give_hello(&alice, 11, challenge.cookie), PEERS_INPUT_TAKEN);
    assert_true(last_welcome(&alice).token == welcome.token);
    assert_true(last_welcome(&alice).server_nonce == welcome.server_nonce);
    assert_int_equal(peers_sessions(bench.peers), 1);
    pass(121 * NS_PER_S);
    assert_int_equal(give_hello(&alice, 11, challenge.cookie), PEERS_INPUT_BAD_COOKIE);
    end();
}

static void newer_session_replaces_when_used(void **state)
{
    struct peer alice = peer_numbered(1, 100);
    uint64_t first, second;

    (void)state;
    begin(8);
    first = shake_hands(&alice, 11);
    assert_int_equal(give_ping(&alice, first), PEERS_INPUT_TAKEN);
    assert_int_equal(bench.changes[PEERS_SESSION_NEW], 1);
    pass(NS_PER_S);
    second = shake_hands(&alice, 12);
    assert_true(second != first);
    assert_int_equal(give_ping(&alice, first), PEERS_INPUT_TAKEN); /* as it may be a replayed HELLO */
    assert_int_equal(give_ping(&alice, second), PEERS_INPUT_TAKEN);
    assert_int_equal(bench.changes[PEERS_SESSION_REPLACED], 1);
    assert_int_equal(give_ping(&alice, first), PEERS_INPUT_UNKNOWN);
    assert_int_equal(last_refusal(&alice).reason, REFUSE_UNKNOWN_SESSION);
    assert_int_equal(last_refusal(&alice).echo, 42);
    assert_int_equal(peers_sessions(bench.peers), 1);
    end();
}

static void refusals(void **state)
{
    struct peer alice = peer_numbered(1, 100);
    struct message_hello hello = {.version_min = 2, .version_max = 3, .nonce = 5};
    struct envelope envelope;
    unsigned before;

    (void)state;
    begin(8);
    envelope_begin(&envelope, FRAME_HELLO, 5, NULL);
    message_put_hello(&envelope.writer, &hello);
    assert_int_equal(give(&alice, &envelope), PEERS_INPUT_OTHER_VERSION);
    assert_int_equal(last_refusal(&alice).reason, REFUSE_VERSION);
    assert_int_equal(last_refusal(&alice).version_max, PROTOCOL_VERSION_MAX);
    bench.banned = true;
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(give_hello(&alice, 6, NULL), PEERS_INPUT_NOT_ALLOWED);
    assert_int_equal(last_refusal(&alice).reason, REFUSE_NOT_ALLOWED);
    assert_true(bench.sent_count <= 10); /* rarely, where many come */
    assert_int_equal(bench.refused, 2);  /* a line in the log per reason */
    before = bench.sent_count;
    assert_int_equal(give_goodbye(&alice, 1), PEERS_INPUT_NOT_ALLOWED);
    assert_int_equal(bench.sent_count, before); /* a goodbye is never answered */
    end();
}

static void handshakes_are_limited(void **state)
{
    struct peer alice = peer_numbered(1, 100), bob = peer_numbered(2, 100);
    unsigned taken = 0;

    (void)state;
    begin(8);
    for (unsigned i = 0; i < 1000; i++)
        taken += give_hello(&alice, i, NULL) == PEERS_INPUT_TAKEN;
    assert_true(taken >= 20 && taken <= 100);
    assert_int_equal(give_hello(&bob, 1, NULL), PEERS_INPUT_TAKEN);
    assert_true(peers_counters(bench.peers)->input[PEERS_INPUT_RATE] >= 900);
    end();
}

/* ---- places ---- */

static void idlest_makes_room(void **state)
{
    struct message_goodbye goodbye;
    struct message_challenge challenge;
    struct peer peers[5];
    uint64_t tokens[5];

    (void)state;
    begin(4);
    for (uint32_t i = 0; i < 5; i++)
        peers[i] = peer_numbered(10 + i, 1);
    for (uint32_t i = 0; i < 4; i++) {
        tokens[i] = shake_hands(&peers[i], i);
        assert_int_equal(give_query(&peers[i], tokens[i], i + 1), PEERS_INPUT_TAKEN);
        pass(NS_PER_S / 10);
    }
    challenge = get_challenge(&peers[4], 99);
    assert_int_equal(give_hello(&peers[4], 99, challenge.cookie), PEERS_INPUT_FULL); /* all are busy */
    assert_int_equal(last_refusal(&peers[4]).reason, REFUSE_FULL);
    pass(NS_PER_S);
    assert_int_equal(give_query(&peers[0], tokens[0], 77), PEERS_INPUT_TAKEN);
    for (uint32_t i = 0; i < 4; i++) /* to be alive is not to be busy */
        assert_int_equal(give_ping(&peers[i], tokens[i]), PEERS_INPUT_TAKEN);
    bench.sent_count = 0;
    assert_int_equal(give_hello(&peers[4], 99, challenge.cookie), PEERS_INPUT_TAKEN);
    bench.sent_count = 1;
    assert_int_equal(message_get_goodbye(last_body(FRAME_GOODBYE, &peers[1]), &goodbye), 0);
    assert_true(goodbye.token == tokens[1] && goodbye.reason == GOODBYE_IDLE);
    assert_int_equal(bench.changes[PEERS_SESSION_DROPPED], 1);
    assert_int_equal(peers_sessions(bench.peers), 4);
    end();
}

static void per_source(void **state)
{
    (void)state;
    begin(64);
    for (uint16_t i = 0; i < 30; i++) {
        struct peer peer = peer_numbered(1, i);
        uint64_t token = shake_hands(&peer, i);

        assert_int_equal(give_ping(&peer, token), PEERS_INPUT_TAKEN);
        assert_true(peers_sessions(bench.peers) <= PEERS_PER_SOURCE);
        pass(NS_PER_S + 1);
    }
    assert_int_equal(peers_sessions(bench.peers), PEERS_PER_SOURCE);
    end();
}

/* Sessions that are never used are the first to go. */
static void unused_sessions_go_first(void **state)
{
    struct peer used = peer_numbered(1, 1);
    uint64_t token;

    (void)state;
    begin(4);
    token = shake_hands(&used, 1);
    assert_int_equal(give_ping(&used, token), PEERS_INPUT_TAKEN);
    pass(2 * NS_PER_S);
    for (uint32_t i = 0; i < 50; i++) {
        struct peer peer = peer_numbered(100 + i, 1);

        shake_hands(&peer, i);
    }
    assert_int_equal(give_ping(&used, token), PEERS_INPUT_TAKEN);
    end();
}

static void idle_time_out(void **state)
{
    struct peer alice = peer_numbered(1, 100);
    uint64_t token;

    (void)state;
    begin(4);
    token = shake_hands(&alice, 1);
    for (unsigned i = 0; i < 10; i++) {
        pass(IDLE_NS - NS_PER_MS);
        assert_int_equal(give_ping(&alice, token), PEERS_INPUT_TAKEN);
    }
    assert_true(peers_next(bench.peers).ns == bench.now.ns + IDLE_NS);
    pass(IDLE_NS);
    assert_int_equal(peers_sessions(bench.peers), 0);
    assert_int_equal(bench.changes[PEERS_SESSION_IDLE], 1);
    end();
}

/* ---- questions ---- */

static void one_question(void **state)
{
    struct peer alice = peer_numbered(1, 100), bob = peer_numbered(2, 100);
    struct message_reply reply;
    uint64_t token;

    (void)state;
    begin(4);
    token = shake_hands(&alice, 1);
    assert_int_equal(give_query(&bob, token, 5), PEERS_INPUT_UNKNOWN); /* a session belongs to its address */
    assert_int_equal(give_query(&alice, token ^ UINT64_C(1) << 60, 5), PEERS_INPUT_UNKNOWN);
    assert_int_equal(give_query(&alice, token, 5), PEERS_INPUT_TAKEN);
    assert_int_equal(bench.query.interval_us, 50000);
    assert_true(peer_equal(bench.query.peer, &alice));
    assert_int_equal(message_get_reply(last_body(FRAME_REPLY, &alice), &reply), 0);
    assert_true(reply.token == token);
    assert_int_equal(reader_left(&reply.readings), 100);
    end();
}

static void answered_later(void **state)
{
    struct peer alice = peer_numbered(1, 100);
    struct peers_ticket ticket;
    uint64_t token;

    (void)state;
    begin(4);
    bench.answer_at_once = false;
    token = shake_hands(&alice, 1);
    bench.sent_count = 0;
    assert_int_equal(give_query(&alice, token, 5), PEERS_INPUT_TAKEN);
    assert_int_equal(give_query(&alice, token, 5), PEERS_INPUT_TAKEN);
    assert_int_equal(bench.queries, 1); /* asked again while the owner is at it */
    assert_int_equal(bench.sent_count, 0);
    ticket = bench.query.ticket;
    assert_int_equal(answer(&ticket), 0);
    assert_int_equal(bench.sent_count, 1);
    assert_int_equal(answer(&ticket), 1); /* once */
    assert_int_equal(give_query(&alice, token, 6), PEERS_INPUT_TAKEN);
    ticket = bench.query.ticket;
    assert_int_equal(give_query(&alice, token, 7), PEERS_INPUT_TAKEN);
    assert_int_equal(answer(&ticket), 1); /* only the last question can be answered */
    assert_int_equal(answer(&bench.query.ticket), 0);
    assert_int_equal(give_goodbye(&alice, token), PEERS_INPUT_TAKEN);
    assert_int_equal(answer(&bench.query.ticket), 1);
    bench.readings = 100;
    end();
}

static void kept_replies(void **state)
{
    struct peer alice = peer_numbered(1, 100);
    struct chunk chunk, first;
    uint64_t token;

    (void)state;
    begin(4);
    bench.readings = 2000; /* 2,094 bytes: 5 datagrams */
    token = shake_hands(&alice, 1);
    bench.sent_count = 0;
    assert_int_equal(give_query(&alice, token, 5), PEERS_INPUT_TAKEN);
    assert_int_equal(bench.sent_count, 5);
    assert_int_equal(chunk_read(reader_over(bench.sent[0].bytes, bench.sent[0].len), &first), CHUNK_OK);
    assert_int_equal(first.chunks, 5);
    assert_true(bench.sent[0].len <= MTU - CHUNK_IP_UDP_SIZE);
    bench.sent_count = 0;
    assert_int_equal(give_resend(&alice, token, 5, 5, 1 << 1 | 1 << 4), PEERS_INPUT_TAKEN);
    assert_int_equal(bench.sent_count, 2);
    assert_int_equal(chunk_read(reader_over(bench.sent[1].bytes, bench.sent[1].len), &chunk), CHUNK_OK);
    assert_int_equal(chunk.chunk, 4);
    assert_true(chunk.frame_id == first.frame_id);
    assert_int_equal(give_resend(&alice, token, 6, 5, 1), PEERS_INPUT_STALE);
    assert_int_equal(give_resend(&alice, token, 5, 6, 1), PEERS_INPUT_STALE);
    bench.sent_count = 0;
    pass(PEERS_RESEND_NS - 1);
    assert_int_equal(give_query(&alice, token, 5), PEERS_INPUT_TAKEN); /* all of it again */
    assert_int_equal(bench.sent_count, 5);
    assert_int_equal(bench.queries, 1);
    pass(1);
    assert_int_equal(give_resend(&alice, token, 5, 5, 1), PEERS_INPUT_STALE);
    assert_int_equal(give_query(&alice, token, 5), PEERS_INPUT_TAKEN);
    assert_int_equal(bench.queries, 2);
    end();
}

/* The memory for kept replies is fixed: what has been written over is not sent. */
static void kept_replies_are_bounded(void **state)
{
    struct peer peers[4];
    uint64_t tokens[4];

    (void)state;
    begin(4);
    bench.readings = 400000;
    for (uint32_t i = 0; i < 4; i++) {
        peers[i] = peer_numbered(10 + i, 1);
        tokens[i] = shake_hands(&peers[i], i);
    }
    for (unsigned round = 0; round < 20; round++)
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(give_query(&peers[i], tokens[i], round * 10 + 5), PEERS_INPUT_TAKEN);
            assert_int_equal(
                give_resend(&peers[i], tokens[i], round * 10 + 5, (uint16_t)((400000 + 74 + 471) / 472), 1),
                PEERS_INPUT_TAKEN);
        }
    bench.readings = 900000; /* too long for 1,024 datagrams of this size */
    bench.answer_at_once = false;
    assert_int_equal(give_query(&peers[0], tokens[0], 999), PEERS_INPUT_TAKEN);
    assert_int_equal(answer(&bench.query.ticket), -EMSGSIZE);
    bench.readings = 400000;
    for (uint32_t i = 0; i < 4; i++) { /* 1.6 MB of 2 MiB, in one piece each */
        assert_int_equal(give_query(&peers[i], tokens[i], 1001), PEERS_INPUT_TAKEN);
        assert_int_equal(answer(&bench.query.ticket), 0);
    }
    assert_int_equal(give_query(&peers[3], tokens[3], 1002), PEERS_INPUT_TAKEN);
    assert_int_equal(answer(&bench.query.ticket), 0);
    assert_int_equal(give_query(&peers[3], tokens[3], 1003), PEERS_INPUT_TAKEN);
    assert_int_equal(answer(&bench.query.ticket), 0);
    assert_int_equal(give_resend(&peers[0], tokens[0], 1001, (uint16_t)((400000 + 74 + 471) / 472), 1),
                     PEERS_INPUT_STALE);
    end();
}

/* ---- the rest ---- */

static void goodbyes(void **state)
{
    struct peer alice = peer_numbered(1, 100), bob = peer_numbered(2, 100);
    struct message_goodbye goodbye;
    uint64_t token, other;

    (void)state;
    begin(4);
    token = shake_hands(&alice, 1);
    other = shake_hands(&bob, 2);
    assert_int_equal(give_goodbye(&bob, token), PEERS_INPUT_UNKNOWN);
    assert_int_equal(give_ping(&alice, token), PEERS_INPUT_TAKEN);
    assert_int_equal(give_ping(&bob, other), PEERS_INPUT_TAKEN);
    assert_int_equal(give_goodbye(&alice, token), PEERS_INPUT_TAKEN);
    assert_int_equal(bench.changes[PEERS_SESSION_GOODBYE], 1);
    peers_stop(bench.peers, bench.now);
    assert_int_equal(message_get_goodbye(last_body(FRAME_GOODBYE, &bob), &goodbye), 0);
    assert_true(goodbye.token == other && goodbye.reason == GOODBYE_STOPPING);
    assert_int_equal(peers_sessions(bench.peers), 0);
    end();
}

static void over_a_connection(void **state)
{
    struct peer alice = peer_numbered(1, 100);
    struct message_reply reply;
    uint64_t token;

    (void)state;
    begin(4);
    alice.stream = 3;
    bench.readings = 3000;
    token = shake_hands(&alice, 1);
    bench.sent_count = 0;
    assert_int_equal(give_query(&alice, token, 5), PEERS_INPUT_TAKEN);
    assert_int_equal(bench.sent_count, 1);
    assert_int_equal(message_get_reply(last_body(FRAME_REPLY, &alice), &reply), 0);
    assert_int_equal(reader_left(&reply.readings), 3000);
    peers_stream_closed(bench.peers, 3);
    assert_int_equal(peers_sessions(bench.peers), 0);
    assert_int_equal(bench.changes[PEERS_SESSION_CLOSED], 1);
    end();
}

static void requests_are_of_one_datagram(void **state)
{
    struct peer alice = peer_numbered(1, 100);
    struct message_hello hello = {.version_min = 1, .version_max = 1, .nonce = 9};
    struct chunk_sender sender;
    struct envelope envelope;
    uint8_t datagram[200];
    struct text payload;

    (void)state;
    begin(4);
    envelope_begin(&envelope, FRAME_HELLO, 9, NULL);
    message_put_hello(&envelope.writer, &hello);
    seal_end(&envelope.writer, envelope.mark, NULL, SEAL_TO_SERVER, NULL);
    assert_int_equal(
        chunk_sender_init(&sender, envelope.bytes + CHUNK_HEADER_SIZE, envelope.writer.pos, 1, 50), 0);
    payload = chunk_sender_get(&sender, 0, datagram);
    memcpy(datagram + CHUNK_HEADER_SIZE, payload.bytes, payload.len);
    assert_int_equal(
        peers_datagram(bench.peers, bench.now, &alice, datagram, CHUNK_HEADER_SIZE + payload.len),
        PEERS_INPUT_BAD_CHUNK);
    assert_int_equal(bench.sent_count, 0);
    end();
}

/* Damaged in any bit, cut anywhere: no crash, no session more, never a longer answer. */
static void damage(void **state)
{
    struct peer alice = peer_numbered(1, 100), mallory = peer_numbered(66, 1);
    struct envelope_way way = {.random = &bench.source, .direction = SEAL_TO_SERVER};
    struct message_hello hello = {.version_min = 1, .version_max = 1, .nonce = 9};
    struct envelope envelope;
    struct text bytes;
    uint8_t copy[ENVELOPE_SIZE];
    uint64_t token;

    (void)state;
    begin(4);
    token = shake_hands(&alice, 1);
    assert_int_equal(give_ping(&alice, token), PEERS_INPUT_TAKEN);
    envelope_begin(&envelope, FRAME_HELLO, 9, NULL);
    message_put_hello(&envelope.writer, &hello);
    bytes = envelope_end(&envelope, &way);
    for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
        memcpy(copy, bytes.bytes, bytes.len);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        bench.sent_count = 0;
        mallory.source = bit + 1000;
        peers_datagram(bench.peers, bench.now, &mallory, copy, bytes.len);
        assert_true(bench.sent_count == 0 || bench.sent[0].len <= bytes.len);
        peers_datagram(bench.peers, bench.now, &mallory, copy, bit / 8);
    }
    assert_int_equal(peers_sessions(bench.peers), 1);
    assert_int_equal(give_ping(&alice, token), PEERS_INPUT_TAKEN);
    end();
}

static void options_are_checked(void **state)
{
    struct peers_events events = {.on_send = on_send};
    struct peers_options options = {.max_connections = 0, .idle_timeout_ns = IDLE_NS};
    struct peers *peers;

    (void)state;
    options.random = bench.source;
    assert_int_equal(peers_new(&options, &events, &peers), -EINVAL);
    options.max_connections = PEERS_SESSIONS_MAX + 1;
    assert_int_equal(peers_new(&options, &events, &peers), -EINVAL);
    options.max_connections = 1;
    options.reply_bytes = CHUNK_FRAME_MAX;
    assert_int_equal(peers_new(&options, &events, &peers), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cookies),
        cmocka_unit_test(newer_session_replaces_when_used),
        cmocka_unit_test(refusals),
        cmocka_unit_test(handshakes_are_limited),
        cmocka_unit_test(idlest_makes_room),
        cmocka_unit_test(per_source),
        cmocka_unit_test(unused_sessions_go_first),
        cmocka_unit_test(idle_time_out),
        cmocka_unit_test(one_question),
        cmocka_unit_test(answered_later),
        cmocka_unit_test(kept_replies),
        cmocka_unit_test(kept_replies_are_bounded),
        cmocka_unit_test(goodbyes),
        cmocka_unit_test(over_a_connection),
        cmocka_unit_test(requests_are_of_one_datagram),
        cmocka_unit_test(damage),
        cmocka_unit_test(options_are_checked),
    };

    if (seal_start() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
