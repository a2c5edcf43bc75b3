#include "model/merge.h"

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

static struct process_row *find_pid(struct process_row *rows, size_t count, uint32_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].pid == pid)
            return &rows[i];
    return NULL;
}

size_t merge_gpustat(const struct snapshot *snapshot, const struct device *device, struct process_row *rows)
{
    const struct process_entry *entries = entries_of(snapshot, device);
    size_t count = 0;

    for (uint8_t list = LIST_COMPUTE; list <= LIST_GRAPHICS; list++) {
        for (uint32_t i = 0; i < device->entry_count; i++) {
            if (entries[i].list != list || is_gone(snapshot_process(snapshot, &entries[i])))
                continue;
            if (!find_pid(rows, count, entries[i].pid))
                rows[count++] = row_from_entry(snapshot, &entries[i]);
        }
    }
    return count;
}

static struct process_row *find_same(struct process_row *rows, size_t count,
                                     const struct process_entry *entry)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].pid == entry->pid && rows[i].gpu_instance_id == entry->gpu_instance_id &&
            rows[i].compute_instance_id == entry->compute_instance_id)
            return &rows[i];
    return NULL;
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
    size_t count = 0;

    for (uint32_t i = 0; i < device->entry_count; i++) {
        struct process_row *row;

        if (device->kind == DEVICE_GPU && has_instance_row(snapshot, device, &entries[i]))
            continue;
        row = find_same(rows, count, &entries[i]);
        if (row)
            add_entry(row, &entries[i]);
        else
            rows[count++] = row_from_entry(snapshot, &entries[i]);
    }
    return count;
}
