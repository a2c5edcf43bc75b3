#include "core/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const uint64_t values[] = {0,         1, 0x7f, 0x80, 0x3fff, 0x4000, UINT32_MAX, (uint64_t)1 << 63,
                                  UINT64_MAX};
#define VALUES (sizeof(values) / sizeof(values[0]))

static void numbers_are_big_endian(void **state)
{
    static const uint8_t golden[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    uint8_t bytes[15];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    struct reader reader = reader_over(bytes, sizeof(bytes));

    (void)state;
    write_u8(&writer, 0x01);
    write_u16(&writer, 0x0203);
    write_u32(&writer, 0x04050607);
    write_u64(&writer, 0x08090a0b0c0d0e0f);
    assert_false(writer.failed);
    assert_memory_equal(bytes, golden, sizeof(golden));
    assert_int_equal(read_u8(&reader), 0x01);
    assert_int_equal(read_u16(&reader), 0x0203);
    assert_int_equal(read_u32(&reader), 0x04050607);
    assert_true(read_u64(&reader) == 0x08090a0b0c0d0e0f);
    assert_false(reader.failed);
    assert_int_equal(reader_left(&reader), 0);
}

static void varints_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < VALUES; i++) {
        uint8_t bytes[10];
        struct writer writer = writer_over(bytes, sizeof(bytes));
        struct reader reader;

        write_varint(&writer, values[i]);
        reader = reader_over(bytes, writer.pos);
        assert_true(read_varint(&reader) == values[i]);
        assert_false(reader.failed);
        assert_int_equal(reader_left(&reader), 0);
        reader = reader_over(bytes, writer.pos - 1); /* truncated */
        read_varint(&reader);
        assert_true(reader.failed);
    }
}

static void zigzag_round_trips(void **state)
{
    static const int64_t numbers[] = {0, -1, 1, -40, 110, INT64_MIN, INT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        uint8_t bytes[10];
        struct writer writer = writer_over(bytes, sizeof(bytes));
        struct reader reader;

        write_zigzag(&writer, numbers[i]);
        reader = reader_over(bytes, writer.pos);
        assert_true(read_zigzag(&reader) == numbers[i]);
    }
}

