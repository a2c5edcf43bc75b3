/* Devices that come, go, sleep and change places, with the toy library. */
#include "gpu_test.h"

#include "toy_nvml.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct gpu_test test;
static struct toy_state *toy;

/* Three devices, at PCI buses 41, 61 and 81. */
static int set_up(void **state)
{
    struct toy_state *(*get)(void);
    void *library;

    (void)state;
    gpu_test_init(&test);
    gpu_test_use_library(&test, TOY_NVML);
    library = dlopen(test.library, RTLD_NOW);
    assert_non_null(library);
    *(void **)&get = dlsym(library, "toy_nvml_state");
    toy = get();
    toy->count = 3;
    toy->stride = 24;
    toy->first_pid = 100;
    for (uint32_t i = 0; i < TOY_MAX_DEVICES; i++) {
        toy->order[i] = i;
        snprintf(toy->devices[i].uuid, sizeof(toy->devices[i].uuid), "GPU-%c", 'a' + (char)i);
        snprintf(toy->devices[i].bus_id, sizeof(toy->devices[i].bus_id), "0000:%u1:00.0", 4 + 2 * i);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gpu_test_deinit(&test);
    return 0;
}

static void expect_row(uint32_t position, uint32_t index, const char *uuid, enum device_state state, int code)
{
    const struct device *device = gpu_test_device(&test, position);

    assert_int_equal(device->index, index);
    if (uuid)
        assert_true(text_equal_string(device->uuid, uuid));
    else
        assert_false(text_is_present(device->uuid));
    assert_int_equal(device->state, state);
    assert_int_equal(device->fault_code, code);
}

static void expect_three(void)
{
    assert_int_equal(test.snapshot.device_count, 3);
    expect_row(0, 0, "GPU-a", DEVICE_OK, 0);
    expect_row(1, 1, "GPU-b", DEVICE_OK, 0);
    expect_row(2, 2, "GPU-c", DEVICE_OK, 0);
}

static void missing_symbols_are_missing_values(void **state)
{
    (void)state;
    gpu_test_start(&test);
    gpu_test_read_all(&test);
    expect_three();
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(gpu_test_device(&test, i)->values.present == 0);
        assert_false(text_is_present(gpu_test_device(&test, i)->name));
        assert_int_equal(gpu_test_device(&test, i)->list_code[LIST_COMPUTE], 0);
        assert_int_equal(gpu_test_device(&test, i)->list_code[LIST_GRAPHICS], LIST_CODE_ABSENT);
        assert_int_equal(gpu_test_device(&test, i)->list_code[LIST_MPS], LIST_CODE_ABSENT);
    }
    /* A driver that lacks the call says nothing about the memory. */
    assert_int_equal(gpu_test_device(&test, 0)->flags & DEVICE_UNIFIED_MEMORY, 0);
    assert_true(text_equal_string(gpu_test_device(&test, 1)->pci_bus_id, "00000000:61:00.0"));
}

static void handles_are_fetched_once(void **state)
{
    (void)state;
    gpu_test_start(&test);
    for (unsigned i = 0; i < 60; i++) {
        assert_int_equal(gpu_test_second(&test), SOURCE_OK);
        expect_three();
    }
    assert_int_equal(toy->lookups, 3);
    assert_int_equal(toy->init_calls, 1);
}

static void added_device_appears(void **state)
{
    (void)state;
    toy->count = 2;
    gpu_test_start(&test);
    gpu_test_second(&test);
    assert_int_equal(test.snapshot.device_count, 2);
    toy->count = 3;
    toy->generation++;
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    expect_three();
}

