#include "model/merge.h"

#include <assert.h>
#include <string.h>

/* Twice the entries that a snapshot may have, so that a search ends soon. */
#define MAX_SLOTS  (2 * SNAPSHOT_MAX_ENTRIES)
#define SLOT_EMPTY UINT16_MAX

/* Finds the row of an entry again: places in `rows`, hashed by pid, collisions in the next free slot. */
struct row_table {
    struct process_row *rows;
    size_t count;
    uint32_t mask; /* slots in use, less 1 */
    uint16_t slots[MAX_SLOTS];
};

_Static_assert(SNAPSHOT_MAX_ENTRIES <= SLOT_EMPTY, "a slot cannot hold every place");

static const struct process_entry *entries_of(const struct snapshot *snapshot, const struct device *device)
{
    return snapshot->entries + device->first_entry;
}

static struct process_row row_from_entry(const struct snapshot *snapshot, const struct process_entry *entry)
{
    return (struct process_row){
        .pid = entry->pid,
        .process = snapshot_process(snapshot, entry),
        .lists = 1u << entry->list,
        .has_mem = entry->has_mem,
        .mem_bytes = entry->mem_bytes,
        .util_sm_percent = entry->util_sm_percent,
        .gpu_instance_id = entry->gpu_instance_id,
        .compute_instance_id = entry->compute_instance_id,
    };
}

static bool is_gone(const struct process *process)
{
    return process && (process->state == PROCESS_EXITED || process->state == PROCESS_HIDDEN);
}

static void row_table_init(struct row_table *table, struct process_row *rows, uint32_t entry_count)
{
    uint32_t slots = 16;

    assert(entry_count <= SNAPSHOT_MAX_ENTRIES);
    while (slots < 2 * entry_count)
        slots *= 2;
    table->rows = rows;
    table->count = 0;
    table->mask = slots - 1;
    memset(table->slots, 0xff, slots * sizeof(table->slots[0])); /* SLOT_EMPTY */
}

static bool is_row_of(const struct process_row *row, const struct process_entry *entry, bool by_instance)
{
    return row->pid == entry->pid &&
           (!by_instance || (row->gpu_instance_id == entry->gpu_instance_id &&
                             row->compute_instance_id == entry->compute_instance_id));
}

/*
 * The row that has the entry's pid (and its instance too, if by_instance). If there is none yet, one is put
 * at the end and NULL is returned.
 */
static struct process_row *find_or_add_row(struct row_table *table, const struct snapshot *snapshot,
                                           const struct process_entry *entry, bool by_instance)
{
    uint32_t hash = entry->pid * UINT32_C(0x9e3779b1);
    uint32_t at = (hash ^ hash >> 16) & table->mask;

    for (; table->slots[at] != SLOT_EMPTY; at = (at + 1) & table->mask) {
        struct process_row *row = &table->rows[table->slots[at]];

        if (is_row_of(row, entry, by_instance))
            return row;
    }
    table->slots[at] = (uint16_t)table->count;
    table->rows[table->count++] = row_from_entry(snapshot, entry);
    return NULL;
}

size_t merge_gpustat(const struct snapshot *snapshot, const struct device *device, struct process_row *rows)
{
    const struct process_entry *entries = entries_of(snapshot, device);
    struct row_table table;

    row_table_init(&table, rows, device->entry_count);
    for (uint8_t list = LIST_COMPUTE; list <= LIST_GRAPHICS; list++) {
        for (uint32_t i = 0; i < device->entry_count; i++) {
            if (entries[i].list != list || is_gone(snapshot_process(snapshot, &entries[i])))
                continue;
            find_or_add_row(&table, snapshot, &entries[i], false);
        }
    }
    return table.count;
}

static void add_entry(struct process_row *row, const struct process_entry *entry)
{
    row->lists |= 1u << entry->list;
    if (entry->has_mem && (!row->has_mem || entry->mem_bytes > row->mem_bytes)) {
        row->has_mem = true;
        row->mem_bytes = entry->mem_bytes;
    }
    if (row->util_sm_percent == PERCENT_ABSENT)
        row->util_sm_percent = entry->util_sm_percent;
}

/* True if the snapshot has the MIG instance of `parent` that the entry belongs to. */
static bool has_instance_row(const struct snapshot *snapshot, const struct device *parent,
                             const struct process_entry *entry)
{
    if (entry->gpu_instance_id == INSTANCE_NONE)
        return false;
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        const struct device *device = &snapshot->devices[i];
        int64_t gi, ci;

        if (device->kind == DEVICE_MIG && device->index == parent->index &&
            field_get(&device->values, FIELD_GPU_INSTANCE_ID, &gi) && gi == entry->gpu_instance_id &&
            field_get(&device->values, FIELD_COMPUTE_INSTANCE_ID, &ci) && ci == entry->compute_instance_id)
            return true;
    }
    return false;
}

size_t merge_clustat(const struct snapshot *snapshot, const struct device *device, struct process_row *rows)
{
    const struct process_entry *entries = entries_of(snapshot, device);
    struct row_table table;

    row_table_init(&table, rows, device->entry_count);
    for (uint32_t i = 0; i < device->entry_count; i++) {
        struct process_row *row;

        if (device->kind == DEVICE_GPU && has_instance_row(snapshot, device, &entries[i]))
            continue;
        row = find_or_add_row(&table, snapshot, &entries[i], true);
        if (row)
            add_entry(row, &entries[i]);
    }
    return table.count;
}
