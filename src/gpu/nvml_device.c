#include "gpu/nvml_source.h"

#include "core/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* A lost device is tried at each check for this long, then ever more seldom. */
#define RETRY_EAGERLY_NS (30 * NS_PER_S)
#define RETRY_FIRST_NS   (NS_PER_S / 2) /* checks come once a second: half of it misses none */
#define RETRY_MAX_NS     (60 * NS_PER_S)

struct nvml_device *nvml_device_new(uint32_t index)
{
    struct nvml_device *device = calloc(1, sizeof(*device));

    if (device)
        device_init(&device->model, index);
    return device;
}

void nvml_device_free(struct nvml_device *device)
{
    if (!device)
        return;
    for (uint32_t i = 0; i < device->instance_count; i++)
        nvml_device_free(device->instances[i]);
    free(device->entries);
    free(device->loads);
    free(device);
}

void nvml_device_discard(struct nvml_source *source, struct nvml_device *take_device)
{
    if (!take_device)
        return;
    take_device->next_discarded = source->discarded;
    source->discarded = take_device;
}

/* Copies a text that the new record could not read itself. */
static void inherit_text(struct text *text, char *bytes, const struct text *old, size_t size)
{
    if (text_is_present(*text) || !text_is_present(*old))
        return;
    memcpy(bytes, old->bytes, size);
    *text = (struct text){bytes, old->len};
}

void nvml_device_inherit(struct nvml_source *source, struct nvml_device *device, struct nvml_device *take_old)
{
    struct nvml_device *old = take_old;
    uint64_t fresh = field_group_mask(GROUP_STATIC);

    for (unsigned field = 0; field < FIELD_COUNT; field++)
        if (field_has(&old->model.values, field) && !(fresh >> field & 1))
            field_set(&device->model.values, field, old->model.values.value[field]);
    for (unsigned group = 0; group < GROUP_COUNT; group++)
        if (!device->was_read[group] && old->was_read[group]) {
            device->was_read[group] = true;
            device->read_at[group] = old->read_at[group];
        }
    /* A device that cannot be reached keeps its name tags. */
    if (device->model.state != DEVICE_OK) {
        inherit_text(&device->model.name, device->name, &old->model.name, sizeof(device->name));
        inherit_text(&device->model.uuid, device->uuid, &old->model.uuid, sizeof(device->uuid));
        inherit_text(&device->model.serial, device->serial, &old->model.serial, sizeof(device->serial));
        inherit_text(&device->model.pci_bus_id, device->pci_bus_id, &old->model.pci_bus_id,
                     sizeof(device->pci_bus_id));
    }
    if (!device->identity[0])
        memcpy(device->identity, old->identity, sizeof(device->identity));
    if (!device->address[0])
        memcpy(device->address, old->address, sizeof(device->address));
    memcpy(device->model.list_code, old->model.list_code, sizeof(device->model.list_code));
    device->was_ok |= old->was_ok;
    device->mps_seen = old->mps_seen;
    device->load_seen_us = old->load_seen_us;

    device->entries = steal_pointer(&old->entries);
    device->entry_count = old->entry_count;
    device->entry_cap = old->entry_cap;
    old->entry_count = 0;
    device->instance_count = old->instance_count;
    for (uint32_t i = 0; i < old->instance_count; i++) {
        device->instances[i] = old->instances[i];
        device->instances[i]->parent = device;
        device->instances[i]->model.index = device->model.index;
    }
    old->instance_count = 0;
    nvml_device_discard(source, old);
}

void nvml_device_set_state(struct nvml_device *device, enum device_state state)
{
    device->model.state = state;
    device->model.fault_code = 0;
    device->handle = NULL;
    device->events_on = NULL;
    /* Who cannot be asked is still who it was, whatever answered last in its place. */
    if (device->identity[0]) {
        memcpy(device->uuid, device->identity, sizeof(device->uuid));
        device->model.uuid = text_from_string(device->uuid);
    }
}

