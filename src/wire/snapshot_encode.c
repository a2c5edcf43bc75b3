#include "wire/snapshot_codec.h"

#include "wire/snapshot_format.h"

#include <assert.h>

static struct text capped(struct text text, size_t max)
{
    return text.len > max ? (struct text){text.bytes, max} : text;
}

/* A text that may be absent, cut to what a reader accepts. */
static void put_text(struct writer *writer, struct text text, size_t max)
{
    write_optional_text(writer, capped(text, max));
}

/* An age, plus 1 so that AGE_NEVER becomes 0. */
static void put_age(struct writer *writer, uint64_t age_us)
{
    write_varint(writer, age_us + 1);
}

static size_t section_begin(struct writer *writer, enum snapshot_section section)
{
    write_u8(writer, (uint8_t)section);
    return write_length_begin(writer);
}

/* The fields of `which` that are present: bit bytes, then the values in the order of their numbers. */
static void put_fields(struct writer *writer, const struct field_values *values, uint64_t which)
{
    uint64_t present = values->present & which;
    uint8_t bits[8], len = 0;

    for (uint64_t left = present; left; left >>= 8)
        bits[len++] = (uint8_t)left;
    write_u8(writer, len);
    write_bytes(writer, bits, len);
    for (; present; present &= present - 1)
        write_varint(writer, (uint64_t)values->value[__builtin_ctzll(present)]);
}

static void put_node_facts(struct writer *writer, const struct snapshot *snapshot)
{
    size_t mark = section_begin(writer, SECTION_NODE_FACTS);

    put_text(writer, snapshot->hostname, SNAPSHOT_TEXT_MAX);
    put_text(writer, snapshot->driver_version, SNAPSHOT_TEXT_MAX);
    put_text(writer, snapshot->nvml_version, SNAPSHOT_TEXT_MAX);
    write_length_end(writer, mark);
}

static void put_node_readings(struct writer *writer, const struct snapshot *snapshot)
{
    size_t mark = section_begin(writer, SECTION_NODE_READINGS);

    write_varint(writer, snapshot->sequence);
    write_zigzag(writer, snapshot->taken_unix_us);
    write_varint(writer, snapshot->flags & NODE_FLAG_BITS);
    write_varint(writer, snapshot->fault);
    write_zigzag(writer, snapshot->fault_code);
    put_text(writer, snapshot->fault_text, SNAPSHOT_FAULT_TEXT_MAX);
    put_text(writer, snapshot->pending.name, SNAPSHOT_TEXT_MAX);
    write_zigzag(writer, snapshot->pending.device);
    write_varint(writer, snapshot->pending.running_us);
    write_varint(writer, snapshot->driver_time_ppm);
    write_varint(writer, snapshot->unnamed_processes);
    write_varint(writer, snapshot->commands_cut);
    write_varint(writer, snapshot->entries_left_out);
    put_age(writer, snapshot->host_age_us);
    write_length_end(writer, mark);
}

static void put_device_facts(struct writer *writer, const struct device *device)
{
    size_t mark = write_sized_begin(writer);

    write_varint(writer, device->kind);
    write_varint(writer, device->index);
    write_varint(writer, device->mig_index);
    write_varint(writer, device->flags & DEVICE_FLAG_BITS);
    put_text(writer, device->name, SNAPSHOT_TEXT_MAX);
    put_text(writer, device->uuid, SNAPSHOT_TEXT_MAX);
    put_text(writer, device->serial, SNAPSHOT_TEXT_MAX);
    put_text(writer, device->pci_bus_id, SNAPSHOT_TEXT_MAX);
    put_fields(writer, &device->values, FACT_FIELDS);
    write_sized_end(writer, mark);
}

static void put_device_readings(struct writer *writer, const struct device *device)
{
    size_t mark = write_sized_begin(writer);

    write_varint(writer, device->state);
    write_zigzag(writer, device->fault_code);
    put_fields(writer, &device->values, ~FACT_FIELDS);
    write_varint(writer, GROUP_COUNT);
    for (unsigned group = 0; group < GROUP_COUNT; group++)
        put_age(writer, device->group_age_us[group]);
    write_varint(writer, LIST_COUNT);
    for (unsigned list = 0; list < LIST_COUNT; list++)
        write_zigzag(writer, device->list_code[list]);
    write_varint(writer, device->entry_count);
    write_sized_end(writer, mark);
}

static unsigned entry_flags(const struct process_entry *entry, const struct process *process)
{
    unsigned flags = 0;

    if (!process || process->pid != entry->pid)
        flags |= ENTRY_HAS_PID;
    if (entry->has_mem)
        flags |= ENTRY_HAS_MEM;
    if ((entry->util_sm_percent & entry->util_memory_percent & entry->util_encoder_percent &
         entry->util_decoder_percent) != PERCENT_ABSENT)
        flags |= ENTRY_HAS_UTIL;
    if (entry->gpu_instance_id != INSTANCE_NONE || entry->compute_instance_id != INSTANCE_NONE)
        flags |= ENTRY_HAS_INSTANCE;
    return flags;
}

