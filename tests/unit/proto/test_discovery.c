/* When servers announce and backends probe; who answers whom; what an announce can cause. */
#include "proto_helpers.h"

#include "proto/discovery.h"
#include "proto/envelope.h"
#include "proto/timers.h"

#include <errno.h>

struct bench {
    struct random random;
    struct random_source source;
    struct instant now;
    struct announcer *announcer;
    struct prober *prober;
    /* the server's */
    struct instant announced[64];
    unsigned announces, unicasts, answers, troubles;
    int announce_result, trouble_error;
    struct peer answered;
    uint8_t last[DISCOVERY_DATAGRAM_MAX];
    size_t last_len;
    /* the backend's */
    struct instant probed[64];
    unsigned probes, candidates, give_ups;
    unsigned numbers[2048];
    unsigned live; /* nodes 0 .. live - 1 have sessions */
    uint32_t frame_id;
};

static struct bench bench;

static struct message_node node_numbered(uint32_t i)
{
    struct message_node node = {.instance = i + 1u};

    memcpy(node.identity, &i, sizeof(i));
    return node;
}

static void keep(const uint8_t *bytes, size_t len)
{
    assert_true(len <= sizeof(bench.last));
    memcpy(bench.last, bytes, len);
    bench.last_len = len;
}

static int on_announce(void *userdata, const uint8_t *bytes, size_t len)
{
    (void)userdata;
    keep(bytes, len);
    bench.announced[bench.announces++ % 64] = bench.now;
    return bench.announce_result;
}

static void on_unicast(void *userdata, size_t target, const uint8_t *bytes, size_t len)
{
    (void)userdata;
    assert_true(target < 2);
    assert_true(len == bench.last_len && memcmp(bytes, bench.last, len) == 0);
    bench.unicasts++;
}

static void on_answer(void *userdata, const struct peer *prober, const uint8_t *bytes, size_t len)
{
    (void)userdata;
    keep(bytes, len);
    bench.answered = *prober;
    bench.answers++;
}

static void on_trouble(void *userdata, unsigned attempts, int error)
{
    (void)userdata;
    (void)attempts;
    bench.troubles++;
    bench.trouble_error = error;
}

static int on_probe(void *userdata, const uint8_t *bytes, size_t len)
{
    (void)userdata;
    keep(bytes, len);
    bench.probed[bench.probes++ % 64] = bench.now;
    return 0;
}

static bool on_is_live(void *userdata, const struct message_node *node)
{
    (void)userdata;
    for (uint32_t i = 0; i < bench.live; i++) {
        struct message_node live = node_numbered(i);

        if (live.instance == node->instance && memcmp(live.identity, node->identity, IDENTITY_SIZE) == 0)
            return true;
    }
    return false;
}

static bool on_live(void *userdata, size_t i, uint8_t ret_identity[IDENTITY_SIZE])
{
    struct message_node node = node_numbered((uint32_t)i);

    (void)userdata;
    memcpy(ret_identity, node.identity, IDENTITY_SIZE);
    return i < bench.live;
}

static void on_candidate(void *userdata, const struct prober_candidate *candidate)
{
    (void)userdata;
    assert_int_equal(candidate->announce->udp_port, 30000);
    bench.numbers[bench.candidates++ % 2048] = candidate->number;
}

static void on_give_up(void *userdata, unsigned number)
{
    (void)userdata;
    (void)number;
    bench.give_ups++;
}

static void begin_server(uint32_t number, const char *hostname)
{
    struct announcer_events events = {
        .on_announce = on_announce,
        .on_unicast = on_unicast,
        .on_answer = on_answer,
        .on_trouble = on_trouble,
    };
    struct announcer_options options = {
        .node = node_numbered(number),
        .sequence = 1000,
        .udp_port = 30000,
        .tcp_port = 30001,
        .hostname = text_from_string(hostname),
        .retry_limit = 5,
        .targets = 2,
    };

    bench = (struct bench){.random = random_from_environment(), .now = {NS_PER_S}};
    bench.source = random_source_of(&bench.random);
    options.random = bench.source;
    assert_int_equal(announcer_new(&options, &events, bench.now, &bench.announcer), 0);
}

