#include "codec_helpers.h"

#include "wire/chunk.h"
#include "wire/message.h"
#include "wire/seal.h"

#include <errno.h>
#include <stdio.h>

static struct random seed;

static void check_round_trip(const struct snapshot *snapshot)
{
    struct reader body = encode_guarded(snapshot);
    struct snapshot decoded;

    snapshot_init(&decoded);
    assert_int_equal(decode_body(body, &decoded), 0);
    assert_same_snapshot(snapshot, &decoded);
    snapshot_deinit(&decoded);
    free_body(body);
}

static void random_snapshots_round_trip(void **state)
{
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot);
    for (int i = 0; i < 300; i++) {
        snapshot_clear(&snapshot);
        random_snapshot(&seed, &snapshot, 12, 40, 20);
        check_round_trip(&snapshot);
    }
    snapshot_deinit(&snapshot);
}

static void empty_and_zeroed_snapshots_round_trip(void **state)
{
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot);
    check_round_trip(&snapshot);
    memset(&snapshot, 0, sizeof(snapshot));
    check_round_trip(&snapshot);
}

static void extreme_values_round_trip(void **state)
{
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot);
    assert_int_equal(snapshot_reserve(&snapshot, 1, 0, 1), 0);
    snapshot.device_count = snapshot.process_count = 1;
    device_init(&snapshot.devices[0], UINT32_MAX);
    for (unsigned field = 0; field < FIELD_COUNT; field++)
        field_set(&snapshot.devices[0].values, (enum device_field)field, field & 1 ? INT64_MIN : INT64_MAX);
    snapshot.devices[0].fault_code = INT32_MIN;
    snapshot.devices[0].group_age_us[GROUP_HOT] = AGE_NEVER - 1;
    snapshot.devices[0].list_code[LIST_COMPUTE] = LIST_CODE_ABSENT;
    snapshot.devices[0].list_code[LIST_GRAPHICS] = INT32_MAX;
    snapshot.taken_unix_us = INT64_MIN;
    snapshot.sequence = UINT64_MAX;
    snapshot.pending.device = INT32_MAX;
    snapshot.processes[0] = (struct process){.pid = UINT32_MAX,
                                             .facts = PROCESS_HAS_START | PROCESS_HAS_UID | PROCESS_HAS_RSS,
                                             .start_ticks = UINT64_MAX,
                                             .start_unix_us = INT64_MIN,
                                             .uid = UINT32_MAX,
                                             .rss_bytes = UINT64_MAX};
    check_round_trip(&snapshot);
    snapshot_deinit(&snapshot);
}

static void largest_counts_round_trip(void **state)
{
    struct snapshot snapshot;
    struct random small = {7};

    (void)state;
    snapshot_init(&snapshot);
    assert_int_equal(
        snapshot_reserve(&snapshot, SNAPSHOT_MAX_DEVICES, SNAPSHOT_MAX_ENTRIES, SNAPSHOT_MAX_PROCESSES), 0);
    snapshot.device_count = SNAPSHOT_MAX_DEVICES;
    snapshot.entry_count = SNAPSHOT_MAX_ENTRIES;
    snapshot.process_count = SNAPSHOT_MAX_PROCESSES;
    for (uint32_t i = 0; i < snapshot.device_count; i++) {
        device_init(&snapshot.devices[i], i);
        snapshot.devices[i].entry_count = SNAPSHOT_MAX_ENTRIES / SNAPSHOT_MAX_DEVICES;
        snapshot.devices[i].first_entry = i * snapshot.devices[i].entry_count;
    }
    for (uint32_t i = 0; i < snapshot.process_count; i++)
        snapshot.processes[i] = (struct process){.pid = (uint32_t)random_u64(&small)};
    for (uint32_t i = 0; i < snapshot.entry_count; i++)
        snapshot.entries[i] = (struct process_entry){.process = i / 2, .pid = snapshot.processes[i / 2].pid};
    check_round_trip(&snapshot);
    snapshot_deinit(&snapshot);
}

