#include "proto/view_client.h"

#include "support/random_snapshot.h"
#include "wire/snapshot_codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Appends a frame of this type around what `put` writes. */
static void put_frame(struct buffer *out, enum frame_type type, uint64_t request_id,
                      void (*put)(struct writer *, const void *), const void *message)
{
    struct frame_header header = {.version = FRAME_VERSION, .type = (uint8_t)type, .request_id = request_id};
    struct writer writer;
    size_t mark;

    assert_int_equal(buffer_reserve(out, FRAME_HEADER_SIZE + FRAME_BODY_MAX), 0);
    writer = writer_over(out->bytes + out->len, out->cap - out->len);
    mark = frame_begin(&writer, &header);
    put(&writer, message);
    frame_end(&writer, mark);
    assert_false(writer.failed);
    out->len += writer.pos;
}

static void put_node(struct writer *writer, const void *message)
{
    message_put_view_node(writer, message);
}

static void put_end(struct writer *writer, const void *message)
{
    message_put_view_end(writer, message);
}

static void put_error(struct writer *writer, const void *message)
{
    message_put_api_error(writer, message);
}

static void put_forgotten(struct writer *writer, const void *message)
{
    message_put_forgotten(writer, message);
}

/* Feeds all frames; returns the last outcome. */
static int feed(struct view_answer *answer, const struct buffer *frames)
{
    struct reader reader = reader_over(frames->bytes, frames->len);
    int r = VIEW_ANSWER_MORE;

    while (reader_left(&reader)) {
        const uint8_t *frame = reader.bytes + reader.pos;
        struct frame_header header;

        assert_int_equal(frame_read_header(&reader, &header), FRAME_OK);
        read_bytes(&reader, header.body_len);
        r = view_answer_take(answer, frame, FRAME_HEADER_SIZE + header.body_len);
    }
    return r;
}

/* A node's frame with a snapshot, which may be NULL. */
static void put_row(struct buffer *out, uint64_t request_id, const char *id, const struct snapshot *snapshot)
{
    static uint8_t body[FRAME_BODY_MAX];
    struct message_view_node message = {
        .node = {.connection_id = text_from_string(id),
                 .state = NODE_STALE,
                 .since_unix_us = -5,
                 .age_us = 7},
        .software = TEXT_LITERAL("0.1.0"),
        .has_last_seen = true,
        .last_seen_age_us = 9,
    };
    struct writer writer = writer_over(body, sizeof(body));

    if (snapshot)
        snapshot_encode(snapshot, &writer);
    message.snapshot = reader_over(body, writer.pos);
    put_frame(out, FRAME_VIEW_NODE, request_id, put_node, &message);
}

static void answers_are_collected(void **state)
{
    struct random random = random_from_environment();
    struct view_answer *answer;
    struct snapshot snapshots[200];
    struct message_view_end end = {.known = 300, .matched = 200, .flags = VIEW_INEXACT};

    (void)state;
    assert_int_equal(view_answer_new(&answer), 0);
    for (uint64_t round = 1; round <= 3; round++) { /* memory is used again */
        struct buffer frames = BUFFER_EMPTY;
        const struct view_node *nodes;
        size_t count;
        char id[16];

        for (unsigned i = 0; i < 200; i++) {
            snapshot_init(&snapshots[i]);
            random_snapshot(&random, &snapshots[i], 3, 3, 3);
            snprintf(id, sizeof(id), "conn-%u", i);
            put_row(&frames, round, id, i % 3 ? &snapshots[i] : NULL);
        }
        put_frame(&frames, FRAME_VIEW_END, round, put_end, &end);
        view_answer_begin(answer, round);
        assert_int_equal(feed(answer, &frames), VIEW_ANSWER_COMPLETE);
        buffer_deinit(&frames); /* nothing is borrowed from it */
        nodes = view_answer_nodes(answer, &count);
        assert_int_equal(count, 200);
        for (unsigned i = 0; i < 200; i++) {
            snprintf(id, sizeof(id), "conn-%u", i);
            assert_true(text_equal_string(nodes[i].connection_id, id));
            assert_int_equal(nodes[i].state, NODE_STALE);
            assert_int_equal(nodes[i].since_unix_us, -5);
            assert_true(text_equal_string(view_answer_details(answer)[i].software, "0.1.0"));
            assert_int_equal(view_answer_details(answer)[i].last_seen_age_us, 9);
            if (i % 3)
                assert_null(snapshot_difference(nodes[i].snapshot, &snapshots[i]));
            else
                assert_null(nodes[i].snapshot);
            snapshot_deinit(&snapshots[i]);
        }
        assert_int_equal(view_answer_end(answer)->known, 300);
        assert_int_equal(view_answer_end(answer)->flags, VIEW_INEXACT);
    }
    view_answer_free(answer);
}

