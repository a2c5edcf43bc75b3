/* What is read, when it is absent, and what it costs. */
#include "gpu_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

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

/* Lets the fake's own clock, which runs since the start, reach a moment. */
static void wait_until_ms(struct instant started, int64_t ms)
{
    while (instant_since_ns(clock_now(), started) < ms * NS_PER_MS)
        continue;
}

#define MEMORY       "\"memory\":{\"total\":1000000,\"used\":200000,\"reserved\":30000}"
#define TOY          "\"name\":\"Toy\",\"uuid\":\"GPU-0\""
#define ONE(members) "{\"version\":1,\"devices\":[{\"id\":\"g0\"," TOY "," members "}]}"

static void unified_memory_is_marked(void **state)
{
    static const char *const scenarios[] = {
        ONE("\"memory\":{\"rc\":3},\"processes\":[{\"pid\":5,\"mem\":4096}]"),
        ONE("\"memory\":{\"total\":0,\"used\":0},\"processes\":[{\"pid\":5,\"mem\":4096}]"),
    };

    for (unsigned i = 0; i < 2; i++) {
        start(scenarios[i]);
        assert_int_equal(gpu_test_device(&test, 0)->state, DEVICE_OK);
        assert_int_equal(gpu_test_device(&test, 0)->flags, DEVICE_UNIFIED_MEMORY);
        assert_false(gpu_test_has(&test, 0, FIELD_MEM_TOTAL_BYTES));
        assert_false(gpu_test_has(&test, 0, FIELD_MEM_USED_BYTES));
        assert_int_equal(test.snapshot.entries[0].mem_bytes, 4096);
        if (i == 0)
            tear_down(state);
    }
}

static void refused_memory_is_absent_not_unified(void **state)
{
    (void)state;
    start(ONE("\"memory\":{\"rc\":4}"));
    assert_int_equal(gpu_test_device(&test, 0)->state, DEVICE_OK);
    assert_int_equal(gpu_test_device(&test, 0)->flags, 0);
    assert_false(gpu_test_has(&test, 0, FIELD_MEM_TOTAL_BYTES));
}

/* A refused second version is remembered, so that it does not cost a call each time, and tried again later.
 */
static void old_memory_call_is_remembered(void **state)
{
    (void)state;
    start("{\"version\":1,\"devices\":[{\"id\":\"g0\"," TOY "," MEMORY "}],"
          "\"faults\":[{\"fn\":\"nvmlDeviceGetMemoryInfo_v2\",\"rc\":13}]}");
    assert_int_equal(gpu_test_value(&test, 0, FIELD_MEM_USED_BYTES), 230000);
    assert_false(gpu_test_has(&test, 0, FIELD_MEM_RESERVED_BYTES));
    gpu_test_forget_calls(&test);
    for (unsigned i = 0; i < 59; i++)
        gpu_test_second(&test);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetMemoryInfo_v2", 0), 0);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetMemoryInfo", 0), 59);
    for (unsigned i = 0; i < 10; i++)
        gpu_test_second(&test);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetMemoryInfo_v2", 0), 1);
}

/* A device of which nothing is supported: each thing is asked once a minute. */
static void unsupported_is_not_asked_each_time(void **state)
{
    size_t first;

    (void)state;
    start(ONE("\"memory\":{\"rc\":3},\"process_rc\":{\"compute\":{\"rc\":3},\"graphics\":{\"rc\":3},\"mps\":{"
              "\"rc\":3}}"));
    first = test.call_count;
    assert_true(first > 40);
    gpu_test_second(&test);
    gpu_test_forget_calls(&test);
    for (unsigned i = 0; i < 50; i++)
        gpu_test_second(&test);
    /* Count, UUID and events at each check. */
    assert_int_equal(test.call_count, 50 * 3);
    for (unsigned list = 0; list < LIST_COUNT; list++)
        assert_int_equal(gpu_test_device(&test, 0)->list_code[list], 3);
    for (unsigned i = 0; i < 20; i++)
        gpu_test_second(&test);
    assert_in_range(test.call_count, 70 * 3 + 30, 70 * 3 + 50);
}

/* What was read before and fails now is absent, not the old number. */
static void failing_value_becomes_absent(void **state)
{
    struct instant started = clock_now();

    (void)state;
    start(ONE(MEMORY ",\"temperature\":{\"steps\":[[0,40],[0.05,{\"rc\":999}],[0.2,41]]},\"fan\":7"));
    assert_int_equal(gpu_test_value(&test, 0, FIELD_TEMP_C), 40);
    wait_until_ms(started, 60);
    gpu_test_read_all(&test);
    if (instant_since_ns(clock_now(), started) <
        200 * NS_PER_MS) /* else this machine is too slow to see it */
        assert_false(gpu_test_has(&test, 0, FIELD_TEMP_C));
    assert_int_equal(gpu_test_value(&test, 0, FIELD_FAN_PERCENT), 7);
    wait_until_ms(started, 260);
    gpu_test_read_all(&test);
    assert_int_equal(gpu_test_value(&test, 0, FIELD_TEMP_C), 41);
}

