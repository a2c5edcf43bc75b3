/*
 * The one table of NVML functions that the collector calls. A function is known by a short name; the library
 * may export it under several, newest first, and the first one found is used. A missing optional function
 * is a missing value, nothing more.
 */
#ifndef GPU_NVML_SYMBOLS_H
#define GPU_NVML_SYMBOLS_H

#include "gpu/nvml_abi.h"

#include <stdbool.h>

#define NVML_SYMBOL_VERSIONS 3 /* the most names that a function has */

enum nvml_symbol_kind {
    NVML_REQUIRED, /* without it nothing works; every driver has it */
    NVML_OPTIONAL, /* gives values */
    NVML_SPARE,    /* called only when something else was missing, refused or lost */
};

/*
 * X(short name, kind, prototype, names ...)
 * All return an enum nvml_code. PcieThroughput is not here and never will be: it sleeps 20 ms in the driver.
 */
#define NVML_SYMBOLS(X) \
    X(init, REQUIRED, (void), "nvmlInit_v2", "nvmlInit") \
    X(driver_version, OPTIONAL, (char *, unsigned), "nvmlSystemGetDriverVersion") \
    X(nvml_version, OPTIONAL, (char *, unsigned), "nvmlSystemGetNVMLVersion") \
    X(device_count, REQUIRED, (uint32_t *), "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount") \
    X(handle_by_index, REQUIRED, (uint32_t, void **), "nvmlDeviceGetHandleByIndex_v2", \
      "nvmlDeviceGetHandleByIndex") \
    X(handle_by_bus_id, SPARE, (const char *, void **), "nvmlDeviceGetHandleByPciBusId_v2", \
      "nvmlDeviceGetHandleByPciBusId") \
    X(name, OPTIONAL, (void *, char *, unsigned), "nvmlDeviceGetName") \
    X(uuid, OPTIONAL, (void *, char *, unsigned), "nvmlDeviceGetUUID") \
    X(index, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetIndex") \
    X(minor, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetMinorNumber") \
    X(serial, OPTIONAL, (void *, char *, unsigned), "nvmlDeviceGetSerial") \
    X(pci_info, OPTIONAL, (void *, struct nvml_pci_info *), "nvmlDeviceGetPciInfo_v3", \
      "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo") \
    X(utilization, OPTIONAL, (void *, struct nvml_utilization *), "nvmlDeviceGetUtilizationRates") \
    X(memory_v2, OPTIONAL, (void *, struct nvml_memory_v2 *), "nvmlDeviceGetMemoryInfo_v2") \
    X(memory_v1, SPARE, (void *, struct nvml_memory_v1 *), "nvmlDeviceGetMemoryInfo") \
    X(temperature_v, OPTIONAL, (void *, struct nvml_temperature_v1 *), "nvmlDeviceGetTemperatureV") \
    X(temperature, SPARE, (void *, uint32_t, uint32_t *), "nvmlDeviceGetTemperature") \
    X(power_usage, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetPowerUsage") \
    X(clock, OPTIONAL, (void *, uint32_t, uint32_t *), "nvmlDeviceGetClockInfo") \
    X(pstate, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetPerformanceState") \
    X(throttle_reasons, OPTIONAL, (void *, uint64_t *), "nvmlDeviceGetCurrentClocksEventReasons", \
      "nvmlDeviceGetCurrentClocksThrottleReasons") \
    X(compute_processes, OPTIONAL, (void *, uint32_t *, void *), "nvmlDeviceGetComputeRunningProcesses_v3", \
      "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses") \
    X(graphics_processes, OPTIONAL, (void *, uint32_t *, void *), \
      "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2", \
      "nvmlDeviceGetGraphicsRunningProcesses") \
    X(mps_processes, OPTIONAL, (void *, uint32_t *, void *), "nvmlDeviceGetMPSComputeRunningProcesses_v3", \
      "nvmlDeviceGetMPSComputeRunningProcesses_v2", "nvmlDeviceGetMPSComputeRunningProcesses") \
    X(process_utilization, OPTIONAL, (void *, struct nvml_process_sample *, uint32_t *, uint64_t), \
      "nvmlDeviceGetProcessUtilization") \
    X(fan, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetFanSpeed") \
    X(encoder, OPTIONAL, (void *, uint32_t *, uint32_t *), "nvmlDeviceGetEncoderUtilization") \
    X(decoder, OPTIONAL, (void *, uint32_t *, uint32_t *), "nvmlDeviceGetDecoderUtilization") \
    X(power_limit, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetEnforcedPowerLimit") \
    X(max_clock, OPTIONAL, (void *, uint32_t, uint32_t *), "nvmlDeviceGetMaxClockInfo") \
    X(ecc_mode, OPTIONAL, (void *, uint32_t *, uint32_t *), "nvmlDeviceGetEccMode") \
    X(ecc_total, OPTIONAL, (void *, uint32_t, uint32_t, uint64_t *), "nvmlDeviceGetTotalEccErrors") \
    X(remapped_rows, OPTIONAL, (void *, uint32_t *, uint32_t *, uint32_t *, uint32_t *), \
      "nvmlDeviceGetRemappedRows") \
    X(field_values, OPTIONAL, (void *, int, struct nvml_field_value *), "nvmlDeviceGetFieldValues") \
    X(mig_mode, OPTIONAL, (void *, uint32_t *, uint32_t *), "nvmlDeviceGetMigMode") \
    X(persistence_mode, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetPersistenceMode") \
    X(compute_mode, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetComputeMode") \
    X(pcie_gen, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetCurrPcieLinkGeneration") \
    X(pcie_width, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetCurrPcieLinkWidth") \
    X(pcie_gen_max, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetMaxPcieLinkGeneration") \
    X(pcie_width_max, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetMaxPcieLinkWidth") \
    X(mig_max_count, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetMaxMigDeviceCount") \
    X(mig_handle_by_index, OPTIONAL, (void *, uint32_t, void **), "nvmlDeviceGetMigDeviceHandleByIndex") \
    X(gpu_instance_id, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetGpuInstanceId") \
    X(compute_instance_id, OPTIONAL, (void *, uint32_t *), "nvmlDeviceGetComputeInstanceId") \
    X(attributes, OPTIONAL, (void *, struct nvml_attributes *), "nvmlDeviceGetAttributes_v2") \
    X(event_set_create, OPTIONAL, (void **), "nvmlEventSetCreate") \
    X(event_types, OPTIONAL, (void *, uint64_t *), "nvmlDeviceGetSupportedEventTypes") \
    X(register_events, OPTIONAL, (void *, uint64_t, void *), "nvmlDeviceRegisterEvents") \
    X(event_wait, OPTIONAL, (void *, struct nvml_event_data *, uint32_t), "nvmlEventSetWait_v2", \
      "nvmlEventSetWait")

