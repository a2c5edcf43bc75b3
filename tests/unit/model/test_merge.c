#include "core/clock.h"
#include "model/merge.h"
#include "support/random_snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

static struct random seed;

/* One GPU whose entries are given. */
struct fixture {
    struct snapshot snapshot;
    struct device devices[2];
    struct process_row rows[16];
};

static struct fixture one_device(struct process_entry *entries, uint32_t count)
{
    struct fixture fixture = {0};

    device_init(&fixture.devices[0], 0);
    device_init(&fixture.devices[1], 0);
    fixture.devices[0].entry_count = count;
    fixture.snapshot.entries = entries;
    fixture.snapshot.entry_count = count;
    fixture.snapshot.device_count = 1;
    return fixture;
}

/* Arrays that are members cannot point to themselves before the fixture stands still. */
static size_t gpustat_rows(struct fixture *fixture)
{
    fixture->snapshot.devices = fixture->devices;
    return merge_gpustat(&fixture->snapshot, &fixture->devices[0], fixture->rows);
}

static size_t clustat_rows(struct fixture *fixture, unsigned device)
{
    fixture->snapshot.devices = fixture->devices;
    return merge_clustat(&fixture->snapshot, &fixture->devices[device], fixture->rows);
}

static struct process_entry entry(uint8_t list, uint32_t pid)
{
    return (struct process_entry){
        .list = list,
        .pid = pid,
        .util_sm_percent = PERCENT_ABSENT,
        .gpu_instance_id = INSTANCE_NONE,
        .compute_instance_id = INSTANCE_NONE,
        .process = PROCESS_UNKNOWN,
    };
}

static struct process_entry entry_with_mem(uint8_t list, uint32_t pid, uint64_t mem_bytes)
{
    struct process_entry made = entry(list, pid);

    made.has_mem = true;
    made.mem_bytes = mem_bytes;
    return made;
}

static struct process_entry entry_of_process(uint8_t list, uint32_t pid, uint32_t process)
{
    struct process_entry made = entry(list, pid);

    made.process = process;
    return made;
}

static struct process_entry entry_in_instance(uint8_t list, uint32_t pid, uint32_t gpu, uint32_t compute)
{
    struct process_entry made = entry(list, pid);

    made.gpu_instance_id = gpu;
    made.compute_instance_id = compute;
    return made;
}

static void no_entries_give_no_rows(void **state)
{
    struct fixture fixture = one_device(NULL, 0);

    (void)state;
    assert_int_equal(gpustat_rows(&fixture), 0);
    assert_int_equal(clustat_rows(&fixture, 0), 0);
}

static void gpustat_takes_the_compute_list_first(void **state)
{
    struct process_entry entries[] = {
        entry_with_mem(LIST_GRAPHICS, 1, 10), entry_with_mem(LIST_MPS, 2, 20),
        entry_with_mem(LIST_COMPUTE, 3, 30),  entry_with_mem(LIST_COMPUTE, 1, 5),
        entry_with_mem(LIST_GRAPHICS, 4, 40),
    };
    struct fixture fixture = one_device(entries, 5);

    (void)state;
    assert_int_equal(gpustat_rows(&fixture), 3); /* MPS stays unread */
    assert_int_equal(fixture.rows[0].pid, 3);
    assert_int_equal(fixture.rows[1].pid, 1);
    assert_int_equal(fixture.rows[1].mem_bytes, 5); /* its first entry, though the other has more */
    assert_int_equal(fixture.rows[1].lists, 1 << LIST_COMPUTE);
    assert_int_equal(fixture.rows[2].pid, 4);
}

static void gpustat_leaves_out_what_is_gone(void **state)
{
    struct process processes[] = {{.state = PROCESS_EXITED},
                                  {.state = PROCESS_HIDDEN},
                                  {.state = PROCESS_ZOMBIE},
                                  {.state = PROCESS_RUNNING}};
    struct process_entry entries[] = {
        entry_of_process(LIST_COMPUTE, 1, 0),
        entry_of_process(LIST_COMPUTE, 2, 1),
        entry_of_process(LIST_COMPUTE, 3, 2),
        entry_of_process(LIST_COMPUTE, 4, 3),
        entry(LIST_COMPUTE, 5), /* nothing known of it yet */
    };
    struct fixture fixture = one_device(entries, 5);

    (void)state;
    fixture.snapshot.processes = processes;
    fixture.snapshot.process_count = 4;
    assert_int_equal(gpustat_rows(&fixture), 3);
    assert_int_equal(fixture.rows[0].pid, 3);
    assert_ptr_equal(fixture.rows[0].process, &processes[2]);
    assert_int_equal(fixture.rows[1].pid, 4);
    assert_int_equal(fixture.rows[2].pid, 5);
    assert_null(fixture.rows[2].process);
    assert_int_equal(clustat_rows(&fixture, 0), 5); /* clustat shows them all */
}