/* All calls on the device fail for a while, as with a GPU that fell off the bus and came back. */
static void lost_device_comes_back(void **state)
{
    struct instant started;
    const struct device *device;

    (void)state;
    start("{\"version\":1,\"devices\":[{\"id\":\"g0\"," TOY "," MEMORY ",\"temperature\":40},"
          "{\"id\":\"g1\",\"name\":\"Other\",\"uuid\":\"GPU-1\"," MEMORY ",\"temperature\":41}],"
          "\"faults\":[{\"device\":\"g1\",\"at_s\":0.2,\"until_s\":0.5,\"rc\":15}]}");
    started = clock_now();
    gpu_test_second(&test);
    assert_int_equal(gpu_test_device(&test, 1)->state, DEVICE_OK);
    gpu_test_forget_calls(&test);
    wait_until_ms(started, 250);
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    device = gpu_test_device(&test, 1);
    assert_int_equal(device->state, DEVICE_FAULT);
    assert_int_equal(device->fault_code, 15);
    assert_true(text_equal_string(device->uuid, "GPU-1"));
    assert_true(text_equal_string(device->name, "Other"));
    assert_int_equal(gpu_test_device(&test, 0)->state, DEVICE_OK);
    assert_true(device->group_age_us[GROUP_HOT] >= 1000000);
    assert_true(gpu_test_device(&test, 0)->group_age_us[GROUP_HOT] == 0);
    wait_until_ms(started, 550);
    assert_int_equal(gpu_test_second(&test), SOURCE_OK);
    device = gpu_test_device(&test, 1);
    assert_int_equal(device->state, DEVICE_OK);
    assert_int_equal(device->fault_code, 0);
    assert_int_equal(gpu_test_value(&test, 1, FIELD_TEMP_C), 41);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetHandleByIndex_v2", -2), 0);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlInit_v2", -2), 0);
}

/* A device whose memory call says "lost" while all else works does not come and go. */
static void fault_of_the_memory_call_is_steady(void **state)
{
    (void)state;
    start(ONE("\"memory\":{\"rc\":999},\"temperature\":40"));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(gpu_test_device(&test, 0)->state, DEVICE_FAULT);
        assert_int_equal(gpu_test_device(&test, 0)->fault_code, 999);
        gpu_test_second(&test);
    }
}

static void xid_is_counted_with_its_time(void **state)
{
    struct instant started;
    int64_t before = clock_wall_us(), at;

    (void)state;
    start("{\"version\":1,\"devices\":[{\"id\":\"g0\"," TOY "," MEMORY "},"
          "{\"id\":\"g1\",\"name\":\"Other\",\"uuid\":\"GPU-1\"," MEMORY "}],\"events\":["
          "{\"at_s\":0.2,\"device\":\"g1\",\"type\":8,\"data\":31},"
          "{\"at_s\":0.21,\"device\":\"g1\",\"type\":8,\"data\":79}]}");
    started = clock_now();
    assert_false(gpu_test_has(&test, 1, FIELD_XID_COUNT)); /* nobody listened yet */
    gpu_test_second(&test);
    assert_int_equal(gpu_test_value(&test, 1, FIELD_XID_COUNT), 0);
    assert_false(gpu_test_has(&test, 1, FIELD_XID_LAST));
    wait_until_ms(started, 300);
    gpu_test_second(&test);
    assert_int_equal(gpu_test_value(&test, 1, FIELD_XID_COUNT), 2);
    assert_int_equal(gpu_test_value(&test, 1, FIELD_XID_LAST), 79);
    at = gpu_test_value(&test, 1, FIELD_XID_LAST_UNIX_US);
    assert_true(at >= before && at <= clock_wall_us());
    assert_int_equal(gpu_test_value(&test, 0, FIELD_XID_COUNT), 0);
    gpu_test_second(&test);
    assert_int_equal(gpu_test_value(&test, 1, FIELD_XID_COUNT), 2);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceRegisterEvents", -2), 2);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlEventSetCreate", -2), 1);
}

static void old_event_call_is_enough(void **state)
{
    struct instant started;

    (void)state;
    gpu_test_init(&test);
    gpu_test_use_fake(&test, "r418",
                      "{\"version\":1,\"profile\":\"r418\",\"devices\":[{\"id\":\"g0\"," TOY "," MEMORY "}],"
                      "\"events\":[{\"at_s\":0.1,\"device\":\"g0\",\"type\":8,\"data\":62}]}");
    gpu_test_start(&test);
    started = clock_now();
    gpu_test_second(&test);
    wait_until_ms(started, 150);
    gpu_test_second(&test);
    assert_int_equal(gpu_test_value(&test, 0, FIELD_XID_LAST), 62);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlEventSetWait", -2), 3);
}

