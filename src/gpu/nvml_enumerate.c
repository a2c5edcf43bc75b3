/*
 * Listing the GPUs: at start, after a new initialisation, and when the driver's list has changed. All handles
 * are fetched anew then (the driver guarantees none of the old ones); what is known of a device stays with
 * it, found by UUID, else by PCI address, else by index.
 */
#include "gpu/nvml_source.h"

#include "core/cleanup.h"

#include <errno.h>
#include <string.h>

/* The GPUs as sysfs shows them, where one of them sleeps; empty otherwise. */
struct sleepers {
    struct pci_gpu gpus[SNAPSHOT_MAX_DEVICES];
    size_t count;
};

/*
 * A look-up by index wakes every GPU that it passes, so where one sleeps the others are found by address.
 * That needs sysfs to show as many GPUs as the driver counts; in a container it may not.
 */
static void find_sleepers(struct nvml_source *source, struct sleepers *sleepers)
{
    bool sleeping = false;

    sleepers->count = pci_list_gpus(source->options.sysfs_root, sleepers->gpus, SNAPSHOT_MAX_DEVICES);
    for (size_t i = 0; i < sleepers->count; i++)
        sleeping |= sleepers->gpus[i].suspended;
    if (!sleeping || sleepers->count != source->driver_count ||
        !source->library.resolved.calls.handle_by_bus_id)
        sleepers->count = 0;
}

static void set_address(struct nvml_device *gpu, const char *address)
{
    memcpy(gpu->address, address, sizeof(gpu->address));
    if (pci_address_to_nvml(address, gpu->pci_bus_id))
        gpu->model.pci_bus_id = text_from_string(gpu->pci_bus_id);
}

/*
 * Adds the GPU at an index, which is its place in address order where one sleeps. At the first start it is
 * shown at once, so that a call that hangs does not hide the devices before it. Returns 0 or -ENOMEM.
 */
static int open_gpu(struct nvml_source *source, uint32_t index, const struct sleepers *sleepers,
                    bool first_start, struct instant now)
{
    struct nvml_device *gpu = nvml_device_new(index);
    bool asleep = false;

    if (!gpu)
        return -ENOMEM;
    source->gpus[source->gpu_count++] = gpu;
    if (first_start)
        nvml_flatten(source);
    if (sleepers->count) {
        set_address(gpu, sleepers->gpus[index].address);
        asleep = sleepers->gpus[index].suspended;
    }
    if (device_set_has(&source->options.left_out, index))
        nvml_device_set_state(gpu, DEVICE_LEFT_OUT);
    else if (asleep)
        nvml_device_set_state(gpu, DEVICE_ASLEEP);
    else
        nvml_device_find(source, gpu, now);
    return 0;
}

static bool same_identity(const struct nvml_device *a, const struct nvml_device *b)
{
    if (a->identity[0] && b->identity[0])
        return strcmp(a->identity, b->identity) == 0;
    return a->address[0] && strcmp(a->address, b->address) == 0;
}

/* Takes the old record of this device out of the list, or NULL. */
static struct nvml_device *take_match(struct nvml_device **old, uint32_t count, const struct nvml_device *gpu,
                                      bool by_index)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!old[i])
            continue;
        if (by_index ? old[i]->model.index == gpu->model.index : same_identity(old[i], gpu))
            return steal_pointer(&old[i]);
    }
    return NULL;
}

static void match_old(struct nvml_source *source, struct nvml_device **old, uint32_t old_count)
{
    for (uint32_t i = 0; i < source->gpu_count; i++) {
        struct nvml_device *match = take_match(old, old_count, source->gpus[i], false);

        if (match)
            nvml_device_inherit(source, source->gpus[i], match);
    }
    /* One that does not say who it is has to be the one that was there before. */
    for (uint32_t i = 0; i < source->gpu_count; i++) {
        struct nvml_device *gpu = source->gpus[i], *match;

        if (gpu->identity[0] || gpu->address[0])
            continue;
        match = take_match(old, old_count, gpu, true);
        if (match)
            nvml_device_inherit(source, gpu, match);
    }
}

/* What the driver does not list any more stays as a row that says so, the most recent ones at least. */
static void keep_removed(struct nvml_source *source, struct nvml_device **old, uint32_t old_count)
{
    uint32_t room = SNAPSHOT_MAX_DEVICES - source->gpu_count;

    if (room > NVML_MAX_REMOVED)
        room = NVML_MAX_REMOVED;
    for (uint32_t i = 0; i < old_count; i++) {
        if (!old[i])
            continue;
        if (!room || !old[i]->was_ok) {
            nvml_device_discard(source, old[i]);
            continue;
        }
        for (uint32_t j = 0; j < old[i]->instance_count; j++)
            nvml_device_discard(source, old[i]->instances[j]);
        old[i]->instance_count = 0;
        nvml_device_set_state(old[i], DEVICE_REMOVED);
        source->gpus[source->gpu_count++] = old[i];
        room--;
    }
}

int nvml_enumerate(struct nvml_source *source, struct instant now)
{
    struct nvml_device *old[SNAPSHOT_MAX_DEVICES];
    struct sleepers sleepers;
    uint32_t old_count = source->gpu_count, count = source->driver_count;
    int r = 0;

    if (count > SNAPSHOT_MAX_DEVICES)
        count = SNAPSHOT_MAX_DEVICES;
    memcpy(old, source->gpus, sizeof(old));
    source->gpu_count = 0;
    find_sleepers(source, &sleepers);
    for (uint32_t index = 0; index < count && r == 0; index++)
        r = open_gpu(source, index, &sleepers, old_count == 0, now);
    source->relist = false;
    match_old(source, old, old_count);
    keep_removed(source, old, old_count);
    nvml_flatten(source);
    for (uint32_t i = 0; i < source->gpu_count && r == 0; i++)
        r = nvml_mig_list(source, source->gpus[i], now);
    nvml_flatten(source);
    return r;
}

void nvml_flatten(struct nvml_source *source)
{
    source->device_count = 0;
    for (uint32_t i = 0; i < source->gpu_count; i++) {
        struct nvml_device *gpu = source->gpus[i];
        /* Each GPU that follows keeps its place; instances fill what is left of the cap. */
        uint32_t room = SNAPSHOT_MAX_DEVICES - (source->gpu_count - i - 1);

        source->devices[source->device_count++] = gpu;
        for (uint32_t j = 0; j < gpu->instance_count && source->device_count < room; j++)
            source->devices[source->device_count++] = gpu->instances[j];
    }
    while (source->discarded) {
        struct nvml_device *device = source->discarded;

        source->discarded = device->next_discarded;
        nvml_device_free(device);
    }
}