static void begin_backend(void)
{
    struct prober_events events = {
        .on_probe = on_probe,
        .on_is_live = on_is_live,
        .on_live = on_live,
        .on_candidate = on_candidate,
        .on_give_up = on_give_up,
    };
    struct prober_options options = {.instance = 3};

    bench = (struct bench){.random = random_from_environment(), .now = {NS_PER_S}};
    bench.source = random_source_of(&bench.random);
    options.random = bench.source;
    assert_int_equal(prober_new(&options, &events, bench.now, &bench.prober), 0);
}

static void end(void)
{
    announcer_free(bench.announcer);
    prober_free(bench.prober);
}

static struct instant next(void)
{
    return bench.announcer ? announcer_next(bench.announcer) : prober_next(bench.prober);
}

static void pass(int64_t ns)
{
    struct instant until = instant_add_ns(bench.now, ns);

    while (next().ns <= until.ns) {
        if (next().ns > bench.now.ns)
            bench.now = next();
        if (bench.announcer)
            announcer_tick(bench.announcer, bench.now);
        else
            prober_tick(bench.prober, bench.now);
    }
    bench.now = until;
}

/* The message in the datagram sent last. */
static struct reader last_body(uint8_t type)
{
    struct frame_header header;
    struct chunk chunk;
    struct reader reader;

    assert_int_equal(chunk_read(reader_over(bench.last, bench.last_len), &chunk), CHUNK_OK);
    reader = reader_over(chunk.payload, chunk.payload_len);
    assert_int_equal(frame_read_header(&reader, &header), FRAME_OK);
    assert_int_equal(header.type, type);
    return reader;
}

static enum discovery_input give(const struct peer *from, struct envelope *envelope)
{
    struct envelope_way way = {
        .random = &bench.source, .direction = SEAL_TO_SERVER, .frame_id = bench.frame_id++};
    struct text bytes = envelope_end(envelope, &way);

    return bench.announcer
               ? announcer_datagram(bench.announcer, bench.now, from, (const uint8_t *)bytes.bytes, bytes.len)
               : prober_datagram(bench.prober, bench.now, from, (const uint8_t *)bytes.bytes, bytes.len);
}

static enum discovery_input give_announce(const struct peer *from, uint32_t node, unsigned flags)
{
    struct message_announce announce = {
        .node = node_numbered(node), .udp_port = 30000, .flags = flags, .hostname = TEXT_LITERAL("gpu01")};
    struct envelope envelope;

    envelope_begin(&envelope, FRAME_ANNOUNCE, 0, NULL);
    message_put_announce(&envelope.writer, &announce);
    return give(from, &envelope);
}

/* A probe that knows the nodes 0 .. known - 1. */
static enum discovery_input give_probe(const struct peer *from, unsigned known)
{
    uint8_t bloom[64] = {0};
    struct message_probe probe = {
        .instance = 1, .salt = random_u64(&bench.random), .hashes = 4, .answer_within_ms = 200};
    struct envelope envelope;

    for (uint32_t i = 0; i < known; i++)
        message_bloom_add(bloom, sizeof(bloom), probe.salt, probe.hashes, node_numbered(i).identity);
    if (known)
        probe.bloom = (struct text){(const char *)bloom, sizeof(bloom)};
    envelope_begin(&envelope, FRAME_PROBE, 0, NULL);
    message_put_probe(&envelope.writer, &probe);
    return give(from, &envelope);
}

/* ---- servers ---- */

