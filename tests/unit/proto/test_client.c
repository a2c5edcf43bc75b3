/* A client against a server that the test plays by hand, over datagrams and over a connection. */
#include "proto_helpers.h"

#include "proto/client.h"
#include "proto/envelope.h"
#include "proto/timers.h"

#include <errno.h>

#define HEARTBEAT_NS (5 * NS_PER_S)
#define IDLE_NS      (10 * NS_PER_S)

struct sent {
    struct frame_header header;
    uint8_t body[1024];
    size_t len;
};

struct bench {
    struct random random;
    struct random_source source;
    struct instant now;
    struct client_set *set;
    struct client *client;
    struct peer peer;
    struct sent sent[256];
    unsigned sent_count, opens, welcomes, replies, lates, states;
    enum client_state state;
    enum client_why why;
    struct client_reply reply;
    bool free_in_reply, ask_in_reply;
    struct client_query again;
    uint32_t frame_id;
    uint64_t token;
    struct message_node node;
};

static struct bench bench;

static void on_send(void *userdata, struct client *client, const uint8_t *bytes, size_t len)
{
    struct sent *sent = &bench.sent[bench.sent_count++];
    struct reader reader = reader_over(bytes, len);
    struct chunk chunk;

    (void)userdata;
    assert_true(bench.sent_count < 256);
    if (!client_peer(client)->stream) {
        assert_int_equal(chunk_read(reader, &chunk), CHUNK_OK);
        assert_int_equal(chunk.chunks, 1);
        reader = reader_over(chunk.payload, chunk.payload_len);
    }
    assert_int_equal(frame_read_header(&reader, &sent->header), FRAME_OK);
    sent->len = reader_left(&reader);
    assert_true(sent->len <= sizeof(sent->body));
    memcpy(sent->body, read_bytes(&reader, sent->len), sent->len);
}

static void on_open(void *userdata, struct client *client)
{
    (void)userdata;
    (void)client;
    bench.opens++;
}

static void on_state(void *userdata, struct client *client, enum client_state state, enum client_why why)
{
    (void)userdata;
    assert_int_equal(client_state(client), state);
    bench.states++;
    bench.state = state;
    bench.why = why;
}

static void on_welcome(void *userdata, struct client *client, const struct message_welcome *welcome)
{
    (void)userdata;
    (void)client;
    (void)welcome;
    bench.welcomes++;
}

static void on_reply(void *userdata, struct client *client, const struct client_reply *reply)
{
    (void)userdata;
    bench.replies++;
    bench.reply = *reply;
    if (bench.free_in_reply)
        client_free(client);
    if (bench.ask_in_reply)
        assert_true(client_ask(client, bench.now, &bench.again));
}

static void on_late(void *userdata, struct client *client)
{
    (void)userdata;
    (void)client;
    bench.lates++;
}

static void begin(uint64_t stream)
{
    struct client_events events = {
        .on_send = on_send,
        .on_open = on_open,
        .on_state = on_state,
        .on_welcome = on_welcome,
        .on_reply = on_reply,
        .on_late = on_late,
    };
    struct client_set_options options = {
        .instance = 77,
        .clients_max = 4,
        .receive_buffer_bytes = 212992,
        .heartbeat_ns = HEARTBEAT_NS,
        .idle_timeout_ns = IDLE_NS,
    };

    bench = (struct bench){.random = random_from_environment(), .now = {NS_PER_S}, .token = 1000};
    bench.node.instance = 5;
    bench.source = random_source_of(&bench.random);
    options.random = bench.source;
    bench.peer = peer_numbered(1, 30000);
    bench.peer.stream = stream;
    assert_int_equal(client_set_new(&options, &events, &bench.set), 0);
    assert_int_equal(client_new(bench.set, &bench.peer, &bench, &bench.client), 0);
}

static void end(void)
{
    client_free(bench.client);
    client_set_free(bench.set);
}

static void pass(int64_t ns)
{
    struct instant until = instant_add_ns(bench.now, ns);

    while (client_set_next(bench.set).ns <= until.ns) {
        if (client_set_next(bench.set).ns > bench.now.ns)
            bench.now = client_set_next(bench.set);
        client_set_tick(bench.set, bench.now);
    }
    bench.now = until;
}

