/* Bodies of writers that know more, or less, than this version; and the caps on texts. */
#include "codec_helpers.h"

#include <errno.h>

static struct random seed;

#define SECTIONS 7 /* of this version */

static bool holds_records(uint8_t section)
{
    return section != 1 && section != 4; /* the node's two sections are one record each */
}

/* Copies a section; each record gets `extra` further bytes, as a newer writer's would have. */
static void put_longer_section(struct writer *writer, uint8_t section, struct reader content, size_t extra)
{
    static const uint8_t more[200] = {0xff, 0x80, 0x01};
    size_t mark;

    write_u8(writer, section);
    mark = write_length_begin(writer);
    if (holds_records(section)) {
        uint64_t count = read_varint(&content);

        write_varint(writer, count);
        for (uint64_t i = 0; i < count; i++) {
            size_t len = (size_t)read_varint(&content);

            write_varint(writer, len + extra);
            write_bytes(writer, read_bytes(&content, len), len);
            write_bytes(writer, more, extra);
        }
    } else {
        size_t len = reader_left(&content);

        write_bytes(writer, read_bytes(&content, len), len);
        write_bytes(writer, more, extra);
    }
    write_length_end(writer, mark);
}

/* The body as a newer writer would send it: records longer, sections we do not know between ours. */
static void make_newer(struct reader body, struct writer *writer, size_t extra)
{
    uint8_t unknown = 200;

    while (reader_left(&body)) {
        uint8_t section = read_u8(&body);

        put_longer_section(writer, section, read_nested(&body, read_u32(&body)), extra);
        write_u8(writer, unknown++);
        write_u32(writer, 5);
        write_bytes(writer, "\xff\xff\xff\xff\xff", 5);
    }
}

static void longer_records_and_unknown_sections_are_skipped(void **state)
{
    static uint8_t bytes[FRAME_BODY_MAX];
    struct snapshot snapshot, decoded;

    (void)state;
    snapshot_init(&snapshot);
    snapshot_init(&decoded);
    for (int i = 0; i < 100; i++) {
        struct writer writer = writer_over(bytes, sizeof(bytes));
        struct reader body, newer;

        snapshot_clear(&snapshot);
        random_snapshot(&seed, &snapshot, 5, 10, 8);
        body = encode_guarded(&snapshot);
        make_newer(body, &writer, 1 + (size_t)random_below(&seed, 200));
        newer = guarded_copy(bytes, writer.pos);
        assert_int_equal(decode_body(newer, &decoded), 0);
        assert_same_snapshot(&snapshot, &decoded);
        free_body(body);
        free_body(newer);
    }
    snapshot_deinit(&snapshot);
    snapshot_deinit(&decoded);
}

/* ---- one body with one device, one entry and one process, its records given ---- */

struct parts {
    const char *node_facts, *node_readings, *device_facts, *device_readings, *entry, *process_facts,
        *process_readings;
    size_t len[SECTIONS];
};

/* Where a part may hold NULs: sets it and its length. */
#define PART(parts, member, place, literal) \
    ((parts)->member = "" literal, (parts)->len[place] = sizeof(literal) - 1)

static struct parts plain_parts(void)
{
    struct parts parts;

    PART(&parts, node_facts, 0, "\0\0\0");
    PART(&parts, node_readings, 1, "\0\0\0\0\0\0\0\x01\0\0\0\0\0\0");
    PART(&parts, device_facts, 2, "\0\0\0\0\0\0\0\0\0");
    PART(&parts, device_readings, 3, "\0\0\0\0\0\x01");
    PART(&parts, entry, 4, "\0\0\x01");
    PART(&parts, process_facts, 5, "\x07\0\0\0\0\0\0\0\0");
    PART(&parts, process_readings, 6, "\x07\0\0\0");
    return parts;
}

static void put_part(struct writer *writer, uint8_t section, const char *bytes, size_t len)
{
    size_t mark;

    write_u8(writer, section);
    mark = write_length_begin(writer);
    if (holds_records(section)) {
        write_varint(writer, 1);
        write_varint(writer, len);
    }
    write_bytes(writer, bytes, len);
    write_length_end(writer, mark);
}