static void padded_and_oversized_varints_fail(void **state)
{
    static const uint8_t bad[][11] = {{0x80, 0x00},
                                      {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct reader reader = reader_over(bad[i], sizeof(bad[i]));

        assert_int_equal(read_varint(&reader), 0);
        assert_true(reader.failed);
    }
}

static void reading_past_the_end_sticks(void **state)
{
    struct reader reader = reader_over("\5ab", 3), nested;

    (void)state;
    assert_null(read_text(&reader, 100).bytes); /* says 5, has 2 */
    assert_true(reader.failed);
    assert_int_equal(read_u8(&reader), 0);
    nested = read_nested(&reader, 1);
    assert_true(nested.failed);
    reader = reader_over("\2abc", 4);
    assert_null(read_text(&reader, 1).bytes); /* above the cap */
    assert_true(reader.failed);
}

static void writing_past_the_end_sticks(void **state)
{
    uint8_t bytes[4] = {0};
    struct writer writer = writer_over(bytes, 3);

    (void)state;
    write_u16(&writer, 0x0102);
    write_u16(&writer, 0x0304);
    write_u8(&writer, 5);
    assert_true(writer.failed);
    assert_int_equal(writer.pos, 2);
    assert_int_equal(bytes[2], 0);
}

static void lengths_are_filled_in_afterwards(void **state)
{
    uint8_t bytes[16];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    size_t mark = write_length_begin(&writer);

    (void)state;
    write_text(&writer, TEXT_LITERAL("abc"));
    write_length_end(&writer, mark);
    assert_memory_equal(bytes, "\0\0\0\4\3abc", 8);
}

static void optional_texts_keep_absent_and_empty_apart(void **state)
{
    uint8_t bytes[16];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    struct reader reader;

    (void)state;
    write_optional_text(&writer, TEXT_ABSENT);
    write_optional_text(&writer, TEXT_LITERAL(""));
    write_optional_text(&writer, TEXT_LITERAL("abc"));
    assert_memory_equal(bytes, "\0\1\4abc", 6);
    assert_int_equal(writer.pos, 6);
    reader = reader_over(bytes, writer.pos);
    assert_false(text_is_present(read_optional_text(&reader, 3)));
    assert_true(text_equal(read_optional_text(&reader, 3), TEXT_LITERAL("")));
    assert_true(text_equal(read_optional_text(&reader, 3), TEXT_LITERAL("abc")));
    assert_false(reader.failed);
    reader = reader_over(bytes + 2, 4);
    assert_false(text_is_present(read_optional_text(&reader, 2))); /* above the cap */
    assert_true(reader.failed);
    reader = reader_over(bytes + 2, 3); /* truncated */
    assert_false(text_is_present(read_optional_text(&reader, 3)));
    assert_true(reader.failed);
}

static void sized_records_move_up_for_longer_lengths(void **state)
{
    static const size_t lens[] = {0, 1, 127, 128, 16383, 16384, 70000};
    static uint8_t content[70000], bytes[70010];

    (void)state;
    for (size_t i = 0; i < sizeof(content); i++)
        content[i] = (uint8_t)(i * 7);
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        size_t need = 1 + varint_size(lens[i]) + lens[i];
        struct writer writer = writer_over(bytes, need), counting = writer_counting(), tight;
        struct reader reader, record;
        size_t mark;

        write_u8(&writer, 0xee);
        mark = write_sized_begin(&writer);
        write_bytes(&writer, content, lens[i]);
        write_sized_end(&writer, mark);
        assert_false(writer.failed);
        assert_int_equal(writer.pos, need);
        reader = reader_over(bytes, need);
        assert_int_equal(read_u8(&reader), 0xee);
        record = read_nested(&reader, (size_t)read_varint(&reader));
        assert_int_equal(record.len, lens[i]);
        assert_memory_equal(record.bytes, content, lens[i]);
        assert_int_equal(reader_left(&reader), 0);

        write_u8(&counting, 0xee);
        mark = write_sized_begin(&counting);
        write_bytes(&counting, content, lens[i]);
        write_sized_end(&counting, mark);
        assert_int_equal(counting.pos, need);

        tight = writer_over(bytes, need - 1);
        write_u8(&tight, 0xee);
        mark = write_sized_begin(&tight);
        write_bytes(&tight, content, lens[i]);
        write_sized_end(&tight, mark);
        assert_true(tight.failed);
    }
}

static void a_counting_writer_stores_nothing(void **state)
{
    struct writer writer = writer_counting();
    size_t mark = write_length_begin(&writer);

    (void)state;
    write_varint(&writer, 300);
    write_u8(&writer, 1);
    write_text(&writer, TEXT_LITERAL("abc"));
    write_length_end(&writer, mark);
    assert_int_equal(writer.pos, 11);
    assert_false(writer.failed);
    for (size_t i = 0; i < VALUES; i++) {
        writer = writer_counting();
        write_varint(&writer, values[i]);
        assert_int_equal(writer.pos, varint_size(values[i]));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_big_endian),
        cmocka_unit_test(varints_round_trip),
        cmocka_unit_test(zigzag_round_trips),
        cmocka_unit_test(padded_and_oversized_varints_fail),
        cmocka_unit_test(reading_past_the_end_sticks),
        cmocka_unit_test(writing_past_the_end_sticks),
        cmocka_unit_test(lengths_are_filled_in_afterwards),
        cmocka_unit_test(optional_texts_keep_absent_and_empty_apart),
        cmocka_unit_test(sized_records_move_up_for_longer_lengths),
        cmocka_unit_test(a_counting_writer_stores_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
