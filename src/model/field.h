/*
 * The one table of a device's numbers. The collector fills them, the codec carries them, the JSON names them
 * and the documents list them from this table alone.
 *
 * A field's number is its place on the wire: never reorder, never reuse, append only.
 */
#ifndef MODEL_FIELD_H
#define MODEL_FIELD_H

#include <stdbool.h>
#include <stdint.h>

/* Values that are read together and so have one age (design: sampling groups). */
enum field_group {
    GROUP_STATIC,    /* once per (re)initialisation */
    GROUP_HOT,       /* utilisation, memory */
    GROUP_WARM,      /* temperature, power, clocks, throttle reasons */
    GROUP_PROCESSES, /* the process lists */
    GROUP_SLOW,      /* fan, codecs, ECC, limits, modes, links */
    GROUP_COUNT
};

/*
 * X(NAME, "json_name", GROUP, "NVML source")
 * All values are integers in the unit that the name tells; modes and states are NVML's enumerators.
 */
#define DEVICE_FIELDS(X) \
    X(UTIL_GPU_PERCENT, "utilization_gpu_percent", HOT, "nvmlDeviceGetUtilizationRates .gpu") \
    X(UTIL_MEMORY_PERCENT, "utilization_memory_percent", HOT, "nvmlDeviceGetUtilizationRates .memory") \
    X(MEM_TOTAL_BYTES, "memory_total_bytes", HOT, "nvmlDeviceGetMemoryInfo_v2, nvmlDeviceGetMemoryInfo") \
    X(MEM_USED_BYTES, "memory_used_bytes", HOT, "nvmlDeviceGetMemoryInfo_v2, nvmlDeviceGetMemoryInfo") \
    X(MEM_RESERVED_BYTES, "memory_reserved_bytes", HOT, "nvmlDeviceGetMemoryInfo_v2") \
    X(TEMP_C, "temperature_c", WARM, "nvmlDeviceGetTemperatureV, nvmlDeviceGetTemperature") \
    X(POWER_MW, "power_mw", WARM, "nvmlDeviceGetPowerUsage") \
    X(CLOCK_GRAPHICS_MHZ, "clock_graphics_mhz", WARM, "nvmlDeviceGetClockInfo 0") \
    X(CLOCK_SM_MHZ, "clock_sm_mhz", WARM, "nvmlDeviceGetClockInfo 1") \
    X(CLOCK_MEMORY_MHZ, "clock_memory_mhz", WARM, "nvmlDeviceGetClockInfo 2") \
    X(CLOCK_VIDEO_MHZ, "clock_video_mhz", WARM, "nvmlDeviceGetClockInfo 3") \
    X(PSTATE, "performance_state", WARM, "nvmlDeviceGetPerformanceState") \
    X(THROTTLE_REASONS, "throttle_reasons", WARM, \
      "nvmlDeviceGetCurrentClocksEventReasons, nvmlDeviceGetCurrentClocksThrottleReasons (bit mask)") \
    X(FAN_PERCENT, "fan_percent", SLOW, "nvmlDeviceGetFanSpeed") \
    X(UTIL_ENCODER_PERCENT, "utilization_encoder_percent", SLOW, "nvmlDeviceGetEncoderUtilization") \
    X(UTIL_DECODER_PERCENT, "utilization_decoder_percent", SLOW, "nvmlDeviceGetDecoderUtilization") \
    X(POWER_LIMIT_MW, "power_limit_mw", SLOW, "nvmlDeviceGetEnforcedPowerLimit") \
    X(CLOCK_GRAPHICS_MAX_MHZ, "clock_graphics_max_mhz", SLOW, "nvmlDeviceGetMaxClockInfo 0") \
    X(CLOCK_MEMORY_MAX_MHZ, "clock_memory_max_mhz", SLOW, "nvmlDeviceGetMaxClockInfo 2") \
    X(ECC_MODE, "ecc_mode", SLOW, "nvmlDeviceGetEccMode current") \
    X(ECC_MODE_PENDING, "ecc_mode_pending", SLOW, "nvmlDeviceGetEccMode pending") \
    X(ECC_VOLATILE_CORRECTED, "ecc_volatile_corrected", SLOW, "nvmlDeviceGetTotalEccErrors 0 0") \
    X(ECC_VOLATILE_UNCORRECTED, "ecc_volatile_uncorrected", SLOW, "nvmlDeviceGetTotalEccErrors 1 0") \
    X(ECC_AGGREGATE_CORRECTED, "ecc_aggregate_corrected", SLOW, "nvmlDeviceGetTotalEccErrors 0 1") \
    X(ECC_AGGREGATE_UNCORRECTED, "ecc_aggregate_uncorrected", SLOW, "nvmlDeviceGetTotalEccErrors 1 1") \
    X(REMAPPED_CORRECTED, "remapped_rows_corrected", SLOW, "nvmlDeviceGetRemappedRows") \
    X(REMAPPED_UNCORRECTED, "remapped_rows_uncorrected", SLOW, "nvmlDeviceGetRemappedRows") \
    X(REMAPPED_PENDING, "remapped_rows_pending", SLOW, "nvmlDeviceGetRemappedRows") \
    X(REMAPPED_FAILED, "remapped_rows_failed", SLOW, "nvmlDeviceGetRemappedRows") \
    X(RECOVERY_ACTION, "recovery_action", SLOW, "nvmlDeviceGetFieldValues 230") \
    X(MIG_MODE, "mig_mode", SLOW, "nvmlDeviceGetMigMode current") \
    X(MIG_MODE_PENDING, "mig_mode_pending", SLOW, "nvmlDeviceGetMigMode pending") \
    X(PERSISTENCE_MODE, "persistence_mode", SLOW, "nvmlDeviceGetPersistenceMode") \
    X(COMPUTE_MODE, "compute_mode", SLOW, "nvmlDeviceGetComputeMode") \
    X(PCIE_GEN, "pcie_link_gen", SLOW, "nvmlDeviceGetCurrPcieLinkGeneration") \
    X(PCIE_WIDTH, "pcie_link_width", SLOW, "nvmlDeviceGetCurrPcieLinkWidth") \
    X(PCIE_GEN_MAX, "pcie_link_gen_max", SLOW, "nvmlDeviceGetMaxPcieLinkGeneration") \
    X(PCIE_WIDTH_MAX, "pcie_link_width_max", SLOW, "nvmlDeviceGetMaxPcieLinkWidth") \
    X(XID_LAST, "xid_last", SLOW, "nvmlEventSetWait_v2, last Xid seen since start") \
    X(XID_COUNT, "xid_count", SLOW, "nvmlEventSetWait_v2, Xids seen since start") \
    X(XID_LAST_UNIX_US, "xid_last_unix_us", SLOW, "wall clock at that event, microseconds since 1970") \
    X(MINOR, "minor", STATIC, "nvmlDeviceGetMinorNumber: N of /dev/nvidiaN") \
    X(GPU_INSTANCE_ID, "gpu_instance_id", STATIC, "nvmlDeviceGetGpuInstanceId (MIG)") \
    X(COMPUTE_INSTANCE_ID, "compute_instance_id", STATIC, "nvmlDeviceGetComputeInstanceId (MIG)") \
    X(MULTIPROCESSORS, "multiprocessor_count", STATIC, "nvmlDeviceGetAttributes_v2 (MIG)")

