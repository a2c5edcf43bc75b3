#include "wire/snapshot_codec.h"

#include "wire/snapshot_format.h"

#include <errno.h>

/* The sections of a body, by number. */
struct sections {
    struct reader at[SECTION_END];
};

/* Each of ours must be there once, in any order; those of newer writers are skipped. */
static int find_sections(struct reader body, struct sections *ret_sections)
{
    struct sections sections;
    unsigned seen = 0;

    while (!body.failed && reader_left(&body)) {
        uint8_t section = read_u8(&body);
        struct reader content = read_nested(&body, read_u32(&body));

        if (!section || section >= SECTION_END)
            continue;
        if (seen >> section & 1)
            return -EBADMSG;
        seen |= 1u << section;
        sections.at[section] = content;
    }
    if (body.failed || seen != (1u << SECTION_END) - 2) /* bits 1 .. SECTION_END-1 */
        return -EBADMSG;
    *ret_sections = sections;
    return 0;
}

/* The number of records in a section: at most max, and each takes a byte at least. */
static uint32_t read_count(struct reader *section, uint32_t max)
{
    uint32_t count = (uint32_t)read_varint_max(section, max);

    if (count > reader_left(section))
        section->failed = true;
    return count;
}

/* Reads the counts and leaves each section's reader at its first record. */
static int read_counts(struct sections *sections, struct snapshot_need *ret_need)
{
    struct reader *at = sections->at;
    struct snapshot_need need = {
        .devices = read_count(&at[SECTION_DEVICE_READINGS], SNAPSHOT_MAX_DEVICES),
        .entries = read_count(&at[SECTION_ENTRIES], SNAPSHOT_MAX_ENTRIES),
        .processes = read_count(&at[SECTION_PROCESS_READINGS], SNAPSHOT_MAX_PROCESSES),
    };

    if (at[SECTION_DEVICE_READINGS].failed || at[SECTION_ENTRIES].failed ||
        at[SECTION_PROCESS_READINGS].failed)
        return -EBADMSG;
    *ret_need = need;
    return 0;
}

int snapshot_measure(struct reader body, struct snapshot_need *ret_need)
{
    struct sections sections;
    int r = find_sections(body, &sections);

    return r < 0 ? r : read_counts(&sections, ret_need);
}

/* The next record of a section. What a newer writer put at its end is left unread. */
static struct reader next_record(struct reader *section)
{
    return read_nested(section, (size_t)read_varint_max(section, UINT32_MAX));
}

static uint32_t get_u32(struct reader *reader)
{
    return (uint32_t)read_varint_max(reader, UINT32_MAX);
}

static int32_t get_i32(struct reader *reader)
{
    int64_t value = read_zigzag(reader);

    if (value < INT32_MIN || value > INT32_MAX) {
        reader->failed = true;
        return 0;
    }
    return (int32_t)value;
}

/* Flags that this version knows; others are no reason to refuse anything. */
static unsigned get_flags(struct reader *reader, unsigned known)
{
    return (unsigned)(read_varint(reader) & known);
}

static uint64_t get_age(struct reader *reader)
{
    return read_varint(reader) - 1; /* 0 stands for AGE_NEVER */
}

static void get_fields(struct reader *reader, struct field_values *values)
{
    size_t len = (size_t)read_varint_max(reader, FIELD_BITS_MAX_BYTES);
    const uint8_t *bits = read_bytes(reader, len);

    for (size_t i = 0; bits && i < len; i++) {
        for (unsigned left = bits[i]; left; left &= left - 1) {
            size_t field = 8 * i + (size_t)__builtin_ctz(left);
            int64_t value = (int64_t)read_varint(reader);

            if (field < FIELD_COUNT)
                field_set(values, (enum device_field)field, value);
        }
    }
}

static void get_node_facts(struct reader *reader, struct snapshot *snapshot)
{
    snapshot->hostname = read_optional_text(reader, SNAPSHOT_TEXT_MAX);
    snapshot->driver_version = read_optional_text(reader, SNAPSHOT_TEXT_MAX);
    snapshot->nvml_version = read_optional_text(reader, SNAPSHOT_TEXT_MAX);
}

/* A fault that this version does not know reads as an init that failed. */
static void get_node_fault(struct reader *reader, struct snapshot *snapshot)
{
    uint64_t fault = read_varint(reader);

    snapshot->fault_code = get_i32(reader);
    if (fault < NODE_FAULT_KINDS) {
        snapshot->fault = (enum node_fault)fault;
        return;
    }
    snapshot->fault = NODE_FAULT_INIT;
    if (!snapshot->fault_code)
        snapshot->fault_code = FAULT_CODE_UNKNOWN;
}