static unsigned count_sent(uint8_t type)
{
    unsigned count = 0;

    for (unsigned i = 0; i < bench.sent_count; i++)
        count += bench.sent[i].header.type == type;
    return count;
}

/* The last message that was sent must be of this type. */
static const struct sent *last_sent(uint8_t type)
{
    assert_true(bench.sent_count > 0);
    assert_int_equal(bench.sent[bench.sent_count - 1].header.type, type);
    return &bench.sent[bench.sent_count - 1];
}

static struct reader body_of(const struct sent *sent)
{
    return reader_over(sent->body, sent->len);
}

static enum client_input give(struct envelope *envelope)
{
    struct envelope_way way = {
        .random = &bench.source,
        .direction = SEAL_TO_BACKEND,
        .stream = bench.peer.stream != 0,
        .frame_id = bench.frame_id++,
    };
    struct text bytes = envelope_end(envelope, &way);

    if (bench.peer.stream)
        return client_stream_frame(bench.client, bench.now, envelope->bytes + CHUNK_HEADER_SIZE, bytes.len);
    return client_set_datagram(bench.set, bench.now, &bench.peer, (const uint8_t *)bytes.bytes, bytes.len);
}

static struct message_hello last_hello(void)
{
    struct message_hello hello;

    assert_int_equal(message_get_hello(body_of(last_sent(FRAME_HELLO)), &hello), 0);
    return hello;
}

static enum client_input give_challenge(uint64_t nonce)
{
    struct message_challenge challenge = {.nonce = nonce, .cookie = {9, 8, 7}};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_CHALLENGE, nonce, NULL);
    message_put_challenge(&envelope.writer, &challenge);
    return give(&envelope);
}

static enum client_input give_welcome(uint64_t nonce)
{
    struct message_welcome welcome = {.nonce = nonce,
                                      .token = ++bench.token,
                                      .node = bench.node,
                                      .version = 1,
                                      .idle_timeout_ms = 10000,
                                      .software = TEXT_LITERAL("0.1.0")};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_WELCOME, nonce, NULL);
    message_put_welcome(&envelope.writer, &welcome);
    return give(&envelope);
}

static enum client_input give_refuse(uint64_t echo, uint8_t reason, uint8_t min, uint8_t max)
{
    struct message_refuse refuse = {.echo = echo, .reason = reason, .version_min = min, .version_max = max};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_REFUSE, echo, NULL);
    message_put_refuse(&envelope.writer, &refuse);
    return give(&envelope);
}

static enum client_input give_goodbye(uint64_t token, uint8_t reason)
{
    struct message_goodbye goodbye = {.token = token, .reason = reason};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_GOODBYE, 0, NULL);
    message_put_goodbye(&envelope.writer, &goodbye);
    return give(&envelope);
}

static enum client_input give_pong(uint64_t token, uint64_t stamp)
{
    struct message_ping pong = {.token = token, .stamp = stamp};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_PONG, 0, NULL);
    message_put_pong(&envelope.writer, &pong);
    return give(&envelope);
}

static void put_reply(struct envelope *envelope, uint64_t request_id, uint64_t token, size_t len)
{
    static const uint8_t zeros[1800];
    struct message_reply reply = {.token = token, .facts_hash = 3, .readings = reader_over(zeros, len)};

    envelope_begin(envelope, FRAME_REPLY, request_id, NULL);
    message_put_reply(&envelope->writer, &reply);
}

static enum client_input give_reply(uint64_t request_id, uint64_t token)
{
    struct envelope envelope;

    put_reply(&envelope, request_id, token, 100);
    return give(&envelope);
}

static void shake_hands(void)
{
    client_start(bench.client, bench.now);
    assert_int_equal(give_challenge(last_hello().nonce), CLIENT_INPUT_TAKEN);
    assert_int_equal(give_welcome(last_hello().nonce), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.state, CLIENT_UP);
    bench.sent_count = 0;
}

static void ask(int64_t deadline_ns)
{
    struct client_query query = {.facts_hash = 3, .deadline = instant_add_ns(bench.now, deadline_ns)};

    assert_true(client_ask(bench.client, bench.now, &query));
}

/* ---- handshake ---- */

