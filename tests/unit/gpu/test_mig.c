/* MIG instances as devices of their own. */
#include "gpu_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define INSTANCE(index, gi, more) \
    "{\"index\":" index ",\"gi\":" gi ",\"ci\":0,\"uuid\":\"MIG-" index "\",\"sms\":14," \
    "\"memory\":{\"total\":500000,\"used\":1000" index more "}}"

#define PARENT(mode, instances) \
    "{\"id\":\"g0\",\"name\":\"Toy\",\"uuid\":\"GPU-0\",\"memory\":{\"total\":1000000,\"used\":200000}," \
    "\"temperature\":40,\"utilization\":{\"gpu\":{\"rc\":3}}," \
    "\"mig\":{\"mode\":[" mode "],\"devices\":[" instances "]}," \
    "\"processes\":[{\"pid\":100,\"mem\":4096,\"gi\":7,\"ci\":0},{\"pid\":101,\"mem\":8192,\"gi\":9,\"ci\":" \
    "0}," \
    "{\"pid\":100,\"mem\":16384,\"gi\":9,\"ci\":0}]}"

#define PLAIN \
    "{\"id\":\"g1\",\"name\":\"Plain\",\"uuid\":\"GPU-1\",\"memory\":{\"total\":1000000,\"used\":7}," \
    "\"temperature\":41}"

#define SCENARIO(mode, instances, more) \
    "{\"version\":1,\"devices\":[" PARENT(mode, instances) "," PLAIN "]" more "}"

/* Places 1 and 4 of seven: holes before, between and behind. */
#define TWO INSTANCE("1", "7", "") "," INSTANCE("4", "9", ",\"reserved\":5")

static struct gpu_test test;

static int tear_down(void **state)
{
    (void)state;
    gpu_test_deinit(&test);
    return 0;
}

static void start(const char *scenario)
{
    gpu_test_init(&test);
    gpu_test_use_fake(&test, "r580", scenario);
    gpu_test_start(&test);
    gpu_test_read_all(&test);
}

static void expect_instance(uint32_t position, uint32_t place, int64_t gi, int64_t used, uint32_t entries)
{
    const struct device *device = gpu_test_device(&test, position);
    char uuid[8];

    snprintf(uuid, sizeof(uuid), "MIG-%u", place);
    assert_int_equal(device->kind, DEVICE_MIG);
    assert_int_equal(device->state, DEVICE_OK);
    assert_int_equal(device->index, 0);
    assert_int_equal(device->mig_index, place);
    assert_true(text_equal_string(device->name, "Toy MIG 1g.10gb"));
    assert_true(text_equal_string(device->uuid, uuid));
    assert_int_equal(gpu_test_value(&test, position, FIELD_GPU_INSTANCE_ID), gi);
    assert_int_equal(gpu_test_value(&test, position, FIELD_COMPUTE_INSTANCE_ID), 0);
    assert_int_equal(gpu_test_value(&test, position, FIELD_MULTIPROCESSORS), 14);
    assert_int_equal(gpu_test_value(&test, position, FIELD_MEM_TOTAL_BYTES), 500000);
    assert_int_equal(gpu_test_value(&test, position, FIELD_MEM_USED_BYTES), used);
    assert_false(gpu_test_has(&test, position, FIELD_UTIL_GPU_PERCENT));
    assert_false(gpu_test_has(&test, position, FIELD_TEMP_C));
    assert_int_equal(device->flags, 0);
    assert_int_equal(device->entry_count, entries);
    for (uint32_t i = 0; i < entries; i++)
        assert_int_equal(test.snapshot.entries[device->first_entry + i].gpu_instance_id, gi);
}

static void instances_stand_behind_their_parent(void **state)
{
    const struct device *parent;

    (void)state;
    start(SCENARIO("1,1", TWO, ""));
    for (unsigned second = 0; second < 12; second++) {
        assert_int_equal(test.snapshot.device_count, 4);
        parent = gpu_test_device(&test, 0);
        assert_int_equal(parent->kind, DEVICE_GPU);
        assert_int_equal(parent->entry_count, 3); /* all of them; views decide */
        assert_false(gpu_test_has(&test, 0, FIELD_UTIL_GPU_PERCENT));
        assert_int_equal(gpu_test_value(&test, 0, FIELD_MIG_MODE), 1);
        expect_instance(1, 1, 7, 10001, 1);
        expect_instance(2, 4, 9, 10004, 2);
        assert_int_equal(gpu_test_device(&test, 3)->index, 1);
        assert_false(gpu_test_has(&test, 3, FIELD_MIG_MODE));
        assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    }
}

/* The layout is looked at every 5 s, and only where there can be one. */
static void layout_is_not_asked_for_all_the_time(void **state)
{
    (void)state;
    start(SCENARIO("1,1", TWO, ""));
    gpu_test_second(&test);
    gpu_test_forget_calls(&test);
    for (unsigned second = 0; second < 20; second++)
        gpu_test_second(&test);
    assert_in_range(gpu_test_count_calls(&test, "nvmlDeviceGetMigDeviceHandleByIndex", 0), 7 * 3, 7 * 5);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetMigDeviceHandleByIndex", 1), 0);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetMigMode", 1), 0); /* refused at the start */
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetAttributes_v2", -2), 0);
}

