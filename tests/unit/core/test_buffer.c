#include "core/buffer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void assert_content(const struct buffer *buffer, const char *expected)
{
    struct text text = buffer_text(buffer);

    assert_int_equal(buffer_error(buffer), 0);
    if (!text_equal_string(text, expected))
        fail_msg("\"%.*s\" instead of \"%s\"", (int)text.len, text.bytes, expected);
}

static void an_empty_buffer_is_an_empty_text(void **state)
{
    struct buffer buffer = BUFFER_EMPTY;

    (void)state;
    assert_content(&buffer, "");
    buffer_deinit(&buffer);
}

static void everything_is_appended(void **state)
{
    struct buffer buffer = BUFFER_EMPTY;

    (void)state;
    buffer_put(&buffer, "abc", 2);
    buffer_put_char(&buffer, '/');
    buffer_put_string(&buffer, "def");
    buffer_put_text(&buffer, TEXT_LITERAL("/text"));
    buffer_put_text(&buffer, TEXT_ABSENT);
    buffer_put_repeated(&buffer, '=', 3);
    buffer_put_repeated(&buffer, '-', 0);
    buffer_printf(&buffer, "%d%%", 42);
    assert_content(&buffer, "ab/def/text===42%");
    buffer_deinit(&buffer);
    assert_null(buffer.bytes);
    assert_int_equal(buffer.len, 0);
}

static void numbers_are_decimal(void **state)
{
    struct buffer buffer = BUFFER_EMPTY;

    (void)state;
    buffer_put_unsigned(&buffer, 0);
    buffer_put_char(&buffer, ' ');
    buffer_put_unsigned(&buffer, UINT64_MAX);
    buffer_put_char(&buffer, ' ');
    buffer_put_signed(&buffer, INT64_MIN);
    buffer_put_char(&buffer, ' ');
    buffer_put_signed(&buffer, -7);
    buffer_put_char(&buffer, ' ');
    buffer_put_signed(&buffer, INT64_MAX);
    assert_content(&buffer, "0 18446744073709551615 -9223372036854775808 -7 9223372036854775807");
    buffer_deinit(&buffer);
}

static void growing_keeps_the_content(void **state)
{
    struct buffer buffer = BUFFER_EMPTY;

    (void)state;
    for (unsigned i = 0; i < 100000; i++)
        buffer_put_char(&buffer, (char)('a' + i % 26));
    assert_int_equal(buffer_error(&buffer), 0);
    assert_int_equal(buffer.len, 100000);
    for (unsigned i = 0; i < 100000; i++)
        if (buffer.bytes[i] != (char)('a' + i % 26))
            fail_msg("byte %u was lost", i);
    buffer_deinit(&buffer);
}

/* The maximum holds at every size, whatever room the buffer happens to have. */
static void the_maximum_is_never_passed(void **state)
{
    (void)state;
    for (size_t max = 1; max < 1200; max++) {
        struct buffer buffer = {.max = max};

        for (size_t i = 0; i < max; i++)
            buffer_put_char(&buffer, 'x');
        assert_int_equal(buffer_error(&buffer), 0);
        buffer_put_char(&buffer, 'y');
        assert_int_equal(buffer_error(&buffer), -EFBIG);
        assert_int_equal(buffer.len, max);
        buffer_deinit(&buffer);
    }
}

static void printf_may_fill_the_buffer_to_its_maximum(void **state)
{
    struct buffer buffer = {.max = 5};

    (void)state;
    buffer_printf(&buffer, "%s", "12345");
    assert_content(&buffer, "12345");
    buffer_printf(&buffer, "%s", "");
    assert_content(&buffer, "12345");
    buffer_printf(&buffer, "6");
    assert_int_equal(buffer_error(&buffer), -EFBIG);
    buffer_deinit(&buffer);
}

static void errors_stick_until_cleared(void **state)
{
    struct buffer buffer = {.max = 4};

    (void)state;
    buffer_put_string(&buffer, "ab");
    buffer_put_string(&buffer, "cdefg");
    buffer_put_string(&buffer, "h"); /* would fit */
    assert_int_equal(buffer_error(&buffer), -EFBIG);
    assert_int_equal(buffer.len, 2);
    assert_int_equal(buffer_reserve(&buffer, SIZE_MAX), -EFBIG);
    buffer_clear(&buffer);
    buffer_put_string(&buffer, "h");
    assert_content(&buffer, "h");
    assert_int_equal(buffer_reserve(&buffer, SIZE_MAX), -EFBIG);
    buffer_deinit(&buffer);
    assert_int_equal(buffer.max, 4);
    assert_int_equal(buffer_error(&buffer), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_is_an_empty_text),
        cmocka_unit_test(everything_is_appended),
        cmocka_unit_test(numbers_are_decimal),
        cmocka_unit_test(growing_keeps_the_content),
        cmocka_unit_test(the_maximum_is_never_passed),
        cmocka_unit_test(printf_may_fill_the_buffer_to_its_maximum),
        cmocka_unit_test(errors_stick_until_cleared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
