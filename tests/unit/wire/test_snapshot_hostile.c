/* Damaged, truncated and made-up bodies: refused, or decoded to something sane; never read outside. */
#include "codec_helpers.h"

#include <errno.h>

static struct random seed;

/* With at least one of everything, so that no section is empty. */
static void fill_full(struct snapshot *snapshot)
{
    do {
        snapshot_clear(snapshot);
        random_snapshot(&seed, snapshot, 4, 6, 5);
    } while (!snapshot->device_count || !snapshot->entry_count || !snapshot->process_count);
}

static void truncated_bodies_are_refused(void **state)
{
    struct snapshot snapshot, decoded;

    (void)state;
    snapshot_init(&snapshot);
    snapshot_init(&decoded);
    for (int round = 0; round < 5; round++) {
        struct reader body;

        fill_full(&snapshot);
        body = encode_guarded(&snapshot);
        for (size_t len = 0; len < body.len; len++) {
            struct reader part = guarded_copy(body.bytes, len);

            assert_int_equal(decode_body(part, &decoded), -EBADMSG);
            free_body(part);
        }
        free_body(body);
    }
    snapshot_deinit(&snapshot);
    snapshot_deinit(&decoded);
}

/* What was decoded must stay inside its own arrays and survive another round. */
static void check_sane(const struct snapshot *snapshot, struct snapshot *again)
{
    struct reader body;

    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        const struct device *device = &snapshot->devices[i];

        assert_true(device->first_entry <= snapshot->entry_count);
        assert_true(device->entry_count <= snapshot->entry_count - device->first_entry);
        assert_true(device->state < DEVICE_STATE_COUNT && device->kind <= DEVICE_MIG);
    }
    for (uint32_t i = 0; i < snapshot->entry_count; i++) {
        const struct process_entry *entry = &snapshot->entries[i];

        assert_true(entry->process == PROCESS_UNKNOWN || entry->process < snapshot->process_count);
        assert_true(entry->list < LIST_COUNT);
        assert_true(entry->util_sm_percent <= 100 || entry->util_sm_percent == PERCENT_ABSENT);
    }
    for (uint32_t i = 0; i < snapshot->process_count; i++)
        assert_true(snapshot->processes[i].state < PROCESS_STATE_COUNT);
    assert_true(snapshot->fault < NODE_FAULT_KINDS);
    body = encode_guarded(snapshot);
    assert_int_equal(decode_body(body, again), 0);
    assert_same_snapshot(snapshot, again);
    free_body(body);
}

static void every_changed_byte_survives(void **state)
{
    struct snapshot snapshot, decoded, again;
    struct reader body;
    uint8_t *bytes;

    (void)state;
    snapshot_init(&snapshot);
    snapshot_init(&decoded);
    snapshot_init(&again);
    fill_full(&snapshot);
    body = encode_guarded(&snapshot);
    bytes = (uint8_t *)(uintptr_t)body.bytes;
    for (size_t at = 0; at < body.len; at++) {
        uint8_t kept = bytes[at];

        for (unsigned change = 0; change < 10; change++) {
            int r;

            bytes[at] = (uint8_t)(change < 8 ? kept ^ 1u << change : random_u64(&seed));
            r = decode_body(body, &decoded);
            assert_true(r == 0 || r == -EBADMSG);
            if (r == 0)
                check_sane(&decoded, &again);
            else
                assert_int_equal(decoded.device_count + decoded.entry_count + decoded.process_count, 0);
        }
        bytes[at] = kept;
    }
    snapshot_deinit(&snapshot);
    snapshot_deinit(&decoded);
    snapshot_deinit(&again);
    free_body(body);
}

/* ---- bodies written by hand ---- */

/* Sections with nothing in them. */
/* clang-format off */
#define NODE      "\x04\0\0\0\x0e" "\0\0\0\0\0\0\0\x01\0\0\0\0\0\0" "\x01\0\0\0\x03" "\0\0\0"
#define NO_DEVICE "\x05\0\0\0\x01\0" "\x02\0\0\0\x01\0"
#define NO_ENTRY  "\x06\0\0\0\x01\0"
#define NO_PROCESS "\x07\0\0\0\x01\0"
#define NO_FACTS  "\x03\0\0\0\x01\0"

