/*
 * The part of NVML's binary interface that the collector uses: return codes, numbers and struct layouts as a
 * driver's library expects them (x86-64 and aarch64, natural alignment). Written from the layouts' offsets,
 * not from NVIDIA's header; every offset that matters is asserted below.
 *
 * Enums of the interface are 4-byte integers and appear here as uint32_t or int; handles are void pointers.
 */
#ifndef GPU_NVML_ABI_H
#define GPU_NVML_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Return codes. A library may return others. */
enum nvml_code {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2, /* also: a stale handle */
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6, /* no samples, no such instance: seldom an error */
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_LIBRARY_NOT_FOUND = 12,
    NVML_ERROR_FUNCTION_NOT_FOUND =
        13, /* also: MemoryInfo_v2 of a driver that does not know its version word */
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_ERROR_UNKNOWN = 999,
};

/* A versioned struct's first word: its size and version. */
#define NVML_VERSION_WORD(type, version) ((uint32_t)sizeof(type) | (uint32_t)(version) << 24)

/* Room for texts, their NUL included; the interface's own limits are 96 bytes and less. */
#define NVML_NAME_SIZE    256
#define NVML_UUID_SIZE    96
#define NVML_SERIAL_SIZE  64
#define NVML_VERSION_SIZE 96
#define NVML_BUS_ID_SIZE  32

#define NVML_TEMPERATURE_GPU       0
#define NVML_CLOCK_GRAPHICS        0
#define NVML_CLOCK_SM              1
#define NVML_CLOCK_MEMORY          2
#define NVML_CLOCK_VIDEO           3
#define NVML_ECC_CORRECTED         0
#define NVML_ECC_UNCORRECTED       1
#define NVML_ECC_VOLATILE          0
#define NVML_ECC_AGGREGATE         1
#define NVML_PSTATE_MAX            15 /* 32 means unknown */
#define NVML_FIELD_RECOVERY_ACTION 230
#define NVML_EVENT_XID             UINT64_C(0x8)
#define NVML_EVENT_MIG_CHANGE      UINT64_C(0x100)

struct nvml_utilization {
    uint32_t gpu;
    uint32_t memory;
};

struct nvml_memory_v1 {
    uint64_t total;
    uint64_t free;
    uint64_t used; /* includes what the driver reserves */
};

struct nvml_memory_v2 {
    uint32_t version;
    uint64_t total;
    uint64_t reserved;
    uint64_t free;
    uint64_t used; /* without `reserved` */
};

#define NVML_MEMORY_V2_VERSION NVML_VERSION_WORD(struct nvml_memory_v2, 2)

struct nvml_temperature_v1 {
    uint32_t version;
    uint32_t sensor;
    int32_t temperature_c;
};

#define NVML_TEMPERATURE_V1_VERSION NVML_VERSION_WORD(struct nvml_temperature_v1, 1)

/* The newest form; the un-suffixed and _v2 calls write the first 52 bytes only, without bus_id. */
struct nvml_pci_info {
    char bus_id_legacy[16];
    uint32_t domain;
    uint32_t bus;
    uint32_t device;
    uint32_t pci_device_id;
    uint32_t pci_subsystem_id;
    char bus_id[32];
};

/* Process list entries: 16, 24 or 32 bytes, whatever the symbol's name says (gpu/nvml_process_list.h). */
struct nvml_process_v1 {
    uint32_t pid;
    uint64_t used_bytes; /* all ones: not available */
};

struct nvml_process_v2 {
    uint32_t pid;
    uint64_t used_bytes;
    uint32_t gpu_instance_id; /* all ones: none */
    uint32_t compute_instance_id;
};

struct nvml_process_v3 {
    uint32_t pid;
    uint64_t used_bytes;
    uint32_t gpu_instance_id;
    uint32_t compute_instance_id;
    uint64_t protected_bytes;
};

struct nvml_process_sample {
    uint32_t pid;
    uint64_t time_stamp_us; /* opaque, grows */
    uint32_t sm;
    uint32_t memory;
    uint32_t encoder;
    uint32_t decoder;
};

struct nvml_field_value {
    uint32_t field_id;
    uint32_t scope_id;
    int64_t time_stamp_us;
    int64_t latency_us;
    uint32_t value_type; /* enum nvml_value_type */
    int32_t code;        /* of this field alone */
    uint8_t value[8];
};

enum nvml_value_type {
    NVML_VALUE_DOUBLE = 0,
    NVML_VALUE_U32 = 1,
    NVML_VALUE_ULONG = 2,
    NVML_VALUE_U64 = 3,
    NVML_VALUE_I64 = 4,
    NVML_VALUE_I32 = 5,
    NVML_VALUE_U16 = 6,
};

/* The first nvmlEventSetWait writes 24 bytes, without the instance ids. */
struct nvml_event_data {
    void *device;
    uint64_t type;
    uint64_t data; /* of an Xid event: its number */
    uint32_t gpu_instance_id;
    uint32_t compute_instance_id;
};