static void get_node_readings(struct reader *reader, struct snapshot *snapshot)
{
    snapshot->sequence = read_varint(reader);
    snapshot->taken_unix_us = read_zigzag(reader);
    snapshot->flags = get_flags(reader, NODE_FLAG_BITS);
    get_node_fault(reader, snapshot);
    snapshot->fault_text = read_optional_text(reader, SNAPSHOT_FAULT_TEXT_MAX);
    snapshot->pending.name = read_optional_text(reader, SNAPSHOT_TEXT_MAX);
    snapshot->pending.device = get_i32(reader);
    snapshot->pending.running_us = read_varint(reader);
    snapshot->driver_time_ppm = get_u32(reader);
    snapshot->unnamed_processes = get_u32(reader);
    snapshot->commands_cut = get_u32(reader);
    snapshot->entries_left_out = get_u32(reader);
    snapshot->host_age_us = get_age(reader);
}

static bool get_device_facts(struct reader record, struct device *device)
{
    uint64_t kind = read_varint(&record);

    device_init(device, get_u32(&record));
    device->kind = kind == DEVICE_MIG ? DEVICE_MIG : DEVICE_GPU;
    device->mig_index = get_u32(&record);
    device->flags = get_flags(&record, DEVICE_FLAG_BITS);
    device->name = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    device->uuid = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    device->serial = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    device->pci_bus_id = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    get_fields(&record, &device->values);
    return !record.failed;
}

/* A state that this version does not know reads as a fault: the row is named, its values stay. */
static void get_device_state(struct reader *reader, struct device *device)
{
    uint64_t state = read_varint(reader);

    device->fault_code = get_i32(reader);
    if (state < DEVICE_STATE_COUNT) {
        device->state = (enum device_state)state;
        return;
    }
    device->state = DEVICE_FAULT;
    if (!device->fault_code)
        device->fault_code = FAULT_CODE_UNKNOWN;
}

static void get_device_ages(struct reader *reader, struct device *device)
{
    unsigned groups = (unsigned)read_varint_max(reader, DEVICE_MAX_GROUPS);

    for (unsigned group = 0; group < groups; group++) {
        uint64_t age_us = get_age(reader);

        if (group < GROUP_COUNT)
            device->group_age_us[group] = age_us;
    }
}

static void get_device_lists(struct reader *reader, struct device *device)
{
    unsigned lists = (unsigned)read_varint_max(reader, DEVICE_MAX_LISTS);

    for (unsigned list = 0; list < lists; list++) {
        int32_t code = get_i32(reader);

        if (list < LIST_COUNT)
            device->list_code[list] = code;
    }
}

static bool get_device_readings(struct reader record, struct device *device)
{
    get_device_state(&record, device);
    get_fields(&record, &device->values);
    get_device_ages(&record, device);
    get_device_lists(&record, device);
    device->entry_count = (uint32_t)read_varint_max(&record, SNAPSHOT_MAX_ENTRIES);
    return !record.failed;
}

/* Each device needs its facts; their entries follow one another and use up all there are. */
static bool get_devices(struct sections *sections, const struct snapshot_need *need,
                        struct snapshot *snapshot)
{
    struct reader *facts = &sections->at[SECTION_DEVICE_FACTS];
    struct reader *readings = &sections->at[SECTION_DEVICE_READINGS];
    uint32_t entries = 0;

    if (read_count(facts, SNAPSHOT_MAX_DEVICES) != need->devices)
        return false;
    for (uint32_t i = 0; i < need->devices; i++) {
        struct device *device = &snapshot->devices[i];

        if (!get_device_facts(next_record(facts), device) ||
            !get_device_readings(next_record(readings), device))
            return false;
        device->first_entry = entries;
        entries += device->entry_count;
    }
    snapshot->device_count = need->devices;
    return entries == need->entries && !facts->failed && !reader_left(facts) && !reader_left(readings);
}

static bool get_process_readings(struct reader record, struct process *process)
{
    uint64_t state;

    *process = (struct process){.pid = get_u32(&record), .start_ticks = read_varint(&record)};
    state = read_varint(&record);
    process->state = state < PROCESS_STATE_COUNT ? (enum process_state)state : PROCESS_RUNNING;
    process->facts = get_flags(&record, PROCESS_READING_BITS);
    if (!(process->facts & PROCESS_HAS_START))
        process->start_ticks = 0;
    if (process->facts & PROCESS_HAS_CPU)
        process->cpu_permille = get_u32(&record);
    if (process->facts & PROCESS_HAS_RSS)
        process->rss_bytes = read_varint(&record);
    return !record.failed;
}

/* Reads the facts behind the key. */
static bool get_process_facts(struct reader record, struct process *process)
{
    unsigned facts = get_flags(&record, PROCESS_FACT_BITS);

    process->facts |= facts;
    if (facts & PROCESS_HAS_UID)
        process->uid = get_u32(&record);
    if (facts & PROCESS_HAS_START)
        process->start_unix_us = read_zigzag(&record);
    process->user = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    process->comm = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    process->command_line = read_optional_text(&record, SNAPSHOT_COMMAND_LINE_MAX);
    process->slurm_job = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    process->slurm_step = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    process->container = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    return !record.failed;
}

/*
 * Not every process needs facts, but they come in the processes' order, so that one walk over both finds
 * each key; one that is not found makes the body malformed.
 */