void nvml_device_fail(struct nvml_device *device, int code, struct instant now)
{
    bool failed_before = device->model.state == DEVICE_FAULT;

    /* A fresh look-up of a lost GPU answers 999 on some drivers; "lost" says more. */
    if (failed_before && device->model.fault_code == NVML_ERROR_GPU_IS_LOST && code == NVML_ERROR_UNKNOWN)
        code = NVML_ERROR_GPU_IS_LOST;
    nvml_device_set_state(device, DEVICE_FAULT);
    device->model.fault_code = code;
    if (!failed_before) {
        device->fault_since = now;
        device->retry_delay_ns = RETRY_FIRST_NS;
    } else if (instant_since_ns(now, device->fault_since) > RETRY_EAGERLY_NS) {
        device->retry_delay_ns *= 2;
        if (device->retry_delay_ns > RETRY_MAX_NS)
            device->retry_delay_ns = RETRY_MAX_NS;
    }
    device->retry_at = instant_add_ns(now, device->retry_delay_ns);
}

/*
 * Makes what a call wrote the device's text, absent if the call failed. A lost device keeps the text it had:
 * that is how a person knows which one it was.
 */
static void keep_text(struct text *text, char *bytes, const char *fresh, size_t size, int code)
{
    if (nvml_code_is_loss(code))
        return;
    memcpy(bytes, fresh, size);
    bytes[size - 1] = '\0';
    *text = code == NVML_SUCCESS ? text_from_string(bytes) : TEXT_ABSENT;
}

static int read_name(struct nvml_source *source, struct nvml_device *device)
{
    char name[NVML_NAME_SIZE] = "";
    int code = nvml_device_call(source, device, name, name, sizeof(name));

    keep_text(&device->model.name, device->name, name, sizeof(name), code);
    return code;
}

int nvml_device_read_uuid(struct nvml_source *source, struct nvml_device *device)
{
    char uuid[NVML_UUID_SIZE] = "";
    int code = nvml_device_call(source, device, uuid, uuid, sizeof(uuid));

    keep_text(&device->model.uuid, device->uuid, uuid, sizeof(uuid), code);
    return code;
}

static void read_serial(struct nvml_source *source, struct nvml_device *device)
{
    char serial[NVML_SERIAL_SIZE] = "";
    int code = nvml_device_call(source, device, serial, serial, sizeof(serial));

    keep_text(&device->model.serial, device->serial, serial, sizeof(serial), code);
}

static void read_pci(struct nvml_source *source, struct nvml_device *device)
{
    struct nvml_pci_info info = {0};
    int code = nvml_device_call(source, device, pci_info, &info);

    info.bus_id[sizeof(info.bus_id) - 1] = '\0';
    info.bus_id_legacy[sizeof(info.bus_id_legacy) - 1] = '\0';
    /* The calls before _v3 leave bus_id alone; their text has a domain of four digits. */
    if (code == NVML_SUCCESS && !info.bus_id[0] && info.bus_id_legacy[0]) {
        char address[PCI_ADDRESS_SIZE];

        if (!pci_address_from_nvml(info.bus_id_legacy, address) || !pci_address_to_nvml(address, info.bus_id))
            memcpy(info.bus_id, info.bus_id_legacy, sizeof(info.bus_id_legacy));
    }
    if (code != NVML_SUCCESS || !info.bus_id[0])
        return; /* what is known of the slot stays true */
    memcpy(device->pci_bus_id, info.bus_id, sizeof(device->pci_bus_id));
    device->model.pci_bus_id = text_from_string(device->pci_bus_id);
    if (!pci_address_from_nvml(device->pci_bus_id, device->address))
        device->address[0] = '\0';
}

static void read_number(struct nvml_device *device, enum device_field field, int code, uint32_t value)
{
    if (code == NVML_SUCCESS)
        field_set(&device->model.values, field, value);
    else
        field_unset(&device->model.values, field);
}

static void read_gpu_facts(struct nvml_source *source, struct nvml_device *device)
{
    uint32_t minor = 0;
    int code;

    read_pci(source, device);
    code = nvml_device_call(source, device, minor, &minor);
    read_number(device, FIELD_MINOR, code, minor);
    read_serial(source, device);
}

