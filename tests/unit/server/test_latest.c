#include "server/latest.h"

#include "core/cleanup.h"
#include "support/random_snapshot.h"
#include "wire/snapshot_codec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define BODY_MAX (1 << 20)
#define AT(ms)   ((struct instant){NS_PER_S + (ms)*NS_PER_MS})

static uint8_t body_bytes[BODY_MAX], joined_bytes[BODY_MAX];

static int make(void **state)
{
    return latest_new(TEXT_LITERAL("gpu7"), (struct latest **)state);
}

static int unmake(void **state)
{
    latest_free(*state);
    return 0;
}

static struct reader encode(const struct snapshot *snapshot)
{
    struct writer writer = writer_over(body_bytes, sizeof(body_bytes));

    snapshot_encode(snapshot, &writer);
    assert_false(writer.failed);
    return reader_over(body_bytes, writer.pos);
}

/* What a backend that knows nothing makes of the answer. */
static void decode_whole(const struct message_reply *reply, struct snapshot *snapshot)
{
    struct snapshot_parts parts = {reply->readings, reply->facts, reply->process_facts};
    struct writer writer = writer_over(joined_bytes, sizeof(joined_bytes));
    struct snapshot_need need;
    struct reader body;

    snapshot_join(&parts, &writer);
    assert_false(writer.failed);
    body = reader_over(joined_bytes, writer.pos);
    assert_int_equal(snapshot_measure(body, &need), 0);
    assert_int_equal(snapshot_reserve(snapshot, need.devices, need.entries, need.processes), 0);
    assert_int_equal(snapshot_decode(body, snapshot), 0);
}

static const struct message_query knows_nothing = {.facts_hash = 0};

static void before_the_first_it_is_warming(void **state)
{
    struct message_reply reply;
    struct snapshot_summary summary;
    struct reader facts;
    int64_t age;

    latest_reply(*state, &knows_nothing, NULL, AT(0), &reply);
    assert_int_equal(reply.flags, REPLY_WARMING);
    assert_int_equal(reader_left(&reply.readings), 0);
    assert_false(latest_summary(*state, &summary));
    assert_false(latest_age_ns(*state, AT(0), &age));
    assert_int_equal(latest_facts(*state, &facts), 0);
}

static void an_answer_is_the_snapshot_with_its_age(void **state)
{
    struct random random = random_from_environment();
    struct snapshot snapshot, decoded;
    struct message_reply reply;

    snapshot_init(&snapshot);
    snapshot_init(&decoded);
    for (int i = 0; i < 50; i++) {
        const char *difference;

        snapshot_clear(&snapshot);
        snapshot_clear(&decoded);
        random_snapshot(&random, &snapshot, 4, 30, 20);
        assert_int_equal(latest_take(*state, encode(&snapshot), AT(100)), 0);
        latest_reply(*state, &knows_nothing, NULL, AT(117), &reply);
        assert_int_equal(reply.flags, 0);
        assert_int_equal(reply.age_us, 17000);
        assert_int_equal(reply.process_base_generation, 0);
        decode_whole(&reply, &decoded);
        difference = snapshot_difference(&snapshot, &decoded);
        if (difference)
            fail_msg("%s differs", difference);
    }
    snapshot_deinit(&snapshot);
    snapshot_deinit(&decoded);
}

static void what_the_asker_knows_is_left_out(void **state)
{
    struct random random = random_from_environment();
    struct snapshot snapshot;
    struct message_reply first, second;
    struct message_query knows;
    struct reader facts;

    snapshot_init(&snapshot);
    random_snapshot(&random, &snapshot, 4, 30, 20);
    assert_int_equal(latest_take(*state, encode(&snapshot), AT(0)), 0);
    latest_reply(*state, &knows_nothing, NULL, AT(0), &first);
    assert_true(latest_facts(*state, &facts) == first.facts_hash);
    assert_int_equal(reader_left(&facts), reader_left(&first.facts));
    knows = (struct message_query){.facts_hash = first.facts_hash,
                                   .process_generation = first.process_generation};
    assert_int_equal(latest_take(*state, encode(&snapshot), AT(10)), 0);
    latest_reply(*state, &knows, NULL, AT(10), &second);
    assert_int_equal(reader_left(&second.facts), 0);
    assert_int_equal(reader_left(&second.process_facts), 0);
    assert_true(second.facts_hash == first.facts_hash);
    assert_true(second.process_generation == first.process_generation);
    assert_int_equal(reader_left(&second.readings), reader_left(&first.readings));
    snapshot_deinit(&snapshot);
}