#define DEVICE_FACTS     "\x02\0\0\0\x0b" "\x01\x09\0\0\0\0\0\0\0\0\0"
#define DEVICE           "\x05\0\0\0\x08" "\x01\x06\0\0\0\0\0\0" DEVICE_FACTS
#define DEVICE_ONE_ENTRY "\x05\0\0\0\x08" "\x01\x06\0\0\0\0\0\x01" DEVICE_FACTS
#define ENTRY_PID_7      "\x06\0\0\0\x06" "\x01\x04\0\x01\0\x07"
#define PROCESS_7        "\x07\0\0\0\x06" "\x01\x04\x07\0\0\0"
#define FACTS_7          "\x03\0\0\0\x0b" "\x01\x09\x07\0\0\0\0\0\0\0\0"

/* Two devices in a section that has room for one record of a byte. */
#define MORE_THAN_BYTES NODE "\x05\0\0\0\x02" "\x02\0" "\x02\0\0\0\x02" "\x02\0" NO_ENTRY NO_PROCESS NO_FACTS
/* clang-format on */

struct made_body {
    const char *what;
    const char *bytes;
    size_t len;
};
#define MADE(what, bytes) \
    { \
        what, bytes, sizeof(bytes) - 1 \
    }

static void good_bodies_are_accepted(void **state)
{
    static const struct made_body good[] = {
        MADE("nothing at all", NODE NO_DEVICE NO_ENTRY NO_PROCESS NO_FACTS),
        MADE("sections in any order", NO_FACTS DEVICE NO_PROCESS NO_ENTRY NODE),
        MADE("an entry without a process", NODE DEVICE_ONE_ENTRY ENTRY_PID_7 NO_PROCESS NO_FACTS),
        MADE("a process", NODE NO_DEVICE NO_ENTRY PROCESS_7 FACTS_7),
        MADE("a process without facts", NODE NO_DEVICE NO_ENTRY PROCESS_7 NO_FACTS),
        MADE("an entry with its process's pid",
             NODE DEVICE_ONE_ENTRY "\x06\0\0\0\x05\x01\x03\0\0\x01" PROCESS_7 NO_FACTS),
        MADE("sections of tomorrow",
             "\x08\0\0\0\x02zz" NODE DEVICE NO_ENTRY NO_PROCESS NO_FACTS "\xff\0\0\0\0"),
    };
    struct snapshot decoded;

    (void)state;
    snapshot_init(&decoded);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct reader body = guarded_copy(good[i].bytes, good[i].len);

        if (decode_body(body, &decoded) != 0)
            fail_msg("%s: refused", good[i].what);
        free_body(body);
    }
    snapshot_deinit(&decoded);
}