static void clustat_gives_one_row_per_process(void **state)
{
    struct process_entry entries[] = {
        entry_with_mem(LIST_COMPUTE, 7, 10),  entry(LIST_COMPUTE, 8),
        entry_with_mem(LIST_GRAPHICS, 7, 30), entry_with_mem(LIST_MPS, 7, 20),
        entry_with_mem(LIST_MPS, 8, 0),
    };
    struct fixture fixture = one_device(entries, 5);

    (void)state;
    entries[2].util_sm_percent = 40, entries[3].util_sm_percent = 50;
    assert_int_equal(clustat_rows(&fixture, 0), 2);
    assert_int_equal(fixture.rows[0].pid, 7);
    assert_int_equal(fixture.rows[0].mem_bytes, 30);
    assert_int_equal(fixture.rows[0].lists, 1 << LIST_COMPUTE | 1 << LIST_GRAPHICS | 1 << LIST_MPS);
    assert_int_equal(fixture.rows[0].util_sm_percent, 40);
    assert_int_equal(fixture.rows[1].pid, 8);
    assert_true(fixture.rows[1].has_mem && fixture.rows[1].mem_bytes == 0); /* known to be 0, not unknown */
}

static void unknown_memory_stays_unknown(void **state)
{
    struct process_entry entries[] = {entry(LIST_COMPUTE, 7), entry(LIST_GRAPHICS, 7)};
    struct fixture fixture = one_device(entries, 2);

    (void)state;
    assert_int_equal(clustat_rows(&fixture, 0), 1);
    assert_false(fixture.rows[0].has_mem);
}

static void instances_are_rows_of_their_own(void **state)
{
    struct process_entry entries[] = {
        entry_in_instance(LIST_COMPUTE, 7, 1, 0),
        entry_in_instance(LIST_COMPUTE, 7, 2, 0),
        entry_in_instance(LIST_COMPUTE, 7, 1, 1),
        entry_in_instance(LIST_GRAPHICS, 7, 1, 0),
    };
    struct fixture fixture = one_device(entries, 4);

    (void)state;
    assert_int_equal(clustat_rows(&fixture, 0), 3);
    assert_int_equal(fixture.rows[0].lists, 1 << LIST_COMPUTE | 1 << LIST_GRAPHICS);
    assert_int_equal(fixture.rows[2].compute_instance_id, 1);
    assert_int_equal(gpustat_rows(&fixture), 1); /* gpustat knows pids only */
}

static void a_parent_keeps_what_has_no_instance_row(void **state)
{
    struct process_entry entries[] = {
        entry(LIST_COMPUTE, 1), entry_in_instance(LIST_COMPUTE, 2, 3, 0), /* has a row below */
        entry_in_instance(LIST_COMPUTE, 3, 4, 0),                         /* instance not in the snapshot */
        entry_in_instance(LIST_COMPUTE, 2, 3, 0),                         /* the instance's own list */
    };
    struct fixture fixture = one_device(entries, 3);

    (void)state;
    fixture.devices[1].kind = DEVICE_MIG;
    field_set(&fixture.devices[1].values, FIELD_GPU_INSTANCE_ID, 3);
    field_set(&fixture.devices[1].values, FIELD_COMPUTE_INSTANCE_ID, 0);
    fixture.devices[1].first_entry = 3;
    fixture.devices[1].entry_count = 1;
    fixture.snapshot.device_count = 2;
    fixture.snapshot.entry_count = 4;
    assert_int_equal(clustat_rows(&fixture, 0), 2);
    assert_int_equal(fixture.rows[0].pid, 1);
    assert_int_equal(fixture.rows[1].pid, 3);
    assert_int_equal(clustat_rows(&fixture, 1), 1);
    assert_int_equal(fixture.rows[0].pid, 2);
    fixture.devices[1].index = 9; /* an instance of another GPU */
    assert_int_equal(clustat_rows(&fixture, 0), 3);
}

