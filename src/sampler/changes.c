#include "sampler/changes.h"

#include <stdlib.h>

/* A jump: more than this, or more than a hundredth of the device's memory if that is less. */
#define JUMP_BYTES (INT64_C(64) << 20)

void changes_init(struct changes *changes)
{
    *changes = (struct changes){0};
}

void changes_lists_read(struct changes *changes, uint32_t position)
{
    if (position < SNAPSHOT_MAX_DEVICES)
        changes->known[position] = false;
}

/* FNV-1a. */
static uint64_t hash_text(uint64_t hash, struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (uint8_t)text.bytes[i]) * 0x100000001B3u;
    return (hash ^ text_is_present(text)) * 0x100000001B3u;
}

static uint64_t identity_of(const struct device *device)
{
    uint64_t hash = 0xCBF29CE484222325u;

    hash = hash_text(hash, device->uuid);
    hash = hash_text(hash, device->pci_bus_id);
    hash = (hash ^ device->kind) * 0x100000001B3u;
    hash = (hash ^ device->mig_index) * 0x100000001B3u;
    return (hash ^ (device->state == DEVICE_OK)) * 0x100000001B3u;
}

static bool memory_jumped(const struct changes *changes, uint32_t position, const struct device *device,
                          int64_t used)
{
    int64_t threshold = JUMP_BYTES, total;

    if (field_get(&device->values, FIELD_MEM_TOTAL_BYTES, &total) && total / 100 < threshold)
        threshold = total / 100;
    return llabs(used - changes->memory_bytes[position]) > threshold;
}

static void compare_device(struct changes *changes, uint32_t position, const struct device *device,
                           struct schedule *schedule, struct instant now)
{
    uint64_t identity = identity_of(device);
    int64_t used;

    if (position < changes->device_count && changes->identity[position] != identity) {
        schedule_renew(schedule, position, now);
        changes->known[position] = false;
    }
    changes->identity[position] = identity;
    if (!field_get(&device->values, FIELD_MEM_USED_BYTES, &used) || (device->flags & DEVICE_UNIFIED_MEMORY))
        return; /* unified: the figure is made from the lists themselves */
    if (!changes->known[position]) {
        changes->known[position] = true;
        changes->memory_bytes[position] = used;
    } else if (memory_jumped(changes, position, device, used)) {
        schedule_memory_jumped(schedule, position);
    }
}

void changes_apply(struct changes *changes, const struct snapshot *snapshot, struct schedule *schedule,
                   struct instant now)
{
    for (uint32_t i = 0; i < snapshot->device_count && i < SNAPSHOT_MAX_DEVICES; i++)
        compare_device(changes, i, &snapshot->devices[i], schedule, now);
    changes->device_count = snapshot->device_count;
}
