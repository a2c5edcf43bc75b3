#include "contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct contract_fixture *fixture;

static const enum field_group read_groups[] = {GROUP_HOT, GROUP_WARM, GROUP_PROCESSES, GROUP_SLOW,
                                               GROUP_STATIC};
#define READ_GROUPS (sizeof(read_groups) / sizeof(read_groups[0]))

/* The source of the running case, and what its observer saw. */
static struct {
    struct source *source;
    struct snapshot snapshot;
    struct instant now;
    int depth;
    size_t calls;
    size_t calls_on[SNAPSHOT_MAX_DEVICES];
} run;

static void begin(void *context, const char *call, int32_t device)
{
    assert_ptr_equal(context, &run);
    assert_int_equal(run.depth++, 0);
    assert_non_null(call);
    assert_true(call[0]);
    assert_in_range(device + 1, 0, SNAPSHOT_MAX_DEVICES);
    run.calls++;
    if (device >= 0)
        run.calls_on[device]++;
}

static void end(void *context)
{
    assert_ptr_equal(context, &run);
    assert_int_equal(--run.depth, 0);
}

static struct source_options fresh_options(void)
{
    memset(&run, 0, sizeof(run));
    snapshot_init(&run.snapshot);
    run.now = clock_now();
    return (struct source_options){.sysfs_root = "/nonexistent", .observer = {begin, end, &run}};
}

static void open_source(void)
{
    struct source_options options = fresh_options();

    run.source = fixture->open(&options);
    assert_non_null(run.source);
}

static int close_source(void **state)
{
    (void)state;
    source_free(run.source);
    snapshot_deinit(&run.snapshot);
    fixture->close();
    return 0;
}

static void start(void)
{
    open_source();
    assert_int_equal(run.source->ops->start(run.source, run.now), SOURCE_OK);
}

static void fill(void)
{
    snapshot_clear(&run.snapshot);
    assert_int_equal(run.source->ops->fill(run.source, run.now, &run.snapshot), 0);
    assert_int_equal(run.depth, 0);
}

static void read_group(enum field_group group)
{
    for (uint32_t i = 0; i < run.source->ops->device_count(run.source); i++)
        assert_int_equal(run.source->ops->read(run.source, i, group, run.now), SOURCE_OK);
}

static void read_all(void)
{
    for (size_t i = 0; i < READ_GROUPS; i++)
        read_group(read_groups[i]);
}

static void pass_ms(int64_t ms)
{
    run.now = instant_add_ns(run.now, ms * NS_PER_MS);
}

/* What a picture must be in any case. */
static void expect_sound_picture(void)
{
    const struct snapshot *snapshot = &run.snapshot;
    uint32_t entries = 0;

    assert_int_equal(snapshot->device_count, run.source->ops->device_count(run.source));
    assert_int_equal(snapshot->process_count, 0);
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        const struct device *device = &snapshot->devices[i];

        assert_true(device->state < DEVICE_STATE_COUNT);
        assert_int_equal(device->state == DEVICE_FAULT, device->fault_code != 0);
        assert_true(device->values.present >> FIELD_COUNT == 0);
        /* An instance stands behind its GPU, or another instance of it. */
        if (device->kind == DEVICE_MIG)
            assert_true(i > 0 && snapshot->devices[i - 1].index == device->index);
        assert_int_equal(device->first_entry, entries);
        assert_true(device->entry_count <= snapshot->entry_count - entries);
        entries += device->entry_count;
    }
    assert_int_equal(entries, snapshot->entry_count);
    for (uint32_t i = 0; i < snapshot->entry_count; i++) {
        const struct process_entry *entry = &snapshot->entries[i];

        assert_true(entry->pid > 0);
        assert_true(entry->list < LIST_COUNT);
        assert_int_equal(entry->process, PROCESS_UNKNOWN);
        assert_true(entry->util_sm_percent <= 100 || entry->util_sm_percent == PERCENT_ABSENT);
    }
}

static void nothing_is_called_before_start(void **state)
{
    (void)state;
    open_source();
    assert_int_equal(run.source->ops->device_count(run.source), 0);
    assert_int_equal(run.source->ops->read(run.source, 0, GROUP_HOT, run.now), SOURCE_OK);
    assert_int_not_equal(run.source->ops->check(run.source, run.now), SOURCE_OK);
    fill();
    assert_int_equal(run.snapshot.device_count, 0);
    assert_int_equal(run.calls, 0);
    assert_non_null(run.source->ops->name);
}