/* 950 processes, the most that a driver lists in a call, then the same again in one call a list. */
static void many_processes(void **state)
{
    char *scenario = malloc(100000);
    size_t len = 0;

    (void)state;
    len += (size_t)sprintf(scenario + len,
                           "{\"version\":1,\"devices\":[{\"id\":\"g0\"," TOY "," MEMORY ",\"processes\":[");
    for (unsigned i = 0; i < 950; i++)
        len += (size_t)sprintf(scenario + len, "%s{\"pid\":%u,\"mem\":%u,\"sm\":%u}", i ? "," : "", 1000 + i,
                               i, i % 101);
    sprintf(scenario + len, "]}]}");
    start(scenario);
    free(scenario);
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(gpu_test_device(&test, 0)->entry_count, 950);
        for (uint32_t i = 0; i < 950; i++) {
            assert_int_equal(test.snapshot.entries[i].pid, 1000 + i);
            assert_int_equal(test.snapshot.entries[i].mem_bytes, i);
            assert_int_equal(test.snapshot.entries[i].util_sm_percent, i % 101);
        }
        gpu_test_forget_calls(&test);
        gpu_test_read_all(&test);
        assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetComputeRunningProcesses_v3", 0), 1);
    }
}

static void mps_list_is_read_where_it_has_entries(void **state)
{
    (void)state;
    start("{\"version\":1,\"devices\":[{\"id\":\"g0\"," TOY "," MEMORY
          ",\"processes\":[{\"pid\":5,\"mem\":1}]},"
          "{\"id\":\"g1\",\"name\":\"Other\",\"uuid\":\"GPU-1\"," MEMORY
          ",\"processes\":[{\"pid\":6,\"mem\":1,\"types\":[\"M\"]}]}]}");
    for (unsigned i = 0; i < 30; i++)
        gpu_test_second(&test);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetMPSComputeRunningProcesses_v3", 0), 1);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetMPSComputeRunningProcesses_v3", 1), 31);
    for (unsigned i = 0; i < 40; i++)
        gpu_test_second(&test);
    assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetMPSComputeRunningProcesses_v3", 0), 2);
}

static void garbage_pids_are_dropped(void **state)
{
    (void)state;
    start(ONE(MEMORY
              ",\"processes\":[{\"pid\":0,\"mem\":1},{\"pid\":5,\"mem\":1},{\"pid\":4294967295,\"mem\":1},"
              "{\"pid\":7,\"mem\":1,\"sm\":150},{\"pid\":8,\"mem\":1,\"sm\":4000000000}]"));
    assert_int_equal(gpu_test_device(&test, 0)->entry_count, 3);
    assert_int_equal(test.snapshot.entries[0].pid, 5);
    assert_int_equal(test.snapshot.entries[0].util_sm_percent, PERCENT_ABSENT);
    assert_int_equal(test.snapshot.entries[1].util_sm_percent, 100);
    assert_int_equal(test.snapshot.entries[2].util_sm_percent, PERCENT_ABSENT);
}

/* Utilisation figures stay over readings within one window of the driver, and go when it says nothing more.
 */
static void process_load_is_kept_for_a_window(void **state)
{
    (void)state;
    start(ONE(MEMORY ",\"processes\":[{\"pid\":5,\"mem\":1,\"sm\":40}]"));
    assert_int_equal(test.snapshot.entries[0].util_sm_percent, 40);
    for (unsigned i = 0; i < 3; i++) {
        gpu_test_read_all(&test);
        assert_int_equal(test.snapshot.entries[0].util_sm_percent, 40);
    }
}

static void one_list_that_fails_leaves_the_other(void **state)
{
    (void)state;
    start(ONE(MEMORY ",\"process_rc\":{\"compute\":{\"rc\":999}},"
                     "\"processes\":[{\"pid\":5,\"mem\":1},{\"pid\":6,\"mem\":1,\"types\":[\"G\"]}]"));
    assert_int_equal(gpu_test_device(&test, 0)->list_code[LIST_COMPUTE], 999);
    assert_int_equal(gpu_test_device(&test, 0)->list_code[LIST_GRAPHICS], 0);
    assert_int_equal(gpu_test_device(&test, 0)->entry_count, 1);
    assert_int_equal(test.snapshot.entries[0].pid, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(unified_memory_is_marked, tear_down),
        cmocka_unit_test_teardown(refused_memory_is_absent_not_unified, tear_down),
        cmocka_unit_test_teardown(old_memory_call_is_remembered, tear_down),
        cmocka_unit_test_teardown(unsupported_is_not_asked_each_time, tear_down),
        cmocka_unit_test_teardown(failing_value_becomes_absent, tear_down),
        cmocka_unit_test_teardown(lost_device_comes_back, tear_down),
        cmocka_unit_test_teardown(fault_of_the_memory_call_is_steady, tear_down),
        cmocka_unit_test_teardown(xid_is_counted_with_its_time, tear_down),
        cmocka_unit_test_teardown(old_event_call_is_enough, tear_down),
        cmocka_unit_test_teardown(many_processes, tear_down),
        cmocka_unit_test_teardown(mps_list_is_read_where_it_has_entries, tear_down),
        cmocka_unit_test_teardown(garbage_pids_are_dropped, tear_down),
        cmocka_unit_test_teardown(process_load_is_kept_for_a_window, tear_down),
        cmocka_unit_test_teardown(one_list_that_fails_leaves_the_other, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