/* The middle one goes: those behind it move up, old handles are dead. It comes back later. */
static void removed_device_is_said(void **state)
{
    (void)state;
    toy->pid_count = 2;
    gpu_test_start(&test);
    gpu_test_second(&test);
    expect_three();
    toy->count = 2;
    toy->order[1] = 2;
    toy->generation++;
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    assert_int_equal(test.snapshot.device_count, 3);
    expect_row(0, 0, "GPU-a", DEVICE_OK, 0);
    expect_row(1, 1, "GPU-c", DEVICE_OK, 0);
    expect_row(2, 1, "GPU-b", DEVICE_REMOVED, 0);
    gpu_test_forget_calls(&test);
    toy->devices[1].touched = false;
    gpu_test_second(&test);
    assert_false(toy->devices[1].touched);

    toy->count = 3;
    toy->order[1] = 1;
    toy->order[2] = 2;
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    expect_three();
    assert_int_equal(gpu_test_device(&test, 1)->entry_count, 2);
}

static void all_devices_can_go(void **state)
{
    (void)state;
    gpu_test_start(&test);
    toy->count = 0;
    toy->generation++;
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    assert_int_equal(test.snapshot.device_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(gpu_test_device(&test, i)->state, DEVICE_REMOVED);
}

static void exchanged_device_is_another_one(void **state)
{
    (void)state;
    gpu_test_start(&test);
    strcpy(toy->devices[1].uuid, "GPU-x");
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    assert_int_equal(test.snapshot.device_count, 4);
    expect_row(1, 1, "GPU-x", DEVICE_OK, 0);
    expect_row(3, 1, "GPU-b", DEVICE_REMOVED, 0);
}

/* The same devices under new handles: found again at once, each with its identity. */
static void stale_handles_are_fetched_anew(void **state)
{
    (void)state;
    gpu_test_start(&test);
    toy->generation++;
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    expect_three();
    assert_int_equal(toy->lookups, 6);
    gpu_test_second(&test);
    assert_int_equal(toy->lookups, 6);
}

static void lost_device_is_found_by_address(void **state)
{
    (void)state;
    gpu_test_start(&test);
    gpu_test_second(&test);
    toy->devices[1].code = 15;
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    expect_row(0, 0, "GPU-a", DEVICE_OK, 0);
    expect_row(1, 1, "GPU-b", DEVICE_FAULT, 15);
    expect_row(2, 2, "GPU-c", DEVICE_OK, 0);
    gpu_test_forget_calls(&test);
    gpu_test_second(&test);
    assert_int_equal(gpu_test_count_calls(&test, NULL, 1), 1);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetHandleByPciBusId_v2", 1), 1);

    /* After a while a driver answers look-ups with 999: it is still the lost one. */
    toy->devices[1].code = 999;
    gpu_test_second(&test);
    expect_row(1, 1, "GPU-b", DEVICE_FAULT, 15);

    toy->devices[1].code = 0;
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    expect_three();
}

static void lost_device_is_tried_ever_more_seldom(void **state)
{
    unsigned tries = 0;

    (void)state;
    gpu_test_start(&test);
    toy->devices[1].code = 15;
    for (unsigned second = 0; second < 600; second++) {
        toy->lookups = 0;
        gpu_test_second(&test);
        assert_true(toy->lookups <= 1);
        if (second > 0 && second < 30)
            assert_int_equal(toy->lookups, 1);
        tries += toy->lookups;
    }
    assert_in_range(tries, 35, 60);
    toy->devices[1].code = 0;
    for (unsigned second = 0; second < 61; second++)
        gpu_test_second(&test);
    expect_three();
}

static void refused_device_is_a_row(void **state)
{
    (void)state;
    toy->devices[1].code = 4;
    gpu_test_start(&test);
    gpu_test_read_all(&test);
    assert_int_equal(test.snapshot.device_count, 3);
    expect_row(1, 1, NULL, DEVICE_FAULT, 4);
    expect_row(2, 2, "GPU-c", DEVICE_OK, 0);
    toy->devices[1].code = 0;
    gpu_test_second(&test);
    expect_three();
}

static void uninitialised_library_is_initialised_again(void **state)
{
    (void)state;
    gpu_test_start(&test);
    toy->count_code = 1;
    toy->generation++;
    assert_int_equal(gpu_test_second(&test), SOURCE_OK); /* init worked, count does not yet */
    toy->count_code = 0;
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    gpu_test_second(&test);
    expect_three();
    assert_int_equal(toy->init_calls, 2);
}

static void driver_that_goes_is_said(void **state)
{
    (void)state;
    gpu_test_start(&test);
    toy->count_code = 1;
    toy->init_code = 9;
    assert_int_equal(gpu_test_second(&test), SOURCE_FAULT);
    assert_int_equal(test.snapshot.fault, NODE_FAULT_DRIVER_NOT_LOADED);
    assert_int_equal(test.snapshot.fault_code, 9);
    expect_row(0, 0, "GPU-a", DEVICE_FAULT, 9);
    assert_int_equal(gpu_test_second(&test), SOURCE_FAULT);
    toy->count_code = toy->init_code = 0;
    toy->generation++;
    assert_int_equal(test.source->ops->start(test.source, test.now), SOURCE_OK);
    gpu_test_read_all(&test);
    expect_three();
    assert_int_equal(test.snapshot.fault, NODE_FAULT_NONE);
}

static void replaced_library_wants_a_new_process(void **state)
{
    (void)state;
    gpu_test_start(&test);
    toy->count_code = 18;
    assert_int_equal(gpu_test_second(&test), SOURCE_RESTART);
    assert_int_equal(test.snapshot.fault, NODE_FAULT_VERSION_MISMATCH);
}

static void storms_want_a_new_process(void **state)
{
    (void)state;
    gpu_test_start(&test);
    toy->count_code = 999;
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    assert_int_equal(gpu_test_second(&test), SOURCE_RESTART);
}

static void access_lost_to_all_devices_wants_a_new_process(void **state)
{
    (void)state;
    gpu_test_start(&test);
    for (uint32_t i = 0; i < 3; i++)
        toy->devices[i].code = 999;
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(gpu_test_second(&test), SOURCE_OK);
        expect_row(1, 1, "GPU-b", DEVICE_FAULT, 999);
    }
    assert_int_equal(gpu_test_second(&test), SOURCE_RESTART);
}