/* The functions of a loaded library, in the table's order; NULL: the library does not have it. */
struct nvml_calls {
#define X(symbol, kind, prototype, ...) int(*symbol) prototype;
    NVML_SYMBOLS(X)
#undef X
};

#define NVML_SYMBOL_COUNT (sizeof(struct nvml_calls) / sizeof(void *))

/* A function's place in the table. */
#define NVML_SYMBOL(symbol) (offsetof(struct nvml_calls, symbol) / sizeof(void *))

/* What the table says of a function. Names not used are NULL. */
struct nvml_symbol {
    const char *id;
    enum nvml_symbol_kind kind;
    const char *names[NVML_SYMBOL_VERSIONS];
};

/* The table's row at a place < NVML_SYMBOL_COUNT. */
const struct nvml_symbol *nvml_symbol(size_t place);

/* Which of its names each function was found under. */
struct nvml_resolved {
    struct nvml_calls calls;
    const char *name[NVML_SYMBOL_COUNT]; /* NULL: missing */
};

/*
 * Looks all functions up in a library that dlopen() returned. The process list calls of drivers 535.43 to
 * 535.86 are taken from their second version, since their third one writes longer entries than it should.
 * Returns NULL, or the name of the first required function that is missing.
 */
const char *nvml_symbols_resolve(void *library, struct nvml_resolved *ret_resolved);

#endif