static void handshake(void **state)
{
    struct message_hello first, second;

    (void)state;
    begin(0);
    assert_int_equal(client_state(bench.client), CLIENT_OFF);
    assert_null(client_node(bench.client));
    client_start(bench.client, bench.now);
    first = last_hello();
    assert_false(first.has_cookie);
    assert_int_equal(first.instance, 77);
    assert_true(last_sent(FRAME_HELLO)->header.request_id == first.nonce);
    assert_int_equal(give_challenge(first.nonce + 1), CLIENT_INPUT_UNEXPECTED);
    bench.now = instant_add_ns(bench.now, 300 * NS_PER_US);
    assert_int_equal(give_challenge(first.nonce), CLIENT_INPUT_TAKEN);
    second = last_hello();
    assert_true(second.has_cookie && second.nonce == first.nonce && second.cookie[0] == 9);
    assert_int_equal(give_challenge(first.nonce), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.sent_count, 2); /* a further cookie waits for the timer */
    assert_int_equal(give_welcome(first.nonce + 1), CLIENT_INPUT_UNEXPECTED);
    assert_int_equal(give_welcome(first.nonce), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.welcomes, 1);
    assert_int_equal(bench.why, CLIENT_WHY_WELCOME);
    assert_int_equal(client_node(bench.client)->instance, 5);
    assert_int_equal(give_welcome(first.nonce), CLIENT_INPUT_UNEXPECTED); /* doubled on the way */
    end();
}

static void hello_is_repeated_ever_slower(void **state)
{
    unsigned in_a_second, in_a_minute;

    (void)state;
    begin(0);
    client_start(bench.client, bench.now);
    pass(NS_PER_S);
    in_a_second = bench.sent_count;
    assert_true(in_a_second >= 5 && in_a_second <= 10);
    pass(20 * NS_PER_S);
    in_a_minute = bench.sent_count;
    assert_true(in_a_minute - in_a_second >= 30 && in_a_minute - in_a_second <= 60); /* each half a second */
    end();
}

static void tentative_is_slow(void **state)
{
    (void)state;
    begin(0);
    client_start_tentative(bench.client, bench.now);
    pass(NS_PER_S);
    assert_true(bench.sent_count <= 5);
    client_kick(bench.client, bench.now);
    end();
}

static void refusals(void **state)
{
    char problem[CLIENT_PROBLEM_SIZE];

    (void)state;
    begin(0);
    client_start(bench.client, bench.now);
    assert_int_equal(give_refuse(last_hello().nonce + 1, REFUSE_VERSION, 2, 3), CLIENT_INPUT_UNEXPECTED);
    assert_int_equal(give_refuse(last_hello().nonce, REFUSE_VERSION, 2, 3), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.state, CLIENT_REFUSED);
    assert_string_equal(client_problem(bench.client, problem),
                        "the server speaks protocol version 2 to 3, this backend 1: upgrade the older one");
    bench.sent_count = 0;
    pass(10 * NS_PER_S);
    assert_int_equal(bench.sent_count, 0);
    pass(30 * NS_PER_S);
    assert_true(bench.sent_count >= 1);
    assert_int_equal(give_refuse(last_hello().nonce, REFUSE_NOT_ALLOWED, 1, 1), CLIENT_INPUT_TAKEN);
    assert_non_null(strstr(client_problem(bench.client, problem), "security.allow"));
    pass(45 * NS_PER_S);
    assert_int_equal(give_refuse(last_hello().nonce, 99, 1, 1), CLIENT_INPUT_TAKEN);
    assert_non_null(strstr(client_problem(bench.client, problem), "99"));
    pass(45 * NS_PER_S);
    assert_int_equal(give_challenge(last_hello().nonce), CLIENT_INPUT_TAKEN);
    assert_int_equal(give_welcome(last_hello().nonce), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.state, CLIENT_UP);
    assert_string_equal(client_problem(bench.client, problem), "");
    end();
}

