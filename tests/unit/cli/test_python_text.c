#include "cli/python_text.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void expect_repr(const char *string, const char *wanted)
{
    struct buffer out = BUFFER_EMPTY;

    python_put_repr(&out, string);
    buffer_put_char(&out, '\0');
    assert_string_equal(out.bytes, wanted);
    buffer_deinit(&out);
}

/* Each expectation is what Python 3.11 prints for repr(os.fsdecode(bytes)). */
static void reprs(void **state)
{
    (void)state;
    expect_repr("", "''");
    expect_repr("abc", "'abc'");
    expect_repr("it's", "\"it's\"");
    expect_repr("'\"", "'\\'\"'");
    expect_repr("a\\b", "'a\\\\b'");
    expect_repr("a\n\r\t\x01\x7f", "'a\\n\\r\\t\\x01\\x7f'");
    expect_repr("\xc3\xa4", "'\xc3\xa4'");
    expect_repr("\xff", "'\\udcff'");
    expect_repr("\xc2\x85", "'\\x85'");
    expect_repr("\xe2\x80\xa8", "'\\u2028'");
}

static void floats(void **state)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"1", 1},    {" 1.5\t", 1.5}, {"-.5", -0.5}, {"5.", 5},         {"+1e3", 1000},
                {"1_0", 10}, {"1E-2", 0.01},  {"007", 7},    {"1_0.0_1", 10.01}};
    static const char *const bad[] = {"",   " ",  ".",   "-",   "1e",   "e5", "0x1",     "1__0",
                                      "_1", "1_", "1 2", "1,5", "1.5f", "in", "infinit", "nan1"};
    double value;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(python_parse_float(good[i].text, &value), 0);
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(python_parse_float(bad[i], &value), -EINVAL);
    assert_int_equal(python_parse_float("-Infinity", &value), 0);
    assert_true(isinf(value));
    assert_int_equal(python_parse_float("1e999", &value), 0);
    assert_true(isinf(value));
    assert_int_equal(python_parse_float("NaN", &value), 0);
    assert_true(isnan(value));
}

static void ints(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {" 12 ", 12},
                {"+3", 3},
                {"-7", -7},
                {"1_000", 1000},
                {"007", 7},
                {"9223372036854775807", INT64_MAX},
                {"99999999999999999999", INT64_MAX}};
    static const char *const bad[] = {"",    " ",    "-",  "+",  "1.0", "1e3",
                                      "0x1", "1__0", "_1", "1_", "1 2", "--1"};
    int64_t value;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(python_parse_int(text_from_string(good[i].text), &value), 0);
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(python_parse_int(text_from_string(bad[i]), &value), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reprs),
        cmocka_unit_test(floats),
        cmocka_unit_test(ints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
