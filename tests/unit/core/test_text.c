#include "core/text.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void absent_is_not_empty(void **state)
{
    (void)state;
    assert_false(text_is_present(TEXT_ABSENT));
    assert_true(text_is_present(TEXT_LITERAL("")));
    assert_false(text_is_present(text_from_string(NULL)));
    assert_true(text_is_present(text_from_string("")));
    assert_true(text_equal(TEXT_ABSENT, TEXT_ABSENT));
    assert_false(text_equal(TEXT_ABSENT, TEXT_LITERAL("")));
    assert_false(text_equal(TEXT_LITERAL(""), TEXT_ABSENT));
    assert_false(text_equal_string(TEXT_ABSENT, ""));
    assert_true(text_equal_string(TEXT_LITERAL(""), ""));
}

static void equality_compares_all_bytes(void **state)
{
    (void)state;
    assert_true(text_equal(TEXT_LITERAL("a\0b"), (struct text){"a\0bc", 3}));
    assert_false(text_equal(TEXT_LITERAL("a\0b"), TEXT_LITERAL("a\0c")));
    assert_false(text_equal(TEXT_LITERAL("ab"), TEXT_LITERAL("abc")));
    assert_false(text_equal_string(TEXT_LITERAL("a\0"), "a"));
}

static void after_last_gives_the_rest(void **state)
{
    (void)state;
    assert_true(text_equal(text_after_last(TEXT_LITERAL("/usr/bin/python"), '/'), TEXT_LITERAL("python")));
    assert_true(text_equal(text_after_last(TEXT_LITERAL("python"), '/'), TEXT_LITERAL("python")));
    assert_true(text_equal(text_after_last(TEXT_LITERAL("a/"), '/'), TEXT_LITERAL("")));
    assert_true(text_equal(text_after_last(TEXT_LITERAL("/a"), '/'), TEXT_LITERAL("a")));
    assert_true(text_equal(text_after_last(TEXT_LITERAL(""), '/'), TEXT_LITERAL("")));
    assert_false(text_is_present(text_after_last(TEXT_ABSENT, '/')));
}

static void assert_decimal(const char *string, unsigned long long max, int expected, unsigned long long value)
{
    unsigned long long got = 12345;
    int r = text_parse_decimal(text_from_string(string), max, &got);

    if (r != expected || got != (r == 0 ? value : 12345))
        fail_msg("%s up to %llu: %d, %llu", string, max, r, got);
}

static void decimals_are_strict(void **state)
{
    static const char *const bad[] = {"",    " 1",  "1 ", "+1", "-1",
                                      "0x1", "1.0", "a",  "9a", "99999999999999999999999a"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_decimal(bad[i], 50, -EINVAL, 0);
    assert_int_equal(text_parse_decimal(TEXT_ABSENT, 1, &(unsigned long long){0}), -EINVAL);
    assert_decimal("0", 0, 0, 0);
    assert_decimal("007", 7, 0, 7);
    assert_decimal("18446744073709551615", ULLONG_MAX, 0, ULLONG_MAX);
}

static void decimals_keep_to_the_maximum(void **state)
{
    (void)state;
    assert_decimal("1", 0, -ERANGE, 0);
    assert_decimal("9", 8, -ERANGE, 0);
    assert_decimal("65535", 65535, 0, 65535);
    assert_decimal("65536", 65535, -ERANGE, 0);
    assert_decimal("100000", 65535, -ERANGE, 0);
    assert_decimal("18446744073709551616", ULLONG_MAX, -ERANGE, 0);
    assert_decimal("99999999999999999999999", ULLONG_MAX, -ERANGE, 0);
    for (unsigned max = 0; max < 200; max++) {
        for (unsigned value = 0; value < 300; value++) {
            char digits[4] = {(char)('0' + value / 100), (char)('0' + value / 10 % 10),
                              (char)('0' + value % 10)};

            assert_decimal(digits, max, value <= max ? 0 : -ERANGE, value);
        }
    }
}

static void copies_are_cut_and_terminated(void **state)
{
    char buf[6];

    (void)state;
    assert_string_equal(text_copy(TEXT_LITERAL("abc"), buf, sizeof(buf)), "abc");
    assert_string_equal(text_copy(TEXT_LITERAL("abcde"), buf, sizeof(buf)), "abcde");
    assert_string_equal(text_copy(TEXT_LITERAL("abcdef"), buf, sizeof(buf)), "abcde");
    assert_string_equal(text_copy(TEXT_LITERAL("ab\0cd"), buf, sizeof(buf)), "ab");
    assert_string_equal(text_copy(TEXT_ABSENT, buf, sizeof(buf)), "");
    memset(buf, 'x', sizeof(buf));
    assert_string_equal(text_copy(TEXT_LITERAL("abc"), buf, 1), "");
    assert_int_equal(buf[1], 'x');
    assert_ptr_equal(text_copy(TEXT_LITERAL("abc"), buf, sizeof(buf)), buf);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_is_not_empty),          cmocka_unit_test(equality_compares_all_bytes),
        cmocka_unit_test(after_last_gives_the_rest),    cmocka_unit_test(decimals_are_strict),
        cmocka_unit_test(decimals_keep_to_the_maximum), cmocka_unit_test(copies_are_cut_and_terminated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