static void put_entry(struct writer *writer, const struct snapshot *snapshot,
                      const struct process_entry *entry)
{
    const struct process *process = snapshot_process(snapshot, entry);
    unsigned flags = entry_flags(entry, process);
    size_t mark = write_sized_begin(writer);

    write_varint(writer, entry->list);
    write_varint(writer, flags);
    write_varint(writer, process ? (uint64_t)entry->process + 1 : 0);
    if (flags & ENTRY_HAS_PID)
        write_varint(writer, entry->pid);
    if (flags & ENTRY_HAS_MEM)
        write_varint(writer, entry->mem_bytes);
    if (flags & ENTRY_HAS_UTIL) {
        write_u8(writer, entry->util_sm_percent);
        write_u8(writer, entry->util_memory_percent);
        write_u8(writer, entry->util_encoder_percent);
        write_u8(writer, entry->util_decoder_percent);
    }
    if (flags & ENTRY_HAS_INSTANCE) {
        write_varint(writer, (uint32_t)(entry->gpu_instance_id + 1)); /* INSTANCE_NONE becomes 0 */
        write_varint(writer, (uint32_t)(entry->compute_instance_id + 1));
    }
    write_sized_end(writer, mark);
}

/* The key of a process, in its facts and in its readings. */
static void put_process_key(struct writer *writer, const struct process *process)
{
    write_varint(writer, process->pid);
    write_varint(writer, process->facts & PROCESS_HAS_START ? process->start_ticks : 0);
}

static void put_process_facts(struct writer *writer, const struct process *process)
{
    unsigned facts = process->facts & PROCESS_FACT_BITS;
    size_t mark = write_sized_begin(writer);

    if (process->command_line.len > SNAPSHOT_COMMAND_LINE_MAX)
        facts |= PROCESS_COMMAND_LINE_CUT;
    put_process_key(writer, process);
    write_varint(writer, facts);
    if (facts & PROCESS_HAS_UID)
        write_varint(writer, process->uid);
    if (facts & PROCESS_HAS_START)
        write_zigzag(writer, process->start_unix_us);
    put_text(writer, process->user, SNAPSHOT_TEXT_MAX);
    put_text(writer, process->comm, SNAPSHOT_TEXT_MAX);
    put_text(writer, process->command_line, SNAPSHOT_COMMAND_LINE_MAX);
    put_text(writer, process->slurm_job, SNAPSHOT_TEXT_MAX);
    put_text(writer, process->slurm_step, SNAPSHOT_TEXT_MAX);
    put_text(writer, process->container, SNAPSHOT_TEXT_MAX);
    write_sized_end(writer, mark);
}

static void put_process_readings(struct writer *writer, const struct process *process)
{
    unsigned facts = process->facts & PROCESS_READING_BITS;
    size_t mark = write_sized_begin(writer);

    put_process_key(writer, process);
    write_varint(writer, process->state);
    write_varint(writer, facts);
    if (facts & PROCESS_HAS_CPU)
        write_varint(writer, process->cpu_permille);
    if (facts & PROCESS_HAS_RSS)
        write_varint(writer, process->rss_bytes);
    write_sized_end(writer, mark);
}

static void put_devices(struct writer *writer, const struct snapshot *snapshot, enum snapshot_section section,
                        void (*put)(struct writer *writer, const struct device *device))
{
    size_t mark = section_begin(writer, section);

    write_varint(writer, snapshot->device_count);
    for (uint32_t i = 0; i < snapshot->device_count; i++)
        put(writer, &snapshot->devices[i]);
    write_length_end(writer, mark);
}

static void put_processes(struct writer *writer, const struct snapshot *snapshot,
                          enum snapshot_section section,
                          void (*put)(struct writer *writer, const struct process *process))
{
    size_t mark = section_begin(writer, section);

    write_varint(writer, snapshot->process_count);
    for (uint32_t i = 0; i < snapshot->process_count; i++)
        put(writer, &snapshot->processes[i]);
    write_length_end(writer, mark);
}

/* All devices' entries in the devices' order: a reader finds each device's by adding up the counts. */
static void put_entries(struct writer *writer, const struct snapshot *snapshot)
{
    size_t mark = section_begin(writer, SECTION_ENTRIES);
    uint32_t count = 0;

    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        const struct device *device = &snapshot->devices[i];

        assert(device->first_entry <= snapshot->entry_count &&
               device->entry_count <= snapshot->entry_count - device->first_entry);
        count += device->entry_count;
    }
    assert(count <= SNAPSHOT_MAX_ENTRIES);
    write_varint(writer, count);
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        const struct device *device = &snapshot->devices[i];

        for (uint32_t k = 0; k < device->entry_count; k++)
            put_entry(writer, snapshot, &snapshot->entries[device->first_entry + k]);
    }
    write_length_end(writer, mark);
}

void snapshot_encode(const struct snapshot *snapshot, struct writer *writer)
{
    assert(snapshot->device_count <= SNAPSHOT_MAX_DEVICES);
    assert(snapshot->process_count <= SNAPSHOT_MAX_PROCESSES);
    put_node_readings(writer, snapshot);
    put_devices(writer, snapshot, SECTION_DEVICE_READINGS, put_device_readings);
    put_processes(writer, snapshot, SECTION_PROCESS_READINGS, put_process_readings);
    put_entries(writer, snapshot);
    put_node_facts(writer, snapshot);
    put_devices(writer, snapshot, SECTION_DEVICE_FACTS, put_device_facts);
    put_processes(writer, snapshot, SECTION_PROCESS_FACTS, put_process_facts);
}

size_t snapshot_encoded_max(const struct snapshot *snapshot)
{
    struct writer counting = writer_counting();

    snapshot_encode(snapshot, &counting);
    return counting.pos;
}
