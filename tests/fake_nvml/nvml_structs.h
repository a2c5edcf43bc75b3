/*
 * The structs that cross the NVML interface, laid out as the drivers have them (LP64, natural alignment).
 * Written for this test double from the documented offsets; the collector has its own, so that each checks
 * the other.
 *
 * A version word is the struct's size | version << 24. It is set by the caller.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NVML_VERSION_WORD(type_, version_) ((uint32_t)sizeof(type_) | (uint32_t)(version_) << 24)

/* The documented layout, checked by the compiler. */
#define NVML_AT(type_, member_, offset_) \
    _Static_assert(offsetof(struct type_, member_) == (offset_), #type_ "." #member_)
#define NVML_SIZE(type_, size_) _Static_assert(sizeof(struct type_) == (size_), #type_)

#define NVML_BUS_ID_SIZE     32
#define NVML_OLD_BUS_ID_SIZE 16

/* nvmlDeviceGetPciInfo_v3 */
struct nvml_pci_info {
    char bus_id_legacy[NVML_OLD_BUS_ID_SIZE];
    uint32_t domain, bus, device;
    uint32_t pci_device_id;
    uint32_t pci_subsystem_id;
    char bus_id[NVML_BUS_ID_SIZE];
};
NVML_AT(nvml_pci_info, domain, 16);
NVML_AT(nvml_pci_info, pci_device_id, 28);
NVML_AT(nvml_pci_info, bus_id, 36);
NVML_SIZE(nvml_pci_info, 68);

/* nvmlDeviceGetPciInfo, nvmlDeviceGetPciInfo_v2 */
struct nvml_pci_info_old {
    char bus_id[NVML_OLD_BUS_ID_SIZE];
    uint32_t domain, bus, device;
    uint32_t pci_device_id;
    uint32_t pci_subsystem_id;
    uint32_t reserved[4];
};
NVML_AT(nvml_pci_info_old, pci_subsystem_id, 32);
NVML_SIZE(nvml_pci_info_old, 52);

struct nvml_pci_info_ext {
    uint32_t version;
    uint32_t domain, bus, device;
    uint32_t pci_device_id;
    uint32_t pci_subsystem_id;
    uint32_t base_class, sub_class;
    char bus_id[NVML_BUS_ID_SIZE];
};
NVML_AT(nvml_pci_info_ext, pci_device_id, 16);
NVML_AT(nvml_pci_info_ext, bus_id, 32);
NVML_SIZE(nvml_pci_info_ext, 64);

struct nvml_utilization {
    uint32_t gpu, memory;
};
NVML_SIZE(nvml_utilization, 8);

struct nvml_memory {
    uint64_t total, free, used;
};
NVML_AT(nvml_memory, used, 16);
NVML_SIZE(nvml_memory, 24);

struct nvml_memory_v2 {
    uint32_t version;
    uint64_t total, reserved, free, used;
};
NVML_AT(nvml_memory_v2, total, 8);
NVML_AT(nvml_memory_v2, used, 32);
NVML_SIZE(nvml_memory_v2, 40);

struct nvml_bar1_memory {
    uint64_t total, free, used;
};
NVML_SIZE(nvml_bar1_memory, 24);

/* A process entry as each generation of calls writes it; the first members are the same in all. */
struct nvml_process_v1 {
    uint32_t pid;
    uint64_t used_memory;
};
NVML_AT(nvml_process_v1, used_memory, 8);
NVML_SIZE(nvml_process_v1, 16);

struct nvml_process_v2 {
    uint32_t pid;
    uint64_t used_memory;
    uint32_t gi, ci;
};
NVML_AT(nvml_process_v2, gi, 16);
NVML_SIZE(nvml_process_v2, 24);

struct nvml_process_detail {
    uint32_t pid;
    uint64_t used_memory;
    uint32_t gi, ci;
    uint64_t used_protected_memory;
};
NVML_AT(nvml_process_detail, used_protected_memory, 24);
NVML_SIZE(nvml_process_detail, 32);

struct nvml_process_detail_list {
    uint32_t version;
    uint32_t mode; /* 0 compute, 1 graphics, 2 MPS, 3 all */
    uint32_t count;
    struct nvml_process_detail *entries;
};
NVML_AT(nvml_process_detail_list, count, 8);
NVML_AT(nvml_process_detail_list, entries, 16);
NVML_SIZE(nvml_process_detail_list, 24);

struct nvml_process_sample {
    uint32_t pid;
    uint64_t timestamp_us;
    uint32_t sm, mem, enc, dec;
};
NVML_AT(nvml_process_sample, timestamp_us, 8);
NVML_AT(nvml_process_sample, dec, 28);
NVML_SIZE(nvml_process_sample, 32);

struct nvml_process_utilization {
    uint64_t timestamp_us;
    uint32_t pid;
    uint32_t sm, mem, enc, dec, jpg, ofa;
};
NVML_AT(nvml_process_utilization, ofa, 32);
NVML_SIZE(nvml_process_utilization, 40);

struct nvml_processes_utilization {
    uint32_t version;
    uint32_t count;
    uint64_t last_seen_us;
    struct nvml_process_utilization *entries;
};
NVML_AT(nvml_processes_utilization, last_seen_us, 8);
NVML_AT(nvml_processes_utilization, entries, 16);
NVML_SIZE(nvml_processes_utilization, 24);

struct nvml_field_value {
    uint32_t field_id;
    uint32_t scope_id;
    int64_t timestamp_us;
    int64_t latency_us;
    int32_t value_type; /* 1 u32, 3 u64 */
    int32_t rc;
    uint64_t value;
};
NVML_AT(nvml_field_value, value_type, 24);
NVML_AT(nvml_field_value, value, 32);
NVML_SIZE(nvml_field_value, 40);

/* nvmlEventSetWait writes the first 24 bytes, nvmlEventSetWait_v2 all. */
struct nvml_event_data {
    void *device;
    uint64_t type;
    uint64_t data;
    uint32_t gi, ci;
};
#define NVML_EVENT_DATA_V1_SIZE 24
NVML_AT(nvml_event_data, gi, NVML_EVENT_DATA_V1_SIZE);
NVML_SIZE(nvml_event_data, 32);

struct nvml_device_attributes {
    uint32_t sms, copy_engines, decoders, encoders, jpegs, ofas;
    uint32_t gi_slices, ci_slices;
    uint64_t memory_mb;
};
NVML_AT(nvml_device_attributes, gi_slices, 24);
NVML_AT(nvml_device_attributes, memory_mb, 32);
NVML_SIZE(nvml_device_attributes, 40);

struct nvml_temperature {
    uint32_t version;
    uint32_t sensor;
    int32_t celsius;
};
NVML_AT(nvml_temperature, celsius, 8);
NVML_SIZE(nvml_temperature, 12);
