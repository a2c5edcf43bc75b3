#include "sampler/pid_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void test_put_and_find(void **state)
{
    struct pid_map map = {0};

    (void)state;
    assert_null(pid_map_find(&map, 1));
    for (uint32_t pid = 1; pid <= 20000; pid++) {
        struct pid_slot *slot = pid_map_put(&map, pid * 7);

        assert_non_null(slot);
        assert_false(slot->was_read);
        slot->was_read = true;
        slot->process = pid;
    }
    assert_int_equal(map.used, 20000);
    for (uint32_t pid = 1; pid <= 20000; pid++)
        assert_int_equal(pid_map_find(&map, pid * 7)->process, pid);
    assert_int_equal(pid_map_put(&map, 7)->process, 1); /* the one that is there */
    assert_int_equal(map.used, 20000);
    assert_null(pid_map_find(&map, 8));
    assert_null(pid_map_find(&map, 0));
    pid_map_deinit(&map);
}

static void test_sweep_forgets_and_shrinks(void **state)
{
    struct pid_map map = {0};

    (void)state;
    for (uint32_t pid = 1; pid <= 5000; pid++)
        pid_map_put(&map, pid)->round = pid <= 4990 ? 1 : 2;
    pid_map_sweep(&map, 2);
    assert_int_equal(map.used, 10);
    assert_true(map.slot_count <= 64);
    assert_null(pid_map_find(&map, 1));
    assert_non_null(pid_map_find(&map, 5000));
    pid_map_sweep(&map, 3);
    assert_int_equal(map.used, 0);
    pid_map_deinit(&map);
    pid_map_sweep(&map, 3);
}

/* Pids that come and go for days: memory does not grow. */
static void test_memory_follows_what_is_there(void **state)
{
    struct pid_map map = {0};

    (void)state;
    for (uint32_t round = 1; round < 2000; round++) {
        for (uint32_t i = 0; i < 50; i++)
            pid_map_put(&map, round * 50 + i)->round = round;
        if (round % 10 == 0)
            pid_map_sweep(&map, round);
    }
    assert_true(map.slot_count <= 2048);
    pid_map_deinit(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_and_find),
        cmocka_unit_test(test_sweep_forgets_and_shrinks),
        cmocka_unit_test(test_memory_follows_what_is_there),
    };

    return cmocka_run_group_tests_name("pid_map", tests, NULL, NULL);
}