static void other_frame_version(void **state)
{
    char problem[CLIENT_PROBLEM_SIZE];
    struct envelope envelope;
    struct envelope_way way = {.random = &bench.source, .direction = SEAL_TO_BACKEND};
    struct text bytes;
    uint8_t copy[256];
    struct chunk_sender sender;

    (void)state;
    begin(0);
    client_start(bench.client, bench.now);
    envelope_begin(&envelope, FRAME_REFUSE, 0, NULL);
    message_put_refuse(&envelope.writer, &(struct message_refuse){.reason = REFUSE_VERSION});
    bytes = envelope_end(&envelope, &way);
    memcpy(copy, bytes.bytes, bytes.len);
    copy[CHUNK_HEADER_SIZE + 4] = 2; /* the frame's version */
    assert_int_equal(
        chunk_sender_init(&sender, copy + CHUNK_HEADER_SIZE, bytes.len - CHUNK_HEADER_SIZE, 1, 1000), 0);
    chunk_sender_get(&sender, 0, copy);
    assert_int_equal(client_set_datagram(bench.set, bench.now, &bench.peer, copy, bytes.len),
                     CLIENT_INPUT_OTHER_VERSION);
    assert_non_null(strstr(client_problem(bench.client, problem), "version 2, ours 1"));
    copy[2] = 3; /* the datagram's */
    assert_int_equal(client_set_datagram(bench.set, bench.now, &bench.peer, copy, bytes.len),
                     CLIENT_INPUT_OTHER_VERSION);
    assert_non_null(strstr(client_problem(bench.client, problem), "version 3, ours 1"));
    end();
}

/* ---- questions ---- */

static void question_and_answer(void **state)
{
    const struct sent *sent;
    struct message_query query;
    struct instant measured;
    uint64_t delay_us;

    (void)state;
    begin(0);
    shake_hands();
    ask(100 * NS_PER_MS);
    sent = last_sent(FRAME_QUERY);
    assert_int_equal(message_get_query(body_of(sent), &query), 0);
    assert_true(query.token == bench.token && query.facts_hash == 3);
    assert_int_equal(give_reply(sent->header.request_id + 1, bench.token), CLIENT_INPUT_UNEXPECTED);
    assert_int_equal(give_reply(sent->header.request_id, bench.token + 1), CLIENT_INPUT_UNEXPECTED);
    bench.now = instant_add_ns(bench.now, 280 * NS_PER_US);
    assert_int_equal(give_reply(sent->header.request_id, bench.token), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.replies, 1);
    assert_false(bench.reply.late);
    assert_true(client_delay(bench.client, &delay_us, &measured));
    assert_int_equal(delay_us, 280);
    assert_int_equal(give_reply(sent->header.request_id, bench.token), CLIENT_INPUT_UNEXPECTED);
    assert_int_equal(bench.replies, 1);
    pass(NS_PER_S);
    assert_int_equal(bench.lates, 0);
    end();
}

static void question_before_the_session(void **state)
{
    (void)state;
    begin(0);
    ask(100 * NS_PER_MS);
    assert_int_equal(give_challenge(last_hello().nonce), CLIENT_INPUT_TAKEN);
    assert_int_equal(give_welcome(last_hello().nonce), CLIENT_INPUT_TAKEN);
    assert_int_equal(give_reply(last_sent(FRAME_QUERY)->header.request_id, bench.token), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.replies, 1);
    end();
}

/* Asked again with the same number, first after 5 ms; then late; then slower; and the answer still counts. */
static void lost_and_late(void **state)
{
    uint64_t id;
    unsigned before;

    (void)state;
    begin(0);
    client_start(bench.client, bench.now);
    pass(20 * NS_PER_MS); /* a HELLO is lost, so that no round trip is known */
    assert_int_equal(give_challenge(last_hello().nonce), CLIENT_INPUT_TAKEN);
    pass(20 * NS_PER_MS);
    assert_int_equal(give_welcome(last_hello().nonce), CLIENT_INPUT_TAKEN);
    bench.sent_count = 0;
    ask(100 * NS_PER_MS);
    id = last_sent(FRAME_QUERY)->header.request_id;
    pass(4900 * NS_PER_US);
    assert_int_equal(bench.sent_count, 1);
    pass(200 * NS_PER_US);
    assert_int_equal(bench.sent_count, 2);
    assert_true(last_sent(FRAME_QUERY)->header.request_id == id);
    pass(94 * NS_PER_MS);
    assert_int_equal(bench.lates, 0);
    assert_true(bench.sent_count >= 5 && bench.sent_count <= 12);
    pass(2 * NS_PER_MS);
    assert_int_equal(bench.lates, 1);
    before = bench.sent_count;
    pass(5 * NS_PER_S);
    assert_true(count_sent(FRAME_QUERY) - before <= 12);
    assert_int_equal(bench.lates, 1);
    assert_int_equal(give_reply(id, bench.token), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.replies, 1);
    assert_true(bench.reply.late);
    end();
}

