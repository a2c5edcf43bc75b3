#include "cli/color.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct options gpustat = {.as_gpustat = true}, clustat = {.as_gpustat = false};

static bool wanted(struct options options, enum color_wish wish, struct color_environment environment)
{
    options.color = wish;
    return color_wanted(&options, &environment);
}

static void options_win(void **state)
{
    (void)state;
    assert_true(wanted(clustat, COLOR_ALWAYS, (struct color_environment){.no_color = "1"}));
    assert_true(wanted(gpustat, COLOR_ALWAYS, (struct color_environment){.no_color = "1"}));
    assert_false(
        wanted(clustat, COLOR_NEVER, (struct color_environment){.is_terminal = true, .clicolor_force = "1"}));
    assert_false(wanted(gpustat, COLOR_NEVER, (struct color_environment){.is_terminal = true}));
}

static void the_terminal_decides_by_default(void **state)
{
    (void)state;
    assert_true(wanted(clustat, COLOR_AUTO, (struct color_environment){.is_terminal = true}));
    assert_false(wanted(clustat, COLOR_AUTO, (struct color_environment){.is_terminal = false}));
    assert_true(wanted(gpustat, COLOR_AUTO, (struct color_environment){.is_terminal = true}));
    assert_false(wanted(gpustat, COLOR_AUTO, (struct color_environment){.is_terminal = false}));
}

static void variables_count_under_clustat_only(void **state)
{
    struct color_environment no = {.is_terminal = true, .no_color = "1"};
    struct color_environment force = {.clicolor_force = "1"};

    (void)state;
    assert_false(wanted(clustat, COLOR_AUTO, no));
    assert_true(wanted(gpustat, COLOR_AUTO, no));
    assert_true(wanted(clustat, COLOR_AUTO, force));
    assert_false(wanted(gpustat, COLOR_AUTO, force));
    assert_true(wanted(clustat, COLOR_AUTO, (struct color_environment){.is_terminal = true, .no_color = ""}));
    assert_false(wanted(clustat, COLOR_AUTO, (struct color_environment){.clicolor_force = "0"}));
    force.no_color = "1";
    assert_false(wanted(clustat, COLOR_AUTO, force));
}

static void dumb_terminals_have_no_colors(void **state)
{
    struct color_environment dumb = {.is_terminal = true, .term = "dumb"};

    (void)state;
    assert_false(wanted(clustat, COLOR_AUTO, dumb));
    assert_int_equal(color_count(&dumb), 0);
    assert_true(color_terminal_is_dumb(&dumb));
}

static void colors_by_terminal(void **state)
{
    (void)state;
    assert_int_equal(color_count(&(struct color_environment){.term = NULL}), 256);
    assert_int_equal(color_count(&(struct color_environment){.term = "xterm-256color"}), 256);
    assert_int_equal(color_count(&(struct color_environment){.term = "xterm-kitty"}), 256);
    assert_int_equal(color_count(&(struct color_environment){.term = "linux"}), 8);
    assert_int_equal(color_count(&(struct color_environment){.term = "xterm"}), 8);
    assert_int_equal(color_count(&(struct color_environment){.term = "xterm", .colorterm = "truecolor"}),
                     256);
}

static void charset_by_locale(void **state)
{
    static const struct {
        struct color_environment environment;
        bool utf8;
    } cases[] = {
        {{.lang = NULL}, true},
        {{.lang = "C"}, true},
        {{.lang = "POSIX"}, true},
        {{.lang = "en_US"}, true},
        {{.lang = "en_US.UTF-8"}, true},
        {{.lang = "en_US.utf8"}, true},
        {{.lang = "de_DE.utf8@euro"}, true},
        {{.lang = "de_DE.ISO-8859-1"}, false},
        {{.lang = "ja_JP.eucJP"}, false},
        {{.lang = "de_DE.ISO-8859-15@euro"}, false},
        {{.lang = "en_US.UTF-8", .lc_all = "de_DE.ISO-8859-1"}, false},
        {{.lang = "de_DE.ISO-8859-1", .lc_all = "C.UTF-8"}, true},
        {{.lang = "de_DE.ISO-8859-1", .lc_ctype = "C.UTF-8"}, true},
        {{.lang = "de_DE.ISO-8859-1", .lc_all = ""}, false},
        {{.lang = "en_US."}, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(color_charset_is_utf8(&cases[i].environment), cases[i].utf8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_win),
        cmocka_unit_test(the_terminal_decides_by_default),
        cmocka_unit_test(variables_count_under_clustat_only),
        cmocka_unit_test(dumb_terminals_have_no_colors),
        cmocka_unit_test(colors_by_terminal),
        cmocka_unit_test(charset_by_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
