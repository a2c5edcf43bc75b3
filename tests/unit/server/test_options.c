#include "server/options.h"

#include "core/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define WORDS_MAX 8

static int parse(const char *const words[], struct options *options, struct buffer *why)
{
    char *argv[WORDS_MAX + 2] = {(char *)(uintptr_t) "clustat-server"};
    int argc = 1;

    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    return options_parse(argc, argv, options, why);
}

#define PARSE(options, why, ...) parse((const char *const[]){__VA_ARGS__, NULL}, options, why)

static void every_action_is_known(void **state)
{
    _cleanup_(buffer_deinit) struct buffer why = BUFFER_EMPTY;
    struct options o;

    (void)state;
    assert_int_equal(PARSE(&o, &why, NULL), 0);
    assert_int_equal(o.action, ACTION_SERVE);
    assert_int_equal(PARSE(&o, &why, "--check-config", "--config", "/x"), 0);
    assert_int_equal(o.action, ACTION_CHECK_CONFIG);
    assert_string_equal(o.config_path, "/x");
    assert_int_equal(PARSE(&o, &why, "--config=/y", "--control-socket=/z", "--debug"), 0);
    assert_string_equal(o.config_path, "/y");
    assert_string_equal(o.control_path, "/z");
    assert_true(o.debug);
    assert_int_equal(PARSE(&o, &why, "status", "--json"), 0);
    assert_int_equal(o.action, ACTION_STATUS);
    assert_true(o.json);
    assert_int_equal(PARSE(&o, &why, "pause"), 0);
    assert_int_equal(o.action, ACTION_PAUSE);
    assert_int_equal(o.pause_secs, 0);
    assert_int_equal(PARSE(&o, &why, "--control-socket", "/z", "pause", "604800"), 0);
    assert_int_equal(o.pause_secs, 604800);
    assert_int_equal(PARSE(&o, &why, "resume"), 0);
    assert_int_equal(o.action, ACTION_RESUME);
    assert_int_equal(PARSE(&o, &why, "keygen", "/etc/clustat/key", "--group", "clustat"), 0);
    assert_int_equal(o.action, ACTION_KEYGEN);
    assert_string_equal(o.key_path, "/etc/clustat/key");
    assert_string_equal(o.key_group, "clustat");
    assert_int_equal(PARSE(&o, &why, "--version"), 0);
    assert_int_equal(o.action, ACTION_VERSION);
    assert_int_equal(PARSE(&o, &why, "--help"), 0);
    assert_int_equal(o.action, ACTION_HELP);
    assert_int_equal(why.len, 0);
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *words[4];
        const char *want;
    } cases[] = {
        {{"--confg"}, "unknown option --confg"},
        {{"--conf=x"}, "unknown option --conf=x"},
        {{"--config"}, "option --config needs a value: PATH"},
        {{"--config="}, "option --config needs a value: PATH"},
        {{"--check-config=yes"}, "option --check-config takes no value"},
        {{"start"}, "unknown command start"},
        {{"status", "now"}, "unexpected argument now"},
        {{"pause", "0"}, "pause 0: allowed are 1 to 604800 seconds"},
        {{"pause", "604801"}, "pause 604801: allowed are 1 to 604800 seconds"},
        {{"pause", "1m"}, "pause 1m: allowed are 1 to 604800 seconds"},
        {{"pause", "1", "2"}, "unexpected argument 2"},
        {{"keygen"}, "keygen needs the path of the file to make"},
        {{"keygen", "a", "b"}, "unexpected argument b"},
        {{""}, "unknown command "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_(buffer_deinit) struct buffer why = BUFFER_EMPTY;
        struct options o;

        assert_int_equal(parse(cases[i].words, &o, &why), -EINVAL);
        buffer_put_char(&why, '\0');
        assert_string_equal(why.bytes, cases[i].want);
    }
}

static void the_help_names_every_option(void **state)
{
    static const char *const words[] = {"--config", "--check-config", "--control-socket", "--debug",
                                        "--group",  "--help",         "--json",           "--version",
                                        "status",   "pause [SECS]",   "resume",           "keygen PATH"};
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;

    (void)state;
    options_put_help(&out);
    buffer_put_char(&out, '\0');
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        assert_non_null(strstr(out.bytes, words[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_action_is_known),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(the_help_names_every_option),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