/* Decodes what the parts make; the bytes stay alive until the next call. */
static int decode_parts(const struct parts *parts, struct snapshot *decoded)
{
    static uint8_t bytes[2 * SNAPSHOT_COMMAND_LINE_MAX];
    struct writer writer = writer_over(bytes, sizeof(bytes));

    put_part(&writer, 1, parts->node_facts, parts->len[0]);
    put_part(&writer, 4, parts->node_readings, parts->len[1]);
    put_part(&writer, 2, parts->device_facts, parts->len[2]);
    put_part(&writer, 5, parts->device_readings, parts->len[3]);
    put_part(&writer, 6, parts->entry, parts->len[4]);
    put_part(&writer, 3, parts->process_facts, parts->len[5]);
    put_part(&writer, 7, parts->process_readings, parts->len[6]);
    assert_false(writer.failed);
    return decode_body(reader_over(bytes, writer.pos), decoded);
}

static int setup_decoded(void **state)
{
    static struct snapshot decoded;

    snapshot_init(&decoded);
    *state = &decoded;
    return 0;
}

static int teardown_decoded(void **state)
{
    snapshot_deinit(*state);
    return 0;
}

#define ZEROS_8 "\0\0\0\0\0\0\0\0"

static void unknown_fields_are_skipped(void **state)
{
    struct snapshot *decoded = *state;
    struct parts parts = plain_parts();
    const struct field_values *values;
    int64_t value;

    /* Fields 0, 63, 72 and 255 with the values 42, 300, 5 and 6. */
    PART(&parts, device_readings, 3,
         "\0\0\x20\x01\0\0\0\0\0\0\x80\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80\x2a\xac\x02\x05"
         "\x06\0\0\x01");
    assert_int_equal(decode_parts(&parts, decoded), 0);
    values = &decoded->devices[0].values;
    assert_true(values->present == 1);
    assert_true(field_get(values, FIELD_UTIL_GPU_PERCENT, &value) && value == 42);

    /* One byte of present bits more than 256 fields need is refused: here with every bit 0. */
    PART(&parts, device_readings, 3, "\0\0\x21" ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 "\0\0\0\x01");
    assert_int_equal(decode_parts(&parts, decoded), -EBADMSG);
}

/* A later version may move a field between facts and readings; where both have it, the reading counts. */
static void fields_are_taken_from_either_section(void **state)
{
    struct snapshot *decoded = *state;
    struct parts parts = plain_parts();
    int64_t value;

    PART(&parts, device_facts, 2, "\0\0\0\0\0\0\0\0\x01\x03\x0a\x0b"); /* fields 0 and 1 */
    PART(&parts, device_readings, 3, "\0\0\x01\x06\x14\x15\0\0\x01");  /* fields 1 and 2 (a total) */
    assert_int_equal(decode_parts(&parts, decoded), 0);
    assert_true(field_get(&decoded->devices[0].values, FIELD_UTIL_GPU_PERCENT, &value) && value == 0x0a);
    assert_true(field_get(&decoded->devices[0].values, FIELD_UTIL_MEMORY_PERCENT, &value) && value == 0x14);
    assert_true(field_get(&decoded->devices[0].values, FIELD_MEM_TOTAL_BYTES, &value) && value == 0x15);
}

static void unknown_groups_and_lists_are_dropped(void **state)
{
    struct snapshot *decoded = *state;
    struct parts parts = plain_parts();

    PART(&parts, device_readings, 3, "\0\0\0\x07\x02\x03\x04\x05\x06\x07\x08\x04\0\x02\0\x06\x01");
    assert_int_equal(decode_parts(&parts, decoded), 0);
    assert_true(decoded->devices[0].group_age_us[GROUP_STATIC] == 1);
    assert_true(decoded->devices[0].group_age_us[GROUP_SLOW] == 5);
    assert_int_equal(decoded->devices[0].list_code[LIST_GRAPHICS], 1);
    PART(&parts, device_readings, 3, /* as many as may be: 32 of each */
         "\0\0\0\x20" ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 "\x20" ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 "\x01");
    assert_int_equal(decode_parts(&parts, decoded), 0);
    PART(&parts, device_readings, 3, "\0\0\0\x21\0\x01");
    assert_int_equal(decode_parts(&parts, decoded), -EBADMSG);
}

