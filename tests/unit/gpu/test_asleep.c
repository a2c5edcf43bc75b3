/* Devices that must not be called: runtime-suspended ones, and those that an earlier call hangs on. */
#include "toy_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void left_out_device_is_never_called(void **state)
{
    (void)state;
    device_set_add(&toy_test.left_out, 1);
    gpu_test_start(&toy_test);
    for (unsigned i = 0; i < 10; i++)
        gpu_test_second(&toy_test);
    assert_int_equal(gpu_test_count_calls(&toy_test, NULL, 1), 0);
    toy_test_expect_row(0, 0, "GPU-a", DEVICE_OK, 0);
    toy_test_expect_row(1, 1, NULL, DEVICE_LEFT_OUT, 0);
    toy_test_expect_row(2, 2, "GPU-c", DEVICE_OK, 0);
    assert_true(gpu_test_device(&toy_test, 1)->group_age_us[GROUP_HOT] == AGE_NEVER);
    toy->count = 4; /* nor when all are listed anew */
    toy->generation++;
    gpu_test_second(&toy_test);
    assert_int_equal(toy_test.snapshot.device_count, 4);
    toy_test_expect_row(1, 1, NULL, DEVICE_LEFT_OUT, 0);
    toy_test_expect_row(3, 3, "GPU-d", DEVICE_OK, 0);
    assert_int_equal(gpu_test_count_calls(&toy_test, NULL, 1), 0);
}

/* A sysfs tree with the three devices, of which the middle one has this status. */
static void put_sysfs(const char *status)
{
    static const char *const addresses[] = {"0000:41:00.0", "0000:61:00.0", "0000:81:00.0"};
    char path[128];

    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/vendor", addresses[i]);
        gpu_test_write(&toy_test, path, "0x10de\n");
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/class", addresses[i]);
        gpu_test_write(&toy_test, path, "0x030200\n");
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/power/runtime_status", addresses[i]);
        gpu_test_write(&toy_test, path, i == 1 ? status : "active\n");
    }
}

static void sleeping_device_is_not_woken(void **state)
{
    (void)state;
    put_sysfs("suspended\n");
    gpu_test_start(&toy_test);
    for (unsigned i = 0; i < 10; i++)
        gpu_test_second(&toy_test);
    assert_false(toy->devices[1].touched);
    assert_int_equal(gpu_test_count_calls(&toy_test, NULL, 1), 0);
    assert_int_equal(gpu_test_count_calls(&toy_test, "nvmlDeviceGetHandleByIndex_v2", -2), 0);
    toy_test_expect_row(0, 0, "GPU-a", DEVICE_OK, 0);
    toy_test_expect_row(1, 1, NULL, DEVICE_ASLEEP, 0);
    assert_true(text_equal_string(gpu_test_device(&toy_test, 1)->pci_bus_id, "00000000:61:00.0"));
    toy_test_expect_row(2, 2, "GPU-c", DEVICE_OK, 0);

    put_sysfs("active\n"); /* somebody uses it */
    gpu_test_second(&toy_test);
    toy_test_expect_three();
}

static void device_that_falls_asleep_is_left_so(void **state)
{
    (void)state;
    put_sysfs("active\n");
    gpu_test_start(&toy_test);
    gpu_test_second(&toy_test);
    toy_test_expect_three();
    put_sysfs("suspended\n");
    gpu_test_forget_calls(&toy_test);
    toy->devices[1].touched = false;
    for (unsigned i = 0; i < 5; i++)
        gpu_test_second(&toy_test);
    assert_int_equal(gpu_test_count_calls(&toy_test, NULL, 1), 0);
    assert_false(toy->devices[1].touched);
    toy_test_expect_row(1, 1, "GPU-b", DEVICE_ASLEEP, 0);
    put_sysfs("active\n");
    gpu_test_second(&toy_test);
    toy_test_expect_three();
}

/* A tree that does not show what the driver counts (a container) is no guide to indices. */
static void incomplete_sysfs_is_not_trusted(void **state)
{
    (void)state;
    put_sysfs("suspended\n");
    toy->count = 4;
    gpu_test_start(&toy_test);
    gpu_test_read_all(&toy_test);
    assert_int_equal(toy_test.snapshot.device_count, 4);
    toy_test_expect_row(1, 1, "GPU-b", DEVICE_OK, 0); /* woken: who it was could not be known before */
    toy_test_expect_row(3, 3, "GPU-d", DEVICE_OK, 0);
    assert_int_equal(gpu_test_count_calls(&toy_test, "nvmlDeviceGetHandleByIndex_v2", -2), 4);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, toy_test_set_up, toy_test_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(left_out_device_is_never_called),
        CASE(sleeping_device_is_not_woken),
        CASE(device_that_falls_asleep_is_left_so),
        CASE(incomplete_sysfs_is_not_trusted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
