#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "render/text_cells.h"

#include "core/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct text_rules by_characters = {.unicode = true};
static const struct text_rules by_columns = {.unicode = true, .by_columns = true};
static const struct text_rules ascii = {.by_columns = true};

static void expect(struct buffer *out, const char *expected)
{
    buffer_put_char(out, '\0');
    assert_string_equal(out->bytes, expected);
    buffer_deinit(out);
}

static void expect_fitted(const char *text, size_t width, struct text_rules rules, const char *expected)
{
    struct buffer out = BUFFER_EMPTY;

    cell_put_fitted(&out, text_from_string(text), width, rules);
    expect(&out, expected);
}

static void fitted(void **state)
{
    (void)state;
    expect_fitted("T4", 5, by_characters, "T4   ");
    expect_fitted("T4", 2, by_characters, "T4");
    expect_fitted("H200", 3, by_characters, "…00");
    expect_fitted("H200", 1, by_characters, "…");
    expect_fitted("H200", 0, by_characters, "");
    expect_fitted("", 2, by_characters, "  ");
    expect_fitted("H200", 3, ascii, ".00");
    expect_fitted("測試", 2, by_characters, "測試");
    expect_fitted("測試", 5, by_columns, "測試 ");
    expect_fitted("測試", 3, by_columns, "…試");
    /* A wide character that does not fit leaves a blank. */
    expect_fitted("測試", 2, by_columns, "… ");
    /* A combining character goes with its letter. */
    expect_fitted("xxe\xcc\x81t", 2, by_columns, "…t");
    expect_fitted("xxxe\xcc\x81t", 3, by_columns, "…e\xcc\x81t");
}

static void visible_in_ascii(void **state)
{
    struct buffer out = BUFFER_EMPTY;

    (void)state;
    cell_put_visible(&out, TEXT_LITERAL("a\xc3\xa9\xff\n\xe6\xb8\xac"), ascii);
    expect(&out, "a\\u{E9}\\xFF^J\\u{6E2C}");
}

static void expect_cut(const char *line, size_t columns, const char *expected)
{
    struct buffer out = BUFFER_EMPTY;

    buffer_put_string(&out, "before\n");
    buffer_put_string(&out, line);
    cell_cut_line(&out, 7, columns, true);
    buffer_put_char(&out, '\0');
    assert_string_equal(out.bytes + 7, expected);
    buffer_deinit(&out);
}

static void cut(void **state)
{
    (void)state;
    expect_cut("abcdef", 6, "abcdef");
    expect_cut("abcdef", 5, "abcd…");
    expect_cut("abcdef", 1, "…");
    expect_cut("abcdef", 0, "");
    expect_cut("測試", 3, "測…");
    expect_cut("測試", 2, "…");
    expect_cut("\033[31mred\033[0m", 3, "\033[31mred\033[0m");
    expect_cut("\033[31mred\033[0m", 2, "\033[31mr…\033[0m");
    expect_cut("\033[31mred\033[0m and more", 4, "\033[31mred\033[0m…");
    expect_cut("ab\033[1m\033[31mred\033[0m", 4, "ab\033[1m\033[31mr…\033[0m");
    expect_cut("ae\xcc\x81z", 2, "a…");
    expect_cut("ae\xcc\x81", 2, "ae\xcc\x81");
}

/* ---- any line, any width ---- */

static void put_random_piece(struct buffer *line)
{
    static const char *const pieces[] = {
        "a",      " ",           "é",       "測",       "\xcc\x81", "…",
        "日本語", "plain text ", "\033[1m", "\033[31m", "\033[0m",  "\033[38;5;24m",
    };

    buffer_put_string(line, pieces[(size_t)rand() % (sizeof(pieces) / sizeof(pieces[0]))]);
}

/* Columns of the line; checks that every sequence is whole, and that no colour is open at the end. */
static size_t check_line(struct text line, bool closed)
{
    size_t columns = 0, pos = 0;
    bool open = false;

    while (pos < line.len) {
        if (line.bytes[pos] == '\033') {
            const char *end = memchr(line.bytes + pos, 'm', line.len - pos);

            assert_non_null(end);
            open = memcmp(line.bytes + pos, "\033[0m", 4) != 0;
            pos = (size_t)(end - line.bytes) + 1;
        } else {
            uint32_t code = utf8_next(line, &pos);

            assert_int_not_equal(code, UTF8_BAD);
            columns += utf8_code_width(code);
        }
    }
    assert_true(!closed || !open);
    return columns;
}

static void cut_of_random_lines(void **state)
{
    const char *given = getenv("TEST_SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 0) : (unsigned)time(NULL);

    (void)state;
    print_message("# TEST_SEED=%u\n", seed);
    srand(seed);
    for (unsigned round = 0; round < 200; round++) {
        struct buffer line = BUFFER_EMPTY, out = BUFFER_EMPTY;
        size_t full;

        for (int pieces = rand() % 60; pieces > 0; pieces--)
            put_random_piece(&line);
        buffer_put_string(&line, "\033[0m");
        full = check_line(buffer_text(&line), true);
        for (size_t columns = 0; columns <= 200; columns++) {
            size_t have;

            buffer_clear(&out);
            buffer_put_text(&out, buffer_text(&line));
            cell_cut_line(&out, 0, columns, true);
            have = check_line(buffer_text(&out), true);
            assert_true(have <= columns);
            if (full <= columns)
                assert_true(text_equal(buffer_text(&out), buffer_text(&line)));
        }
        buffer_deinit(&line);
        buffer_deinit(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fitted),
        cmocka_unit_test(visible_in_ascii),
        cmocka_unit_test(cut),
        cmocka_unit_test(cut_of_random_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
