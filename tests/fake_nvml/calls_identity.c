/* Calls about what a device is: name, ids, PCI address, architecture. */
#include "call.h"

#include <stdio.h>
#include <string.h>

#include "nvml_structs.h"

#define PCI_CLASS_DISPLAY 3
#define PCI_SUBCLASS_3D   2

NVML_CALL(nvmlDeviceGetName, const void *device, char *ret_text, uint32_t size)
{
    struct call call = call_begin(__func__);
    if (call_any_device(&call, device)) {
        char room[EVALUATE_NAME_SIZE];
        const char *text = NULL;
        int rc = call.mig ? evaluate_mig_name(call.device, call.mig, call.t, room, &text)
                          : value_text(&call.device->name, call.t, &text);
        call_answer_text(&call, rc, text, ret_text, size);
    }
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetUUID, const void *device, char *ret_text, uint32_t size)
{
    struct call call = call_begin(__func__);
    if (call_any_device(&call, device)) {
        const char *text = NULL;
        int rc = value_text(call.mig ? &call.mig->uuid : &call.device->uuid, call.t, &text);
        call_answer_text(&call, rc, text, ret_text, size);
    }
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetSerial, const void *device, char *ret_text, uint32_t size)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device)) {
        const char *text = NULL;
        int rc = value_text(&call.device->serial, call.t, &text);
        call_answer_text(&call, rc, text, ret_text, size);
    }
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetIndex, const void *device, uint32_t *ret_index)
{
    struct call call = call_begin(__func__);
    if (call_any_device(&call, device) && call_require(&call, ret_index)) {
        if (call.mig)
            *ret_index = call.mig->index;
        else
            call.rc = value_u32(&call.device->index, call.t, ret_index);
    }
    return call_end(&call);
}

/* The address with the domain in four digits: "0000:3B:00.0". A longer domain is cut where the room ends. */
static void write_legacy_address(const struct pci *pci, char to[NVML_OLD_BUS_ID_SIZE])
{
    char text[NVML_BUS_ID_SIZE];
    snprintf(text, sizeof(text), "%04X%s", pci->domain, pci->address + strlen("DDDDDDDD"));
    memset(to, 0, NVML_OLD_BUS_ID_SIZE);
    memcpy(to, text, strnlen(text, NVML_OLD_BUS_ID_SIZE - 1));
}

static void write_address(const struct pci *pci, char to[NVML_BUS_ID_SIZE])
{
    memset(to, 0, NVML_BUS_ID_SIZE);
    memcpy(to, pci->address, strlen(pci->address));
}

static int old_pci_info(const char *function, const void *device, struct nvml_pci_info_old *ret_info)
{
    struct call call = call_begin(function);
    if (call_gpu(&call, device) && call_require(&call, ret_info)) {
        const struct pci *pci = &call.device->pci;
        *ret_info = (struct nvml_pci_info_old){.domain = pci->domain,
                                               .bus = pci->bus,
                                               .device = pci->device,
                                               .pci_device_id = pci->id,
                                               .pci_subsystem_id = pci->subsystem_id};
        write_legacy_address(pci, ret_info->bus_id);
    }
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetPciInfo, const void *device, struct nvml_pci_info_old *ret_info)
{
    return old_pci_info(__func__, device, ret_info);
}

NVML_CALL(nvmlDeviceGetPciInfo_v2, const void *device, struct nvml_pci_info_old *ret_info)
{
    return old_pci_info(__func__, device, ret_info);
}

NVML_CALL(nvmlDeviceGetPciInfo_v3, const void *device, struct nvml_pci_info *ret_info)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_info)) {
        const struct pci *pci = &call.device->pci;
        *ret_info = (struct nvml_pci_info){.domain = pci->domain,
                                           .bus = pci->bus,
                                           .device = pci->device,
                                           .pci_device_id = pci->id,
                                           .pci_subsystem_id = pci->subsystem_id};
        write_legacy_address(pci, ret_info->bus_id_legacy);
        write_address(pci, ret_info->bus_id);
    }
    return call_end(&call);
}

static void answer_pci_info_ext(struct call *call, struct nvml_pci_info_ext *info)
{
    const struct pci *pci = &call->device->pci;
    if (info->version != NVML_VERSION_WORD(*info, 1)) {
        call->rc = NVML_ARGUMENT_VERSION_MISMATCH;
        return;
    }
    info->domain = pci->domain;
    info->bus = pci->bus;
    info->device = pci->device;
    info->pci_device_id = pci->id;
    info->pci_subsystem_id = pci->subsystem_id;
    info->base_class = PCI_CLASS_DISPLAY;
    info->sub_class = PCI_SUBCLASS_3D;
    write_address(pci, info->bus_id);
}

NVML_CALL(nvmlDeviceGetPciInfoExt, const void *device, struct nvml_pci_info_ext *info)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, info))
        answer_pci_info_ext(&call, info);
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetCudaComputeCapability, const void *device, int32_t *ret_major, int32_t *ret_minor)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_major) && call_require(&call, ret_minor)) {
        uint32_t major = 0, minor = 0;
        call.rc = value_u32(&call.device->capability_major, call.t, &major);
        if (call.rc == NVML_SUCCESS)
            call.rc = value_u32(&call.device->capability_minor, call.t, &minor);
        if (call.rc == NVML_SUCCESS) {
            *ret_major = (int32_t)major;
            *ret_minor = (int32_t)minor;
        }
    }
    return call_end(&call);
}
