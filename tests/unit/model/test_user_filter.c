#include "model/user_filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define ALICE 1000
#define BOB   1001

static struct device *add_device(struct snapshot *snapshot, enum device_kind kind, uint32_t index)
{
    struct device *device;

    assert_int_equal(snapshot_reserve(snapshot, snapshot->device_count + 1, 0, 0), 0);
    device = &snapshot->devices[snapshot->device_count++];
    device_init(device, index);
    device->kind = kind;
    device->first_entry = snapshot->entry_count;
    device->list_code[LIST_COMPUTE] = 0;
    return device;
}

/* Adds an entry to the last device; uid 0 means that the owner is not known. */
static void add_entry(struct snapshot *snapshot, uint32_t pid, uint32_t uid)
{
    struct process *process;

    assert_int_equal(snapshot_reserve(snapshot, 0, snapshot->entry_count + 1, snapshot->process_count + 1),
                     0);
    process = &snapshot->processes[snapshot->process_count];
    *process = (struct process){.pid = pid, .uid = uid, .facts = uid ? PROCESS_HAS_UID : 0};
    snapshot->entries[snapshot->entry_count++] =
        (struct process_entry){.pid = pid, .process = snapshot->process_count++};
    snapshot->devices[snapshot->device_count - 1].entry_count++;
}

static uint32_t filter(const struct snapshot *snapshot, uint32_t uid, struct snapshot *filtered)
{
    uint32_t unowned;

    assert_int_equal(user_filter_apply(snapshot, &uid, 1, filtered, &unowned), 0);
    return unowned;
}

static void keeps_the_users_devices_and_processes(void **state)
{
    struct snapshot snapshot, filtered;

    (void)state;
    snapshot_init(&snapshot);
    snapshot_init(&filtered);
    snapshot.hostname = TEXT_LITERAL("gpu1");
    add_device(&snapshot, DEVICE_GPU, 0);
    add_entry(&snapshot, 10, ALICE);
    add_device(&snapshot, DEVICE_GPU, 1);
    add_entry(&snapshot, 11, ALICE);
    add_entry(&snapshot, 12, BOB);
    add_entry(&snapshot, 13, BOB);
    add_device(&snapshot, DEVICE_GPU, 2);

    assert_int_equal(filter(&snapshot, BOB, &filtered), 0);
    assert_true(text_equal_string(filtered.hostname, "gpu1"));
    assert_int_equal(filtered.device_count, 1);
    assert_int_equal(filtered.devices[0].index, 1);
    assert_int_equal(filtered.devices[0].first_entry, 0);
    assert_int_equal(filtered.devices[0].entry_count, 2);
    assert_int_equal(filtered.entries[0].pid, 12);
    assert_int_equal(snapshot_process(&filtered, &filtered.entries[1])->uid, BOB);

    assert_int_equal(filter(&snapshot, ALICE, &filtered), 0);
    assert_int_equal(filtered.device_count, 2);
    assert_int_equal(filter(&snapshot, 4242, &filtered), 0);
    assert_int_equal(filtered.device_count, 0);
    snapshot_deinit(&filtered);
    snapshot_deinit(&snapshot);
}

static void unknown_lists_stay(void **state)
{
    struct snapshot snapshot, filtered;

    (void)state;
    snapshot_init(&snapshot);
    snapshot_init(&filtered);
    add_device(&snapshot, DEVICE_GPU, 0)->list_code[LIST_COMPUTE] = 3;
    add_device(&snapshot, DEVICE_GPU, 1);
    add_device(&snapshot, DEVICE_GPU, 2)->list_code[LIST_COMPUTE] = LIST_CODE_UNREAD;

    assert_int_equal(filter(&snapshot, BOB, &filtered), 0);
    assert_int_equal(filtered.device_count, 2);
    assert_int_equal(filtered.devices[0].index, 0);
    assert_int_equal(filtered.devices[1].index, 2);
    snapshot_deinit(&filtered);
    snapshot_deinit(&snapshot);
}

static void a_parent_stays_with_its_instances(void **state)
{
    struct snapshot snapshot, filtered;

    (void)state;
    snapshot_init(&snapshot);
    snapshot_init(&filtered);
    add_device(&snapshot, DEVICE_GPU, 0);
    add_device(&snapshot, DEVICE_MIG, 0);
    add_entry(&snapshot, 10, ALICE);
    add_device(&snapshot, DEVICE_MIG, 0)->mig_index = 1;
    add_entry(&snapshot, 11, BOB);
    add_device(&snapshot, DEVICE_GPU, 1);
    add_device(&snapshot, DEVICE_MIG, 1);

    assert_int_equal(filter(&snapshot, BOB, &filtered), 0);
    assert_int_equal(filtered.device_count, 2);
    assert_int_equal(filtered.devices[0].kind, DEVICE_GPU);
    assert_int_equal(filtered.devices[1].kind, DEVICE_MIG);
    assert_int_equal(filtered.devices[1].mig_index, 1);
    snapshot_deinit(&filtered);
    snapshot_deinit(&snapshot);
}

static void entries_of_nobody_are_counted(void **state)
{
    struct snapshot snapshot, filtered;

    (void)state;
    snapshot_init(&snapshot);
    snapshot_init(&filtered);
    add_device(&snapshot, DEVICE_GPU, 0);
    add_entry(&snapshot, 10, 0);
    add_entry(&snapshot, 11, BOB);
    snapshot.entries[1].process = PROCESS_UNKNOWN;

    assert_int_equal(filter(&snapshot, BOB, &filtered), 2);
    assert_int_equal(filtered.device_count, 0);
    snapshot_deinit(&filtered);
    snapshot_deinit(&snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_users_devices_and_processes),
        cmocka_unit_test(unknown_lists_stay),
        cmocka_unit_test(a_parent_stays_with_its_instances),
        cmocka_unit_test(entries_of_nobody_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
