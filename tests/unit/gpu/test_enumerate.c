/* Devices that come, go, get lost and change places, with the toy library. */
#include "toy_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void missing_symbols_are_missing_values(void **state)
{
    (void)state;
    gpu_test_start(&toy_test);
    gpu_test_read_all(&toy_test);
    toy_test_expect_three();
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(gpu_test_device(&toy_test, i)->values.present == 0);
        assert_false(text_is_present(gpu_test_device(&toy_test, i)->name));
        assert_int_equal(gpu_test_device(&toy_test, i)->list_code[LIST_COMPUTE], 0);
        assert_int_equal(gpu_test_device(&toy_test, i)->list_code[LIST_GRAPHICS], LIST_CODE_ABSENT);
        assert_int_equal(gpu_test_device(&toy_test, i)->list_code[LIST_MPS], LIST_CODE_ABSENT);
    }
    /* A driver that lacks the call says nothing about the memory. */
    assert_int_equal(gpu_test_device(&toy_test, 0)->flags & DEVICE_UNIFIED_MEMORY, 0);
    assert_true(text_equal_string(gpu_test_device(&toy_test, 1)->pci_bus_id, "00000000:61:00.0"));
}

static void handles_are_fetched_once(void **state)
{
    (void)state;
    gpu_test_start(&toy_test);
    for (unsigned i = 0; i < 60; i++) {
        assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
        toy_test_expect_three();
    }
    assert_int_equal(toy->lookups, 3);
    assert_int_equal(toy->init_calls, 1);
}

static void added_device_appears(void **state)
{
    (void)state;
    toy->count = 2;
    gpu_test_start(&toy_test);
    gpu_test_second(&toy_test);
    assert_int_equal(toy_test.snapshot.device_count, 2);
    toy->count = 3;
    toy->generation++;
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
    toy_test_expect_three();
}

/* The middle one goes: those behind it move up, old handles are dead. It comes back later. */
static void removed_device_is_said(void **state)
{
    (void)state;
    toy->pid_count = 2;
    gpu_test_start(&toy_test);
    gpu_test_second(&toy_test);
    toy_test_expect_three();
    toy->count = 2;
    toy->order[1] = 2;
    toy->generation++;
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
    assert_int_equal(toy_test.snapshot.device_count, 3);
    toy_test_expect_row(0, 0, "GPU-a", DEVICE_OK, 0);
    toy_test_expect_row(1, 1, "GPU-c", DEVICE_OK, 0);
    toy_test_expect_row(2, 1, "GPU-b", DEVICE_REMOVED, 0);
    gpu_test_forget_calls(&toy_test);
    toy->devices[1].touched = false;
    gpu_test_second(&toy_test);
    assert_false(toy->devices[1].touched);

    toy->count = 3;
    toy->order[1] = 1;
    toy->order[2] = 2;
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
    toy_test_expect_three();
    assert_int_equal(gpu_test_device(&toy_test, 1)->entry_count, 2);
}

static void all_devices_can_go(void **state)
{
    (void)state;
    gpu_test_start(&toy_test);
    toy->count = 0;
    toy->generation++;
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
    assert_int_equal(toy_test.snapshot.device_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(gpu_test_device(&toy_test, i)->state, DEVICE_REMOVED);
}

static void exchanged_device_is_another_one(void **state)
{
    (void)state;
    gpu_test_start(&toy_test);
    strcpy(toy->devices[1].uuid, "GPU-x");
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
    assert_int_equal(toy_test.snapshot.device_count, 4);
    toy_test_expect_row(1, 1, "GPU-x", DEVICE_OK, 0);
    toy_test_expect_row(3, 1, "GPU-b", DEVICE_REMOVED, 0);
}

/* The same devices under new handles: found again at once, each with its identity. */
static void stale_handles_are_fetched_anew(void **state)
{
    (void)state;
    gpu_test_start(&toy_test);
    toy->generation++;
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
    toy_test_expect_three();
    assert_int_equal(toy->lookups, 6);
    gpu_test_second(&toy_test);
    assert_int_equal(toy->lookups, 6);
}

static void lost_device_is_found_by_address(void **state)
{
    (void)state;
    gpu_test_start(&toy_test);
    gpu_test_second(&toy_test);
    toy->devices[1].code = 15;
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
    toy_test_expect_row(0, 0, "GPU-a", DEVICE_OK, 0);
    toy_test_expect_row(1, 1, "GPU-b", DEVICE_FAULT, 15);
    toy_test_expect_row(2, 2, "GPU-c", DEVICE_OK, 0);
    gpu_test_forget_calls(&toy_test);
    gpu_test_second(&toy_test);
    assert_int_equal(gpu_test_count_calls(&toy_test, NULL, 1), 1);
    assert_int_equal(gpu_test_count_calls(&toy_test, "nvmlDeviceGetHandleByPciBusId_v2", 1), 1);

    /* After a while a driver answers look-ups with 999: it is still the lost one. */
    toy->devices[1].code = 999;
    gpu_test_second(&toy_test);
    toy_test_expect_row(1, 1, "GPU-b", DEVICE_FAULT, 15);

    toy->devices[1].code = 0;
    assert_int_equal(gpu_test_second(&toy_test), SOURCE_OK);
    toy_test_expect_three();
}

static void lost_device_is_tried_ever_more_seldom(void **state)
{
    unsigned tries = 0;

    (void)state;
    gpu_test_start(&toy_test);
    toy->devices[1].code = 15;
    for (unsigned second = 0; second < 600; second++) {
        toy->lookups = 0;
        gpu_test_second(&toy_test);
        assert_true(toy->lookups <= 1);
        if (second > 0 && second < 30)
            assert_int_equal(toy->lookups, 1);
        tries += toy->lookups;
    }
    assert_in_range(tries, 35, 60);
    toy->devices[1].code = 0;
    for (unsigned second = 0; second < 61; second++)
        gpu_test_second(&toy_test);
    toy_test_expect_three();
}

static void refused_device_is_a_row(void **state)
{
    (void)state;
    toy->devices[1].code = 4;
    gpu_test_start(&toy_test);
    gpu_test_read_all(&toy_test);
    assert_int_equal(toy_test.snapshot.device_count, 3);
    toy_test_expect_row(1, 1, NULL, DEVICE_FAULT, 4);
    toy_test_expect_row(2, 2, "GPU-c", DEVICE_OK, 0);
    toy->devices[1].code = 0;
    gpu_test_second(&toy_test);
    toy_test_expect_three();
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, toy_test_set_up, toy_test_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(missing_symbols_are_missing_values),
        CASE(handles_are_fetched_once),
        CASE(added_device_appears),
        CASE(removed_device_is_said),
        CASE(all_devices_can_go),
        CASE(exchanged_device_is_another_one),
        CASE(stale_handles_are_fetched_anew),
        CASE(lost_device_is_found_by_address),
        CASE(lost_device_is_tried_ever_more_seldom),
        CASE(refused_device_is_a_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
