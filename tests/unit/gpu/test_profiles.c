/* Every driver generation: the right processes, memory and values, whatever its symbols and structs. */
#include "gpu_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* One GPU with everything; PROFILE is replaced. */
static const char scenario[] =
    "{\"version\":1,\"profile\":\"PROFILE\",\"driver\":{\"version\":\"5.6\",\"nvml\":\"7.8\"},\"devices\":[{"
    "\"id\":\"g0\",\"name\":\"Toy\",\"uuid\":\"GPU-0\",\"serial\":\"123\",\"minor\":3,"
    "\"memory\":{\"total\":1000000,\"used\":200000,\"reserved\":30000},\"temperature\":-5,\"fan\":130,"
    "\"power_mw\":99000,\"power_limit_mw\":400000,"
    "\"utilization\":{\"gpu\":29,\"memory\":11,\"enc\":3,\"dec\":4},"
    "\"clocks\":{\"graphics\":1001,\"sm\":1002,\"mem\":1003,\"video\":1004},"
    "\"max_clocks\":{\"graphics\":2001,\"mem\":2003},\"pstate\":2,\"compute_mode\":3,\"persistence\":1,"
    "\"throttle\":292,\"ecc\":{\"mode\":[1,0],\"volatile_corrected\":1,\"volatile_uncorrected\":2,"
    "\"aggregate_corrected\":3,\"aggregate_uncorrected\":4},\"remapped_rows\":[5,6,1,0],"
    "\"pcie\":{\"gen\":3,\"width\":8,\"max_gen\":5,\"max_width\":16},\"field_values\":{\"230\":2},"
    "\"processes\":["
    "{\"pid\":1001,\"mem\":1048576,\"sm\":40,\"mem_util\":7,\"enc\":1,\"dec\":2},"
    "{\"pid\":1002,\"mem\":\"na\",\"types\":[\"C\",\"G\"]},"
    "{\"pid\":1003,\"mem\":0,\"types\":[\"G\"]},"
    "{\"pid\":1004,\"mem\":4096,\"types\":[\"C\",\"M\"]}]}]}";

struct profile {
    const char *name;
    bool memory_v2;
    bool has_remapped_rows;
};

static const struct profile profiles[] = {
    {"r418", false, false},  {"r450_51", false, true}, {"r470", false, true}, {"r510", true, true},
    {"r535_54", true, true}, {"r535_98", true, true},  {"r550", true, true},  {"r580", true, true},
};

static struct gpu_test test;

static void expect(enum device_field field, int64_t value)
{
    assert_int_equal(gpu_test_value(&test, 0, field), value);
}

static void expect_values(const struct profile *profile)
{
    expect(FIELD_UTIL_GPU_PERCENT, 29);
    expect(FIELD_UTIL_MEMORY_PERCENT, 11);
    expect(FIELD_MEM_TOTAL_BYTES, 1000000);
    expect(FIELD_MEM_USED_BYTES, profile->memory_v2 ? 200000 : 230000);
    assert_int_equal(gpu_test_has(&test, 0, FIELD_MEM_RESERVED_BYTES), profile->memory_v2);
    expect(FIELD_TEMP_C, -5);
    expect(FIELD_POWER_MW, 99000);
    expect(FIELD_CLOCK_GRAPHICS_MHZ, 1001);
    expect(FIELD_CLOCK_SM_MHZ, 1002);
    expect(FIELD_CLOCK_MEMORY_MHZ, 1003);
    expect(FIELD_CLOCK_VIDEO_MHZ, 1004);
    expect(FIELD_PSTATE, 2);
    expect(FIELD_THROTTLE_REASONS, 292);
    expect(FIELD_FAN_PERCENT, 130);
    expect(FIELD_UTIL_ENCODER_PERCENT, 3);
    expect(FIELD_UTIL_DECODER_PERCENT, 4);
    expect(FIELD_POWER_LIMIT_MW, 400000);
    expect(FIELD_CLOCK_GRAPHICS_MAX_MHZ, 2001);
    expect(FIELD_CLOCK_MEMORY_MAX_MHZ, 2003);
    expect(FIELD_ECC_MODE, 1);
    expect(FIELD_ECC_MODE_PENDING, 0);
    expect(FIELD_ECC_VOLATILE_CORRECTED, 1);
    expect(FIELD_ECC_VOLATILE_UNCORRECTED, 2);
    expect(FIELD_ECC_AGGREGATE_CORRECTED, 3);
    expect(FIELD_ECC_AGGREGATE_UNCORRECTED, 4);
    expect(FIELD_RECOVERY_ACTION, 2);
    expect(FIELD_PERSISTENCE_MODE, 1);
    expect(FIELD_COMPUTE_MODE, 3);
    expect(FIELD_PCIE_GEN, 3);
    expect(FIELD_PCIE_WIDTH, 8);
    expect(FIELD_PCIE_GEN_MAX, 5);
    expect(FIELD_PCIE_WIDTH_MAX, 16);
    expect(FIELD_MINOR, 3);
    assert_int_equal(gpu_test_has(&test, 0, FIELD_REMAPPED_PENDING), profile->has_remapped_rows);
    if (profile->has_remapped_rows) {
        expect(FIELD_REMAPPED_CORRECTED, 5);
        expect(FIELD_REMAPPED_UNCORRECTED, 6);
        expect(FIELD_REMAPPED_PENDING, 1);
        expect(FIELD_REMAPPED_FAILED, 0);
    }
    assert_false(gpu_test_has(&test, 0, FIELD_MIG_MODE));
    assert_false(gpu_test_has(&test, 0, FIELD_XID_LAST));
}