/* Entries of a snapshot that was put together in another order come out in the devices' order. */
static void entries_follow_their_devices(void **state)
{
    struct snapshot snapshot, decoded;
    struct reader body;

    (void)state;
    snapshot_init(&snapshot);
    snapshot_init(&decoded);
    assert_int_equal(snapshot_reserve(&snapshot, 2, 4, 0), 0);
    snapshot.device_count = 2, snapshot.entry_count = 4;
    for (uint32_t i = 0; i < 4; i++)
        snapshot.entries[i] = (struct process_entry){.pid = 10 + i, .process = PROCESS_UNKNOWN};
    device_init(&snapshot.devices[0], 0);
    device_init(&snapshot.devices[1], 1);
    snapshot.devices[0].first_entry = 3, snapshot.devices[0].entry_count = 1;
    snapshot.devices[1].first_entry = 0, snapshot.devices[1].entry_count = 2; /* entry 2 is nobody's */
    body = encode_guarded(&snapshot);
    assert_int_equal(decode_body(body, &decoded), 0);
    assert_int_equal(decoded.entry_count, 3);
    assert_int_equal(decoded.devices[0].first_entry, 0);
    assert_int_equal(decoded.devices[1].first_entry, 1);
    assert_int_equal(decoded.entries[0].pid, 13);
    assert_int_equal(decoded.entries[1].pid, 10);
    assert_int_equal(decoded.entries[2].pid, 11);
    snapshot_deinit(&snapshot);
    snapshot_deinit(&decoded);
    free_body(body);
}

static void long_texts_are_cut_to_the_caps(void **state)
{
    static char bytes[SNAPSHOT_COMMAND_LINE_MAX + 1];
    struct text over = {bytes, sizeof(bytes)};
    struct snapshot snapshot, decoded;
    struct reader body;

    (void)state;
    memset(bytes, 'x', sizeof(bytes));
    snapshot_init(&snapshot);
    snapshot_init(&decoded);
    assert_int_equal(snapshot_reserve(&snapshot, 1, 0, 2), 0);
    snapshot.device_count = 1, snapshot.process_count = 2;
    device_init(&snapshot.devices[0], 0);
    snapshot.hostname = snapshot.fault_text = snapshot.pending.name = snapshot.devices[0].name = over;
    snapshot.processes[0] = (struct process){.pid = 1, .user = over, .command_line = over};
    snapshot.processes[1] = (struct process){.pid = 2, .command_line = {bytes, SNAPSHOT_COMMAND_LINE_MAX}};
    body = encode_guarded(&snapshot);
    assert_int_equal(decode_body(body, &decoded), 0);
    assert_int_equal(decoded.hostname.len, SNAPSHOT_TEXT_MAX);
    assert_int_equal(decoded.fault_text.len, SNAPSHOT_FAULT_TEXT_MAX);
    assert_int_equal(decoded.pending.name.len, SNAPSHOT_TEXT_MAX);
    assert_int_equal(decoded.devices[0].name.len, SNAPSHOT_TEXT_MAX);
    assert_int_equal(decoded.processes[0].user.len, SNAPSHOT_TEXT_MAX);
    assert_int_equal(decoded.processes[0].command_line.len, SNAPSHOT_COMMAND_LINE_MAX);
    assert_true(decoded.processes[0].facts & PROCESS_COMMAND_LINE_CUT);
    assert_int_equal(decoded.processes[1].command_line.len, SNAPSHOT_COMMAND_LINE_MAX);
    assert_false(decoded.processes[1].facts & PROCESS_COMMAND_LINE_CUT);
    snapshot_deinit(&snapshot);
    snapshot_deinit(&decoded);
    free_body(body);
}