struct nvml_attributes {
    uint32_t multiprocessors;
    uint32_t copy_engines;
    uint32_t decoders;
    uint32_t encoders;
    uint32_t jpeg_engines;
    uint32_t ofa_engines;
    uint32_t gpu_instance_slices;
    uint32_t compute_instance_slices;
    uint64_t memory_mb;
};

#define NVML_LAYOUT(type, bytes) \
    _Static_assert(sizeof(struct type) == (bytes), #type " has another size in NVML")
#define NVML_OFFSET(type, member, bytes) \
    _Static_assert(offsetof(struct type, member) == (bytes), #type "." #member " stands elsewhere in NVML")

_Static_assert(sizeof(void *) == 8 && sizeof(int) == 4, "NVML's layouts below are those of 64-bit systems");

NVML_LAYOUT(nvml_utilization, 8);
NVML_OFFSET(nvml_utilization, gpu, 0);
NVML_OFFSET(nvml_utilization, memory, 4);

NVML_LAYOUT(nvml_memory_v1, 24);
NVML_OFFSET(nvml_memory_v1, total, 0);
NVML_OFFSET(nvml_memory_v1, free, 8);
NVML_OFFSET(nvml_memory_v1, used, 16);

NVML_LAYOUT(nvml_memory_v2, 40);
NVML_OFFSET(nvml_memory_v2, version, 0);
NVML_OFFSET(nvml_memory_v2, total, 8);
NVML_OFFSET(nvml_memory_v2, reserved, 16);
NVML_OFFSET(nvml_memory_v2, free, 24);
NVML_OFFSET(nvml_memory_v2, used, 32);
_Static_assert(NVML_MEMORY_V2_VERSION == 0x02000028, "version word of nvmlDeviceGetMemoryInfo_v2");

NVML_LAYOUT(nvml_temperature_v1, 12);
NVML_OFFSET(nvml_temperature_v1, sensor, 4);
NVML_OFFSET(nvml_temperature_v1, temperature_c, 8);
_Static_assert(NVML_TEMPERATURE_V1_VERSION == 0x0100000C, "version word of nvmlDeviceGetTemperatureV");

NVML_LAYOUT(nvml_pci_info, 68);
NVML_OFFSET(nvml_pci_info, bus_id_legacy, 0);
NVML_OFFSET(nvml_pci_info, domain, 16);
NVML_OFFSET(nvml_pci_info, bus, 20);
NVML_OFFSET(nvml_pci_info, device, 24);
NVML_OFFSET(nvml_pci_info, pci_device_id, 28);
NVML_OFFSET(nvml_pci_info, pci_subsystem_id, 32);
NVML_OFFSET(nvml_pci_info, bus_id, 36);

NVML_LAYOUT(nvml_process_v1, 16);
NVML_OFFSET(nvml_process_v1, used_bytes, 8);
NVML_LAYOUT(nvml_process_v2, 24);
NVML_OFFSET(nvml_process_v2, used_bytes, 8);
NVML_OFFSET(nvml_process_v2, gpu_instance_id, 16);
NVML_OFFSET(nvml_process_v2, compute_instance_id, 20);
NVML_LAYOUT(nvml_process_v3, 32);
NVML_OFFSET(nvml_process_v3, gpu_instance_id, 16);
NVML_OFFSET(nvml_process_v3, compute_instance_id, 20);
NVML_OFFSET(nvml_process_v3, protected_bytes, 24);

NVML_LAYOUT(nvml_process_sample, 32);
NVML_OFFSET(nvml_process_sample, pid, 0);
NVML_OFFSET(nvml_process_sample, time_stamp_us, 8);
NVML_OFFSET(nvml_process_sample, sm, 16);
NVML_OFFSET(nvml_process_sample, memory, 20);
NVML_OFFSET(nvml_process_sample, encoder, 24);
NVML_OFFSET(nvml_process_sample, decoder, 28);

NVML_LAYOUT(nvml_field_value, 40);
NVML_OFFSET(nvml_field_value, field_id, 0);
NVML_OFFSET(nvml_field_value, scope_id, 4);
NVML_OFFSET(nvml_field_value, time_stamp_us, 8);
NVML_OFFSET(nvml_field_value, latency_us, 16);
NVML_OFFSET(nvml_field_value, value_type, 24);
NVML_OFFSET(nvml_field_value, code, 28);
NVML_OFFSET(nvml_field_value, value, 32);

NVML_LAYOUT(nvml_event_data, 32);
NVML_OFFSET(nvml_event_data, device, 0);
NVML_OFFSET(nvml_event_data, type, 8);
NVML_OFFSET(nvml_event_data, data, 16);
NVML_OFFSET(nvml_event_data, gpu_instance_id, 24);
NVML_OFFSET(nvml_event_data, compute_instance_id, 28);

NVML_LAYOUT(nvml_attributes, 40);
NVML_OFFSET(nvml_attributes, multiprocessors, 0);
NVML_OFFSET(nvml_attributes, gpu_instance_slices, 24);
NVML_OFFSET(nvml_attributes, compute_instance_slices, 28);
NVML_OFFSET(nvml_attributes, memory_mb, 32);

#endif
