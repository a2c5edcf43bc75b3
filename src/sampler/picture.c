#include "sampler/picture.h"

#include "host/identity.h"
#include "host/memory.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof((struct picture){0}.node_name) > NODE_NAME_MAX, "room for the longest node name");

/* Pids that no picture has named for so many pictures, and for so long, are forgotten. */
#define SWEEP_NS     (60 * NS_PER_S)
#define SWEEP_ROUNDS 16

void picture_init(struct picture *picture, struct instant now)
{
    *picture = (struct picture){.swept_at = now};
    snapshot_init(&picture->snapshot);
    identity_node_name(picture->node_name);
    share_init(&picture->share, now, 0);
}

/* ---- processes ---- */

/* Adds the process to the snapshot. Returns its place, or PROCESS_UNKNOWN. */
static uint32_t add_process(struct snapshot *snapshot, const struct process *process)
{
    if (!process)
        return PROCESS_UNKNOWN;
    if (snapshot->process_count == snapshot->process_cap &&
        snapshot_reserve(snapshot, 0, 0, snapshot->process_cap ? snapshot->process_cap * 2 : 16) < 0 &&
        snapshot_reserve(snapshot, 0, 0, SNAPSHOT_MAX_PROCESSES) < 0)
        return PROCESS_UNKNOWN;
    if (snapshot->process_count == snapshot->process_cap)
        return PROCESS_UNKNOWN;
    snapshot->processes[snapshot->process_count] = *process;
    return snapshot->process_count++;
}

static uint32_t process_of_entry(struct picture *picture, const struct process_table *table, uint32_t pid)
{
    struct pid_slot *slot = pid ? pid_map_put(&picture->pids, pid) : NULL;

    if (!slot)
        return PROCESS_UNKNOWN;
    if (slot->round != picture->round) {
        slot->round = picture->round;
        slot->process = add_process(&picture->snapshot, process_table_find(table, pid));
    }
    return slot->process;
}

/* True if the process may well run where we cannot see it. */
static bool is_out_of_sight(const struct snapshot *snapshot, const struct process_entry *entry)
{
    const struct process *process = snapshot_process(snapshot, entry);

    if (!process)
        return false;
    return process->state == PROCESS_HIDDEN ||
           (process->state == PROCESS_EXITED && (snapshot->flags & NODE_PID_NAMESPACE));
}

static void add_processes(struct picture *picture, const struct process_table *table)
{
    struct snapshot *snapshot = &picture->snapshot;

    if (process_table_sees_hidepid(table))
        snapshot->flags |= NODE_PROC_HIDDEN;
    if (process_table_in_pid_namespace(table))
        snapshot->flags |= NODE_PID_NAMESPACE;
    for (uint32_t i = 0; i < snapshot->entry_count; i++) {
        struct process_entry *entry = &snapshot->entries[i];

        entry->process = process_of_entry(picture, table, entry->pid);
        snapshot->unnamed_processes += is_out_of_sight(snapshot, entry);
    }
}

uint32_t picture_unread_pids(const struct picture *picture)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < picture->pids.slot_count; i++) {
        const struct pid_slot *slot = &picture->pids.slots[i];

        count += slot->pid && slot->round == picture->round && !slot->was_read;
    }
    return count;
}

static uint64_t oldest_reading_us(const struct picture *picture, struct instant now)
{
    int64_t oldest_ns = -1;

    for (uint32_t i = 0; i < picture->pids.slot_count; i++) {
        const struct pid_slot *slot = &picture->pids.slots[i];
        int64_t age_ns = instant_since_ns(now, slot->read_at);

        if (slot->pid && slot->round == picture->round && slot->was_read && age_ns > oldest_ns)
            oldest_ns = age_ns;
    }
    return oldest_ns < 0 ? AGE_NEVER : (uint64_t)(oldest_ns / NS_PER_US);
}

/* ---- unified memory ---- */

