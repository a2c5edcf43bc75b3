#include "gpu/nvml_process_list.h"

#include "core/clock.h"
#include "gpu/nvml_abi.h"
#include "model/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ENTRIES 64
static uint8_t bytes[ENTRIES * PROCESS_STRIDE_MAX];

/* Writes entries of a length, as a library would, into a buffer that was filled with the pattern. */
static void write_list(unsigned stride, uint32_t count, uint32_t first_pid, uint32_t instance)
{
    memset(bytes, PROCESS_LIST_CANARY, sizeof(bytes));
    for (uint32_t i = 0; i < count; i++) {
        struct nvml_process_v3 entry = {
            .pid = first_pid + i,
            .used_bytes = (uint64_t)(i + 1) << 30,
            .gpu_instance_id = instance,
            .compute_instance_id = instance,
        };

        memcpy(bytes + (size_t)i * stride, &entry, stride);
    }
}

static void every_stride_is_found(void **state)
{
    static const unsigned strides[] = {16, 24, 32}, expected[] = {16, 24};
    static const uint32_t instances[] = {INSTANCE_NONE, 0, 7};

    (void)state;
    for (unsigned s = 0; s < 3; s++)
        for (unsigned e = 0; e < 2; e++)
            for (unsigned i = 0; i < 3; i++)
                for (uint32_t count = 1; count <= ENTRIES; count++) {
                    bool sure = false;

                    write_list(strides[s], count, 1000, instances[i]);
                    assert_int_equal(process_stride_detect(bytes, sizeof(bytes), count, expected[e], &sure),
                                     strides[s]);
                    assert_int_equal(sure, count >= 2);
                }
}

/* Leftovers behind the list hide its end: plausible pids decide. */
static void garbage_behind_the_list(void **state)
{
    bool sure;

    (void)state;
    for (unsigned stride = 16; stride <= 32; stride += 8) {
        write_list(stride, 4, 4000000, INSTANCE_NONE);
        memset(bytes + 4 * stride, 0x7f, 40);
        assert_int_equal(process_stride_detect(bytes, sizeof(bytes), 4, 24, &sure), stride);
    }
}

/* A pid 0 among the others (Jetson) must not move the stride. */
static void garbage_in_the_list(void **state)
{
    bool sure;

    (void)state;
    write_list(24, 3, 5000, INSTANCE_NONE);
    memset(bytes + 24, 0, 4);
    assert_int_equal(process_stride_detect(bytes, sizeof(bytes), 3, 24, &sure), 24);
    memset(bytes + 24, 0xff, 4);
    assert_int_equal(process_stride_detect(bytes, sizeof(bytes), 3, 24, &sure), 24);
}

static void nothing_but_garbage_keeps_what_is_expected(void **state)
{
    unsigned seed = (unsigned)clock_now().ns;
    const char *given = getenv("TEST_SEED");

    (void)state;
    seed = given ? (unsigned)strtoul(given, NULL, 10) : seed;
    printf("# TEST_SEED=%u\n", seed);
    srand(seed);
    for (unsigned round = 0; round < 1000; round++) {
        bool sure;
        unsigned stride;

        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)(rand() >> 7);
        stride = process_stride_detect(bytes, sizeof(bytes), 1 + (uint32_t)round % ENTRIES, 24, &sure);
        assert_true(stride == 16 || stride == 24 || stride == 32);
    }
    memset(bytes, 0xff, sizeof(bytes));
    {
        bool sure = true;

        assert_int_equal(process_stride_detect(bytes, sizeof(bytes), 8, 24, &sure), 24);
        assert_false(sure);
    }
}

static void entries_are_decoded(void **state)
{
    struct process_entry entry;

    (void)state;
    write_list(16, 2, 77, 3);
    entry = process_entry_decode(bytes + 16, 16, LIST_GRAPHICS);
    assert_int_equal(entry.pid, 78);
    assert_int_equal(entry.list, LIST_GRAPHICS);
    assert_true(entry.has_mem);
    assert_true(entry.mem_bytes == (uint64_t)2 << 30);
    assert_int_equal(entry.gpu_instance_id, INSTANCE_NONE); /* the short form has none */
    assert_int_equal(entry.util_sm_percent, PERCENT_ABSENT);
    assert_int_equal(entry.process, PROCESS_UNKNOWN);

    write_list(32, 1, 77, 3);
    entry = process_entry_decode(bytes, 32, LIST_COMPUTE);
    assert_int_equal(entry.gpu_instance_id, 3);
    assert_int_equal(entry.compute_instance_id, 3);

    memset(bytes + 8, 0xff, 8);
    entry = process_entry_decode(bytes, 32, LIST_COMPUTE);
    assert_false(entry.has_mem);
    assert_true(entry.mem_bytes == 0);
}

static void names_tell_what_to_expect(void **state)
{
    (void)state;
    assert_int_equal(process_stride_expected("nvmlDeviceGetComputeRunningProcesses"), 16);
    assert_int_equal(process_stride_expected("nvmlDeviceGetComputeRunningProcesses_v2"), 24);
    assert_int_equal(process_stride_expected("nvmlDeviceGetComputeRunningProcesses_v3"), 24);
}

static void percentages_and_pids_have_limits(void **state)
{
    (void)state;
    assert_int_equal(process_percent(0), 0);
    assert_int_equal(process_percent(100), 100);
    assert_int_equal(process_percent(101), 100);
    assert_int_equal(process_percent(UINT32_MAX), PERCENT_ABSENT);
    assert_false(process_pid_is_plausible(0));
    assert_true(process_pid_is_plausible(1));
    assert_true(process_pid_is_plausible(PROCESS_PID_MAX));
    assert_false(process_pid_is_plausible(PROCESS_PID_MAX + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stride_is_found),
        cmocka_unit_test(garbage_behind_the_list),
        cmocka_unit_test(garbage_in_the_list),
        cmocka_unit_test(nothing_but_garbage_keeps_what_is_expected),
        cmocka_unit_test(entries_are_decoded),
        cmocka_unit_test(names_tell_what_to_expect),
        cmocka_unit_test(percentages_and_pids_have_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