/* The same by search through all rows: slow and obvious. */
static size_t slow_clustat(const struct snapshot *snapshot, struct process_row *rows)
{
    size_t count = 0;

    for (uint32_t i = 0; i < snapshot->entry_count; i++) {
        const struct process_entry *entry = &snapshot->entries[i];
        size_t at = 0;

        while (at < count &&
               (rows[at].pid != entry->pid || rows[at].gpu_instance_id != entry->gpu_instance_id))
            at++;
        if (at == count)
            rows[count++] =
                (struct process_row){.pid = entry->pid, .gpu_instance_id = entry->gpu_instance_id};
        rows[at].lists |= 1u << entry->list;
        if (entry->mem_bytes > rows[at].mem_bytes)
            rows[at].mem_bytes = entry->mem_bytes;
    }
    return count;
}

static void many_entries_keep_their_first_order(void **state)
{
    static struct process_entry entries[600];
    static struct process_row rows[600], expected[600];
    struct fixture fixture = one_device(entries, 600);

    (void)state;
    fixture.snapshot.devices = fixture.devices;
    for (int round = 0; round < 50; round++) {
        uint32_t pids = 1 + (uint32_t)random_below(&seed, 600);
        size_t count;

        for (size_t i = 0; i < 600; i++)
            entries[i] = entry_with_mem((uint8_t)random_below(&seed, LIST_COUNT),
                                        (uint32_t)random_below(&seed, pids) << 16, random_below(&seed, 1000));
        for (size_t i = 0; i < 600; i += 3)
            entries[i].gpu_instance_id = (uint32_t)random_below(&seed, 3);
        count = slow_clustat(&fixture.snapshot, expected);
        assert_int_equal(merge_clustat(&fixture.snapshot, &fixture.devices[0], rows), count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(rows[i].pid, expected[i].pid);
            assert_int_equal(rows[i].gpu_instance_id, expected[i].gpu_instance_id);
            assert_int_equal(rows[i].lists, expected[i].lists);
            assert_int_equal(rows[i].mem_bytes, expected[i].mem_bytes);
        }
    }
}

static int64_t cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * NS_PER_S + used.tv_nsec;
}

/* A device as full as it may be costs far less than a search through all rows for each entry. */
static void a_full_device_is_merged_at_once(void **state)
{
    struct process_entry *entries = calloc(SNAPSHOT_MAX_ENTRIES, sizeof(*entries));
    struct process_row *rows = calloc(SNAPSHOT_MAX_ENTRIES, sizeof(*rows));
    struct fixture fixture = one_device(entries, SNAPSHOT_MAX_ENTRIES);
    int64_t begin, middle, end;

    (void)state;
    assert_true(entries && rows);
    for (uint32_t i = 0; i < SNAPSHOT_MAX_ENTRIES; i++)
        entries[i] = entry_with_mem((uint8_t)(i & 1), 1000000 + i / 2, i);
    fixture.snapshot.devices = fixture.devices;
    begin = cpu_ns();
    assert_int_equal(slow_clustat(&fixture.snapshot, rows), SNAPSHOT_MAX_ENTRIES / 2);
    middle = cpu_ns();
    assert_int_equal(merge_clustat(&fixture.snapshot, &fixture.devices[0], rows), SNAPSHOT_MAX_ENTRIES / 2);
    assert_int_equal(rows[77].pid, 1000077);
    assert_int_equal(rows[77].mem_bytes, 155);
    assert_int_equal(merge_gpustat(&fixture.snapshot, &fixture.devices[0], rows), SNAPSHOT_MAX_ENTRIES / 2);
    assert_int_equal(rows[77].mem_bytes, 154);
    end = cpu_ns();
    print_message("# search of all rows %lld us, both merges %lld us\n",
                  (long long)((middle - begin) / NS_PER_US), (long long)((end - middle) / NS_PER_US));
    assert_true(end - middle < (middle - begin) / 4);
    free(entries);
    free(rows);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_entries_give_no_rows),
        cmocka_unit_test(gpustat_takes_the_compute_list_first),
        cmocka_unit_test(gpustat_leaves_out_what_is_gone),
        cmocka_unit_test(clustat_gives_one_row_per_process),
        cmocka_unit_test(unknown_memory_stays_unknown),
        cmocka_unit_test(instances_are_rows_of_their_own),
        cmocka_unit_test(a_parent_keeps_what_has_no_instance_row),
        cmocka_unit_test(many_entries_keep_their_first_order),
        cmocka_unit_test(a_full_device_is_merged_at_once),
    };

    seed = random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