/* The sum of the device's processes' memory: of each the largest entry, for it may stand on several lists. */
static uint64_t memory_of_processes(struct picture *picture, const struct device *device)
{
    const struct process_entry *entries = &picture->snapshot.entries[device->first_entry];
    uint64_t mark = (uint64_t)picture->round << 32 | device->first_entry;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < device->entry_count; i++) {
        struct pid_slot *slot = pid_map_find(&picture->pids, entries[i].pid);

        if (!slot || !entries[i].has_mem)
            continue;
        if (slot->summed != mark)
            slot->largest_bytes = 0;
        slot->summed = mark;
        if (entries[i].mem_bytes <= slot->largest_bytes)
            continue;
        sum += entries[i].mem_bytes - slot->largest_bytes;
        slot->largest_bytes = entries[i].mem_bytes;
    }
    return sum;
}

/* The device's memory is the system's: its size, and what the device's processes hold of it. */
static void show_unified_memory(struct picture *picture, struct device *device)
{
    struct host_memory memory;

    if (!picture->total_memory_bytes && host_memory_read("/proc", &memory) == 0)
        picture->total_memory_bytes = memory.total_bytes;
    if (!picture->total_memory_bytes)
        return;
    field_set(&device->values, FIELD_MEM_TOTAL_BYTES, (int64_t)picture->total_memory_bytes);
    if (device_has_process_list(device))
        field_set(&device->values, FIELD_MEM_USED_BYTES, (int64_t)memory_of_processes(picture, device));
}

/* ---- the whole ---- */

static void add_call(struct picture *picture, const struct picture_sources *sources, struct instant now)
{
    struct snapshot *snapshot = &picture->snapshot;
    struct call_seen seen;
    int64_t running_ns = 0;

    call_page_read(sources->page, &seen);
    if (seen.kind != CALL_NONE && instant_since_ns(now, seen.began) > 0)
        running_ns = instant_since_ns(now, seen.began);
    snapshot->driver_time_ppm =
        share_update(&picture->share, now, seen.driver_ns + (seen.kind == CALL_DRIVER ? running_ns : 0));
    if (seen.kind == CALL_NONE)
        return;
    memcpy(picture->call_name, seen.name, sizeof(picture->call_name));
    snapshot->pending = (struct pending_call){
        .name = text_from_string(picture->call_name),
        .device = seen.device,
        .running_us = (uint64_t)(running_ns / NS_PER_US),
    };
    if (seen.kind == CALL_DRIVER && seen.device < 0 && running_ns >= sources->stuck_call_ns) {
        snapshot->fault = NODE_FAULT_HUNG;
        snapshot->fault_code = 0;
        snapshot->fault_text = snapshot->pending.name;
    }
}

static void sweep(struct picture *picture, struct instant now)
{
    if (instant_since_ns(now, picture->swept_at) < SWEEP_NS || picture->round < SWEEP_ROUNDS)
        return;
    picture->swept_at = now;
    pid_map_sweep(&picture->pids, picture->round - SWEEP_ROUNDS);
}

int picture_make(struct picture *picture, const struct picture_sources *sources, struct instant now)
{
    struct snapshot *snapshot = &picture->snapshot;
    int r;

    snapshot_clear(snapshot);
    picture->round++;
    r = sources->source->ops->fill(sources->source, now, snapshot);
    snapshot->sequence = picture->round;
    snapshot->taken_unix_us = clock_wall_us();
    snapshot->hostname = text_from_string(picture->node_name);
    if (sources->first_round_done)
        snapshot->flags |= NODE_FIRST_ROUND_DONE;
    add_processes(picture, sources->processes);
    for (uint32_t i = 0; i < snapshot->device_count; i++)
        if (snapshot->devices[i].flags & DEVICE_UNIFIED_MEMORY)
            show_unified_memory(picture, &snapshot->devices[i]);
    snapshot->host_age_us = oldest_reading_us(picture, now);
    add_call(picture, sources, now);
    sweep(picture, now);
    return r;
}
