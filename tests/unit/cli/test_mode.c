#include "cli/mode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const struct mode_environment nothing = {0};
static const struct mode_environment configured = {.has_config = true};

static enum mode choose(struct options options, struct mode_environment environment)
{
    return mode_choose(&options, &environment);
}

static void without_a_backend_it_is_this_machine(void **state)
{
    (void)state;
    assert_int_equal(choose((struct options){0}, nothing), MODE_LOCAL);
    assert_int_equal(choose((struct options){.nodes = "x"}, nothing), MODE_LOCAL);
    assert_int_equal(choose((struct options){.as_gpustat = true}, nothing), MODE_LOCAL);
}

static void a_configured_backend_is_asked(void **state)
{
    (void)state;
    assert_int_equal(choose((struct options){0}, configured), MODE_BACKEND);
    assert_int_equal(choose((struct options){0}, (struct mode_environment){.has_socket_folder = true}),
                     MODE_BACKEND);
    assert_int_equal(choose((struct options){0}, (struct mode_environment){.backend_socket = "/s"}),
                     MODE_BACKEND);
    assert_int_equal(choose((struct options){.socket = "/s"}, nothing), MODE_BACKEND);
    assert_int_equal(choose((struct options){0}, (struct mode_environment){.backend_socket = ""}),
                     MODE_LOCAL);
}

static void local_wins(void **state)
{
    struct mode_environment environment = configured;

    (void)state;
    assert_int_equal(choose((struct options){.local = true}, configured), MODE_LOCAL);
    environment.local = "1";
    assert_int_equal(choose((struct options){0}, environment), MODE_LOCAL);
    environment.local = "0";
    assert_int_equal(choose((struct options){0}, environment), MODE_BACKEND);
    environment.local = "";
    assert_int_equal(choose((struct options){0}, environment), MODE_BACKEND);
    environment.nvml_lib = "/lib.so";
    assert_int_equal(choose((struct options){0}, environment), MODE_LOCAL);
    assert_int_equal(choose((struct options){.as_gpustat = true}, environment), MODE_LOCAL);
    environment.nvml_lib = "";
    assert_int_equal(choose((struct options){0}, environment), MODE_BACKEND);
}

static void gpustat_prefers_this_machine(void **state)
{
    (void)state;
    assert_int_equal(choose((struct options){.as_gpustat = true}, configured), MODE_LOCAL_FIRST);
    assert_int_equal(choose((struct options){.as_gpustat = true, .nodes = "x"}, configured), MODE_BACKEND);
    assert_int_equal(choose((struct options){.as_gpustat = true, .socket = "/s"}, nothing), MODE_BACKEND);
}

static void words_on_the_command_line_beat_variables(void **state)
{
    struct mode_environment environment = configured;

    (void)state;
    environment.local = "1";
    environment.nvml_lib = "/lib.so";
    assert_int_equal(choose((struct options){.socket = "/s"}, environment), MODE_BACKEND);
    assert_int_equal(choose((struct options){.list_nodes = true}, environment), MODE_BACKEND);
    assert_int_equal(choose((struct options){.forget = "x"}, environment), MODE_BACKEND);
    assert_int_equal(choose((struct options){.socket = "/s", .local = true}, environment), MODE_LOCAL);
}

static void a_named_socket_is_the_only_one(void **state)
{
    struct mode_environment environment = {.backend_socket = "/variable", .runtime_dir = "/run/user/7"};
    struct options options = {.socket = "/option"};
    struct socket_places places;

    (void)state;
    mode_socket_places(&options, &environment, "/uds", &places);
    assert_int_equal(places.count, 1);
    assert_string_equal(places.paths[0], "/option");
    options.socket = NULL;
    mode_socket_places(&options, &environment, "/uds", &places);
    assert_int_equal(places.count, 1);
    assert_string_equal(places.paths[0], "/variable");
}

static void the_users_own_backend_comes_first(void **state)
{
    struct mode_environment environment = {.backend_socket = "", .runtime_dir = "/run/user/7"};
    char too_long[300];
    struct options options = {0};
    struct socket_places places;

    (void)state;
    mode_socket_places(&options, &environment, "/uds", &places);
    assert_int_equal(places.count, 2);
    assert_string_equal(places.paths[0], "/run/user/7/clustat/client.sock");
    assert_string_equal(places.paths[1], "/uds");
    memset(too_long, 'x', sizeof(too_long));
    too_long[sizeof(too_long) - 1] = '\0';
    environment.runtime_dir = too_long;
    mode_socket_places(&options, &environment, "/uds", &places);
    assert_int_equal(places.count, 1);
    assert_string_equal(places.paths[0], "/uds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_backend_it_is_this_machine),
        cmocka_unit_test(a_configured_backend_is_asked),
        cmocka_unit_test(local_wins),
        cmocka_unit_test(gpustat_prefers_this_machine),
        cmocka_unit_test(words_on_the_command_line_beat_variables),
        cmocka_unit_test(a_named_socket_is_the_only_one),
        cmocka_unit_test(the_users_own_backend_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
