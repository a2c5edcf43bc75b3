#include "cli/screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* Draws a frame and compares the bytes written. */
static void expect_draw(struct screen *screen, const char *frame, const char *bytes)
{
    struct buffer out = BUFFER_EMPTY;

    screen_draw(screen, text_from_string(frame), &out);
    assert_int_equal(buffer_error(&out), 0);
    buffer_put_char(&out, '\0');
    assert_string_equal(out.bytes, bytes);
    buffer_deinit(&out);
}

static void first_frame_writes_everything(void **state)
{
    struct screen screen;

    (void)state;
    screen_init(&screen, true);
    screen_resize(&screen, 4, 20);
    expect_draw(&screen, "one\ntwo\n", "\033[1;1Hone\033[K\033[2;1Htwo\033[K\033[3;1H\033[J");
    screen_deinit(&screen);
}

static void only_changed_lines_are_written(void **state)
{
    struct screen screen;

    (void)state;
    screen_init(&screen, true);
    screen_resize(&screen, 4, 20);
    expect_draw(&screen, "one\ntwo\nthree\n",
                "\033[1;1Hone\033[K\033[2;1Htwo\033[K\033[3;1Hthree\033[K\033[4;1H\033[J");
    expect_draw(&screen, "one\ntwo\nthree\n", "");
    expect_draw(&screen, "one\nTWO\nthree\n", "\033[2;1HTWO\033[K");
    expect_draw(&screen, "one\n", "\033[2;1H\033[J");
    expect_draw(&screen, "one\n\n", "\033[2;1H\033[K");
    expect_draw(&screen, "", "\033[1;1H\033[J");
    screen_invalidate(&screen);
    expect_draw(&screen, "one\n", "\033[1;1Hone\033[K\033[2;1H\033[J");
    screen_deinit(&screen);
}

static void lines_below_are_counted(void **state)
{
    struct screen screen;

    (void)state;
    screen_init(&screen, true);
    screen_resize(&screen, 2, 30);
    expect_draw(&screen, "1\n2\n3\n4\n", "\033[1;1H1\033[K\033[2;1H... 3 more lines\033[K");
    expect_draw(&screen, "1\n2\n", "\033[2;1H2\033[K");
    screen_resize(&screen, 1, 30);
    expect_draw(&screen, "1\n2\n", "\033[1;1H... 2 more lines\033[K");
    screen_deinit(&screen);
}

static void a_full_row_is_not_erased(void **state)
{
    struct screen screen;

    (void)state;
    screen_init(&screen, true);
    screen_resize(&screen, 1, 3);
    expect_draw(&screen, "abc", "\033[1;1Habc");
    expect_draw(&screen, "\033[1mabc\033[0m", "\033[1;1H\033[1mabc\033[0m");
    expect_draw(&screen, "ab", "\033[1;1Hab\033[K");
    expect_draw(&screen, "\033[31mab\033[0m", "\033[1;1H\033[31mab\033[0m\033[K");
    screen_deinit(&screen);
}

static void resize_writes_everything(void **state)
{
    struct screen screen;

    (void)state;
    screen_init(&screen, true);
    screen_resize(&screen, 3, 10);
    expect_draw(&screen, "abcdef\n", "\033[1;1Habcdef\033[K\033[2;1H\033[J");
    screen_resize(&screen, 3, 4);
    expect_draw(&screen, "abcdef\n", "\033[1;1Habc…\033[2;1H\033[J");
    screen_resize(&screen, 0, 0); /* a terminal without a size */
    expect_draw(&screen, "abcdef\n", "\033[1;1H…");
    screen_deinit(&screen);
}

static void no_size_draws_nothing(void **state)
{
    struct screen screen;

    (void)state;
    screen_init(&screen, true);
    expect_draw(&screen, "abc\n", "");
    screen_deinit(&screen);
}

static void expect_cut(const char *line, size_t columns, bool unicode, const char *wanted)
{
    struct buffer out = BUFFER_EMPTY;

    screen_put_cut(&out, text_from_string(line), columns, unicode);
    buffer_put_char(&out, '\0');
    assert_string_equal(out.bytes, wanted);
    buffer_deinit(&out);
}

static void cuts(void **state)
{
    (void)state;
    expect_cut("abc", 3, true, "abc");
    expect_cut("abcd", 3, true, "ab…");
    expect_cut("abcd", 3, false, "ab.");
    expect_cut("abcd", 1, true, "…");
    expect_cut("abcd", 0, true, "");
    expect_cut("", 5, true, "");
    /* colours take no room and never leak out of a cut line */
    expect_cut("\033[1m\033[31mab\033[0mcd", 4, true, "\033[1m\033[31mab\033[0mcd");
    expect_cut("\033[31mabcd\033[0m", 3, true, "\033[31mab…\033[0m");
    expect_cut("ab\033[31mcd\033[0m", 3, true, "ab\033[31m…\033[0m");
    expect_cut("abc\033[0m", 3, true, "abc\033[0m");
    /* wide characters are not halved; combining ones take no column */
    expect_cut("表表", 4, true, "表表");
    expect_cut("表表表", 4, true, "表 …");
    expect_cut("e\xcc\x81"
               "e\xcc\x81",
               2, true,
               "e\xcc\x81"
               "e\xcc\x81");
    /* nothing else that controls a terminal passes */
    expect_cut("a\033[2Jb\x07"
               "c\rd\xff",
               20, true, "a[2Jbcd");
    expect_cut("a\033", 20, true, "a");
    expect_cut("a\033[3", 20, true, "a[3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_frame_writes_everything),
        cmocka_unit_test(only_changed_lines_are_written),
        cmocka_unit_test(lines_below_are_counted),
        cmocka_unit_test(a_full_row_is_not_erased),
        cmocka_unit_test(resize_writes_everything),
        cmocka_unit_test(no_size_draws_nothing),
        cmocka_unit_test(cuts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
