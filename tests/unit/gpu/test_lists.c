/* Process lists and utilisation samples of odd shapes, with the toy library. */
#include "toy_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void lists_of_every_stride_are_read(void **state)
{
    static const unsigned strides[] = {16, 24, 32};

    for (unsigned i = 0; i < 3; i++) {
        toy->stride = strides[i];
        toy->pid_count = 40;
        gpu_test_start(&toy_test);
        gpu_test_read_all(&toy_test);
        for (uint32_t position = 0; position < 3; position++) {
            const struct device *device = gpu_test_device(&toy_test, position);

            assert_int_equal(device->entry_count, 40);
            for (uint32_t j = 0; j < 40; j++) {
                const struct process_entry *entry = &toy_test.snapshot.entries[device->first_entry + j];

                assert_int_equal(entry->pid, 100 + j);
                assert_true(entry->mem_bytes == (uint64_t)(100 + j) << 20);
                assert_int_equal(entry->gpu_instance_id, INSTANCE_NONE);
            }
        }
        toy_test_tear_down(state);
        toy_test_set_up(state);
    }
}

static void growing_list_is_followed(void **state)
{
    (void)state;
    toy->pid_count = 200;
    toy->grow_by = 20;
    gpu_test_start(&toy_test);
    assert_int_equal(toy_test.source->ops->read(toy_test.source, 0, GROUP_PROCESSES, toy_test.now),
                     SOURCE_OK);
    gpu_test_fill(&toy_test);
    assert_int_equal(toy->list_calls, 2); /* the first said 200, twice the first room was enough for 220 */
    assert_int_equal(gpu_test_device(&toy_test, 0)->entry_count, 220);

    /* The buffer stays: one call from now on. */
    toy->list_calls = 0;
    assert_int_equal(toy_test.source->ops->read(toy_test.source, 0, GROUP_PROCESSES, toy_test.now),
                     SOURCE_OK);
    assert_int_equal(toy->list_calls, 1);
}

static void list_that_never_fits_is_given_up(void **state)
{
    (void)state;
    toy->pid_count = 5000;
    toy->grow_by = 1;
    gpu_test_start(&toy_test);
    assert_int_equal(toy_test.source->ops->read(toy_test.source, 0, GROUP_PROCESSES, toy_test.now),
                     SOURCE_OK);
    gpu_test_fill(&toy_test);
    assert_int_equal(toy->list_calls, 3);
    assert_int_equal(gpu_test_device(&toy_test, 0)->list_code[LIST_COMPUTE], 7);
    assert_int_equal(gpu_test_device(&toy_test, 0)->entry_count, 0);
}

static unsigned read_load(uint32_t entry)
{
    assert_int_equal(toy_test.source->ops->read(toy_test.source, 0, GROUP_PROCESSES, toy_test.now),
                     SOURCE_OK);
    gpu_test_fill(&toy_test);
    return toy_test.snapshot.entries[entry].util_sm_percent;
}

/* The driver's ring: the newest sample of a process counts, once, if it is not long past. */
static void newest_samples_count_once(void **state)
{
    (void)state;
    toy->pid_count = 3;
    gpu_test_start(&toy_test);
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
    gpu_test_start(&toy_test);
    toy->sample_count = 1;
    toy->samples[0] = (struct toy_sample){100, 7000000, 10, 0, 0, 0};
    assert_int_equal(read_load(0), 10);
    gpu_test_pass(&toy_test, 500);
    assert_int_equal(read_load(0), 10);
    gpu_test_pass(&toy_test, 2000);
    assert_int_equal(read_load(0), PERCENT_ABSENT);
    toy->samples[0].time_stamp_us++;
    assert_int_equal(read_load(0), 10);
    toy->sample_count = 0;
    assert_int_equal(read_load(0), 10);
    gpu_test_pass(&toy_test, 2500);
    assert_int_equal(read_load(0), PERCENT_ABSENT);
}

static void ring_larger_than_the_buffer_is_read(void **state)
{
    (void)state;
    toy->pid_count = 40;
    gpu_test_start(&toy_test);
    toy->sample_count = TOY_MAX_SAMPLES;
    for (uint32_t i = 0; i < TOY_MAX_SAMPLES; i++)
        toy->samples[i] = (struct toy_sample){100 + i % 40, 5000000 + i, i % 101, 0, 0, 0};
    assert_int_equal(read_load(0), 280 % 101); /* the last multiple of 40 below 300 */
    assert_int_equal(toy_test.snapshot.entries[19].util_sm_percent, 299 % 101);
    assert_int_equal(toy_test.snapshot.entries[20].util_sm_percent, 260 % 101);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, toy_test_set_up, toy_test_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(lists_of_every_stride_are_read),
        CASE(growing_list_is_followed),
        CASE(list_that_never_fits_is_given_up),
        CASE(newest_samples_count_once),
        CASE(seen_samples_fade),
        CASE(ring_larger_than_the_buffer_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