/* An older writer has fewer of them: those it does not send were never read. */
static void missing_groups_and_lists_are_unread(void **state)
{
    struct snapshot *decoded = *state;
    struct parts parts = plain_parts();

    PART(&parts, device_readings, 3, "\0\0\0\x02\x02\x03\x01\0\x01");
    assert_int_equal(decode_parts(&parts, decoded), 0);
    assert_true(decoded->devices[0].group_age_us[GROUP_HOT] == 2);
    assert_true(decoded->devices[0].group_age_us[GROUP_SLOW] == AGE_NEVER);
    assert_int_equal(decoded->devices[0].list_code[LIST_COMPUTE], 0);
    assert_int_equal(decoded->devices[0].list_code[LIST_GRAPHICS], LIST_CODE_UNREAD);
}

static void unknown_states_have_a_fallback(void **state)
{
    struct snapshot *decoded = *state;
    struct parts parts = plain_parts();

    PART(&parts, node_readings, 1, "\0\0\0\x7f\0\0\0\x01\0\0\0\0\0\0");
    PART(&parts, device_facts, 2, "\x63\0\0\0\0\0\0\0\0");
    PART(&parts, device_readings, 3, "\x63\0\0\0\0\x01");
    PART(&parts, entry, 4, "\x63\0\x01");
    PART(&parts, process_readings, 6, "\x07\0\x63\0");
    assert_int_equal(decode_parts(&parts, decoded), 0);
    assert_int_equal(decoded->fault, NODE_FAULT_INIT);
    assert_int_equal(decoded->fault_code, 999);
    assert_int_equal(decoded->devices[0].kind, DEVICE_GPU);
    assert_int_equal(decoded->devices[0].state, DEVICE_FAULT);
    assert_int_equal(decoded->devices[0].fault_code, 999);
    assert_int_equal(decoded->entries[0].list, LIST_MPS);
    assert_int_equal(decoded->processes[0].state, PROCESS_RUNNING);

    PART(&parts, node_readings, 1, "\0\0\0\x7f\x1e\0\0\x01\0\0\0\0\0\0"); /* a code of its own is kept */
    PART(&parts, device_readings, 3, "\x63\x1e\0\0\0\x01");
    assert_int_equal(decode_parts(&parts, decoded), 0);
    assert_int_equal(decoded->fault_code, 15);
    assert_int_equal(decoded->devices[0].fault_code, 15);
}

static void unknown_flags_are_ignored(void **state)
{
    struct snapshot *decoded = *state;
    struct parts parts = plain_parts();

    PART(&parts, node_readings, 1, "\0\0\xf9\xff\x03\0\0\0\0\x01\0\0\0\0\0\0");
    PART(&parts, device_facts, 2, "\0\0\0\xff\xff\x03\0\0\0\0\0");
    PART(&parts, entry, 4, "\0\xf0\xff\x03\x01their data");
    PART(&parts, process_facts, 5, "\x07\0\xc0\xff\x03\0\0\0\0\0\0their data");
    PART(&parts, process_readings, 6, "\x07\0\0\xf0\xff\x03their data");
    assert_int_equal(decode_parts(&parts, decoded), 0);
    assert_int_equal(decoded->flags, NODE_FIRST_ROUND_DONE);
    assert_int_equal(decoded->devices[0].flags, DEVICE_UNIFIED_MEMORY);
    assert_int_equal(decoded->entries[0].pid, 7);
    assert_int_equal(decoded->processes[0].facts, 0);
}

static void bad_percentages_are_absent(void **state)
{
    struct snapshot *decoded = *state;
    struct parts parts = plain_parts();

    PART(&parts, entry, 4, "\0\x04\x01\x64\x65\xfe\xff");
    assert_int_equal(decode_parts(&parts, decoded), 0);
    assert_int_equal(decoded->entries[0].util_sm_percent, 100);
    assert_int_equal(decoded->entries[0].util_memory_percent, PERCENT_ABSENT);
    assert_int_equal(decoded->entries[0].util_encoder_percent, PERCENT_ABSENT);
    assert_int_equal(decoded->entries[0].util_decoder_percent, PERCENT_ABSENT);
}

