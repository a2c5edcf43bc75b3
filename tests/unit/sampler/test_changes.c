#include "sampler/changes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define MIB (INT64_C(1) << 20)

struct fixture {
    struct changes changes;
    struct schedule schedule;
    struct snapshot snapshot;
    struct device devices[3];
    struct instant now;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->now = (struct instant){3600 * NS_PER_S * 24};
    changes_init(&f->changes);
    schedule_init(&f->schedule, 25 * NS_PER_MS, 20000, f->now);
    schedule_start(&f->schedule, 3, f->now);
    f->snapshot.devices = f->devices;
    f->snapshot.device_count = 3;
    for (uint32_t i = 0; i < 3; i++) {
        static const char *const uuids[] = {"GPU-a", "GPU-b", "GPU-c"};

        device_init(&f->devices[i], i);
        f->devices[i].uuid = text_from_string(uuids[i]);
        field_set(&f->devices[i].values, FIELD_MEM_TOTAL_BYTES, 81920 * MIB);
        field_set(&f->devices[i].values, FIELD_MEM_USED_BYTES, 1000 * MIB);
    }
    /* Everything was read. */
    for (int lane = 0; lane < LANE_COUNT; lane++)
        for (uint32_t i = 0; i < 3; i++)
            f->schedule.slots[lane][i].due_ns = f->now.ns + NS_PER_S;
    changes_apply(&f->changes, &f->snapshot, &f->schedule, f->now);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static void apply(struct fixture *f)
{
    changes_apply(&f->changes, &f->snapshot, &f->schedule, f->now);
}

static bool is_renewed(const struct fixture *f, uint32_t position)
{
    return f->schedule.slots[LANE_PROCESSES][position].due_ns < f->now.ns;
}

static void use(struct fixture *f, uint32_t position, int64_t bytes)
{
    field_set(&f->devices[position].values, FIELD_MEM_USED_BYTES, bytes);
}

static void test_nothing_changed(void **state)
{
    struct fixture *f = *state;

    apply(f);
    for (uint32_t i = 0; i < 3; i++) {
        assert_false(is_renewed(f, i));
        assert_false(f->schedule.jumped[i]);
    }
}

static void test_small_steps_add_up_until_the_lists_are_read(void **state)
{
    struct fixture *f = *state;

    use(f, 1, 1000 * MIB + 40 * MIB);
    apply(f);
    assert_false(f->schedule.jumped[1]);
    use(f, 1, 1000 * MIB + 65 * MIB);
    apply(f);
    assert_true(f->schedule.jumped[1]);
    assert_false(f->schedule.jumped[0]);
    f->schedule.jumped[1] = false;
    changes_lists_read(&f->changes, 1);
    apply(f);
    use(f, 1, 1000 * MIB + 65 * MIB + 64 * MIB);
    apply(f);
    assert_false(f->schedule.jumped[1]);
    use(f, 1, 1000 * MIB); /* down counts too */
    apply(f);
    assert_true(f->schedule.jumped[1]);
}

static void test_small_device_jumps_by_a_hundredth(void **state)
{
    struct fixture *f = *state;

    field_set(&f->devices[0].values, FIELD_MEM_TOTAL_BYTES, 2048 * MIB);
    use(f, 0, 1000 * MIB + 20 * MIB);
    apply(f);
    assert_false(f->schedule.jumped[0]);
    use(f, 0, 1000 * MIB + 21 * MIB);
    apply(f);
    assert_true(f->schedule.jumped[0]);
}

static void test_unknown_memory_is_no_jump(void **state)
{
    struct fixture *f = *state;

    field_unset(&f->devices[2].values, FIELD_MEM_USED_BYTES);
    apply(f);
    assert_false(f->schedule.jumped[2]);
    use(f, 2, 5000 * MIB);
    f->devices[2].flags = DEVICE_UNIFIED_MEMORY;
    apply(f);
    assert_false(f->schedule.jumped[2]);
}

static void test_device_that_comes_back_is_read(void **state)
{
    struct fixture *f = *state;

    f->devices[1].state = DEVICE_FAULT;
    apply(f);
    for (int lane = 0; lane < LANE_COUNT; lane++)
        f->schedule.slots[lane][1].due_ns = f->now.ns + NS_PER_S;
    f->devices[1].state = DEVICE_OK;
    apply(f);
    assert_true(is_renewed(f, 1));
    assert_false(is_renewed(f, 0));
}

static void test_exchanged_device_is_read(void **state)
{
    struct fixture *f = *state;

    f->devices[0].uuid = TEXT_LITERAL("GPU-new");
    apply(f);
    assert_true(is_renewed(f, 0));
    assert_false(is_renewed(f, 1));
}

static void test_new_positions_are_the_schedules_matter(void **state)
{
    struct fixture *f = *state;

    f->snapshot.device_count = 1;
    apply(f);
    f->snapshot.device_count = 3;
    apply(f);
    assert_false(is_renewed(f, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_changed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_small_steps_add_up_until_the_lists_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_small_device_jumps_by_a_hundredth, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_memory_is_no_jump, setup, teardown),
        cmocka_unit_test_setup_teardown(test_device_that_comes_back_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_exchanged_device_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_new_positions_are_the_schedules_matter, setup, teardown),
    };

    return cmocka_run_group_tests_name("changes", tests, NULL, NULL);
}