static void announces(void **state)
{
    struct message_announce announce;
    uint64_t before;

    (void)state;
    begin_server(0, "gpu01");
    pass(200 * NS_PER_MS);
    assert_int_equal(bench.announces, 1);
    assert_int_equal(message_get_announce(last_body(FRAME_ANNOUNCE), &announce), 0);
    assert_true(announce.udp_port == 30000 && announce.tcp_port == 30001 && announce.flags == 0);
    assert_true(text_equal_string(announce.hostname, "gpu01"));
    before = announce.sequence;
    pass(5 * NS_PER_S);
    assert_int_equal(bench.announces, 3); /* repeated twice, as the first may be lost */
    assert_int_equal(message_get_announce(last_body(FRAME_ANNOUNCE), &announce), 0);
    assert_true(announce.sequence > before);
    pass(3600 * NS_PER_S);
    assert_true(bench.announces >= 110 && bench.announces <= 135);
    assert_int_equal(bench.unicasts, 2 * bench.announces);
    announcer_stop(bench.announcer, bench.now);
    assert_int_equal(message_get_announce(last_body(FRAME_ANNOUNCE), &announce), 0);
    assert_int_equal(announce.flags, ANNOUNCE_STOPPING);
    assert_true(announcer_next(bench.announcer).ns == TIMERS_NEVER.ns);
    end();
}

static void nothing_leaves(void **state)
{
    unsigned before;

    (void)state;
    begin_server(0, "gpu01");
    bench.announce_result = -ENETUNREACH;
    pass(10 * NS_PER_S);
    assert_int_equal(bench.troubles, 0);
    pass(40 * NS_PER_S);
    assert_int_equal(bench.troubles, 1); /* once */
    assert_int_equal(bench.trouble_error, -ENETUNREACH);
    before = bench.announces;
    pass(600 * NS_PER_S);
    assert_true(bench.announces > before + 10 && bench.announces < before + 30); /* keeps trying, slower */
    assert_int_equal(bench.troubles, 1);
    bench.announce_result = 0;
    pass(60 * NS_PER_S);
    assert_int_equal(bench.troubles, 2);
    assert_int_equal(bench.trouble_error, 0);
    end();
}

static void answers(void **state)
{
    struct peer alice = peer_numbered(1, 4000);
    struct message_announce announce;

    (void)state;
    begin_server(7, "gpu01");
    pass(10 * NS_PER_S);
    assert_int_equal(give_probe(&alice, 0), DISCOVERY_INPUT_TAKEN);
    assert_int_equal(give_probe(&alice, 0), DISCOVERY_INPUT_TAKEN);
    assert_int_equal(bench.answers, 0);
    pass(200 * NS_PER_MS);
    assert_int_equal(bench.answers, 1); /* one for both */
    assert_true(peer_equal(&bench.answered, &alice));
    assert_int_equal(message_get_announce(last_body(FRAME_ANNOUNCE), &announce), 0);
    assert_int_equal(give_probe(&alice, 8), DISCOVERY_INPUT_KNOWN);
    pass(NS_PER_S);
    assert_int_equal(bench.answers, 1);
    /* Meanwhile we became known: the answer that was due is dropped. */
    assert_int_equal(give_probe(&alice, 0), DISCOVERY_INPUT_TAKEN);
    assert_int_equal(give_probe(&alice, 8), DISCOVERY_INPUT_KNOWN);
    pass(NS_PER_S);
    assert_int_equal(bench.answers, 1);
    end();
}

/* The longest host name, and the shortest probe: the answer is still no longer. */
static void answer_is_no_longer_than_the_probe(void **state)
{
    struct peer alice = peer_numbered(1, 4000);
    struct message_probe probe = {.hashes = 1};
    char hostname[400];
    struct envelope envelope;
    size_t len;

    (void)state;
    memset(hostname, 'x', sizeof(hostname));
    hostname[sizeof(hostname) - 1] = '\0';
    begin_server(7, hostname);
    pass(10 * NS_PER_S);
    envelope_begin(&envelope, FRAME_PROBE, 0, NULL);
    message_put_probe(&envelope.writer, &probe);
    len = envelope.writer.pos + CHUNK_HEADER_SIZE;
    assert_int_equal(give(&alice, &envelope), DISCOVERY_INPUT_TAKEN);
    pass(NS_PER_S);
    assert_int_equal(bench.answers, 1);
    assert_true(bench.last_len <= len);
    end();
}