static bool get_facts_of_processes(struct reader *section, struct snapshot *snapshot)
{
    uint32_t count = read_count(section, SNAPSHOT_MAX_PROCESSES), place = 0;

    for (uint32_t i = 0; i < count; i++, place++) {
        struct reader record = next_record(section);
        uint32_t pid = get_u32(&record);
        uint64_t start_ticks = read_varint(&record);
        struct process *processes = snapshot->processes;

        while (place < snapshot->process_count &&
               (processes[place].pid != pid || processes[place].start_ticks != start_ticks))
            place++;
        if (place == snapshot->process_count || !get_process_facts(record, &processes[place]))
            return false;
    }
    return !section->failed && !reader_left(section);
}

static bool get_processes(struct sections *sections, const struct snapshot_need *need,
                          struct snapshot *snapshot)
{
    struct reader *readings = &sections->at[SECTION_PROCESS_READINGS];

    for (uint32_t i = 0; i < need->processes; i++)
        if (!get_process_readings(next_record(readings), &snapshot->processes[i]))
            return false;
    snapshot->process_count = need->processes;
    return !reader_left(readings) && get_facts_of_processes(&sections->at[SECTION_PROCESS_FACTS], snapshot);
}

static uint8_t get_percent(struct reader *reader)
{
    uint8_t percent = read_u8(reader);

    return percent <= 100 ? percent : PERCENT_ABSENT;
}

/* The process of an entry, by its place + 1; 0: nothing is known of it. */
static void get_entry_process(struct reader *reader, const struct snapshot *snapshot,
                              struct process_entry *entry)
{
    uint32_t place = (uint32_t)read_varint_max(reader, snapshot->process_count);

    entry->process = place ? place - 1 : PROCESS_UNKNOWN;
    entry->pid = place ? snapshot->processes[place - 1].pid : 0;
}

/* A list that this version does not know reads as the MPS list: gpustat's rules leave it out. */
static bool get_entry(struct reader record, const struct snapshot *snapshot, struct process_entry *entry)
{
    uint64_t list = read_varint(&record);
    unsigned flags = get_flags(&record, UINT32_MAX);

    *entry = (struct process_entry){
        .list = (uint8_t)(list < LIST_COUNT ? list : LIST_MPS),
        .has_mem = flags & ENTRY_HAS_MEM,
        .util_sm_percent = PERCENT_ABSENT,
        .util_memory_percent = PERCENT_ABSENT,
        .util_encoder_percent = PERCENT_ABSENT,
        .util_decoder_percent = PERCENT_ABSENT,
        .gpu_instance_id = INSTANCE_NONE,
        .compute_instance_id = INSTANCE_NONE,
    };
    get_entry_process(&record, snapshot, entry);
    if (flags & ENTRY_HAS_PID)
        entry->pid = get_u32(&record);
    else if (entry->process == PROCESS_UNKNOWN)
        return false;
    if (flags & ENTRY_HAS_MEM)
        entry->mem_bytes = read_varint(&record);
    if (flags & ENTRY_HAS_UTIL) {
        entry->util_sm_percent = get_percent(&record);
        entry->util_memory_percent = get_percent(&record);
        entry->util_encoder_percent = get_percent(&record);
        entry->util_decoder_percent = get_percent(&record);
    }
    if (flags & ENTRY_HAS_INSTANCE) {
        entry->gpu_instance_id = get_u32(&record) - 1; /* 0 stands for INSTANCE_NONE */
        entry->compute_instance_id = get_u32(&record) - 1;
    }
    return !record.failed;
}

static bool get_entries(struct reader *section, const struct snapshot_need *need, struct snapshot *snapshot)
{
    for (uint32_t i = 0; i < need->entries; i++)
        if (!get_entry(next_record(section), snapshot, &snapshot->entries[i]))
            return false;
    snapshot->entry_count = need->entries;
    return !reader_left(section);
}

static bool get_node(struct sections *sections, struct snapshot *snapshot)
{
    struct reader *facts = &sections->at[SECTION_NODE_FACTS];
    struct reader *readings = &sections->at[SECTION_NODE_READINGS];

    get_node_facts(facts, snapshot);
    get_node_readings(readings, snapshot);
    return !facts->failed && !readings->failed;
}

int snapshot_decode(struct reader body, struct snapshot *snapshot)
{
    struct snapshot_need need;
    struct sections sections;
    int r;

    r = find_sections(body, &sections);
    if (r < 0)
        return r;
    r = read_counts(&sections, &need);
    if (r < 0)
        return r;
    if (need.devices > snapshot->device_cap || need.entries > snapshot->entry_cap ||
        need.processes > snapshot->process_cap)
        return -ENOBUFS;
    if (get_node(&sections, snapshot) && get_devices(&sections, &need, snapshot) &&
        get_processes(&sections, &need, snapshot) &&
        get_entries(&sections.at[SECTION_ENTRIES], &need, snapshot))
        return 0;
    snapshot_clear(snapshot);
    return -EBADMSG;
}