static void a_hang_is_told_when_the_snapshot_is_older(void **state)
{
    struct sampler_call call = {.name = "nvmlDeviceGetFanSpeed", .device = 2, .running_ns = 12 * NS_PER_S};
    struct random random = random_from_environment();
    struct snapshot snapshot, decoded;
    struct message_reply reply;

    snapshot_init(&snapshot);
    snapshot_init(&decoded);
    random_snapshot(&random, &snapshot, 4, 30, 20);
    snapshot.pending = (struct pending_call){TEXT_ABSENT, -1, 0};
    assert_int_equal(latest_take(*state, encode(&snapshot), AT(0)), 0);

    latest_reply(*state, &knows_nothing, &call, AT(12000), &reply);
    decode_whole(&reply, &decoded);
    assert_true(text_equal_string(decoded.pending.name, "nvmlDeviceGetFanSpeed"));
    assert_int_equal(decoded.pending.device, 2);
    assert_int_equal(decoded.pending.running_us, 12000000);

    /* The sampler tells it itself in a snapshot that is fresh; short calls are no news. */
    snapshot_clear(&decoded);
    latest_reply(*state, &knows_nothing, &call, AT(500), &reply);
    decode_whole(&reply, &decoded);
    assert_false(text_is_present(decoded.pending.name));
    snapshot_clear(&decoded);
    call.running_ns = NS_PER_S / 2;
    latest_reply(*state, &knows_nothing, &call, AT(12000), &reply);
    decode_whole(&reply, &decoded);
    assert_false(text_is_present(decoded.pending.name));
    snapshot_deinit(&snapshot);
    snapshot_deinit(&decoded);
}

static void a_fault_made_here_does_not_grow_old(void **state)
{
    struct random random = random_from_environment();
    struct snapshot snapshot, decoded;
    struct snapshot_summary summary;
    struct message_reply reply;
    int64_t age;

    snapshot_init(&snapshot);
    snapshot_init(&decoded);
    random_snapshot(&random, &snapshot, 4, 30, 20);
    snapshot.sequence = 41;
    assert_int_equal(latest_take(*state, encode(&snapshot), AT(0)), 0);
    assert_int_equal(latest_take_fault(*state, NODE_FAULT_PAUSED, TEXT_LITERAL("for 300 s")), 0);
    assert_true(latest_age_ns(*state, AT(99999), &age));
    assert_int_equal(age, 0);
    latest_reply(*state, &knows_nothing, NULL, AT(99999), &reply);
    assert_int_equal(reply.age_us, 0);
    decode_whole(&reply, &decoded);
    assert_int_equal(decoded.fault, NODE_FAULT_PAUSED);
    assert_int_equal(decoded.device_count, 0);
    assert_int_equal(decoded.sequence, 42);
    assert_true(text_equal_string(decoded.hostname, "gpu7"));
    assert_true(text_equal_string(decoded.fault_text, "for 300 s"));
    assert_true(latest_summary(*state, &summary));
    assert_true(text_equal_string(summary.hostname, "gpu7"));
    snapshot_deinit(&snapshot);
    snapshot_deinit(&decoded);
}

static void what_is_malformed_changes_nothing(void **state)
{
    struct random random = random_from_environment();
    struct snapshot snapshot;
    struct message_reply before, after;
    struct reader body;

    snapshot_init(&snapshot);
    random_snapshot(&random, &snapshot, 2, 5, 5);
    body = encode(&snapshot);
    assert_int_equal(latest_take(*state, body, AT(0)), 0);
    latest_reply(*state, &knows_nothing, NULL, AT(5), &before);
    for (size_t len = 0; len < body.len; len++)
        assert_int_equal(latest_take(*state, reader_over(body_bytes, len), AT(1)), -EBADMSG);
    latest_reply(*state, &knows_nothing, NULL, AT(5), &after);
    assert_true(before.facts_hash == after.facts_hash);
    assert_int_equal(before.age_us, after.age_us);
    assert_int_equal(reader_left(&before.process_facts), reader_left(&after.process_facts));
    snapshot_deinit(&snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(before_the_first_it_is_warming, make, unmake),
        cmocka_unit_test_setup_teardown(an_answer_is_the_snapshot_with_its_age, make, unmake),
        cmocka_unit_test_setup_teardown(what_the_asker_knows_is_left_out, make, unmake),
        cmocka_unit_test_setup_teardown(a_hang_is_told_when_the_snapshot_is_older, make, unmake),
        cmocka_unit_test_setup_teardown(a_fault_made_here_does_not_grow_old, make, unmake),
        cmocka_unit_test_setup_teardown(what_is_malformed_changes_nothing, make, unmake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