static void access_never_had_is_no_reason_to_restart(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        toy->devices[i].code = 999;
    gpu_test_start(&test);
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    expect_row(1, 1, NULL, DEVICE_FAULT, 999);
}

static void left_out_device_is_never_called(void **state)
{
    (void)state;
    device_set_add(&test.left_out, 1);
    gpu_test_start(&test);
    for (unsigned i = 0; i < 10; i++)
        gpu_test_second(&test);
    assert_int_equal(gpu_test_count_calls(&test, NULL, 1), 0);
    expect_row(0, 0, "GPU-a", DEVICE_OK, 0);
    expect_row(1, 1, NULL, DEVICE_LEFT_OUT, 0);
    expect_row(2, 2, "GPU-c", DEVICE_OK, 0);
    assert_true(gpu_test_device(&test, 1)->group_age_us[GROUP_HOT] == AGE_NEVER);
    toy->count = 4; /* nor when all are listed anew */
    toy->generation++;
    gpu_test_second(&test);
    assert_int_equal(test.snapshot.device_count, 4);
    expect_row(1, 1, NULL, DEVICE_LEFT_OUT, 0);
    expect_row(3, 3, "GPU-d", DEVICE_OK, 0);
    assert_int_equal(gpu_test_count_calls(&test, NULL, 1), 0);
}

/* A sysfs tree with the three devices, of which the middle one has this status. */
static void put_sysfs(const char *status)
{
    static const char *const addresses[] = {"0000:41:00.0", "0000:61:00.0", "0000:81:00.0"};
    char path[128];

    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/vendor", addresses[i]);
        gpu_test_write(&test, path, "0x10de\n");
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/class", addresses[i]);
        gpu_test_write(&test, path, "0x030200\n");
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/power/runtime_status", addresses[i]);
        gpu_test_write(&test, path, i == 1 ? status : "active\n");
    }
}