static void expect_texts(void)
{
    const struct device *device = gpu_test_device(&test, 0);

    assert_true(text_equal_string(test.snapshot.driver_version, "5.6"));
    assert_true(text_equal_string(test.snapshot.nvml_version, "7.8"));
    assert_true(text_equal_string(device->name, "Toy"));
    assert_true(text_equal_string(device->uuid, "GPU-0"));
    assert_true(text_equal_string(device->serial, "123"));
    assert_true(text_equal_string(device->pci_bus_id, "00000000:10:00.0"));
}

static void expect_entry(uint32_t place, enum process_list list, uint32_t pid, int64_t mem)
{
    const struct process_entry *entry = &test.snapshot.entries[place];

    assert_int_equal(entry->list, list);
    assert_int_equal(entry->pid, pid);
    assert_int_equal(entry->has_mem, mem >= 0);
    if (mem >= 0)
        assert_int_equal(entry->mem_bytes, mem);
    assert_int_equal(entry->gpu_instance_id, INSTANCE_NONE);
    assert_int_equal(entry->compute_instance_id, INSTANCE_NONE);
    assert_int_equal(entry->util_sm_percent, pid == 1001 ? 40 : PERCENT_ABSENT);
    assert_int_equal(entry->util_decoder_percent, pid == 1001 ? 2 : PERCENT_ABSENT);
}

static void expect_processes(void)
{
    const struct device *device = gpu_test_device(&test, 0);

    assert_int_equal(device->entry_count, 6);
    expect_entry(0, LIST_COMPUTE, 1001, 1048576);
    expect_entry(1, LIST_COMPUTE, 1002, -1);
    expect_entry(2, LIST_COMPUTE, 1004, 4096);
    expect_entry(3, LIST_GRAPHICS, 1002, -1);
    expect_entry(4, LIST_GRAPHICS, 1003, 0);
    expect_entry(5, LIST_MPS, 1004, 4096);
    for (unsigned list = 0; list < LIST_COUNT; list++)
        assert_int_equal(device->list_code[list], 0);
}

static void run_profile(const struct profile *profile)
{
    char text[sizeof(scenario) + 16];
    char *mark;

    memcpy(text, scenario, sizeof(scenario));
    mark = strstr(text, "PROFILE");
    memmove(mark + strlen(profile->name), mark + 7, strlen(mark + 7) + 1);
    memcpy(mark, profile->name, strlen(profile->name));

    gpu_test_init(&test);
    gpu_test_use_fake(&test, profile->name, text);
    gpu_test_start(&test);
    for (unsigned round = 0; round < 3; round++) {
        gpu_test_read_all(&test);
        assert_int_equal(test.snapshot.device_count, 1);
        assert_int_equal(gpu_test_device(&test, 0)->state, DEVICE_OK);
        expect_values(profile);
        expect_texts();
        expect_processes();
    }
    /* Its third version writes more than a caller expects; the second one does not. */
    if (strcmp(profile->name, "r535_54") == 0) {
        assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetComputeRunningProcesses_v2", 0), 3);
        assert_int_equal(gpu_test_count_calls(&test, "nvmlDeviceGetComputeRunningProcesses_v3", 0), 0);
    }
    gpu_test_deinit(&test);
}

static void every_profile_reads_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
        run_profile(&profiles[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_profile_reads_right)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
