/*
 * MIG instances: devices of their own behind their GPU. Their handles can be given to another instance after
 * a change of the layout, so each listing asks for handle and UUID again.
 */
#include "gpu/nvml_source.h"

#include "core/cleanup.h"

#include <errno.h>
#include <string.h>

#define MAX_COUNT_UNKNOWN 8 /* places tried where the driver does not say how many there are */

static uint32_t place_count(struct nvml_source *source, struct nvml_device *gpu)
{
    uint32_t count = 0;
    int code = nvml_device_call(source, gpu, mig_max_count, &count);

    if (code != NVML_SUCCESS)
        count = MAX_COUNT_UNKNOWN;
    return count < NVML_MAX_INSTANCES ? count : NVML_MAX_INSTANCES;
}

/* Takes the instance at a place, or NULL, out of the old list. */
static struct nvml_device *take_instance(struct nvml_device **list, uint32_t count, uint32_t place)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] && list[i]->model.mig_index == place)
            return steal_pointer(&list[i]);
    return NULL;
}

/* Same handle and same UUID as before: nothing to read again. */
static bool is_unchanged(struct nvml_source *source, struct nvml_device *instance, void *handle)
{
    return instance->model.state == DEVICE_OK && instance->handle == handle &&
           nvml_device_read_uuid(source, instance) == NVML_SUCCESS &&
           text_equal_string(instance->model.uuid, instance->identity);
}

/*
 * The instance at a place, NULL if there is none. `old`: what was there before, consumed.
 * Returns 0 or -ENOMEM.
 */
static int look_at_place(struct nvml_source *source, struct nvml_device *gpu, uint32_t place,
                         struct nvml_device *take_old, struct instant now, struct nvml_device **ret_instance)
{
    struct nvml_device *instance;
    void *handle = NULL;
    int code = nvml_device_call(source, gpu, mig_handle_by_index, place, &handle);
    bool gone = code == NVML_ERROR_NOT_FOUND || code == NVML_ERROR_INVALID_ARGUMENT;

    *ret_instance = NULL;
    if (code != NVML_SUCCESS) {
        /* A hole, or nothing that was ever seen: no row. A known instance that cannot be had: a named row. */
        if (take_old && !gone) {
            nvml_device_fail(take_old, code, now);
            *ret_instance = steal_pointer(&take_old);
        }
        nvml_device_discard(source, take_old);
        return 0;
    }
    if (take_old && is_unchanged(source, take_old, handle)) {
        *ret_instance = take_old;
        return 0;
    }
    instance = nvml_device_new(gpu->model.index);
    if (!instance) {
        nvml_device_discard(source, take_old);
        return -ENOMEM;
    }
    instance->parent = gpu;
    instance->model.kind = DEVICE_MIG;
    instance->model.mig_index = place;
    instance->handle = handle;
    if (take_old)
        instance->model.state = take_old->model.state; /* one that had failed has to prove itself */
    nvml_device_use(source, instance, now);
    if (take_old && strcmp(take_old->identity, instance->identity) == 0)
        nvml_device_inherit(source, instance, take_old);
    else
        nvml_device_discard(source, take_old);
    *ret_instance = instance;
    return 0;
}

static void drop_instances(struct nvml_source *source, struct nvml_device *gpu)
{
    for (uint32_t i = 0; i < gpu->instance_count; i++)
        nvml_device_discard(source, gpu->instances[i]);
    gpu->instance_count = 0;
}

/* Handles of a GPU that cannot be called lead nowhere; its instances share its state. */
static void share_state(struct nvml_device *gpu, struct instant now)
{
    for (uint32_t i = 0; i < gpu->instance_count; i++) {
        if (gpu->model.state == DEVICE_FAULT)
            nvml_device_fail(gpu->instances[i], gpu->model.fault_code, now);
        else
            nvml_device_set_state(gpu->instances[i], gpu->model.state);
    }
}

/* True if the GPU is split into instances. On an error that may pass, what was so before. */
static bool is_split(struct nvml_source *source, struct nvml_device *gpu, struct instant now)
{
    uint32_t current = 0, pending = 0;
    int code;

    if (nvml_is_refused(gpu, NVML_READING_MIG_MODE))
        return false;
    code = nvml_device_call(source, gpu, mig_mode, &current, &pending);
    nvml_values_note(gpu, NVML_READING_MIG_MODE, code, now);
    field_unset(&gpu->model.values, FIELD_MIG_MODE);
    field_unset(&gpu->model.values, FIELD_MIG_MODE_PENDING);
    if (code == NVML_ERROR_NOT_SUPPORTED || code == NVML_ERROR_FUNCTION_NOT_FOUND)
        return false;
    if (code != NVML_SUCCESS)
        return gpu->instance_count > 0;
    field_set(&gpu->model.values, FIELD_MIG_MODE, current);
    field_set(&gpu->model.values, FIELD_MIG_MODE_PENDING, pending);
    return current == 1;
}

int nvml_mig_list(struct nvml_source *source, struct nvml_device *gpu, struct instant now)
{
    struct nvml_device *old[NVML_MAX_INSTANCES];
    uint32_t old_count = gpu->instance_count, places;
    int r = 0;

    gpu->mig_due = false;
    if (gpu->model.state != DEVICE_OK) {
        share_state(gpu, now);
        return 0;
    }
    if (!is_split(source, gpu, now)) {
        drop_instances(source, gpu);
        return 0;
    }
    memcpy(old, gpu->instances, sizeof(old));
    gpu->instance_count = 0;
    places = place_count(source, gpu);
    for (uint32_t place = 0; place < places && r == 0; place++) {
        struct nvml_device *instance;

        r = look_at_place(source, gpu, place, take_instance(old, old_count, place), now, &instance);
        if (r == 0 && instance)
            gpu->instances[gpu->instance_count++] = instance;
    }
    for (uint32_t i = 0; i < old_count; i++)
        nvml_device_discard(source, old[i]);
    return r;
}