static void start_lists_all_devices_with_their_facts(void **state)
{
    (void)state;
    start();
    assert_int_equal(run.source->ops->device_count(run.source), 3);
    assert_true(run.calls > 0);
    fill();
    expect_sound_picture();
    assert_int_equal(run.snapshot.fault, NODE_FAULT_NONE);
    for (uint32_t i = 0; i < 3; i++) {
        const struct device *device = &run.snapshot.devices[i];

        assert_int_equal(device->index, i);
        assert_int_equal(device->kind, DEVICE_GPU);
        assert_int_equal(device->state, i == 1 ? DEVICE_FAULT : DEVICE_OK);
        assert_int_equal(text_is_present(device->name), i != 1);
        assert_int_equal(text_is_present(device->uuid), i != 1);
        assert_true((device->group_age_us[GROUP_STATIC] == 0) == (i != 1));
        assert_true(device->group_age_us[GROUP_HOT] == AGE_NEVER);
        assert_true(device->group_age_us[GROUP_WARM] == AGE_NEVER);
        assert_true(device->group_age_us[GROUP_PROCESSES] == AGE_NEVER);
        assert_true(device->group_age_us[GROUP_SLOW] == AGE_NEVER);
        assert_int_equal(device->list_code[LIST_COMPUTE], LIST_CODE_UNREAD);
        assert_int_equal(device->entry_count, 0);
    }
}

/* A group's values come with that group's reading, and no other. */
static void groups_are_read_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < READ_GROUPS - 1; i++) {
        uint64_t others = ~(field_group_mask(read_groups[i]) | field_group_mask(GROUP_STATIC));

        start();
        fill();
        others &= ~run.snapshot.devices[0].values.present;
        pass_ms(10);
        read_group(read_groups[i]);
        fill();
        expect_sound_picture();
        assert_true((run.snapshot.devices[0].values.present & others) == 0);
        assert_true(run.snapshot.devices[0].group_age_us[read_groups[i]] == 0);
        assert_true(run.snapshot.devices[0].group_age_us[GROUP_STATIC] == 10000);
        assert_int_equal(run.snapshot.devices[0].entry_count > 0, read_groups[i] == GROUP_PROCESSES);
        if (i < READ_GROUPS - 2)
            close_source(state);
    }
}

static void all_is_read(void **state)
{
    const uint64_t not_here = field_group_mask(GROUP_STATIC) | UINT64_C(1) << FIELD_XID_LAST |
                              UINT64_C(1) << FIELD_XID_COUNT | UINT64_C(1) << FIELD_XID_LAST_UNIX_US;

    (void)state;
    start();
    read_all();
    fill();
    expect_sound_picture();
    for (unsigned field = 0; field < FIELD_COUNT; field++)
        if (!(not_here >> field & 1) && !field_has(&run.snapshot.devices[2].values, field))
            fail_msg("%s is absent", field_info(field)->json_name);
    assert_true(run.snapshot.devices[2].entry_count > 0);
    assert_int_equal(run.snapshot.devices[2].list_code[LIST_COMPUTE], 0);
}

static void broken_device_stays_a_row_and_harms_no_other(void **state)
{
    (void)state;
    start();
    for (unsigned i = 0; i < 5; i++) {
        read_all();
        fill();
        expect_sound_picture();
        assert_int_equal(run.snapshot.device_count, 3);
        assert_int_equal(run.snapshot.devices[1].state, DEVICE_FAULT);
        assert_int_equal(run.snapshot.devices[1].fault_code, fixture->fault_code);
        assert_true(run.snapshot.devices[1].values.present == 0);
        assert_int_equal(run.snapshot.devices[1].entry_count, 0);
        assert_int_equal(run.snapshot.devices[0].state, DEVICE_OK);
        assert_int_equal(run.snapshot.devices[2].state, DEVICE_OK);
        pass_ms(1000);
        assert_int_equal(run.source->ops->check(run.source, run.now), SOURCE_OK);
    }
}

static void ages_grow_until_the_next_reading(void **state)
{
    (void)state;
    start();
    read_all();
    for (int64_t ms = 0; ms <= 3000; ms += 1500) {
        fill();
        assert_true(run.snapshot.devices[0].group_age_us[GROUP_HOT] == (uint64_t)ms * 1000);
        pass_ms(1500);
    }
    read_group(GROUP_HOT);
    fill();
    assert_true(run.snapshot.devices[0].group_age_us[GROUP_HOT] == 0);
    assert_true(run.snapshot.devices[0].group_age_us[GROUP_WARM] == 4500000);
}

