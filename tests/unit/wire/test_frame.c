#include "wire/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const struct frame_header example = {.version = FRAME_VERSION,
                                            .type = FRAME_SNAPSHOT,
                                            .flags = 0x1234,
                                            .request_id = UINT64_C(0x0102030405060708),
                                            .body_len = FRAME_BODY_MAX};

static void write_example(uint8_t *bytes)
{
    struct writer writer = writer_over(bytes, FRAME_HEADER_SIZE);

    frame_write_header(&writer, &example);
    assert_false(writer.failed);
    assert_int_equal(writer.pos, FRAME_HEADER_SIZE);
}

static void header_round_trips(void **state)
{
    uint8_t bytes[FRAME_HEADER_SIZE];
    struct reader reader = reader_over(bytes, sizeof(bytes));
    struct frame_header header;

    (void)state;
    write_example(bytes);
    assert_int_equal(frame_read_header(&reader, &header), FRAME_OK);
    assert_int_equal(reader.pos, FRAME_HEADER_SIZE);
    assert_int_equal(header.version, example.version);
    assert_int_equal(header.type, example.type);
    assert_int_equal(header.flags, example.flags);
    assert_true(header.request_id == example.request_id);
    assert_int_equal(header.body_len, example.body_len);
}

static void every_truncation_is_short(void **state)
{
    uint8_t bytes[FRAME_HEADER_SIZE];
    struct frame_header header;

    (void)state;
    write_example(bytes);
    for (size_t len = 0; len < sizeof(bytes); len++) {
        struct reader reader = reader_over(bytes, len);

        assert_int_equal(frame_read_header(&reader, &header), FRAME_SHORT);
        assert_int_equal(reader.pos, 0);
        assert_false(reader.failed); /* more may come */
    }
}

static int outcome_with(size_t at, uint8_t byte, struct frame_header *ret_header)
{
    uint8_t bytes[FRAME_HEADER_SIZE];
    struct reader reader = reader_over(bytes, sizeof(bytes));
    int r;

    write_example(bytes);
    bytes[at] = byte;
    r = frame_read_header(&reader, ret_header);
    assert_int_equal(reader.pos, r == FRAME_OK ? FRAME_HEADER_SIZE : 0);
    return r;
}

static void each_rung_has_its_outcome(void **state)
{
    struct frame_header header;

    (void)state;
    for (size_t at = 0; at < 4; at++)
        assert_int_equal(outcome_with(at, 0xff, &header), FRAME_BAD_MAGIC);
    assert_int_equal(outcome_with(4, 2, &header), FRAME_BAD_VERSION);
    assert_int_equal(header.version, 2);
    assert_true(header.request_id == example.request_id);
    assert_int_equal(outcome_with(19, 1, &header), FRAME_TOO_LONG);
    assert_int_equal(outcome_with(5, 0xff, &header), FRAME_OK); /* types are the receiver's business */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_round_trips),
        cmocka_unit_test(every_truncation_is_short),
        cmocka_unit_test(each_rung_has_its_outcome),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