static void joined_questions(void **state)
{
    struct client_query query = {.facts_hash = 4, .deadline = instant_add_ns(bench.now, 0)};

    (void)state;
    begin(0);
    shake_hands();
    ask(100 * NS_PER_MS);
    query.deadline = instant_add_ns(bench.now, 150 * NS_PER_MS);
    assert_false(client_ask(bench.client, bench.now, &query));
    assert_int_equal(bench.sent_count, 1);
    pass(101 * NS_PER_MS);
    assert_int_equal(bench.lates, 1);
    query.deadline = instant_add_ns(bench.now, 100 * NS_PER_MS);
    assert_false(client_ask(bench.client, bench.now, &query)); /* someone waits again */
    pass(101 * NS_PER_MS);
    assert_int_equal(bench.lates, 2);
    query.background = true;
    assert_false(client_ask(bench.client, bench.now, &query));
    pass(500 * NS_PER_MS);
    assert_int_equal(bench.lates, 2);
    assert_true(client_is_asking(bench.client));
    end();
}

/* Of a reply in several datagrams only the missing ones are asked for. */
static void missing_chunks(void **state)
{
    struct envelope envelope;
    struct chunk_sender sender;
    struct message_resend resend;
    uint8_t datagram[1000];
    uint64_t id;

    (void)state;
    begin(0);
    shake_hands();
    ask(100 * NS_PER_MS);
    id = last_sent(FRAME_QUERY)->header.request_id;
    put_reply(&envelope, id, bench.token, 1700);
    seal_end(&envelope.writer, envelope.mark, NULL, SEAL_TO_BACKEND, NULL);
    assert_int_equal(
        chunk_sender_init(&sender, envelope.bytes + CHUNK_HEADER_SIZE, envelope.writer.pos, 900, 200), 0);
    for (uint32_t i = 0; i < sender.chunks; i++) {
        struct text payload = chunk_sender_get(&sender, i, datagram);

        memcpy(datagram + CHUNK_HEADER_SIZE, payload.bytes, payload.len);
        if (i != 2 && i != 5)
            assert_int_equal(client_set_datagram(bench.set, bench.now, &bench.peer, datagram,
                                                 CHUNK_HEADER_SIZE + payload.len),
                             CLIENT_INPUT_PART);
    }
    pass(3 * NS_PER_MS);
    assert_int_equal(message_get_resend(body_of(last_sent(FRAME_RESEND)), &resend), 0);
    assert_true(resend.request_id == id && resend.token == bench.token);
    assert_int_equal(resend.chunks, sender.chunks);
    assert_int_equal(resend.missing[0], 1 << 2 | 1 << 5);
    assert_int_equal(resend.missing[1], 0);
    /* The server no longer has it: after three in vain all is asked for. */
    pass(60 * NS_PER_MS);
    assert_true(count_sent(FRAME_RESEND) >= 3);
    assert_true(count_sent(FRAME_QUERY) >= 2);
    assert_int_equal(give_reply(id, bench.token), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.replies, 1);
    end();
}

/* ---- sessions ---- */

static void unknown_session(void **state)
{
    (void)state;
    begin(0);
    shake_hands();
    pass(2 * NS_PER_S);
    ask(100 * NS_PER_MS);
    assert_int_equal(give_refuse(12345, REFUSE_UNKNOWN_SESSION, 1, 1), CLIENT_INPUT_UNEXPECTED);
    bench.node.instance = 6;
    assert_int_equal(give_refuse(last_sent(FRAME_QUERY)->header.request_id, REFUSE_UNKNOWN_SESSION, 1, 1),
                     CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.why, CLIENT_WHY_UNKNOWN_SESSION);
    pass(0);
    assert_int_equal(give_challenge(last_hello().nonce), CLIENT_INPUT_TAKEN);
    assert_int_equal(give_welcome(last_hello().nonce), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.why, CLIENT_WHY_RESTARTED);
    assert_int_equal(give_reply(last_sent(FRAME_QUERY)->header.request_id, bench.token), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.lates, 0);
    end();
}

