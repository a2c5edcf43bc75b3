#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "render/json_writer.h"

static void expect(struct buffer *out, const char *expected)
{
    buffer_put_char(out, '\0');
    assert_string_equal(out->bytes, expected);
    buffer_deinit(out);
}

static void layout(void **state)
{
    struct buffer out = BUFFER_EMPTY;
    struct json_writer json = json_writer_new(&out, JSON_BAD_REPLACED);

    (void)state;
    json_begin_object(&json);
    json_key(&json, "none");
    json_begin_list(&json);
    json_end_list(&json);
    json_key(&json, "some");
    json_begin_list(&json);
    json_signed(&json, -5);
    json_begin_object(&json);
    json_end_object(&json);
    json_begin_object(&json);
    json_key(&json, "a.b");
    json_put_null(&json);
    json_key(&json, "c");
    json_bool(&json, true);
    json_end_object(&json);
    json_unsigned(&json, UINT64_MAX);
    json_end_list(&json);
    json_key(&json, "last");
    json_tenths(&json, 125);
    json_end_object(&json);
    json_finish(&json);
    expect(&out, "{\n"
                 "    \"none\": [],\n"
                 "    \"some\": [\n"
                 "        -5,\n"
                 "        {},\n"
                 "        {\n"
                 "            \"a.b\": null,\n"
                 "            \"c\": true\n"
                 "        },\n"
                 "        18446744073709551615\n"
                 "    ],\n"
                 "    \"last\": 12.5\n"
                 "}\n");
}

static void one_line(void **state)
{
    struct buffer out = BUFFER_EMPTY;
    struct json_writer json = json_writer_new(&out, JSON_BAD_REPLACED);

    (void)state;
    json.one_line = true;
    json_begin_object(&json);
    json_key(&json, "a");
    json_begin_list(&json);
    json_signed(&json, 1);
    json_text(&json, TEXT_LITERAL("two\nlines"));
    json_begin_object(&json);
    json_end_object(&json);
    json_end_list(&json);
    json_key(&json, "b");
    json_put_null(&json);
    json_end_object(&json);
    json_finish(&json);
    expect(&out, "{\"a\": [1, \"two\\nlines\", {}], \"b\": null}\n");
}

static void expect_text(struct text text, enum json_bad_bytes bad_bytes, const char *expected)
{
    struct buffer out = BUFFER_EMPTY;
    struct json_writer json = json_writer_new(&out, bad_bytes);

    json_text(&json, text);
    expect(&out, expected);
}

static void texts(void **state)
{
    (void)state;
    expect_text(TEXT_ABSENT, JSON_BAD_REPLACED, "null");
    expect_text(TEXT_LITERAL(""), JSON_BAD_REPLACED, "\"\"");
    expect_text(TEXT_LITERAL("a/b \"c\" \\"), JSON_BAD_REPLACED, "\"a/b \\\"c\\\" \\\\\"");
    expect_text(TEXT_LITERAL("\n\r\t\b\f\x1b\x7f\0."), JSON_BAD_REPLACED,
                "\"\\n\\r\\t\\b\\f\\u001b\\u007f\\u0000.\"");
    expect_text(TEXT_LITERAL("Größe 測 😀"), JSON_BAD_REPLACED,
                "\"Gr\\u00f6\\u00dfe \\u6e2c \\ud83d\\ude00\"");
    /* Also what well-formed text could do to a terminal. */
    expect_text(TEXT_LITERAL("\xc2\x9b\xe2\x80\xae"), JSON_BAD_REPLACED, "\"\\u009b\\u202e\"");
}

static void bad_bytes(void **state)
{
    const struct text bytes = TEXT_LITERAL("a\xff\xe6\xb8z\xed\xa0\x80");

    (void)state;
    expect_text(bytes, JSON_BAD_SURROGATE, "\"a\\udcff\\udce6\\udcb8z\\udced\\udca0\\udc80\"");
    expect_text(bytes, JSON_BAD_REPLACED, "\"a\\ufffd\\ufffd\\ufffdz\\ufffd\\ufffd\\ufffd\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout),
        cmocka_unit_test(one_line),
        cmocka_unit_test(texts),
        cmocka_unit_test(bad_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