enum device_field {
#define X(name, json, group, source) FIELD_##name,
    DEVICE_FIELDS(X)
#undef X
        FIELD_COUNT
};

/* A bit per field fits one word; the wire allows for more. */
_Static_assert(FIELD_COUNT <= 64, "struct field_values needs a second word of present bits");

struct field_info {
    const char *json_name;
    enum field_group group;
    const char *source;
};

/* What the table says of a field. */
const struct field_info *field_info(enum device_field field);

/* "static", "hot", "warm", "processes", "slow". */
const char *field_group_name(enum field_group group);

/* The numbers of one device: present or absent, absent is never 0. All zero bytes = nothing present. */
struct field_values {
    uint64_t present;
    int64_t value[FIELD_COUNT]; /* masks (THROTTLE_REASONS) are bit patterns */
};

static inline bool field_has(const struct field_values *values, enum device_field field)
{
    return values->present >> field & 1;
}

static inline void field_set(struct field_values *values, enum device_field field, int64_t value)
{
    values->present |= UINT64_C(1) << field;
    values->value[field] = value;
}

static inline void field_unset(struct field_values *values, enum device_field field)
{
    values->present &= ~(UINT64_C(1) << field);
}

/* Writes *ret_value and returns true if the field is present. */
static inline bool field_get(const struct field_values *values, enum device_field field, int64_t *ret_value)
{
    if (!field_has(values, field))
        return false;
    *ret_value = values->value[field];
    return true;
}

/* The present bits of all fields of a group. */
uint64_t field_group_mask(enum field_group group);

#endif