static void answers_are_limited(void **state)
{
    struct peer alice = peer_numbered(1, 4000);
    unsigned taken = 0;

    (void)state;
    begin_server(7, "gpu01");
    pass(10 * NS_PER_S);
    for (unsigned i = 0; i < 1000; i++) {
        give_probe(&alice, 0);
        pass(NS_PER_MS);
    }
    assert_true(bench.answers <= 30);
    for (uint32_t i = 0; i < 5000; i++) { /* from everywhere at once */
        struct peer peer = peer_numbered(1000 + i, 4000);

        taken += give_probe(&peer, 0) == DISCOVERY_INPUT_TAKEN;
    }
    assert_true(taken <= 256);
    end();
}

static void a_crowd_waits(void **state)
{
    struct peer others = peer_numbered(1, 4000);
    struct instant first;

    (void)state;
    begin_server(7, "gpu01");
    first = announcer_next(bench.announcer);
    for (uint32_t i = 0; i < 300; i++)
        assert_int_equal(give_announce(&others, i, 0), DISCOVERY_INPUT_OTHER_SIDE);
    bench.now = first;
    announcer_tick(bench.announcer, bench.now);
    assert_int_equal(bench.announces, 0);
    assert_int_equal(announcer_counters(bench.announcer)->postponed, 1);
    pass(10 * NS_PER_S);
    assert_int_equal(bench.announces, 1); /* and is not repeated */
    end();
}

/* ---- backends ---- */

static void probes(void **state)
{
    (void)state;
    begin_backend();
    bench.live = 1;
    pass(NS_PER_S);
    assert_int_equal(bench.probes, 4);
    assert_int_equal(bench.probed[1].ns - bench.probed[0].ns, 250 * NS_PER_MS);
    assert_int_equal(bench.probed[2].ns - bench.probed[0].ns, 500 * NS_PER_MS);
    assert_int_equal(bench.probed[3].ns - bench.probed[0].ns, 1000 * NS_PER_MS);
    for (unsigned minute = 0; minute < 60; minute++) {
        prober_asked(bench.prober, bench.now);
        pass(60 * NS_PER_S);
    }
    assert_true(bench.probes >= 110 && bench.probes <= 140);
    assert_false(prober_is_idle(bench.prober, bench.now));
    bench.probes = 0;
    pass(600 * NS_PER_S);
    assert_true(prober_is_idle(bench.prober, bench.now));
    bench.probes = 0;
    pass(3600 * NS_PER_S);
    assert_true(bench.probes >= 10 && bench.probes <= 15);
    bench.probes = 0;
    prober_asked(bench.prober, bench.now);
    pass(NS_PER_S);
    assert_int_equal(bench.probes, 4); /* as at start */
    end();
}

static void digest(void **state)
{
    struct message_probe probe;
    unsigned mistaken = 0;

    (void)state;
    begin_backend();
    bench.live = 300;
    pass(0);
    assert_int_equal(message_get_probe(last_body(FRAME_PROBE), &probe), 0);
    for (uint32_t i = 0; i < 300; i++)
        assert_true(message_bloom_has(&probe, node_numbered(i).identity));
    for (uint32_t i = 300; i < 10300; i++)
        mistaken += message_bloom_has(&probe, node_numbered(i).identity);
    assert_true(mistaken < 300); /* one in a hundred */
    bench.live = 4096;           /* more than the digest holds well: it only gets less exact */
    pass(250 * NS_PER_MS);
    assert_int_equal(message_get_probe(last_body(FRAME_PROBE), &probe), 0);
    for (uint32_t i = 0; i < 4096; i++)
        assert_true(message_bloom_has(&probe, node_numbered(i).identity));
    mistaken = 0;
    for (uint32_t i = 5000; i < 15000; i++)
        mistaken += message_bloom_has(&probe, node_numbered(i).identity);
    assert_true(mistaken < 8000);
    bench.live = 0;
    pass(250 * NS_PER_MS);
    assert_int_equal(message_get_probe(last_body(FRAME_PROBE), &probe), 0);
    assert_int_equal(probe.bloom.len, 0);
    end();
}

