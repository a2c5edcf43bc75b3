#include "wire/snapshot_records.h"

#include "wire/snapshot_codec.h"
#include "wire/snapshot_format.h"

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

bool snapshot_read_node_facts(struct reader record, struct snapshot *snapshot)
{
    snapshot->hostname = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    snapshot->driver_version = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    snapshot->nvml_version = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    return !record.failed;
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

bool snapshot_read_node_readings(struct reader record, struct snapshot *snapshot)
{
    snapshot->sequence = read_varint(&record);
    snapshot->taken_unix_us = read_zigzag(&record);
    snapshot->flags = get_flags(&record, NODE_FLAG_BITS);
    get_node_fault(&record, snapshot);
    snapshot->fault_text = read_optional_text(&record, SNAPSHOT_FAULT_TEXT_MAX);
    snapshot->pending.name = read_optional_text(&record, SNAPSHOT_TEXT_MAX);
    snapshot->pending.device = get_i32(&record);
    snapshot->pending.running_us = read_varint(&record);
    snapshot->driver_time_ppm = get_u32(&record);
    snapshot->unnamed_processes = get_u32(&record);
    snapshot->commands_cut = get_u32(&record);
    snapshot->entries_left_out = get_u32(&record);
    snapshot->host_age_us = get_age(&record);
    return !record.failed;
}

bool snapshot_read_device_facts(struct reader record, struct device *device)
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

bool snapshot_read_device_readings(struct reader record, struct device *device)
{
    get_device_state(&record, device);
    get_fields(&record, &device->values);
    get_device_ages(&record, device);
    get_device_lists(&record, device);
    device->entry_count = (uint32_t)read_varint_max(&record, SNAPSHOT_MAX_ENTRIES);
    return !record.failed;
}

bool snapshot_read_process_readings(struct reader record, struct process *process)
{
    struct process_key key = snapshot_read_process_key(&record);
    uint64_t state = read_varint(&record);

    *process = (struct process){.pid = key.pid};
    process->state = state < PROCESS_STATE_COUNT ? (enum process_state)state : PROCESS_RUNNING;
    process->facts = get_flags(&record, PROCESS_READING_BITS);
    if (process->facts & PROCESS_HAS_START)
        process->start_ticks = key.start_ticks;
    if (process->facts & PROCESS_HAS_CPU)
        process->cpu_permille = get_u32(&record);
    if (process->facts & PROCESS_HAS_RSS)
        process->rss_bytes = read_varint(&record);
    return !record.failed;
}

struct process_key snapshot_read_process_key(struct reader *record)
{
    struct process_key key;

    key.pid = get_u32(record);
    key.start_ticks = read_varint(record);
    return key;
}

bool snapshot_read_process_facts(struct reader record, struct process *process)
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
bool snapshot_read_entry(struct reader record, const struct snapshot *snapshot, struct process_entry *entry)
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
