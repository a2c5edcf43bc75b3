#include "codec_helpers.h"

#include "wire/snapshot_fit.h"

#include <string.h>

static char letters[SNAPSHOT_COMMAND_LINE_MAX];

static void make_processes(struct snapshot *snapshot, uint32_t count, size_t command_len)
{
    assert_int_equal(snapshot_reserve(snapshot, 0, 0, count), 0);
    snapshot->process_count = count;
    for (uint32_t i = 0; i < count; i++)
        snapshot->processes[i] = (struct process){
            .pid = i, .facts = PROCESS_HAS_COMMAND_LINE, .command_line = {letters, command_len}};
}

static void small_snapshots_stay_as_they_are(void **state)
{
    struct snapshot *snapshot = *state;

    make_processes(snapshot, 3, 4096);
    snapshot_fit(snapshot, SNAPSHOT_BODY_TARGET);
    assert_int_equal(snapshot->commands_cut, 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(snapshot->processes[i].command_line.len, 4096);
        assert_int_equal(snapshot->processes[i].facts, PROCESS_HAS_COMMAND_LINE);
    }
}

static void the_longest_are_shortened_first(void **state)
{
    struct snapshot *snapshot = *state;
    size_t longest;

    make_processes(snapshot, 10, 1000);
    snapshot->processes[2].command_line.len = 100000;
    snapshot->processes[5].command_line.len = 131072;
    snapshot->processes[7].command_line.len = 90000;
    snapshot_fit(snapshot, SNAPSHOT_BODY_TARGET);
    longest = snapshot->processes[5].command_line.len;
    assert_int_equal(snapshot->commands_cut, 3);
    assert_int_equal(snapshot->processes[2].command_line.len, longest);
    assert_int_equal(snapshot->processes[7].command_line.len, longest);
    assert_true(longest < 90000 && longest > 80000);
    assert_true(snapshot->processes[5].facts & PROCESS_COMMAND_LINE_CUT);
    assert_int_equal(snapshot->processes[0].command_line.len, 1000);
    assert_false(snapshot->processes[0].facts & PROCESS_COMMAND_LINE_CUT);
    assert_true(snapshot_encoded_max(snapshot) <= SNAPSHOT_BODY_TARGET);
    assert_true(snapshot_encoded_max(snapshot) > SNAPSHOT_BODY_TARGET - 100); /* no more than necessary */
}

static void fitting_again_changes_nothing(void **state)
{
    struct snapshot *snapshot = *state;
    uint32_t cut;

    make_processes(snapshot, 5000, 4096);
    snapshot_fit(snapshot, SNAPSHOT_BODY_TARGET);
    cut = snapshot->commands_cut;
    assert_int_equal(cut, 5000);
    assert_true(snapshot_encoded_max(snapshot) <= SNAPSHOT_BODY_TARGET);
    snapshot_fit(snapshot, SNAPSHOT_BODY_TARGET);
    assert_int_equal(snapshot->commands_cut, cut);
}

/* Whatever the target: the counter of the cut ones and the lengths of lengths are part of the size. */
static void every_target_is_kept(void **state)
{
    struct snapshot *snapshot = *state;

    for (size_t target = 70000; target < 70300; target++) {
        snapshot_clear(snapshot);
        make_processes(snapshot, 140, 1000);
        snapshot_fit(snapshot, target);
        assert_int_equal(snapshot->commands_cut, 140);
        assert_true(snapshot_encoded_max(snapshot) <= target);
        assert_true(snapshot_encoded_max(snapshot) + 2 * 140 >
                    target); /* the next longer ones would not fit */
    }
}

static void no_character_is_cut_in_half(void **state)
{
    static char wide[90000];
    struct snapshot *snapshot = *state;

    for (size_t i = 0; i < sizeof(wide); i += 3)
        memcpy(wide + i, "\xe4\xb8\xad", 3);
    for (size_t shift = 0; shift < 3; shift++) {
        snapshot_clear(snapshot);
        make_processes(snapshot, 2, 0);
        snapshot->processes[0].command_line = (struct text){wide, sizeof(wide)};
        snapshot_fit(snapshot, 40000 + shift);
        assert_int_equal(snapshot->commands_cut, 1);
        assert_int_equal(snapshot->processes[0].command_line.len % 3, 0);
        assert_true(snapshot->processes[0].command_line.len > 39000);
    }
    memset(wide, 0x80, sizeof(wide)); /* no UTF-8 at all: cut anywhere, but cut */
    snapshot_clear(snapshot);
    make_processes(snapshot, 1, 0);
    snapshot->processes[0].command_line = (struct text){wide, sizeof(wide)};
    snapshot_fit(snapshot, 40000);
    assert_true(snapshot->processes[0].command_line.len > 39000);
    assert_true(snapshot_encoded_max(snapshot) <= 40000);
}