/* A server that forgets each session at once gets no storm of handshakes. */
static void forgetful_server(void **state)
{
    unsigned handshakes = 0;

    (void)state;
    begin(0);
    shake_hands();
    for (unsigned i = 0; i < 300; i++) {
        struct client_query query = {.deadline = instant_add_ns(bench.now, 100 * NS_PER_MS)};

        bench.sent_count = 0;
        client_ask(bench.client, bench.now, &query);
        pass(10 * NS_PER_MS);
        if (client_state(bench.client) == CLIENT_SHAKING && count_sent(FRAME_HELLO)) {
            handshakes++;
            give_challenge(last_hello().nonce);
            give_welcome(last_hello().nonce);
        }
        if (client_state(bench.client) == CLIENT_UP && count_sent(FRAME_QUERY))
            give_refuse(last_sent(FRAME_QUERY)->header.request_id, REFUSE_UNKNOWN_SESSION, 1, 1);
    }
    assert_true(handshakes >= 3 && handshakes <= 25); /* in 3 s */
    end();
}

static void heartbeats(void **state)
{
    struct message_ping ping;

    (void)state;
    begin(0);
    shake_hands();
    for (unsigned i = 0; i < 20; i++) {
        pass(HEARTBEAT_NS / 4);
        while (bench.sent_count == 0)
            pass(10 * NS_PER_MS);
        assert_int_equal(message_get_ping(body_of(last_sent(FRAME_PING)), &ping), 0);
        assert_int_equal(give_pong(bench.token, ping.stamp + 1), CLIENT_INPUT_UNEXPECTED);
        assert_int_equal(give_pong(bench.token, ping.stamp), CLIENT_INPUT_TAKEN);
        bench.sent_count = 0;
    }
    assert_int_equal(bench.state, CLIENT_UP);
    assert_true(bench.now.ns < 120 * NS_PER_S);
    pass(9900 * NS_PER_MS);
    assert_int_equal(bench.state, CLIENT_UP);
    assert_true(count_sent(FRAME_PING) >= 4); /* an unanswered one is repeated */
    pass(101 * NS_PER_MS);
    assert_int_equal(bench.state, CLIENT_SHAKING);
    assert_int_equal(bench.why, CLIENT_WHY_SILENT);
    end();
}

static void goodbyes(void **state)
{
    (void)state;
    begin(0);
    shake_hands();
    assert_int_equal(give_goodbye(bench.token + 1, GOODBYE_STOPPING), CLIENT_INPUT_UNEXPECTED);
    assert_int_equal(client_state(bench.client), CLIENT_UP);
    assert_int_equal(give_goodbye(bench.token, GOODBYE_STOPPING), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.state, CLIENT_STOPPED);
    pass(2 * NS_PER_S);
    assert_int_equal(bench.state, CLIENT_STOPPED);
    assert_true(count_sent(FRAME_HELLO) >= 1); /* it may come back */
    give_challenge(last_hello().nonce);
    give_welcome(last_hello().nonce);
    assert_int_equal(bench.state, CLIENT_UP);
    assert_int_equal(give_goodbye(bench.token, GOODBYE_IDLE), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.state, CLIENT_OFF);
    bench.sent_count = 0;
    pass(60 * NS_PER_S);
    assert_int_equal(bench.sent_count, 0); /* until somebody asks */
    ask(100 * NS_PER_MS);
    last_hello();
    end();
}

static void closed_by_us(void **state)
{
    struct message_goodbye goodbye;

    (void)state;
    begin(0);
    shake_hands();
    client_close(bench.client, bench.now, GOODBYE_IDLE);
    assert_int_equal(message_get_goodbye(body_of(last_sent(FRAME_GOODBYE)), &goodbye), 0);
    assert_true(goodbye.token == bench.token);
    assert_true(client_set_next(bench.set).ns == TIMERS_NEVER.ns);
    end();
}