/* ---- caps on texts ---- */

/* Puts a text of `len` bytes between two pieces of a record and tells whether the body is taken. */
static int decode_with_text(size_t part, const char *before, size_t before_len, size_t len, size_t after_len,
                            struct snapshot *decoded)
{
    static char record[SNAPSHOT_COMMAND_LINE_MAX + 100];
    static char filler[SNAPSHOT_COMMAND_LINE_MAX + 1];
    struct writer writer = writer_over(record, sizeof(record));
    struct parts parts = plain_parts();

    memset(filler, 'x', sizeof(filler));
    write_bytes(&writer, before, before_len);
    write_optional_text(&writer, (struct text){filler, len});
    write_bytes(&writer, "\0\0\0\0\0\0\0\0\0", after_len);
    assert_false(writer.failed);
    *(const char **[]){&parts.node_facts,      &parts.node_readings, &parts.device_facts,
                       &parts.device_readings, &parts.entry,         &parts.process_facts}[part] = record;
    parts.len[part] = writer.pos;
    return decode_parts(&parts, decoded);
}

/* Every text of every record: its longest length is taken, one byte more is refused. */
static void text_caps_hold(void **state)
{
    static const struct {
        size_t part;
        const char *before;
        size_t before_len, after_len, max;
    } texts[] = {
        {0, "", 0, 2, 255},                   /* host name */
        {0, "\0", 1, 1, 255},                 /* driver version */
        {0, "\0\0", 2, 0, 255},               /* NVML version */
        {1, "\0\0\0\0\0", 5, 8, 1024},        /* fault text */
        {1, "\0\0\0\0\0\0", 6, 7, 255},       /* pending call */
        {2, "\0\0\0\0", 4, 4, 255},           /* name */
        {2, "\0\0\0\0\0", 5, 3, 255},         /* UUID */
        {2, "\0\0\0\0\0\0", 6, 2, 255},       /* serial */
        {2, "\0\0\0\0\0\0\0", 7, 1, 255},     /* PCI address */
        {5, "\x07\0\0", 3, 5, 255},           /* user */
        {5, "\x07\0\0\0", 4, 4, 255},         /* command name */
        {5, "\x07\0\0\0\0", 5, 3, 131072},    /* command line */
        {5, "\x07\0\0\0\0\0", 6, 2, 255},     /* Slurm job */
        {5, "\x07\0\0\0\0\0\0", 7, 1, 255},   /* Slurm step */
        {5, "\x07\0\0\0\0\0\0\0", 8, 0, 255}, /* container */
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int at_cap = decode_with_text(texts[i].part, texts[i].before, texts[i].before_len, texts[i].max,
                                      texts[i].after_len, *state);
        int above = decode_with_text(texts[i].part, texts[i].before, texts[i].before_len, texts[i].max + 1,
                                     texts[i].after_len, *state);

        if (at_cap != 0 || above != -EBADMSG)
            fail_msg("text %zu: %d at the cap, %d above", i, at_cap, above);
    }
}

int main(void)
{
#define WITH_SNAPSHOT(test) cmocka_unit_test_setup_teardown(test, setup_decoded, teardown_decoded)
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(longer_records_and_unknown_sections_are_skipped),
        WITH_SNAPSHOT(unknown_fields_are_skipped),
        WITH_SNAPSHOT(fields_are_taken_from_either_section),
        WITH_SNAPSHOT(unknown_groups_and_lists_are_dropped),
        WITH_SNAPSHOT(missing_groups_and_lists_are_unread),
        WITH_SNAPSHOT(unknown_states_have_a_fallback),
        WITH_SNAPSHOT(unknown_flags_are_ignored),
        WITH_SNAPSHOT(bad_percentages_are_absent),
        WITH_SNAPSHOT(text_caps_hold),
    };

    seed = random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