static void mode_off_has_no_instances(void **state)
{
    (void)state;
    start(SCENARIO("0,1", TWO, ""));
    assert_int_equal(test.snapshot.device_count, 2);
    assert_int_equal(gpu_test_value(&test, 0, FIELD_MIG_MODE), 0);
    assert_int_equal(gpu_test_value(&test, 0, FIELD_MIG_MODE_PENDING), 1);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetMigDeviceHandleByIndex", -2), 0);
}

/* Refused memory makes a GPU one of unified memory, but an instance just one that does not say. */
static void instance_is_never_unified(void **state)
{
    (void)state;
    start(SCENARIO("1,1", TWO,
                   ",\"faults\":[{\"device\":\"g0\",\"fn\":\"nvmlDeviceGetMemoryInfo*\",\"rc\":3}]"));
    assert_int_equal(gpu_test_device(&test, 0)->flags, DEVICE_UNIFIED_MEMORY);
    assert_int_equal(gpu_test_device(&test, 1)->kind, DEVICE_MIG);
    assert_int_equal(gpu_test_device(&test, 1)->flags, 0);
    assert_false(gpu_test_has(&test, 1, FIELD_MEM_TOTAL_BYTES));
}

/* Who may not see the parent's aggregate figures still sees the instances. */
static void refused_parent_keeps_its_instances(void **state)
{
    (void)state;
    start("{\"version\":1,\"devices\":[{\"id\":\"g0\",\"name\":\"Toy\",\"uuid\":\"GPU-0\",\"memory\":{\"rc\":"
          "4},"
          "\"process_rc\":{\"compute\":{\"rc\":4},\"graphics\":{\"rc\":4}},"
          "\"mig\":{\"mode\":[1,1],\"devices\":[" INSTANCE("0", "3", "") "]}}]}");
    assert_int_equal(test.snapshot.device_count, 2);
    assert_int_equal(gpu_test_device(&test, 0)->state, DEVICE_OK);
    assert_false(gpu_test_has(&test, 0, FIELD_MEM_TOTAL_BYTES));
    assert_int_equal(gpu_test_device(&test, 0)->flags & DEVICE_UNIFIED_MEMORY, 0);
    assert_int_equal(gpu_test_device(&test, 0)->list_code[LIST_COMPUTE], 4);
    assert_int_equal(gpu_test_value(&test, 1, FIELD_MEM_USED_BYTES), 10000);
}

static void lost_parent_takes_its_instances_along(void **state)
{
    (void)state;
    start(SCENARIO("1,1", TWO, ",\"faults\":[{\"device\":\"g0\",\"fn\":\"nvmlDeviceGetName\",\"rc\":15}]"));
    /* Lost from the start: the layout was never seen. */
    assert_int_equal(test.snapshot.device_count, 2);
    assert_int_equal(gpu_test_device(&test, 0)->state, DEVICE_FAULT);
    assert_int_equal(gpu_test_device(&test, 1)->state, DEVICE_OK);
}

/* The driver says that the layout changed: it is listed at that check, not seconds later. */
static void change_event_is_followed(void **state)
{
    struct instant begin;

    (void)state;
    start(SCENARIO("1,1", TWO, ",\"events\":[{\"at_s\":0.2,\"device\":\"g0\",\"type\":256,\"data\":0}]"));
    begin = clock_now();
    gpu_test_second(&test); /* registers */
    gpu_test_second(&test); /* the layout's regular turn is over */
    while (instant_since_ns(clock_now(), begin) < 300 * NS_PER_MS)
        gpu_test_fill(&test);
    gpu_test_forget_calls(&test);
    gpu_test_second(&test);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetMigDeviceHandleByIndex", 0), 7);
}

static void old_driver_without_mig(void **state)
{
    (void)state;
    gpu_test_init(&test);
    gpu_test_use_fake(&test, "r418", "{\"version\":1,\"profile\":\"r418\",\"devices\":[" PLAIN "]}");
    gpu_test_start(&test);
    gpu_test_second(&test);
    assert_int_equal(test.snapshot.device_count, 1);
    assert_false(gpu_test_has(&test, 0, FIELD_MIG_MODE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(instances_stand_behind_their_parent, tear_down),
        cmocka_unit_test_teardown(layout_is_not_asked_for_all_the_time, tear_down),
        cmocka_unit_test_teardown(mode_off_has_no_instances, tear_down),
        cmocka_unit_test_teardown(instance_is_never_unified, tear_down),
        cmocka_unit_test_teardown(refused_parent_keeps_its_instances, tear_down),
        cmocka_unit_test_teardown(lost_parent_takes_its_instances_along, tear_down),
        cmocka_unit_test_teardown(change_event_is_followed, tear_down),
        cmocka_unit_test_teardown(old_driver_without_mig, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