static void sleeping_device_is_not_woken(void **state)
{
    (void)state;
    put_sysfs("suspended\n");
    gpu_test_start(&test);
    for (unsigned i = 0; i < 10; i++)
        gpu_test_second(&test);
    assert_false(toy->devices[1].touched);
    assert_int_equal(gpu_test_count_calls(&test, NULL, 1), 0);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetHandleByIndex_v2", -2), 0);
    expect_row(0, 0, "GPU-a", DEVICE_OK, 0);
    expect_row(1, 1, NULL, DEVICE_ASLEEP, 0);
    assert_true(text_equal_string(gpu_test_device(&test, 1)->pci_bus_id, "00000000:61:00.0"));
    expect_row(2, 2, "GPU-c", DEVICE_OK, 0);

    put_sysfs("active\n"); /* somebody uses it */
    gpu_test_second(&test);
    expect_three();
}

static void device_that_falls_asleep_is_left_so(void **state)
{
    (void)state;
    put_sysfs("active\n");
    gpu_test_start(&test);
    gpu_test_second(&test);
    expect_three();
    put_sysfs("suspended\n");
    gpu_test_forget_calls(&test);
    toy->devices[1].touched = false;
    for (unsigned i = 0; i < 5; i++)
        gpu_test_second(&test);
    assert_int_equal(gpu_test_count_calls(&test, NULL, 1), 0);
    assert_false(toy->devices[1].touched);
    expect_row(1, 1, "GPU-b", DEVICE_ASLEEP, 0);
    put_sysfs("active\n");
    gpu_test_second(&test);
    expect_three();
}

/* A tree that does not show what the driver counts (a container) is no guide to indices. */
static void incomplete_sysfs_is_not_trusted(void **state)
{
    (void)state;
    put_sysfs("suspended\n");
    toy->count = 4;
    gpu_test_start(&test);
    gpu_test_read_all(&test);
    assert_int_equal(test.snapshot.device_count, 4);
    expect_row(1, 1, "GPU-b", DEVICE_OK, 0); /* woken: who it was could not be known before */
    expect_row(3, 3, "GPU-d", DEVICE_OK, 0);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetHandleByIndex_v2", -2), 4);
}

static void lists_of_every_stride_are_read(void **state)
{
    static const unsigned strides[] = {16, 24, 32};

    for (unsigned i = 0; i < 3; i++) {
        toy->stride = strides[i];
        toy->pid_count = 40;
        gpu_test_start(&test);
        gpu_test_read_all(&test);
        for (uint32_t position = 0; position < 3; position++) {
            const struct device *device = gpu_test_device(&test, position);

            assert_int_equal(device->entry_count, 40);
            for (uint32_t j = 0; j < 40; j++) {
                const struct process_entry *entry = &test.snapshot.entries[device->first_entry + j];

                assert_int_equal(entry->pid, 100 + j);
                assert_true(entry->mem_bytes == (uint64_t)(100 + j) << 20);
                assert_int_equal(entry->gpu_instance_id, INSTANCE_NONE);
            }
        }
        tear_down(state);
        set_up(state);
    }
}

static void growing_list_is_followed(void **state)
{
    (void)state;
    toy->pid_count = 200;
    toy->grow_by = 20;
    gpu_test_start(&test);
    assert_int_equal(test.source->ops->read(test.source, 0, GROUP_PROCESSES, test.now), SOURCE_OK);
    gpu_test_fill(&test);
    assert_int_equal(toy->list_calls, 2); /* the first said 200, twice the first room was enough for 220 */
    assert_int_equal(gpu_test_device(&test, 0)->entry_count, 220);

    /* The buffer stays: one call from now on. */
    toy->list_calls = 0;
    assert_int_equal(test.source->ops->read(test.source, 0, GROUP_PROCESSES, test.now), SOURCE_OK);
    assert_int_equal(toy->list_calls, 1);
}