/* Events may free the client, or ask anew. */
static void events_may_do_anything(void **state)
{
    (void)state;
    begin(0);
    shake_hands();
    ask(100 * NS_PER_MS);
    bench.ask_in_reply = true;
    bench.again.deadline = instant_add_ns(bench.now, NS_PER_S);
    assert_int_equal(give_reply(last_sent(FRAME_QUERY)->header.request_id, bench.token), CLIENT_INPUT_TAKEN);
    assert_int_equal(bench.sent_count, 2);
    bench.ask_in_reply = false;
    bench.free_in_reply = true;
    assert_int_equal(give_reply(last_sent(FRAME_QUERY)->header.request_id, bench.token), CLIENT_INPUT_TAKEN);
    bench.client = NULL;
    assert_int_equal(give_reply(1, 1), CLIENT_INPUT_STRANGER);
    pass(NS_PER_S);
    end();
}

static void table_of_clients(void **state)
{
    struct client *more[4] = {0};
    struct peer peer;

    (void)state;
    begin(0);
    assert_int_equal(client_new(bench.set, &bench.peer, NULL, &more[3]), -EEXIST);
    for (uint16_t i = 0; i < 3; i++) {
        peer = peer_numbered(2, i);
        assert_int_equal(client_new(bench.set, &peer, NULL, &more[i]), 0);
    }
    peer = peer_numbered(3, 1);
    assert_int_equal(client_new(bench.set, &peer, NULL, &more[3]), -ENOSPC);
    for (unsigned i = 0; i < 3; i++)
        client_free(more[i]);
    end();
}

/* ---- streams ---- */

static void over_a_connection(void **state)
{
    (void)state;
    begin(9);
    client_start(bench.client, bench.now);
    assert_int_equal(bench.state, CLIENT_OPENING);
    assert_int_equal(bench.opens, 1);
    assert_int_equal(bench.sent_count, 0);
    client_stream_opened(bench.client, bench.now);
    assert_int_equal(give_welcome(last_hello().nonce), CLIENT_INPUT_TAKEN); /* no cookie */
    assert_int_equal(bench.state, CLIENT_UP);
    bench.sent_count = 0;
    ask(100 * NS_PER_MS);
    pass(2 * NS_PER_S);
    assert_int_equal(count_sent(FRAME_QUERY), 1); /* nothing is said twice */
    assert_int_equal(bench.lates, 1);
    assert_int_equal(give_reply(bench.sent[0].header.request_id, bench.token), CLIENT_INPUT_TAKEN);
    assert_true(bench.reply.late);
    client_stream_closed(bench.client, bench.now);
    assert_int_equal(bench.state, CLIENT_OPENING);
    assert_int_equal(bench.why, CLIENT_WHY_DISCONNECTED);
    pass(NS_PER_S);
    assert_int_equal(bench.opens, 2);
    end();
}

static void connections_that_fail(void **state)
{
    (void)state;
    begin(9);
    client_start(bench.client, bench.now);
    for (unsigned i = 0; i < 100; i++) {
        unsigned before = bench.opens;

        client_stream_closed(bench.client, bench.now);
        pass(20 * NS_PER_S);
        assert_true(bench.opens == before + 1); /* one at a time */
    }
    client_stream_opened(bench.client, bench.now);
    pass(IDLE_NS + NS_PER_S); /* connected, but says nothing */
    assert_int_equal(bench.state, CLIENT_OPENING);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handshake),
        cmocka_unit_test(hello_is_repeated_ever_slower),
        cmocka_unit_test(tentative_is_slow),
        cmocka_unit_test(refusals),
        cmocka_unit_test(other_frame_version),
        cmocka_unit_test(question_and_answer),
        cmocka_unit_test(question_before_the_session),
        cmocka_unit_test(lost_and_late),
        cmocka_unit_test(joined_questions),
        cmocka_unit_test(missing_chunks),
        cmocka_unit_test(unknown_session),
        cmocka_unit_test(forgetful_server),
        cmocka_unit_test(heartbeats),
        cmocka_unit_test(goodbyes),
        cmocka_unit_test(closed_by_us),
        cmocka_unit_test(events_may_do_anything),
        cmocka_unit_test(table_of_clients),
        cmocka_unit_test(over_a_connection),
        cmocka_unit_test(connections_that_fail),
    };

    if (seal_start() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
