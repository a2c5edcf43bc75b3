#include "core/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void every_code_point_round_trips(void **state)
{
    struct buffer out = BUFFER_EMPTY;

    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        size_t pos = 0;
        uint32_t got;

        buffer_clear(&out);
        utf8_put(&out, code);
        got = utf8_next(buffer_text(&out), &pos);
        if (code >= 0xd800 && code <= 0xdfff) { /* surrogates are no characters */
            assert_true(got == UTF8_BAD && pos == 1);
        } else if (got != code || pos != out.len) {
            fail_msg("U+%04X came back as U+%04X", code, got);
        }
    }
    buffer_deinit(&out);
}

/* Every byte of these is bad by itself, so that decoding goes on with the next one. */
static void malformed_bytes_are_bad_one_by_one(void **state)
{
    static const char *const bad[] = {
        "\x80",
        "\xbf\xbf", /* continuation without a start */
        "\xc0\xaf",
        "\xc1\xbf", /* overlong */
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf", /* surrogates */
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xfe",
        "\xc3",
        "\xe4\xb8",
        "\xf0\x9f\x98", /* cut off */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct text text = text_from_string(bad[i]);

        for (size_t pos = 0, n = 1; pos < text.len; n++) {
            assert_true(utf8_next(text, &pos) == UTF8_BAD);
            assert_int_equal(pos, n);
        }
        assert_int_equal(utf8_count(text), text.len);
    }
}

static void decoding_goes_on_behind_a_bad_byte(void **state)
{
    struct text text = TEXT_LITERAL("\xe4"
                                    "a\xe4\xb8\xad");
    size_t pos = 0;

    (void)state;
    assert_true(utf8_next(text, &pos) == UTF8_BAD);
    assert_true(utf8_next(text, &pos) == 'a');
    assert_true(utf8_next(text, &pos) == 0x4e2d);
    assert_int_equal(pos, text.len);
    assert_int_equal(utf8_count(text), 3);
}

static void the_end_of_a_text_is_not_passed(void **state)
{
    struct text text = {"\xe4\xb8\xad", 2}; /* the third byte is not part of it */
    size_t pos = 0;

    (void)state;
    assert_true(utf8_next(text, &pos) == UTF8_BAD);
}

static void widths_are_those_of_terminals(void **state)
{
    (void)state;
    assert_int_equal(utf8_code_width('a'), 1);
    assert_int_equal(utf8_code_width(0xe4), 1);
    assert_int_equal(utf8_code_width(0x301), 0);  /* combining acute */
    assert_int_equal(utf8_code_width(0x200d), 0); /* zero width joiner */
    assert_int_equal(utf8_code_width(0xfe0f), 0); /* variation selector */
    assert_int_equal(utf8_code_width(0x1100), 2); /* Hangul Jamo */
    assert_int_equal(utf8_code_width(0x4e2d), 2);
    assert_int_equal(utf8_code_width(0xac00), 2);
    assert_int_equal(utf8_code_width(0xff21), 2);  /* full width A */
    assert_int_equal(utf8_code_width(0xff71), 1);  /* half width katakana */
    assert_int_equal(utf8_code_width(0x1f600), 2); /* emoji */
    assert_int_equal(utf8_code_width(0x20000), 2);
    assert_int_equal(utf8_code_width(0x2026), 1); /* ellipsis */
}

static void assert_visible(struct text text, const char *expected)
{
    struct buffer out = BUFFER_EMPTY;

    utf8_put_visible(&out, text);
    if (!text_equal_string(buffer_text(&out), expected))
        fail_msg("\"%.*s\" instead of \"%s\"", (int)out.len, out.bytes, expected);
    buffer_deinit(&out);
}

