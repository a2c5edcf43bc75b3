/*
 * The look around once a second: whether the driver still lists the same devices, whether each handle still
 * leads to its device, lost devices, sleeping ones, events, instances; and whether anything of it all still
 * works, or only a fresh process can go on.
 */
#include "gpu/nvml_source.h"

#define MIG_CHECK_NS (5 * NS_PER_S)
/* In a row; then the library is given up. Devices may come back by themselves, and rows tell of them. */
#define BAD_CHECKS_MAX  3
#define LOST_CHECKS_MAX 10

static int give_up(struct nvml_source *source, enum node_fault fault, int code)
{
    nvml_set_fault(source, fault, code);
    return SOURCE_RESTART;
}

/* The library says that it was never initialised: once more, then list everything. */
static int initialise_again(struct nvml_source *source, struct instant now)
{
    int code, r = nvml_initialise(source);

    if (r != SOURCE_OK) {
        for (uint32_t i = 0; i < source->gpu_count; i++)
            if (source->gpus[i]->model.state == DEVICE_OK)
                nvml_device_fail(source->gpus[i], source->fault_code, now);
        return source->fault == NODE_FAULT_VERSION_MISMATCH ? SOURCE_RESTART : r;
    }
    code = nvml_call(source, -1, device_count, &source->driver_count);
    if (code == NVML_SUCCESS)
        return nvml_enumerate(source, now);
    return SOURCE_OK;
}

/* Asks for the number of devices, which needs none of them. Returns an outcome or -ENOMEM. */
static int check_count(struct nvml_source *source, struct instant now)
{
    uint32_t count = 0;
    int code = nvml_call(source, -1, device_count, &count);

    switch (code) {
    case NVML_SUCCESS:
        source->bad_checks = 0;
        source->relist |= count != source->driver_count;
        source->driver_count = count;
        return SOURCE_OK;
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return give_up(source, NODE_FAULT_VERSION_MISMATCH, code);
    case NVML_ERROR_DRIVER_NOT_LOADED:
        return give_up(source, NODE_FAULT_DRIVER_NOT_LOADED, code);
    case NVML_ERROR_UNINITIALIZED:
    case NVML_ERROR_UNKNOWN:
        if (++source->bad_checks >= BAD_CHECKS_MAX)
            return give_up(source, NODE_FAULT_DEVICE_COUNT, code);
        return code == NVML_ERROR_UNINITIALIZED ? initialise_again(source, now) : SOURCE_OK;
    default:
        return SOURCE_OK; /* the devices themselves tell */
    }
}

/* Follows the kernel's word on whether a device sleeps. A device that woke is looked up. */
static void check_sleep(struct nvml_source *source, struct nvml_device *gpu, struct instant now)
{
    bool suspended = gpu->address[0] && pci_is_suspended(source->options.sysfs_root, gpu->address);

    if (suspended && gpu->model.state != DEVICE_ASLEEP) {
        nvml_device_set_state(gpu, DEVICE_ASLEEP);
        gpu->mig_due = true;
    } else if (!suspended && gpu->model.state == DEVICE_ASLEEP) {
        nvml_device_find(source, gpu, now);
    }
}

static void check_gpu(struct nvml_source *source, struct nvml_device *gpu, struct instant now)
{
    enum device_state before = gpu->model.state;

    if (before == DEVICE_LEFT_OUT || before == DEVICE_REMOVED)
        return;
    check_sleep(source, gpu, now);
    if (before == DEVICE_OK && gpu->model.state == DEVICE_OK)
        nvml_device_verify(source, gpu, now);
    else if (before == DEVICE_FAULT && gpu->model.state == DEVICE_FAULT &&
             instant_since_ns(now, gpu->retry_at) >= 0)
        nvml_device_find(source, gpu, now);
    gpu->mig_due |= gpu->model.state != before;
}

/* True if every device that worked now answers "unknown error": the process lost its access. */
static bool lost_everything(const struct nvml_source *source)
{
    uint32_t lost = 0;

    for (uint32_t i = 0; i < source->gpu_count; i++) {
        const struct nvml_device *gpu = source->gpus[i];

        if (gpu->model.state == DEVICE_LEFT_OUT || gpu->model.state == DEVICE_REMOVED ||
            gpu->model.state == DEVICE_ASLEEP)
            continue;
        if (gpu->model.state != DEVICE_FAULT || gpu->model.fault_code != NVML_ERROR_UNKNOWN || !gpu->was_ok)
            return false;
        lost++;
    }
    return lost > 0;
}

static int check_instances(struct nvml_source *source, struct instant now)
{
    bool all = instant_since_ns(now, source->mig_check_at) >= 0;

    if (all)
        source->mig_check_at = instant_add_ns(now, MIG_CHECK_NS);
    for (uint32_t i = 0; i < source->gpu_count; i++) {
        int r = all || source->gpus[i]->mig_due ? nvml_mig_list(source, source->gpus[i], now) : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

int nvml_check(struct nvml_source *source, struct instant now)
{
    int r;

    if (!source->initialised)
        return SOURCE_FAULT;
    r = check_count(source, now);
    if (r != SOURCE_OK)
        return r;
    for (uint32_t i = 0; i < source->gpu_count && !source->relist; i++)
        check_gpu(source, source->gpus[i], now);
    if (source->relist) {
        r = nvml_enumerate(source, now);
        if (r < 0)
            return r;
    }
    if (lost_everything(source)) {
        if (++source->lost_checks >= LOST_CHECKS_MAX)
            return SOURCE_RESTART;
    } else {
        source->lost_checks = 0;
    }
    nvml_events_read(source);
    r = check_instances(source, now);
    nvml_flatten(source);
    return r < 0 ? r : SOURCE_OK;
}
