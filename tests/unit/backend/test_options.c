#include "backend/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int parse(const char *const *words, struct options *ret_options, struct buffer *why)
{
    int argc = 0;

    while (words[argc])
        argc++;
    buffer_clear(why);
    return options_parse(argc, (char *const *)words, ret_options, why);
}

static void options_are_taken(void **state)
{
    struct buffer why = BUFFER_EMPTY;
    struct options options;

    (void)state;
    assert_int_equal(parse((const char *[]){"b", NULL}, &options, &why), 0);
    assert_int_equal(options.action, ACTION_SERVE);
    assert_null(options.config_path);
    assert_int_equal(
        parse((const char *[]){"b", "--config", "/a", "--uds=/b", "--debug", "--check-config", NULL},
              &options, &why),
        0);
    assert_string_equal(options.config_path, "/a");
    assert_string_equal(options.uds_path, "/b");
    assert_true(options.debug);
    assert_int_equal(options.action, ACTION_CHECK_CONFIG);
    assert_int_equal(parse((const char *[]){"b", "--version", NULL}, &options, &why), 0);
    assert_int_equal(options.action, ACTION_VERSION);
    assert_int_equal(parse((const char *[]){"b", "--help", NULL}, &options, &why), 0);
    assert_int_equal(options.action, ACTION_HELP);
    buffer_deinit(&why);
}

static void wrong_ones_are_named(void **state)
{
    static const char *const cases[][4] = {
        {"b", "--confi", "x", NULL}, {"b", "--config", NULL}, {"b", "--config=", NULL},
        {"b", "--debug=1", NULL},    {"b", "serve", NULL},    {"b", "-x", NULL},
        {"b", "--uds", "", NULL},
    };
    struct buffer why = BUFFER_EMPTY;
    struct options options;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *word = cases[i][1];
        size_t len = strcspn(word, "=");

        assert_int_equal(parse(cases[i], &options, &why), -EINVAL);
        assert_non_null(memmem(why.bytes, why.len, word, len));
    }
    buffer_deinit(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_taken),
        cmocka_unit_test(wrong_ones_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
