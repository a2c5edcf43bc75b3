#include "model/user_filter.h"

#include <string.h>

static bool has_uid(const uint32_t *uids, size_t count, uint32_t uid)
{
    for (size_t i = 0; i < count; i++)
        if (uids[i] == uid)
            return true;
    return false;
}

/* Everything but the devices and entries. Processes keep their places, so that entries still find them. */
static int copy_frame(const struct snapshot *snapshot, struct snapshot *filtered)
{
    struct snapshot arrays;
    int r;

    snapshot_clear(filtered);
    r = snapshot_reserve(filtered, snapshot->device_count, snapshot->entry_count, snapshot->process_count);
    if (r < 0)
        return r;
    arrays = *filtered;
    *filtered = *snapshot;
    filtered->devices = arrays.devices;
    filtered->device_cap = arrays.device_cap;
    filtered->device_count = 0;
    filtered->entries = arrays.entries;
    filtered->entry_cap = arrays.entry_cap;
    filtered->entry_count = 0;
    filtered->processes = arrays.processes;
    filtered->process_cap = arrays.process_cap;
    if (snapshot->process_count)
        memcpy(filtered->processes, snapshot->processes,
               snapshot->process_count * sizeof(*snapshot->processes));
    return 0;
}

/* Appends the device with the entries of these users; it counts only once device_count is raised. */
static struct device *add_device(const struct snapshot *snapshot, const struct device *device,
                                 const uint32_t *uids, size_t uid_count, struct snapshot *filtered,
                                 uint32_t *unowned)
{
    struct device *copy = &filtered->devices[filtered->device_count];

    *copy = *device;
    copy->first_entry = filtered->entry_count;
    copy->entry_count = 0;
    for (uint32_t i = 0; i < device->entry_count; i++) {
        const struct process_entry *entry = &snapshot->entries[device->first_entry + i];
        const struct process *process = snapshot_process(snapshot, entry);

        if (!process || !(process->facts & PROCESS_HAS_UID)) {
            ++*unowned;
        } else if (has_uid(uids, uid_count, process->uid)) {
            filtered->entries[filtered->entry_count++] = *entry;
            copy->entry_count++;
        }
    }
    return copy;
}

static bool is_wanted(const struct device *device)
{
    return device->entry_count > 0 || !device_has_process_list(device);
}

/*
 * A parent comes before its instances, so whether it stays for their sake shows afterwards: it is added in
 * any case and taken out again if it is alone and unwanted.
 */
static bool is_idle_parent(const struct snapshot *filtered)
{
    const struct device *last;

    if (!filtered->device_count)
        return false;
    last = &filtered->devices[filtered->device_count - 1];
    return last->kind == DEVICE_GPU && !is_wanted(last);
}

int user_filter_apply(const struct snapshot *snapshot, const uint32_t *uids, size_t uid_count,
                      struct snapshot *filtered, uint32_t *ret_unowned)
{
    uint32_t unowned = 0;
    int r;

    r = copy_frame(snapshot, filtered);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        const struct device *device = &snapshot->devices[i];
        const struct device *copy;

        if (device->kind == DEVICE_GPU && is_idle_parent(filtered))
            filtered->device_count--;
        copy = add_device(snapshot, device, uids, uid_count, filtered, &unowned);
        if (copy->kind == DEVICE_GPU || is_wanted(copy))
            filtered->device_count++;
    }
    if (is_idle_parent(filtered))
        filtered->device_count--;
    *ret_unowned = unowned;
    return 0;
}
