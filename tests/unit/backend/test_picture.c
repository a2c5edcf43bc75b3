#include "backend/picture.h"

#include "support/random_snapshot.h"
#include "wire/snapshot_codec.h"
#include "wire/snapshot_parts.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A snapshot, encoded, and its parts. */
struct sample {
    struct snapshot snapshot;
    uint8_t *body;
    size_t len;
    struct snapshot_parts parts;
};

static void make_sample(struct random *random, struct sample *sample, uint32_t processes)
{
    struct writer writer;

    snapshot_init(&sample->snapshot);
    random_snapshot(random, &sample->snapshot, 4, 8, processes);
    sample->len = snapshot_encoded_max(&sample->snapshot);
    sample->body = malloc(sample->len);
    assert_non_null(sample->body);
    writer = writer_over(sample->body, sample->len);
    snapshot_encode(&sample->snapshot, &writer);
    assert_false(writer.failed);
    sample->len = writer.pos;
    assert_int_equal(snapshot_split(reader_over(sample->body, sample->len), &sample->parts), 0);
}

static void drop_sample(struct sample *sample)
{
    snapshot_deinit(&sample->snapshot);
    free(sample->body);
}

static struct message_reply whole_reply(const struct sample *sample, uint64_t generation)
{
    return (struct message_reply){
        .age_us = 1000,
        .facts_hash = snapshot_facts_hash(sample->parts.facts),
        .process_generation = generation,
        .readings = sample->parts.readings,
        .facts = sample->parts.facts,
        .process_facts = sample->parts.process_facts,
    };
}

/* The same reply to somebody who knows all facts. */
static struct message_reply short_reply(const struct sample *sample, uint64_t generation)
{
    struct message_reply reply = whole_reply(sample, generation);

    reply.facts = reply.process_facts = reader_over(NULL, 0);
    reply.process_base_generation = generation;
    return reply;
}

static void expect_same(const struct picture *picture, const struct snapshot *expected)
{
    struct snapshot decoded;
    struct snapshot_need need;

    snapshot_init(&decoded);
    assert_int_equal(snapshot_measure(picture_body(picture), &need), 0);
    assert_int_equal(snapshot_reserve(&decoded, need.devices, need.entries, need.processes), 0);
    assert_int_equal(snapshot_decode(picture_body(picture), &decoded), 0);
    assert_null(snapshot_difference(&decoded, expected));
    snapshot_deinit(&decoded);
}

static void replies_make_a_whole(void **state)
{
    struct random random = random_from_environment();
    struct instant asked = {5 * NS_PER_S};

    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        struct picture picture = {0};
        struct sample sample;
        struct message_reply reply;

        make_sample(&random, &sample, 20);
        reply = whole_reply(&sample, 3);
        assert_int_equal(picture_take_reply(&picture, &reply, asked), PICTURE_TAKEN);
        expect_same(&picture, &sample.snapshot);
        assert_int_equal(instant_since_ns(asked, picture.taken), NS_PER_MS);
        reply = short_reply(&sample, 3);
        assert_int_equal(picture_take_reply(&picture, &reply, asked), PICTURE_TAKEN);
        expect_same(&picture, &sample.snapshot);
        picture_deinit(&picture);
        drop_sample(&sample);
    }
}

static void facts_of_a_welcome_are_enough(void **state)
{
    struct random random = random_from_environment();
    struct picture picture = {0};
    struct sample sample;
    struct message_reply reply;

    (void)state;
    make_sample(&random, &sample, 5);
    reply = whole_reply(&sample, 1);
    assert_int_equal(picture_take_facts(&picture, reply.facts_hash, reply.facts), 0);
    assert_false(picture_has_readings(&picture));
    assert_int_equal(picture_body(&picture).len, 0);
    reply.facts = reader_over(NULL, 0);
    assert_int_equal(picture_take_reply(&picture, &reply, (struct instant){0}), PICTURE_TAKEN);
    expect_same(&picture, &sample.snapshot);
    assert_int_equal(picture_take_facts(&picture, 7, reader_over(NULL, 0)), -EBADMSG);
    assert_int_equal(picture.facts_hash, reply.facts_hash);
    picture_deinit(&picture);
    drop_sample(&sample);
}

static void what_builds_on_the_unknown_is_asked_for_again(void **state)
{
    struct random random = random_from_environment();
    struct picture picture = {0};
    struct sample sample;
    struct message_reply reply, whole;

    (void)state;
    make_sample(&random, &sample, 5);
    whole = whole_reply(&sample, 3);
    reply = short_reply(&sample, 3);
    assert_int_equal(picture_take_reply(&picture, &reply, (struct instant){0}), PICTURE_ASK_AGAIN);
    assert_int_equal(picture_take_reply(&picture, &whole, (struct instant){0}), PICTURE_TAKEN);
    reply.process_generation = reply.process_base_generation = 4; /* of which we have heard nothing */
    assert_int_equal(picture_take_reply(&picture, &reply, (struct instant){0}), PICTURE_ASK_AGAIN);
    assert_int_equal(picture.facts_hash, 0);
    assert_int_equal(picture.process_generation, 0);
    expect_same(&picture, &sample.snapshot); /* what is shown stays */
    assert_int_equal(picture_take_reply(&picture, &whole, (struct instant){0}), PICTURE_TAKEN);
    picture_server_restarted(&picture);
    reply = short_reply(&sample, 3);
    assert_int_equal(picture_take_reply(&picture, &reply, (struct instant){0}), PICTURE_ASK_AGAIN);
    picture_deinit(&picture);
    drop_sample(&sample);
}

static void rubbish_changes_nothing(void **state)
{
    struct random random = random_from_environment();
    struct picture picture = {0};
    struct sample sample;
    struct message_reply reply;

    (void)state;
    make_sample(&random, &sample, 5);
    reply = whole_reply(&sample, 3);
    assert_int_equal(picture_take_reply(&picture, &reply, (struct instant){0}), PICTURE_TAKEN);
    for (size_t i = 0; i < sample.len; i++) { /* every byte changed, in a copy */
        uint8_t *copy = malloc(sample.len);
        struct snapshot_parts parts;

        assert_non_null(copy);
        memcpy(copy, sample.body, sample.len);
        copy[i] ^= (uint8_t)(1 + random_below(&random, 255));
        if (snapshot_split(reader_over(copy, sample.len), &parts) == 0) {
            struct picture other = {0};
            int r;

            reply.readings = parts.readings;
            reply.facts = parts.facts;
            reply.process_facts = parts.process_facts;
            r = picture_take_reply(&other, &reply, (struct instant){0});
            assert_true(r == PICTURE_TAKEN || r == -EBADMSG || r == PICTURE_ASK_AGAIN);
            picture_deinit(&other);
        }
        free(copy);
    }
    reply = whole_reply(&sample, 4);
    reply.readings = reader_over("\x04\x00\x00\x00\x09x", 6);
    assert_int_equal(picture_take_reply(&picture, &reply, (struct instant){0}), -EBADMSG);
    reply.flags = REPLY_WARMING;
    assert_int_equal(picture_take_reply(&picture, &reply, (struct instant){0}), PICTURE_WARMING);
    expect_same(&picture, &sample.snapshot);
    picture_deinit(&picture);
    drop_sample(&sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_make_a_whole),
        cmocka_unit_test(facts_of_a_welcome_are_enough),
        cmocka_unit_test(what_builds_on_the_unknown_is_asked_for_again),
        cmocka_unit_test(rubbish_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
