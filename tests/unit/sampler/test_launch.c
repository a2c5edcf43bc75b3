#include "sampler/launch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int parse(struct launch *launch, const char *word)
{
    char *argv[] = {(char *)(uintptr_t)SAMPLER_ROLE, (char *)(uintptr_t)word, NULL};

    return launch_parse(word ? 2 : 1, argv, launch);
}

static void test_defaults(void **state)
{
    struct launch launch;

    (void)state;
    assert_int_equal(parse(&launch, NULL), 0);
    assert_int_equal(launch.options.tick_ns, 25 * NS_PER_MS);
    assert_int_equal(launch.options.driver_time_ppm, 20000);
    assert_int_equal(launch.options.stuck_call_ns, 60 * NS_PER_S);
    assert_null(launch.options.library_path);
}

static void test_words(void **state)
{
    struct launch launch;

    (void)state;
    assert_int_equal(parse(&launch, "--library=/a b/=c"), 0);
    assert_string_equal(launch.options.library_path, "/a b/=c");
    assert_int_equal(parse(&launch, "--tick-us=40000"), 0);
    assert_int_equal(launch.options.tick_ns, 40 * NS_PER_MS);
    assert_int_equal(parse(&launch, "--leave-out=0,5,127"), 0);
    assert_true(device_set_has(&launch.left_out, 0));
    assert_true(device_set_has(&launch.left_out, 5));
    assert_true(device_set_has(&launch.left_out, 127));
    assert_false(device_set_has(&launch.left_out, 1));
    assert_int_equal(parse(&launch, "--without-host"), 0);
    assert_true(launch.without_host);
    assert_int_equal(parse(&launch, "--command-line=full"), 0);
    assert_int_equal(launch.options.command_line, COMMAND_LINE_FULL);
}

static void test_what_nobody_writes_is_refused(void **state)
{
    static const char *const words[] = {
        "",
        "--",
        "library",
        "--library",
        "--tick-us=",
        "--tick-us=x",
        "--tick-us=-1",
        "--leave-out=",
        "--leave-out=1,",
        "--leave-out=128",
        "--command-line=some",
        "--without-host=1",
        "--driver-ppm=1000001",
        "--stuck-ms=99999999999999999999",
    };
    struct launch launch;

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        assert_int_equal(parse(&launch, words[i]), -EINVAL);
}

static void test_role(void **state)
{
    char *child[] = {(char *)(uintptr_t) "clustat-sampler", NULL};
    char *other[] = {(char *)(uintptr_t) "clustat", NULL};
    char *none[] = {NULL};

    (void)state;
    assert_true(sampler_is_child(child));
    assert_false(sampler_is_child(other));
    assert_false(sampler_is_child(none));
}

static void test_environment_loses_the_notify_socket(void **state)
{
    char **environment;
    size_t count = 0;

    (void)state;
    setenv("NOTIFY_SOCKET", "/run/x", 1);
    setenv("NOTIFY_SOCKET_NOT", "y", 1);
    environment = launch_environment();
    assert_non_null(environment);
    for (char **entry = environment; *entry; entry++) {
        assert_int_not_equal(strncmp(*entry, "NOTIFY_SOCKET=", 14), 0);
        count += !strcmp(*entry, "NOTIFY_SOCKET_NOT=y");
    }
    assert_int_equal(count, 1);
    free(environment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_what_nobody_writes_is_refused),
        cmocka_unit_test(test_role),
        cmocka_unit_test(test_environment_loses_the_notify_socket),
    };

    return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
