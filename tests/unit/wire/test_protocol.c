/* The examples of docs/protocol.md: numbers, frame, interest and snapshot.  usage: test_protocol
 * docs/protocol.md */
#include "golden.h"

#include "wire/snapshot_format.h"

static void frame_header_is_as_documented(void **state)
{
    static const struct frame_header header = {
        .version = 1, .type = FRAME_SNAPSHOT, .request_id = UINT64_C(0x0102030405060708), .body_len = 0x0abc};
    struct frame_header decoded;
    uint8_t bytes[FRAME_HEADER_SIZE];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    struct reader reader = golden("frame-header");

    (void)state;
    frame_write_header(&writer, &header);
    assert_golden("frame-header", bytes, writer.pos);
    assert_int_equal(frame_read_header(&reader, &decoded), FRAME_OK);
    assert_int_equal(decoded.body_len, 0x0abc);
    assert_true(decoded.request_id == header.request_id);
}

static void numbers_are_as_documented(void **state)
{
    uint8_t bytes[64];
    struct writer writer = writer_over(bytes, sizeof(bytes));

    (void)state;
    write_varint(&writer, 300);
    write_zigzag(&writer, -3);
    write_optional_text(&writer, TEXT_ABSENT);
    write_optional_text(&writer, TEXT_LITERAL(""));
    write_optional_text(&writer, TEXT_LITERAL("gpu"));
    assert_golden("numbers", bytes, writer.pos);
}

static void interest_is_as_documented(void **state)
{
    uint8_t bytes[16];
    struct writer writer = writer_over(bytes, sizeof(bytes));

    (void)state;
    write_varint(&writer, 2000000);
    assert_golden("interest", bytes, writer.pos);
}

static void fill_example_device(struct device *device)
{
    device_init(device, 0);
    device->name = TEXT_LITERAL("NVIDIA H100");
    device->uuid = TEXT_LITERAL("GPU-0a1b");
    device->pci_bus_id = TEXT_LITERAL("00000000:41:00.0");
    field_set(&device->values, FIELD_UTIL_GPU_PERCENT, 37);
    field_set(&device->values, FIELD_MEM_TOTAL_BYTES, INT64_C(85520809984));
    field_set(&device->values, FIELD_MEM_USED_BYTES, INT64_C(20000000000));
    field_set(&device->values, FIELD_TEMP_C, 61);
    field_set(&device->values, FIELD_POWER_MW, 300000);
    field_set(&device->values, FIELD_POWER_LIMIT_MW, 700000);
    field_set(&device->values, FIELD_MINOR, 0);
    device->group_age_us[GROUP_STATIC] = UINT64_C(3600000000);
    device->group_age_us[GROUP_HOT] = 20000;
    device->group_age_us[GROUP_WARM] = 120000;
    device->group_age_us[GROUP_PROCESSES] = 900000;
    device->list_code[LIST_COMPUTE] = 0;
    device->list_code[LIST_GRAPHICS] = 0;
    device->entry_count = 2;
}

static void fill_example_processes(struct snapshot *snapshot)
{
    snapshot->entries[0] = (struct process_entry){.list = LIST_COMPUTE,
                                                  .has_mem = true,
                                                  .util_sm_percent = 40,
                                                  .util_memory_percent = PERCENT_ABSENT,
                                                  .util_encoder_percent = PERCENT_ABSENT,
                                                  .util_decoder_percent = PERCENT_ABSENT,
                                                  .pid = 4321,
                                                  .gpu_instance_id = INSTANCE_NONE,
                                                  .compute_instance_id = INSTANCE_NONE,
                                                  .mem_bytes = UINT64_C(20000000000),
                                                  .process = 0};
    snapshot->entries[1] = (struct process_entry){.list = LIST_GRAPHICS,
                                                  .util_sm_percent = PERCENT_ABSENT,
                                                  .util_memory_percent = PERCENT_ABSENT,
                                                  .util_encoder_percent = PERCENT_ABSENT,
                                                  .util_decoder_percent = PERCENT_ABSENT,
                                                  .pid = 99,
                                                  .gpu_instance_id = 1,
                                                  .compute_instance_id = 0,
                                                  .process = PROCESS_UNKNOWN};
    snapshot->processes[0] = (struct process){.pid = 4321,
                                              .facts = PROCESS_HAS_UID | PROCESS_HAS_START | PROCESS_HAS_CPU |
                                                       PROCESS_HAS_RSS | PROCESS_HAS_COMMAND_LINE,
                                              .uid = 1000,
                                              .start_ticks = 123456,
                                              .start_unix_us = INT64_C(1790000000000000),
                                              .cpu_permille = 1012,
                                              .rss_bytes = UINT64_C(2147483648),
                                              .user = TEXT_LITERAL("alice"),
                                              .comm = TEXT_LITERAL("python"),
                                              .command_line = TEXT_LITERAL("python\0a.py"),
                                              .slurm_job = TEXT_LITERAL("17"),
                                              .slurm_step = TEXT_LITERAL("0")};
}

/* The snapshot that the document takes apart. */
static void fill_example(struct snapshot *snapshot)
{
    assert_int_equal(snapshot_reserve(snapshot, 1, 2, 1), 0);
    snapshot->sequence = 7;
    snapshot->taken_unix_us = INT64_C(1790000600000000);
    snapshot->flags = NODE_FIRST_ROUND_DONE;
    snapshot->hostname = TEXT_LITERAL("gpu01");
    snapshot->driver_version = TEXT_LITERAL("580.65.06");
    snapshot->nvml_version = TEXT_LITERAL("13.580.65.06");
    snapshot->driver_time_ppm = 1500;
    snapshot->host_age_us = 12000;
    fill_example_device(&snapshot->devices[0]);
    fill_example_processes(snapshot);
    snapshot->device_count = 1, snapshot->entry_count = 2, snapshot->process_count = 1;
}

static void snapshot_is_as_documented(void **state)
{
    struct snapshot snapshot, decoded;
    struct reader body;

    (void)state;
    snapshot_init(&snapshot);
    snapshot_init(&decoded);
    fill_example(&snapshot);
    body = encode_guarded(&snapshot);
    assert_golden("snapshot", body.bytes, body.len);
    assert_int_equal(decode_body(golden("snapshot"), &decoded), 0);
    assert_same_snapshot(&snapshot, &decoded);
    snapshot_deinit(&snapshot);
    snapshot_deinit(&decoded);
    free_body(body);
}

static void every_field_is_in_the_table(void **state)
{
    (void)state;
    for (unsigned field = 0; field < FIELD_COUNT; field++) {
        char row[128];

        snprintf(row, sizeof(row), "| %u | `%s` | %s |\n", field,
                 field_info((enum device_field)field)->json_name,
                 FACT_FIELDS >> field & 1 ? "fact" : "reading");
        if (!document_has_line_beginning(row))
            fail_msg("docs/protocol.md lacks this row: %s", row);
    }
}

int main(int argc, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_header_is_as_documented), cmocka_unit_test(numbers_are_as_documented),
        cmocka_unit_test(interest_is_as_documented),     cmocka_unit_test(every_field_is_in_the_table),
        cmocka_unit_test(snapshot_is_as_documented),
    };

    if (argc != 2)
        return 2;
    document = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