static void read_instance_facts(struct nvml_source *source, struct nvml_device *device)
{
    struct nvml_attributes attributes = {0};
    uint32_t id = 0;
    int code;

    code = nvml_device_call(source, device, gpu_instance_id, &id);
    read_number(device, FIELD_GPU_INSTANCE_ID, code, id);
    code = nvml_device_call(source, device, compute_instance_id, &id);
    read_number(device, FIELD_COMPUTE_INSTANCE_ID, code, id);
    code = nvml_device_call(source, device, attributes, &attributes);
    read_number(device, FIELD_MULTIPROCESSORS, code, attributes.multiprocessors);
}

int nvml_device_read_static(struct nvml_source *source, struct nvml_device *device, struct instant now)
{
    uint32_t index = 0;
    int code;

    code = read_name(source, device);
    if (nvml_code_is_loss(code))
        return code;
    code = nvml_device_read_uuid(source, device);
    if (nvml_code_is_loss(code))
        return code;
    if (device->parent) {
        read_instance_facts(source, device);
    } else {
        /* Only its error matters: rows are numbered by the index that was asked for. */
        code = nvml_device_call(source, device, index, &index);
        if (nvml_code_is_loss(code))
            return code;
        read_gpu_facts(source, device);
    }
    device->was_read[GROUP_STATIC] = true;
    device->read_at[GROUP_STATIC] = now;
    return 0;
}

static int look_up(struct nvml_source *source, struct nvml_device *device)
{
    int32_t index = (int32_t)device->model.index;
    int code = NVML_ERROR_FUNCTION_NOT_FOUND;

    device->handle = NULL;
    if (text_is_present(device->model.pci_bus_id))
        code = nvml_call(source, index, handle_by_bus_id, device->pci_bus_id, &device->handle);
    if (code == NVML_ERROR_FUNCTION_NOT_FOUND)
        code = nvml_call(source, index, handle_by_index, device->model.index, &device->handle);
    return code == NVML_SUCCESS && !device->handle ? NVML_ERROR_UNKNOWN : code;
}

/* True if the UUID just read is that of the device this record was made for. */
static bool is_same_device(const struct nvml_device *device)
{
    return !device->identity[0] || !text_is_present(device->model.uuid) ||
           text_equal_string(device->model.uuid, device->identity);
}

static void remember_identity(struct nvml_device *device)
{
    if (text_is_present(device->model.uuid))
        memcpy(device->identity, device->uuid, sizeof(device->identity));
}

void nvml_device_use(struct nvml_source *source, struct nvml_device *device, struct instant now)
{
    int code = nvml_device_read_static(source, device, now);

    if (code == NVML_SUCCESS && !is_same_device(device)) {
        source->relist = true;
        device->identity[0] = '\0';
    }
    /* The memory call decides as well: a device that fails there would come and go at every try. */
    if (code == NVML_SUCCESS && device->model.state == DEVICE_FAULT) {
        device->memory_v1 = false;
        code = nvml_values_read_memory(source, device);
        code = nvml_code_is_loss(code) ? code : NVML_SUCCESS;
    }
    if (code != NVML_SUCCESS) {
        nvml_device_fail(device, code, now);
        return;
    }
    remember_identity(device);
    device->model.state = DEVICE_OK;
    device->model.fault_code = 0;
    device->was_ok = true;
    device->unsupported = 0;
    device->mig_due = true;
}

void nvml_device_find(struct nvml_source *source, struct nvml_device *device, struct instant now)
{
    int code = look_up(source, device);

    if (code == NVML_SUCCESS)
        nvml_device_use(source, device, now);
    else
        nvml_device_fail(device, code, now);
}

void nvml_device_verify(struct nvml_source *source, struct nvml_device *device, struct instant now)
{
    int code = nvml_device_read_uuid(source, device);

    if (nvml_code_is_loss(code)) {
        nvml_device_fail(device, code, now);
    } else if (code == NVML_SUCCESS) {
        device->uuid_refused = false;
        source->relist |= !is_same_device(device);
    } else if (code == NVML_ERROR_INVALID_ARGUMENT && !device->uuid_refused) {
        /* Stale handle, most likely. If a fresh one answers the same, it is the call that is broken. */
        nvml_device_find(source, device, now);
        device->uuid_refused = device->model.state == DEVICE_OK && !text_is_present(device->model.uuid);
    }
}
