#include "cli/mode.h"

#include <setjmp.h>
#include <stdarg.h>
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
    assert_int_equal(choose((struct options){.socket = "/s"}, environment), MODE_LOCAL);
    environment.nvml_lib = "";
    assert_int_equal(choose((struct options){0}, environment), MODE_BACKEND);
}

static void gpustat_prefers_this_machine(void **state)
{
    (void)state;
    assert_int_equal(choose((struct options){.as_gpustat = true}, configured), MODE_LOCAL);
    assert_int_equal(choose((struct options){.as_gpustat = true, .nodes = "x"}, configured), MODE_BACKEND);
    assert_int_equal(choose((struct options){.as_gpustat = true, .socket = "/s"}, nothing), MODE_BACKEND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_backend_it_is_this_machine),
        cmocka_unit_test(a_configured_backend_is_asked),
        cmocka_unit_test(local_wins),
        cmocka_unit_test(gpustat_prefers_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