static void other_frames_are_skipped(void **state)
{
    struct message_api_error error = {.code = API_ERROR_LIMIT, .text = TEXT_LITERAL("too many")};
    struct message_forgotten forgotten = {2, 1};
    struct buffer frames = BUFFER_EMPTY;
    struct view_answer *answer;
    size_t count;

    (void)state;
    assert_int_equal(view_answer_new(&answer), 0);
    view_answer_begin(answer, 2);
    put_row(&frames, 1, "late", NULL); /* of a question that was given up */
    assert_int_equal(feed(answer, &frames), VIEW_ANSWER_OTHER);
    view_answer_nodes(answer, &count);
    assert_int_equal(count, 0);
    buffer_clear(&frames);
    put_frame(&frames, FRAME_PING, 2, put_forgotten, &forgotten);
    assert_int_equal(feed(answer, &frames), VIEW_ANSWER_OTHER);
    buffer_clear(&frames);
    put_frame(&frames, FRAME_FORGOTTEN, 2, put_forgotten, &forgotten);
    assert_int_equal(feed(answer, &frames), VIEW_ANSWER_FORGOTTEN);
    assert_int_equal(view_answer_forgotten(answer)->forgotten, 2);
    buffer_clear(&frames);
    put_frame(&frames, FRAME_API_ERROR, 0, put_error, &error); /* of a request that could not be read */
    assert_int_equal(feed(answer, &frames), VIEW_ANSWER_ERROR);
    assert_true(text_equal_string(view_answer_error(answer)->text, "too many"));
    buffer_deinit(&frames);
    view_answer_free(answer);
}

static void unreadable_values_cost_their_node_only(void **state)
{
    struct message_view_node message = {.node = {.connection_id = TEXT_LITERAL("conn-1")},
                                        .snapshot = reader_over("\xff\x00\x00\x00\x09", 5)};
    struct buffer frames = BUFFER_EMPTY;
    struct view_answer *answer;
    const struct view_node *nodes;
    size_t count;

    (void)state;
    assert_int_equal(view_answer_new(&answer), 0);
    view_answer_begin(answer, 1);
    put_frame(&frames, FRAME_VIEW_NODE, 1, put_node, &message);
    assert_int_equal(feed(answer, &frames), VIEW_ANSWER_MORE);
    nodes = view_answer_nodes(answer, &count);
    assert_int_equal(count, 1);
    assert_null(nodes[0].snapshot);
    assert_true(nodes[0].error.len > 0);
    /* A frame that is cut is of no use, wherever it is cut. */
    for (size_t len = 0; len < frames.len; len++) {
        view_answer_begin(answer, 1);
        assert_int_equal(view_answer_take(answer, (const uint8_t *)frames.bytes, len), VIEW_ANSWER_BAD);
    }
    buffer_deinit(&frames);
    view_answer_free(answer);
}

static void questions_are_written(void **state)
{
    struct message_view_query query = {
        .flags = VIEW_NO_WAIT, .interval_us = 50000, .filter = TEXT_LITERAL("gpu1")};
    struct message_view_query read;
    struct message_forget forget;
    uint32_t uids[] = {1, 4294967295u};
    uint8_t bytes[sizeof(uids)];
    struct buffer out = BUFFER_EMPTY;
    struct frame_header header;
    struct reader reader;

    (void)state;
    message_users_put(&query, uids, 2, bytes);
    view_put_query(&out, 77, &query);
    view_put_forget(&out, 78, TEXT_LITERAL("gpu2"));
    assert_int_equal(buffer_error(&out), 0);
    reader = reader_over(out.bytes, out.len);
    assert_int_equal(frame_read_header(&reader, &header), FRAME_OK);
    assert_int_equal(header.type, FRAME_VIEW_QUERY);
    assert_int_equal(header.request_id, 77);
    assert_int_equal(message_get_view_query(read_nested(&reader, header.body_len), &read), 0);
    assert_true(text_equal(read.filter, query.filter));
    assert_int_equal(message_users_next(&read), 1);
    assert_int_equal(message_users_next(&read), 4294967295u);
    assert_int_equal(frame_read_header(&reader, &header), FRAME_OK);
    assert_int_equal(header.request_id, 78);
    assert_int_equal(message_get_forget(read_nested(&reader, header.body_len), &forget), 0);
    assert_true(text_equal_string(forget.filter, "gpu2"));
    buffer_clear(&out);
    query.filter.len = MESSAGE_FILTER_MAX + 1; /* longer than can be asked */
    query.filter.bytes = memset(calloc(1, query.filter.len), 'x', query.filter.len);
    view_put_query(&out, 79, &query);
    assert_int_not_equal(buffer_error(&out), 0);
    free((char *)query.filter.bytes);
    buffer_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_collected),
        cmocka_unit_test(other_frames_are_skipped),
        cmocka_unit_test(unreadable_values_cost_their_node_only),
        cmocka_unit_test(questions_are_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
