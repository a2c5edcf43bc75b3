#include "wire/snapshot_codec.h"

#include "wire/snapshot_format.h"
#include "wire/snapshot_records.h"

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

/* The next sized record of a section. */
static struct reader next_record(struct reader *section)
{
    return read_nested(section, (size_t)read_varint_max(section, UINT32_MAX));
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

        if (!snapshot_read_device_facts(next_record(facts), device) ||
            !snapshot_read_device_readings(next_record(readings), device))
            return false;
        device->first_entry = entries;
        entries += device->entry_count;
    }
    snapshot->device_count = need->devices;
    return entries == need->entries && !facts->failed && !reader_left(facts) && !reader_left(readings);
}

static bool has_key(const struct process *process, const struct process_key *key)
{
    return process->pid == key->pid && process->start_ticks == key->start_ticks;
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
        struct process_key key = snapshot_read_process_key(&record);

        while (place < snapshot->process_count && !has_key(&snapshot->processes[place], &key))
            place++;
        if (place == snapshot->process_count ||
            !snapshot_read_process_facts(record, &snapshot->processes[place]))
            return false;
    }
    return !section->failed && !reader_left(section);
}

static bool get_processes(struct sections *sections, const struct snapshot_need *need,
                          struct snapshot *snapshot)
{
    struct reader *readings = &sections->at[SECTION_PROCESS_READINGS];

    for (uint32_t i = 0; i < need->processes; i++)
        if (!snapshot_read_process_readings(next_record(readings), &snapshot->processes[i]))
            return false;
    snapshot->process_count = need->processes;
    return !reader_left(readings) && get_facts_of_processes(&sections->at[SECTION_PROCESS_FACTS], snapshot);
}

static bool get_entries(struct reader *section, const struct snapshot_need *need, struct snapshot *snapshot)
{
    for (uint32_t i = 0; i < need->entries; i++)
        if (!snapshot_read_entry(next_record(section), snapshot, &snapshot->entries[i]))
            return false;
    snapshot->entry_count = need->entries;
    return !reader_left(section);
}

static bool get_all(struct sections *sections, const struct snapshot_need *need, struct snapshot *snapshot)
{
    return snapshot_read_node_facts(sections->at[SECTION_NODE_FACTS], snapshot) &&
           snapshot_read_node_readings(sections->at[SECTION_NODE_READINGS], snapshot) &&
           get_devices(sections, need, snapshot) && get_processes(sections, need, snapshot) &&
           get_entries(&sections->at[SECTION_ENTRIES], need, snapshot);
}

int snapshot_decode(struct reader body, struct snapshot *snapshot)
{
    struct snapshot_need need;
    struct sections sections;
    int r;

    r = find_sections(body, &sections);
    if (r == 0)
        r = read_counts(&sections, &need);
    if (r == 0 && (need.devices > snapshot->device_cap || need.entries > snapshot->entry_cap ||
                   need.processes > snapshot->process_cap))
        return -ENOBUFS;
    if (r == 0 && !get_all(&sections, &need, snapshot))
        r = -EBADMSG;
    if (r < 0)
        snapshot_clear(snapshot);
    return r;
}