/* As busy as eight devices with two processes each get: every field read, on a node that runs for weeks. */
static void fill_busy(struct snapshot *snapshot)
{
    assert_int_equal(snapshot_reserve(snapshot, 8, 16, 16), 0);
    snapshot->sequence = 1u << 24;
    snapshot->taken_unix_us = INT64_C(1790000000000000);
    snapshot->flags = NODE_FIRST_ROUND_DONE;
    snapshot->pending =
        (struct pending_call){TEXT_LITERAL("nvmlDeviceGetComputeRunningProcesses_v3"), 7, 900000};
    snapshot->driver_time_ppm = 19999;
    snapshot->host_age_us = 4999999;
    for (uint32_t i = 0; i < 8; i++) {
        static const int64_t typical[FIELD_COUNT] = {
            [FIELD_MEM_USED_BYTES] = INT64_C(149000000000),
            [FIELD_MEM_RESERVED_BYTES] = 644087808,
            [FIELD_POWER_MW] = 699999,
            [FIELD_CLOCK_GRAPHICS_MHZ] = 1980,
            [FIELD_CLOCK_SM_MHZ] = 1980,
            [FIELD_CLOCK_MEMORY_MHZ] = 3201,
            [FIELD_CLOCK_VIDEO_MHZ] = 1575,
            [FIELD_THROTTLE_REASONS] = 0x84,
            [FIELD_ECC_AGGREGATE_CORRECTED] = 300,
            [FIELD_XID_LAST] = 94,
            [FIELD_XID_LAST_UNIX_US] = INT64_C(1790000000000000),
        };
        struct device *device = &snapshot->devices[i];

        device_init(device, i);
        for (unsigned field = 0; field < FIELD_COUNT; field++)
            field_set(&device->values, (enum device_field)field, typical[field] ? typical[field] : 100);
        device->group_age_us[GROUP_STATIC] = UINT64_C(30) * 86400 * 1000000;
        device->group_age_us[GROUP_HOT] = 24999;
        device->group_age_us[GROUP_WARM] = 249999;
        device->group_age_us[GROUP_PROCESSES] = device->group_age_us[GROUP_SLOW] = 4999999;
        device->first_entry = 2 * i;
        device->entry_count = 2;
    }
    for (uint32_t i = 0; i < 16; i++) {
        snapshot->entries[i] = (struct process_entry){.has_mem = true,
                                                      .util_sm_percent = 99,
                                                      .pid = 4000000 + i,
                                                      .gpu_instance_id = INSTANCE_NONE,
                                                      .compute_instance_id = INSTANCE_NONE,
                                                      .mem_bytes = UINT64_C(70000000000),
                                                      .process = i};
        snapshot->processes[i] = (struct process){
            .pid = 4000000 + i,
            .facts = 31,
            .start_ticks = UINT64_C(300000000),
            .cpu_permille = 128000,
            .rss_bytes = UINT64_C(200000000000),
            .command_line = TEXT_LITERAL("python\0train.py\0and\0much\0more\0that\0is\0a\0fact")};
    }
    snapshot->device_count = 8, snapshot->entry_count = snapshot->process_count = 16;
}

/*
 * A sealed reply of an idle node fits one datagram: headers of datagram and frame, the seal, the reply's own
 * numbers, and the readings (sections from 4 on).
 */
static void readings_of_eight_devices_fit_a_datagram(void **state)
{
    struct snapshot snapshot;
    struct reader body;
    size_t readings = 0;

    (void)state;
    snapshot_init(&snapshot);
    fill_busy(&snapshot);
    body = encode_guarded(&snapshot);
    for (struct reader rest = body; reader_left(&rest);) {
        uint8_t section = read_u8(&rest);
        uint32_t len = read_u32(&rest);

        read_nested(&rest, len);
        if (section >= 4)
            readings += 5 + len;
    }
    printf("# readings of 8 devices, 16 processes: %zu bytes\n", readings);
    assert_true(readings > 1000); /* they are all there */
    assert_true(CHUNK_HEADER_SIZE + FRAME_HEADER_SIZE + SEAL_OVERHEAD + message_body_min(FRAME_REPLY) +
                    readings <=
                1400);
    snapshot_deinit(&snapshot);
    free_body(body);
}

static void short_buffers_are_told(void **state)
{
    struct snapshot snapshot;
    uint8_t bytes[64];
    struct writer writer = writer_over(bytes, sizeof(bytes));

    (void)state;
    snapshot_init(&snapshot);
    snapshot.hostname = TEXT_LITERAL("a host name that with all the rest takes more than sixty-four bytes");
    snapshot_encode(&snapshot, &writer);
    assert_true(writer.failed);
}

static void small_arrays_are_told(void **state)
{
    struct snapshot snapshot, decoded;
    struct reader body;

    (void)state;
    snapshot_init(&snapshot);
    snapshot_init(&decoded);
    assert_int_equal(snapshot_reserve(&snapshot, 1, 0, 0), 0);
    device_init(&snapshot.devices[0], 0);
    snapshot.device_count = 1;
    body = encode_guarded(&snapshot);
    assert_int_equal(snapshot_decode(body, &decoded), -ENOBUFS);
    assert_int_equal(decoded.device_count, 0);
    snapshot_deinit(&snapshot);
    free_body(body);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_snapshots_round_trip),
        cmocka_unit_test(empty_and_zeroed_snapshots_round_trip),
        cmocka_unit_test(extreme_values_round_trip),
        cmocka_unit_test(largest_counts_round_trip),
        cmocka_unit_test(entries_follow_their_devices),
        cmocka_unit_test(long_texts_are_cut_to_the_caps),
        cmocka_unit_test(readings_of_eight_devices_fit_a_datagram),
        cmocka_unit_test(short_buffers_are_told),
        cmocka_unit_test(small_arrays_are_told),
    };

    seed = random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