static void list_that_never_fits_is_given_up(void **state)
{
    (void)state;
    toy->pid_count = 5000;
    toy->grow_by = 1;
    gpu_test_start(&test);
    assert_int_equal(test.source->ops->read(test.source, 0, GROUP_PROCESSES, test.now), SOURCE_OK);
    gpu_test_fill(&test);
    assert_int_equal(toy->list_calls, 3);
    assert_int_equal(gpu_test_device(&test, 0)->list_code[LIST_COMPUTE], 7);
    assert_int_equal(gpu_test_device(&test, 0)->entry_count, 0);
}

static unsigned read_load(uint32_t entry)
{
    assert_int_equal(test.source->ops->read(test.source, 0, GROUP_PROCESSES, test.now), SOURCE_OK);
    gpu_test_fill(&test);
    return test.snapshot.entries[entry].util_sm_percent;
}

/* The driver's ring: the newest sample of a process counts, once, if it is not long past. */
static void newest_samples_count_once(void **state)
{
    (void)state;
    toy->pid_count = 3;
    gpu_test_start(&test);
    toy->sample_count = 5;
    toy->samples[0] = (struct toy_sample){100, 7000000, 10, 0, 0, 0};
    toy->samples[1] = (struct toy_sample){100, 9000000, 30, 0, 0, 0};
    toy->samples[2] = (struct toy_sample){100, 8000000, 20, 0, 0, 0};
    toy->samples[3] = (struct toy_sample){101, 6999999, 50, 0, 0, 0}; /* idle since */
    toy->samples[4] = (struct toy_sample){0, 99000000, 60, 0, 0, 0};  /* garbage, and no clock to go by */
    assert_int_equal(read_load(0), 30);
    assert_int_equal(read_load(1), PERCENT_ABSENT);
    assert_int_equal(read_load(2), PERCENT_ABSENT);
}

/* Samples that were seen already say nothing new; after a while the figure is unknown. */
static void seen_samples_fade(void **state)
{
    (void)state;
    toy->pid_count = 1;
    gpu_test_start(&test);
    toy->sample_count = 1;
    toy->samples[0] = (struct toy_sample){100, 7000000, 10, 0, 0, 0};
    assert_int_equal(read_load(0), 10);
    gpu_test_pass(&test, 500);
    assert_int_equal(read_load(0), 10);
    gpu_test_pass(&test, 2000);
    assert_int_equal(read_load(0), PERCENT_ABSENT);
    toy->samples[0].time_stamp_us++;
    assert_int_equal(read_load(0), 10);
    toy->sample_count = 0;
    assert_int_equal(read_load(0), 10);
    gpu_test_pass(&test, 2500);
    assert_int_equal(read_load(0), PERCENT_ABSENT);
}

static void ring_larger_than_the_buffer_is_read(void **state)
{
    (void)state;
    toy->pid_count = 40;
    gpu_test_start(&test);
    toy->sample_count = TOY_MAX_SAMPLES;
    for (uint32_t i = 0; i < TOY_MAX_SAMPLES; i++)
        toy->samples[i] = (struct toy_sample){100 + i % 40, 5000000 + i, i % 101, 0, 0, 0};
    assert_int_equal(read_load(0), 280 % 101); /* the last multiple of 40 below 300 */
    assert_int_equal(test.snapshot.entries[19].util_sm_percent, 299 % 101);
    assert_int_equal(test.snapshot.entries[20].util_sm_percent, 260 % 101);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

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
        CASE(uninitialised_library_is_initialised_again),
        CASE(driver_that_goes_is_said),
        CASE(replaced_library_wants_a_new_process),
        CASE(storms_want_a_new_process),
        CASE(access_lost_to_all_devices_wants_a_new_process),
        CASE(access_never_had_is_no_reason_to_restart),
        CASE(left_out_device_is_never_called),
        CASE(sleeping_device_is_not_woken),
        CASE(device_that_falls_asleep_is_left_so),
        CASE(incomplete_sysfs_is_not_trusted),
        CASE(lists_of_every_stride_are_read),
        CASE(growing_list_is_followed),
        CASE(list_that_never_fits_is_given_up),
        CASE(newest_samples_count_once),
        CASE(seen_samples_fade),
        CASE(ring_larger_than_the_buffer_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