static void unsafe_characters_become_visible(void **state)
{
    (void)state;
    assert_visible(TEXT_LITERAL(""), "");
    assert_visible(TEXT_LITERAL("plain \\ \xe4\xb8\xad"), "plain \\ \xe4\xb8\xad");
    assert_visible(TEXT_LITERAL("\x1b[31m"), "^[[31m");
    assert_visible(TEXT_LITERAL("a\nb\tc\0d\x7f"), "a^Jb^Ic^@d^?");
    assert_visible(TEXT_LITERAL("\xc2\x9b"
                                "31m"),
                   "\\u{9B}31m");
    assert_visible(TEXT_LITERAL("\xff\xc0"), "\\xFF\\xC0");
    assert_visible(TEXT_LITERAL("\xe2\x80\xae"), "\\u{202E}"); /* right-to-left override */
    assert_visible(TEXT_LITERAL("\xe2\x80\xa8"), "\\u{2028}"); /* line separator */
    assert_visible(TEXT_LITERAL("\xef\xbb\xbf"), "\\u{FEFF}");
    assert_visible(TEXT_LITERAL("\xf3\xa0\x81\x81"), "\\u{E0041}");
    assert_visible(TEXT_LITERAL("e\xcc\x81"), "e\xcc\x81");
}

/* All characters: what comes out is safe, and as wide as was said. */
static void the_visible_form_is_safe_and_as_wide_as_said(void **state)
{
    struct buffer in = BUFFER_EMPTY, out = BUFFER_EMPTY;

    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        size_t columns = 0;

        buffer_clear(&in);
        buffer_clear(&out);
        utf8_put(&in, code);
        utf8_put_visible(&out, buffer_text(&in));
        for (size_t pos = 0; pos < out.len;) {
            uint32_t shown = utf8_next(buffer_text(&out), &pos);

            if (utf8_is_unsafe(shown))
                fail_msg("U+%04X lets U+%04X through", code, shown);
            columns += utf8_code_width(shown);
        }
        if (columns != utf8_visible_width(buffer_text(&in)))
            fail_msg("U+%04X takes %zu columns", code, columns);
    }
    buffer_deinit(&in);
    buffer_deinit(&out);
}

static void assert_cut(const char *string, size_t columns, bool unicode, const char *expected, size_t used)
{
    struct buffer out = BUFFER_EMPTY;
    size_t got = utf8_put_visible_cut(&out, text_from_string(string), columns, unicode);

    if (!text_equal_string(buffer_text(&out), expected) || got != used)
        fail_msg("%s in %zu columns: \"%.*s\" takes %zu", string, columns, (int)out.len, out.bytes, got);
    buffer_deinit(&out);
}

#define ELLIPSIS "\xe2\x80\xa6"

static void cuts_are_marked_in_the_last_column(void **state)
{
    (void)state;
    assert_cut("abc", 3, true, "abc", 3);
    assert_cut("abc", 10, true, "abc", 3);
    assert_cut("abcd", 3, true, "ab" ELLIPSIS, 3);
    assert_cut("abcd", 3, false, "ab.", 3);
    assert_cut("abcd", 1, true, ELLIPSIS, 1);
    assert_cut("abcd", 0, true, "", 0);
    assert_cut("", 0, true, "", 0);
}

static void cuts_keep_characters_whole(void **state)
{
    (void)state;
    assert_cut("\xe4\xb8\xad\xe6\x96\x87", 4, true, "\xe4\xb8\xad\xe6\x96\x87", 4);
    assert_cut("\xe4\xb8\xad\xe6\x96\x87", 3, true, "\xe4\xb8\xad" ELLIPSIS, 3);
    assert_cut("\xe4\xb8\xad\xe6\x96\x87", 2, true, ELLIPSIS, 1); /* a wide one does not fit beside it */
    assert_cut("\x1b[31m", 3, true, "^[" ELLIPSIS, 3);
    assert_cut("\x1b[31m", 2, true, ELLIPSIS, 1);       /* not half of ^[ */
    assert_cut("ae\xcc\x81", 2, true, "ae\xcc\x81", 2); /* the accent takes no column */
    assert_cut("ae\xcc\x81"
               "bc",
               3, true, "ae\xcc\x81" ELLIPSIS, 3);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_round_trips),
        cmocka_unit_test(malformed_bytes_are_bad_one_by_one),
        cmocka_unit_test(decoding_goes_on_behind_a_bad_byte),
        cmocka_unit_test(the_end_of_a_text_is_not_passed),
        cmocka_unit_test(widths_are_those_of_terminals),
        cmocka_unit_test(unsafe_characters_become_visible),
        cmocka_unit_test(the_visible_form_is_safe_and_as_wide_as_said),
        cmocka_unit_test(cuts_are_marked_in_the_last_column),
        cmocka_unit_test(cuts_keep_characters_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