static void set_all_texts(struct text *const texts[], size_t count, size_t len)
{
    for (size_t i = 0; i < count; i++)
        *texts[i] = (struct text){letters, len};
}

/* The longest that everything on a node can be. */
static void make_largest(struct snapshot *snapshot)
{
    struct text *const node[] = {&snapshot->hostname, &snapshot->driver_version, &snapshot->nvml_version,
                                 &snapshot->fault_text, &snapshot->pending.name};

    assert_int_equal(
        snapshot_reserve(snapshot, SNAPSHOT_MAX_DEVICES, SNAPSHOT_MAX_ENTRIES, SNAPSHOT_MAX_PROCESSES), 0);
    set_all_texts(node, 5, 1024);
    snapshot->device_count = SNAPSHOT_MAX_DEVICES;
    for (uint32_t i = 0; i < SNAPSHOT_MAX_DEVICES; i++) {
        struct device *device = &snapshot->devices[i];
        struct text *const texts[] = {&device->name, &device->uuid, &device->serial, &device->pci_bus_id};

        device_init(device, i);
        set_all_texts(texts, 4, 255);
        for (unsigned field = 0; field < FIELD_COUNT; field++)
            field_set(&device->values, (enum device_field)field, -1);
        for (unsigned group = 0; group < GROUP_COUNT; group++)
            device->group_age_us[group] = AGE_NEVER - 1;
        device->first_entry = i * 128;
        device->entry_count = 128;
    }
    snapshot->entry_count = SNAPSHOT_MAX_ENTRIES;
    for (uint32_t i = 0; i < SNAPSHOT_MAX_ENTRIES; i++)
        snapshot->entries[i] = (struct process_entry){.has_mem = true,
                                                      .pid = UINT32_MAX,
                                                      .mem_bytes = UINT64_MAX,
                                                      .gpu_instance_id = UINT32_MAX - 1,
                                                      .compute_instance_id = UINT32_MAX - 1,
                                                      .process = i / 2};
    snapshot->process_count = SNAPSHOT_MAX_PROCESSES;
    for (uint32_t i = 0; i < SNAPSHOT_MAX_PROCESSES; i++) {
        struct process *process = &snapshot->processes[i];
        struct text *const texts[] = {&process->user,      &process->comm,       &process->command_line,
                                      &process->slurm_job, &process->slurm_step, &process->container};

        *process = (struct process){.pid = UINT32_MAX, .facts = 31};
        set_all_texts(texts, 6, 255);
    }
}

/* Not even the largest node that the model allows gives a frame that nobody takes. */
static void the_largest_node_fits_a_frame(void **state)
{
    struct snapshot *snapshot = *state, decoded;
    struct reader body;

    make_largest(snapshot);
    snapshot_fit(snapshot, SNAPSHOT_BODY_TARGET);
    assert_true(snapshot->process_count > 0 && snapshot->process_count < SNAPSHOT_MAX_PROCESSES);
    assert_int_equal(snapshot->unnamed_processes, 2 * (SNAPSHOT_MAX_PROCESSES - snapshot->process_count));
    assert_int_equal(snapshot->commands_cut, SNAPSHOT_MAX_PROCESSES);
    body = encode_guarded(snapshot);
    assert_true(body.len <= SNAPSHOT_BODY_MAX && body.len > SNAPSHOT_BODY_MAX - 2000);
    snapshot_init(&decoded);
    assert_int_equal(decode_body(body, &decoded), 0);
    assert_int_equal(decoded.entry_count, SNAPSHOT_MAX_ENTRIES);
    assert_int_equal(decoded.entries[0].process, 0);
    assert_int_equal(decoded.entries[SNAPSHOT_MAX_ENTRIES - 1].process, PROCESS_UNKNOWN);
    assert_int_equal(decoded.entries[SNAPSHOT_MAX_ENTRIES - 1].pid, UINT32_MAX);
    snapshot_deinit(&decoded);
    free_body(body);
}

static int setup(void **state)
{
    static struct snapshot snapshot;

    snapshot_init(&snapshot);
    *state = &snapshot;
    return 0;
}

static int teardown(void **state)
{
    snapshot_deinit(*state);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(small_snapshots_stay_as_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(the_longest_are_shortened_first, setup, teardown),
        cmocka_unit_test_setup_teardown(fitting_again_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(every_target_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(no_character_is_cut_in_half, setup, teardown),
        cmocka_unit_test_setup_teardown(the_largest_node_fits_a_frame, setup, teardown),
    };

    memset(letters, 'x', sizeof(letters));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