/* Each is one of the good ones with one thing wrong. */
static void bad_bodies_are_refused(void **state)
{
    static const struct made_body bad[] = {
        MADE("no bytes", ""),
        MADE("no node", NO_DEVICE NO_ENTRY NO_PROCESS NO_FACTS),
        MADE("no devices", NODE NO_ENTRY NO_PROCESS NO_FACTS),
        MADE("no entries", NODE NO_DEVICE NO_PROCESS NO_FACTS),
        MADE("no processes", NODE NO_DEVICE NO_ENTRY NO_FACTS),
        MADE("no facts of processes", NODE NO_DEVICE NO_ENTRY NO_PROCESS),
        MADE("a section twice", NODE NO_DEVICE NO_ENTRY NO_PROCESS NO_FACTS NO_FACTS),
        MADE("a section longer than the body", NODE NO_DEVICE NO_ENTRY NO_PROCESS NO_FACTS "\x08\0\0\0\x02z"),
        MADE("a section of 4 GiB", NODE NO_DEVICE NO_ENTRY NO_PROCESS NO_FACTS "\x08\xff\xff\xff\xffz"),
        MADE("node readings too short",
             "\x04\0\0\0\x0d\0\0\0\0\0\0\0\x01\0\0\0\0\0\x01\0\0\0\x03\0\0\0" NO_DEVICE NO_ENTRY NO_PROCESS
                 NO_FACTS),
        MADE("node facts too short",
             "\x04\0\0\0\x0e\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\x01\0\0\0\x02\0\0" NO_DEVICE NO_ENTRY NO_PROCESS
                 NO_FACTS),
        MADE("a fault code beyond 32 bits",
             "\x04\0\0\0\x12\0\0\0\0\x80\x80\x80\x80\x20\0\0\x01\0\0\0\0\0\0\x01\0\0\0\x03\0\0\0" NO_DEVICE
                 NO_ENTRY NO_PROCESS NO_FACTS),
        MADE("more devices than bytes", MORE_THAN_BYTES),
        MADE("a device without facts",
             NODE "\x05\0\0\0\x08\x01\x06\0\0\0\0\0\0\x02\0\0\0\x01\0" NO_ENTRY NO_PROCESS NO_FACTS),
        MADE("facts without a device", NODE "\x05\0\0\0\x01\0" DEVICE_FACTS NO_ENTRY NO_PROCESS NO_FACTS),
        MADE("an entry of no device", NODE DEVICE ENTRY_PID_7 NO_PROCESS NO_FACTS),
        MADE("a device with an entry too many", NODE DEVICE_ONE_ENTRY NO_ENTRY NO_PROCESS NO_FACTS),
        MADE("an entry with neither pid nor process",
             NODE DEVICE_ONE_ENTRY "\x06\0\0\0\x05\x01\x03\0\0\0" PROCESS_7 NO_FACTS),
        MADE("an entry whose process is not there",
             NODE DEVICE_ONE_ENTRY "\x06\0\0\0\x05\x01\x03\0\0\x02" PROCESS_7 NO_FACTS),
        MADE("facts of a process that is not there", NODE NO_DEVICE NO_ENTRY NO_PROCESS FACTS_7),
        MADE("facts of a process twice", NODE NO_DEVICE NO_ENTRY PROCESS_7
             "\x03\0\0\0\x15\x02\x09\x07\0\0\0\0\0\0\0\0\x09\x07\0\0\0\0\0\0\0\0"),
        MADE("facts of an earlier process with that pid",
             NODE NO_DEVICE NO_ENTRY PROCESS_7 "\x03\0\0\0\x0b\x01\x09\x07\x01\0\0\0\0\0\0\0"),
        MADE("bytes behind the last record",
             NODE NO_DEVICE NO_ENTRY "\x07\0\0\0\x07\x01\x04\x07\0\0\0\0" NO_FACTS),
        MADE("a record longer than its section",
             NODE NO_DEVICE NO_ENTRY "\x07\0\0\0\x06\x01\x05\x07\0\0\0" NO_FACTS),
        MADE("facts of 129 devices, none there",
             NODE "\x05\0\0\0\x01\0\x02\0\0\0\x02\x81\x01" NO_ENTRY NO_PROCESS NO_FACTS),
        MADE("facts of 8193 processes, none there",
             NODE NO_DEVICE NO_ENTRY NO_PROCESS "\x03\0\0\0\x02\x81\x40"),
        MADE("a pid beyond 32 bits",
             NODE NO_DEVICE NO_ENTRY "\x07\0\0\0\x0a\x01\x08\x80\x80\x80\x80\x10\0\0\0" NO_FACTS),
    };
    struct snapshot decoded;

    (void)state;
    snapshot_init(&decoded);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct reader body = guarded_copy(bad[i].bytes, bad[i].len);

        if (decode_body(body, &decoded) != -EBADMSG)
            fail_msg("%s: not refused", bad[i].what);
        free_body(body);
    }
    snapshot_deinit(&decoded);
}

