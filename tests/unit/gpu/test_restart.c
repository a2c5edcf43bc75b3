/* Libraries that stop working: what is tried again, and when only a new process can go on. */
#include "toy_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void uninitialised_library_is_initialised_again(void **state)
{
    (void)state;
    gpu_test_start(&toy_test);
    toy->count_code = 1;
    toy->generation++;
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK); /* init worked, count does not yet */
    toy->count_code = 0;
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
    gpu_test_second(&toy_test);
    toy_test_expect_three();
    assert_int_equal(toy->init_calls, 2);
}

static void driver_that_goes_is_said(void **state)
{
    (void)state;
    gpu_test_start(&toy_test);
    toy->count_code = 1;
    toy->init_code = 9;
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_FAULT);
    assert_int_equal(toy_test.snapshot.fault, NODE_FAULT_DRIVER_NOT_LOADED);
    assert_int_equal(toy_test.snapshot.fault_code, 9);
    toy_test_expect_row(0, 0, "GPU-a", DEVICE_FAULT, 9);
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_FAULT);
    toy->count_code = toy->init_code = 0;
    toy->generation++;
    assert_int_equal(toy_test.source->ops->start(toy_test.source, toy_test.now), SOURCE_OK);
    gpu_test_read_all(&toy_test);
    toy_test_expect_three();
    assert_int_equal(toy_test.snapshot.fault, NODE_FAULT_NONE);
}

static void replaced_library_wants_a_new_process(void **state)
{
    (void)state;
    gpu_test_start(&toy_test);
    toy->count_code = 18;
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_RESTART);
    assert_int_equal(toy_test.snapshot.fault, NODE_FAULT_VERSION_MISMATCH);
}

static void storms_want_a_new_process(void **state)
{
    (void)state;
    gpu_test_start(&toy_test);
    toy->count_code = 999;
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_RESTART);
}

static void access_lost_to_all_devices_wants_a_new_process(void **state)
{
    (void)state;
    gpu_test_start(&toy_test);
    for (uint32_t i = 0; i < 3; i++)
        toy->devices[i].code = 999;
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
        toy_test_expect_row(1, 1, "GPU-b", DEVICE_FAULT, 999);
    }
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_RESTART);
}

static void access_never_had_is_no_reason_to_restart(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        toy->devices[i].code = 999;
    gpu_test_start(&toy_test);
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
    toy_test_expect_row(1, 1, NULL, DEVICE_FAULT, 999);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, toy_test_set_up, toy_test_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(uninitialised_library_is_initialised_again),     CASE(driver_that_goes_is_said),
        CASE(replaced_library_wants_a_new_process),           CASE(storms_want_a_new_process),
        CASE(access_lost_to_all_devices_wants_a_new_process), CASE(access_never_had_is_no_reason_to_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
