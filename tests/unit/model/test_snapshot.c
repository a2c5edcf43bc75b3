#include "model/snapshot.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void a_new_snapshot_is_empty(void **state)
{
    struct snapshot snapshot;

    (void)state;
    memset(&snapshot, 0xaa, sizeof(snapshot));
    snapshot_init(&snapshot);
    assert_int_equal(snapshot.device_count + snapshot.entry_count + snapshot.process_count, 0);
    assert_int_equal(snapshot.pending.device, -1);
    assert_false(text_is_present(snapshot.pending.name));
    assert_true(snapshot.host_age_us == AGE_NEVER);
    assert_int_equal(snapshot.fault, NODE_FAULT_NONE);
    snapshot_deinit(&snapshot);
}

static void a_zeroed_snapshot_may_be_freed(void **state)
{
    struct snapshot snapshot = {0};

    (void)state;
    snapshot_deinit(&snapshot);
    snapshot_deinit(&snapshot);
    assert_null(snapshot.devices);
}

static void growing_keeps_the_content(void **state)
{
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot);
    assert_int_equal(snapshot_reserve(&snapshot, 1, 1, 1), 0);
    device_init(&snapshot.devices[0], 5);
    snapshot.entries[0] = (struct process_entry){.pid = 6};
    snapshot.processes[0] = (struct process){.pid = 7};
    assert_int_equal(snapshot_reserve(&snapshot, 100, 1000, 1000), 0);
    assert_int_equal(snapshot.devices[0].index, 5);
    assert_int_equal(snapshot.entries[0].pid, 6);
    assert_int_equal(snapshot.processes[0].pid, 7);
    assert_int_equal(snapshot.device_cap, 100);
    assert_int_equal(snapshot_reserve(&snapshot, 2, 2, 2), 0); /* never smaller */
    assert_int_equal(snapshot.device_cap, 100);
    assert_int_equal(snapshot.entry_cap, 1000);
    snapshot_deinit(&snapshot);
    assert_int_equal(snapshot.device_cap, 0);
}

static void the_caps_hold(void **state)
{
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot);
    assert_int_equal(snapshot_reserve(&snapshot, SNAPSHOT_MAX_DEVICES + 1, 1, 1), -E2BIG);
    assert_int_equal(snapshot_reserve(&snapshot, 1, SNAPSHOT_MAX_ENTRIES + 1, 1), -E2BIG);
    assert_int_equal(snapshot_reserve(&snapshot, 1, 1, SNAPSHOT_MAX_PROCESSES + 1), -E2BIG);
    assert_null(snapshot.devices);
    assert_null(snapshot.entries);
    assert_null(snapshot.processes);
    assert_int_equal(
        snapshot_reserve(&snapshot, SNAPSHOT_MAX_DEVICES, SNAPSHOT_MAX_ENTRIES, SNAPSHOT_MAX_PROCESSES), 0);
    snapshot_deinit(&snapshot);
}

static void clearing_keeps_the_memory_only(void **state)
{
    struct snapshot snapshot;
    struct device *devices;

    (void)state;
    snapshot_init(&snapshot);
    assert_int_equal(snapshot_reserve(&snapshot, 4, 5, 6), 0);
    devices = snapshot.devices;
    snapshot.device_count = 4, snapshot.entry_count = 5, snapshot.process_count = 6;
    snapshot.hostname = TEXT_LITERAL("gpu01");
    snapshot.fault = NODE_FAULT_HUNG;
    snapshot.pending = (struct pending_call){TEXT_LITERAL("nvmlInit_v2"), 0, 5};
    snapshot.commands_cut = 1;
    snapshot_clear(&snapshot);
    assert_ptr_equal(snapshot.devices, devices);
    assert_int_equal(snapshot.device_cap, 4);
    assert_int_equal(snapshot.entry_cap, 5);
    assert_int_equal(snapshot.process_cap, 6);
    assert_int_equal(snapshot.device_count + snapshot.entry_count + snapshot.process_count, 0);
    assert_false(text_is_present(snapshot.hostname) || text_is_present(snapshot.pending.name));
    assert_int_equal(snapshot.pending.device, -1);
    assert_int_equal(snapshot.fault, NODE_FAULT_NONE);
    assert_int_equal(snapshot.commands_cut, 0);
    snapshot_deinit(&snapshot);
}

static void entries_find_their_process(void **state)
{
    struct process processes[2] = {{.pid = 1}, {.pid = 2}};
    struct snapshot snapshot = {.processes = processes, .process_count = 2};

    (void)state;
    assert_ptr_equal(snapshot_process(&snapshot, &(struct process_entry){.process = 1}), &processes[1]);
    assert_null(snapshot_process(&snapshot, &(struct process_entry){.process = 2}));
    assert_null(snapshot_process(&snapshot, &(struct process_entry){.process = PROCESS_UNKNOWN}));
}

static void a_groups_age_is_that_of_its_oldest_reading(void **state)
{
    struct device devices[3];
    struct snapshot snapshot = {.devices = devices, .device_count = 3};

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        device_init(&devices[i], i);
    assert_true(snapshot_group_age_us(&snapshot, GROUP_HOT) == AGE_NEVER);
    devices[0].group_age_us[GROUP_HOT] = 5;
    devices[1].group_age_us[GROUP_HOT] = 30; /* the third was never read and does not count */
    assert_true(snapshot_group_age_us(&snapshot, GROUP_HOT) == 30);
    devices[2].group_age_us[GROUP_HOT] = 0;
    assert_true(snapshot_group_age_us(&snapshot, GROUP_HOT) == 30);
    assert_true(snapshot_group_age_us(&snapshot, GROUP_SLOW) == AGE_NEVER);
    snapshot.device_count = 0;
    assert_true(snapshot_group_age_us(&snapshot, GROUP_HOT) == AGE_NEVER);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_snapshot_is_empty),
        cmocka_unit_test(a_zeroed_snapshot_may_be_freed),
        cmocka_unit_test(growing_keeps_the_content),
        cmocka_unit_test(the_caps_hold),
        cmocka_unit_test(clearing_keeps_the_memory_only),
        cmocka_unit_test(entries_find_their_process),
        cmocka_unit_test(a_groups_age_is_that_of_its_oldest_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