/* Sections, each with its content made by repeating one record; the rest stays empty. */
static int decode_repeated(uint8_t section, uint32_t count, const char *record, size_t len)
{
    static uint8_t bytes[FRAME_BODY_MAX];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    struct snapshot decoded;
    int r;

    write_bytes(&writer, NODE, sizeof(NODE) - 1);
    for (uint8_t i = 2; i <= 7; i++) {
        size_t mark;

        if (i == 4)
            continue;
        write_u8(&writer, i);
        mark = write_length_begin(&writer);
        write_varint(&writer, i == section ? count : 0);
        for (uint32_t k = 0; i == section && k < count; k++)
            write_bytes(&writer, record, len);
        write_length_end(&writer, mark);
    }
    assert_false(writer.failed);
    snapshot_init(&decoded);
    r = decode_body(reader_over(bytes, writer.pos), &decoded);
    snapshot_deinit(&decoded);
    return r;
}

static void counts_above_the_caps_are_refused(void **state)
{
    struct snapshot_need need;
    struct reader body = reader_over(NODE NO_DEVICE NO_ENTRY NO_PROCESS NO_FACTS,
                                     sizeof(NODE NO_DEVICE NO_ENTRY NO_PROCESS NO_FACTS) - 1);

    (void)state;
    assert_int_equal(snapshot_measure(body, &need), 0);
    assert_int_equal(need.devices + need.entries + need.processes, 0);
    body =
        reader_over(MORE_THAN_BYTES, sizeof(MORE_THAN_BYTES) - 1); /* nothing is allocated for such a count */
    assert_int_equal(snapshot_measure(body, &need), -EBADMSG);
    assert_int_equal(decode_repeated(7, SNAPSHOT_MAX_PROCESSES, "\x04\x07\0\0\0", 5), 0);
    assert_int_equal(decode_repeated(7, SNAPSHOT_MAX_PROCESSES + 1, "\x04\x07\0\0\0", 5), -EBADMSG);
    assert_int_equal(decode_repeated(6, SNAPSHOT_MAX_ENTRIES + 1, "\x04\0\x01\0\x07", 5), -EBADMSG);
    assert_int_equal(decode_repeated(5, SNAPSHOT_MAX_DEVICES + 1, "\x06\0\0\0\0\0\0", 7), -EBADMSG);
}

/* A frame may be full of keys that match nothing: the walk over them must not start again each time. */
static void unmatched_facts_end_the_walk(void **state)
{
    static uint8_t bytes[FRAME_BODY_MAX];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    struct snapshot decoded;
    size_t mark;

    (void)state;
    write_bytes(&writer, NODE NO_DEVICE NO_ENTRY, sizeof(NODE NO_DEVICE NO_ENTRY) - 1);
    for (uint8_t section = 7; section; section = section == 7 ? 3 : 0) {
        write_u8(&writer, section);
        mark = write_length_begin(&writer);
        write_varint(&writer, SNAPSHOT_MAX_PROCESSES);
        for (uint32_t pid = 0; pid < SNAPSHOT_MAX_PROCESSES; pid++) {
            size_t record = write_sized_begin(&writer);

            write_varint(&writer,
                         section == 7 ? pid : SNAPSHOT_MAX_PROCESSES - 1 - pid); /* the other way round */
            write_bytes(&writer, "\0\0\0\0\0\0\0\0", section == 7 ? 3 : 8);
            write_sized_end(&writer, record);
        }
        write_length_end(&writer, mark);
    }
    assert_false(writer.failed);
    snapshot_init(&decoded);
    assert_int_equal(decode_body(reader_over(bytes, writer.pos), &decoded), -EBADMSG);
    snapshot_deinit(&decoded);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncated_bodies_are_refused),      cmocka_unit_test(every_changed_byte_survives),
        cmocka_unit_test(good_bodies_are_accepted),          cmocka_unit_test(bad_bodies_are_refused),
        cmocka_unit_test(counts_above_the_caps_are_refused), cmocka_unit_test(unmatched_facts_end_the_walk),
    };

    seed = random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