static void filling_calls_nothing_and_repeats(void **state)
{
    size_t calls;
    struct field_values values;
    uint32_t entries;

    (void)state;
    start();
    read_all();
    fill();
    calls = run.calls;
    values = run.snapshot.devices[0].values;
    entries = run.snapshot.entry_count;
    for (unsigned i = 0; i < 3; i++) {
        fill();
        assert_memory_equal(&run.snapshot.devices[0].values, &values, sizeof(values));
        assert_int_equal(run.snapshot.entry_count, entries);
    }
    assert_int_equal(run.calls, calls);
}

static void left_out_device_is_not_called(void **state)
{
    struct source_options options = fresh_options();

    (void)state;
    device_set_add(&options.left_out, 0);
    run.source = fixture->open(&options);
    assert_int_equal(run.source->ops->start(run.source, run.now), SOURCE_OK);
    for (unsigned i = 0; i < 10; i++) {
        read_all();
        pass_ms(1000);
        assert_int_equal(run.source->ops->check(run.source, run.now), SOURCE_OK);
    }
    fill();
    expect_sound_picture();
    assert_int_equal(run.calls_on[0], 0);
    assert_true(run.calls_on[2] > 0);
    assert_int_equal(run.snapshot.device_count, 3);
    assert_int_equal(run.snapshot.devices[0].state, DEVICE_LEFT_OUT);
    assert_int_equal(run.snapshot.devices[0].index, 0);
    assert_true(run.snapshot.devices[0].values.present == 0);
    assert_int_equal(run.snapshot.devices[2].state, DEVICE_OK);
}

static void positions_that_do_not_exist_are_ignored(void **state)
{
    size_t calls;

    (void)state;
    start();
    calls = run.calls;
    for (size_t i = 0; i < READ_GROUPS; i++) {
        assert_int_equal(run.source->ops->read(run.source, 3, read_groups[i], run.now), SOURCE_OK);
        assert_int_equal(run.source->ops->read(run.source, UINT32_MAX, read_groups[i], run.now), SOURCE_OK);
    }
    assert_int_equal(run.calls, calls);
}

static void steady_state_needs_no_lookups(void **state)
{
    size_t first, later;

    (void)state;
    start();
    for (unsigned i = 0; i < 3; i++) {
        read_all();
        pass_ms(1000);
        assert_int_equal(run.source->ops->check(run.source, run.now), SOURCE_OK);
    }
    first = run.calls;
    read_all();
    later = run.calls - first;
    for (unsigned i = 0; i < 20; i++) {
        first = run.calls;
        read_all();
        assert_int_equal(run.calls - first, later);
    }
}

static void missing_library_is_a_fault_with_a_text(void **state)
{
    struct source_options options = fresh_options();

    (void)state;
    run.source = fixture->open_missing(&options);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(run.source->ops->start(run.source, run.now), SOURCE_FAULT);
        fill();
        expect_sound_picture();
        assert_int_equal(run.snapshot.fault, NODE_FAULT_LIBRARY_MISSING);
        assert_true(text_is_present(run.snapshot.fault_text));
        assert_int_equal(run.snapshot.device_count, 0);
        assert_int_not_equal(run.source->ops->check(run.source, run.now), SOURCE_OK);
    }
}

static void it_can_be_freed_at_any_time(void **state)
{
    size_t calls;

    (void)state;
    source_free(NULL);
    start();
    read_group(GROUP_PROCESSES);
    calls = run.calls;
    source_free(run.source);
    run.source = NULL;
    assert_int_equal(run.calls, calls);
}

int contract_run(const struct contract_fixture *of_vendor)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_is_called_before_start, close_source),
        cmocka_unit_test_teardown(start_lists_all_devices_with_their_facts, close_source),
        cmocka_unit_test_teardown(groups_are_read_apart, close_source),
        cmocka_unit_test_teardown(all_is_read, close_source),
        cmocka_unit_test_teardown(broken_device_stays_a_row_and_harms_no_other, close_source),
        cmocka_unit_test_teardown(ages_grow_until_the_next_reading, close_source),
        cmocka_unit_test_teardown(filling_calls_nothing_and_repeats, close_source),
        cmocka_unit_test_teardown(left_out_device_is_not_called, close_source),
        cmocka_unit_test_teardown(positions_that_do_not_exist_are_ignored, close_source),
        cmocka_unit_test_teardown(steady_state_needs_no_lookups, close_source),
        cmocka_unit_test_teardown(missing_library_is_a_fault_with_a_text, close_source),
        cmocka_unit_test_teardown(it_can_be_freed_at_any_time, close_source),
    };

    fixture = of_vendor;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