static void candidates(void **state)
{
    struct peer alice = peer_numbered(1, 4000), bob = peer_numbered(2, 4000);

    (void)state;
    begin_backend();
    bench.live = 1;
    assert_int_equal(give_announce(&alice, 0, 0), DISCOVERY_INPUT_KNOWN);
    assert_int_equal(give_announce(&alice, 5, ANNOUNCE_STOPPING), DISCOVERY_INPUT_KNOWN);
    assert_int_equal(give_announce(&alice, 5, 0), DISCOVERY_INPUT_TAKEN);
    assert_int_equal(bench.candidates, 1);
    assert_int_equal(give_announce(&alice, 5, 0), DISCOVERY_INPUT_KNOWN);
    assert_int_equal(give_announce(&bob, 5, 0), DISCOVERY_INPUT_TAKEN); /* the other may be forged */
    assert_int_equal(prober_candidates(bench.prober), 2);
    prober_done(bench.prober, bench.now, bench.numbers[0]);
    assert_int_equal(prober_candidates(bench.prober), 1);
    pass(PROBER_CANDIDATE_NS);
    assert_int_equal(bench.give_ups, 1);
    assert_int_equal(prober_candidates(bench.prober), 0);
    prober_done(bench.prober, bench.now, bench.numbers[1]); /* too late: no harm */
    end();
}

static void candidates_are_bounded(void **state)
{
    struct peer alice = peer_numbered(1, 4000);
    unsigned begun;

    (void)state;
    begin_backend();
    /* Of one source: so many at a time, and ever fewer if nothing comes of them. */
    for (uint32_t i = 0; i < 10000; i++) {
        give_announce(&alice, 100 + i, 0);
        assert_true(prober_candidates(bench.prober) <= PROBER_PER_SOURCE);
        pass(10 * NS_PER_MS);
    }
    assert_true(bench.candidates <= 2 * PROBER_PER_SOURCE + PROBER_PER_SOURCE * 100 / 5);
    pass(10 * NS_PER_S);
    /* Of many sources: a table of fixed size, and a pace. */
    bench.candidates = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        struct peer peer = peer_numbered(1000 + i, 4000);

        give_announce(&peer, 20000 + i, 0);
        assert_true(prober_candidates(bench.prober) <= PROBER_CANDIDATES);
        pass(NS_PER_MS / 10);
    }
    begun = bench.candidates;
    assert_true(begun <= PROBER_PER_SECOND + 64 && begun >= PROBER_PER_SECOND / 2); /* in a second */
    end();
}

/* Nobody is known and somebody asks: probed each second, not each question. */
static void nobody_is_known(void **state)
{
    (void)state;
    begin_backend();
    pass(2 * NS_PER_S);
    bench.probes = 0;
    for (unsigned i = 0; i < 200; i++) {
        prober_asked(bench.prober, bench.now);
        pass(50 * NS_PER_MS);
    }
    assert_true(bench.probes >= 8 && bench.probes <= 11);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(announces),
        cmocka_unit_test(nothing_leaves),
        cmocka_unit_test(answers),
        cmocka_unit_test(answer_is_no_longer_than_the_probe),
        cmocka_unit_test(answers_are_limited),
        cmocka_unit_test(a_crowd_waits),
        cmocka_unit_test(probes),
        cmocka_unit_test(digest),
        cmocka_unit_test(candidates),
        cmocka_unit_test(candidates_are_bounded),
        cmocka_unit_test(nobody_is_known),
    };

    if (seal_start() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
