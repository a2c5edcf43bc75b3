/*
 * The numbers of the hot, warm and slow groups: one table row per call, cheap and important ones first.
 */
#include "gpu/nvml_source.h"

#include <string.h>

/*
 * Readers set fields on success and return the call's code; what they do not set is absent afterwards. While
 * a call is running, the values of the reading before are still shown: it may never return.
 */
static void set(struct nvml_device *device, enum device_field field, int64_t value)
{
    field_set(&device->fresh, field, value);
}

/* A reader of a call that gives one 4-byte number; further arguments stand between handle and number. */
#define READ_NUMBER(reader, symbol, field, ...) \
    static int reader(struct nvml_source *source, struct nvml_device *device) \
    { \
        uint32_t value = 0; \
        int code = nvml_device_call(source, device, symbol, __VA_ARGS__ __VA_OPT__(, ) & value); \
\
        if (code == NVML_SUCCESS) \
            set(device, field, value); \
        return code; \
    }

READ_NUMBER(read_power, power_usage, FIELD_POWER_MW)
READ_NUMBER(read_clock_graphics, clock, FIELD_CLOCK_GRAPHICS_MHZ, NVML_CLOCK_GRAPHICS)
READ_NUMBER(read_clock_sm, clock, FIELD_CLOCK_SM_MHZ, NVML_CLOCK_SM)
READ_NUMBER(read_clock_memory, clock, FIELD_CLOCK_MEMORY_MHZ, NVML_CLOCK_MEMORY)
READ_NUMBER(read_clock_video, clock, FIELD_CLOCK_VIDEO_MHZ, NVML_CLOCK_VIDEO)
READ_NUMBER(read_power_limit, power_limit, FIELD_POWER_LIMIT_MW)
READ_NUMBER(read_fan, fan, FIELD_FAN_PERCENT)
READ_NUMBER(read_persistence, persistence_mode, FIELD_PERSISTENCE_MODE)
READ_NUMBER(read_compute_mode, compute_mode, FIELD_COMPUTE_MODE)
READ_NUMBER(read_pcie_gen, pcie_gen, FIELD_PCIE_GEN)
READ_NUMBER(read_pcie_width, pcie_width, FIELD_PCIE_WIDTH)
READ_NUMBER(read_pcie_gen_max, pcie_gen_max, FIELD_PCIE_GEN_MAX)
READ_NUMBER(read_pcie_width_max, pcie_width_max, FIELD_PCIE_WIDTH_MAX)
READ_NUMBER(read_clock_graphics_max, max_clock, FIELD_CLOCK_GRAPHICS_MAX_MHZ, NVML_CLOCK_GRAPHICS)
READ_NUMBER(read_clock_memory_max, max_clock, FIELD_CLOCK_MEMORY_MAX_MHZ, NVML_CLOCK_MEMORY)

#define READ_ECC_TOTAL(reader, field, type, counter) \
    static int reader(struct nvml_source *source, struct nvml_device *device) \
    { \
        uint64_t value = 0; \
        int code = nvml_device_call(source, device, ecc_total, type, counter, &value); \
\
        if (code == NVML_SUCCESS) \
            set(device, field, (int64_t)value); \
        return code; \
    }

READ_ECC_TOTAL(read_ecc_volatile_corrected, FIELD_ECC_VOLATILE_CORRECTED, NVML_ECC_CORRECTED,
               NVML_ECC_VOLATILE)
READ_ECC_TOTAL(read_ecc_volatile_uncorrected, FIELD_ECC_VOLATILE_UNCORRECTED, NVML_ECC_UNCORRECTED,
               NVML_ECC_VOLATILE)
READ_ECC_TOTAL(read_ecc_aggregate_corrected, FIELD_ECC_AGGREGATE_CORRECTED, NVML_ECC_CORRECTED,
               NVML_ECC_AGGREGATE)
READ_ECC_TOTAL(read_ecc_aggregate_uncorrected, FIELD_ECC_AGGREGATE_UNCORRECTED, NVML_ECC_UNCORRECTED,
               NVML_ECC_AGGREGATE)

/* A reader of a call that gives two numbers. */
#define READ_PAIR(reader, symbol, first, second) \
    static int reader(struct nvml_source *source, struct nvml_device *device) \
    { \
        uint32_t values[2] = {0}; \
        int code = nvml_device_call(source, device, symbol, &values[0], &values[1]); \
\
        if (code == NVML_SUCCESS) { \
            set(device, first, values[0]); \
            set(device, second, values[1]); \
        } \
        return code; \
    }

READ_PAIR(read_ecc_mode, ecc_mode, FIELD_ECC_MODE, FIELD_ECC_MODE_PENDING)
READ_PAIR(read_mig_mode, mig_mode, FIELD_MIG_MODE, FIELD_MIG_MODE_PENDING)

static int read_encoder(struct nvml_source *source, struct nvml_device *device)
{
    uint32_t percent = 0, period_us = 0;
    int code = nvml_device_call(source, device, encoder, &percent, &period_us);

    if (code == NVML_SUCCESS)
        set(device, FIELD_UTIL_ENCODER_PERCENT, percent);
    return code;
}

static int read_decoder(struct nvml_source *source, struct nvml_device *device)
{
    uint32_t percent = 0, period_us = 0;
    int code = nvml_device_call(source, device, decoder, &percent, &period_us);

    if (code == NVML_SUCCESS)
        set(device, FIELD_UTIL_DECODER_PERCENT, percent);
    return code;
}

static int read_utilization(struct nvml_source *source, struct nvml_device *device)
{
    struct nvml_utilization rates = {0};
    int code = nvml_device_call(source, device, utilization, &rates);

    if (code == NVML_SUCCESS) {
        set(device, FIELD_UTIL_GPU_PERCENT, rates.gpu);
        set(device, FIELD_UTIL_MEMORY_PERCENT, rates.memory);
    }
    return code;
}

static int read_memory_v2(struct nvml_source *source, struct nvml_device *device)
{
    struct nvml_memory_v2 memory = {.version = NVML_MEMORY_V2_VERSION};
    int code = nvml_device_call(source, device, memory_v2, &memory);

    if (code != NVML_SUCCESS)
        return code;
    if (memory.total == 0) /* seen where the GPU shares the system's memory */
        return NVML_ERROR_NOT_SUPPORTED;
    set(device, FIELD_MEM_TOTAL_BYTES, (int64_t)memory.total);
    set(device, FIELD_MEM_USED_BYTES, (int64_t)memory.used);
    set(device, FIELD_MEM_RESERVED_BYTES, (int64_t)memory.reserved);
    return code;
}

static int read_memory_v1(struct nvml_source *source, struct nvml_device *device)
{
    struct nvml_memory_v1 memory = {0};
    int code = nvml_device_call(source, device, memory_v1, &memory);

    if (code != NVML_SUCCESS)
        return code;
    if (memory.total == 0)
        return NVML_ERROR_NOT_SUPPORTED;
    set(device, FIELD_MEM_TOTAL_BYTES, (int64_t)memory.total);
    set(device, FIELD_MEM_USED_BYTES, (int64_t)memory.used);
    return code;
}

/* Codes with which a driver refuses the second memory call though it would answer the first. */
static bool is_worth_first_version(int code)
{
    return code == NVML_ERROR_FUNCTION_NOT_FOUND || code == NVML_ERROR_UNKNOWN ||
           code == NVML_ERROR_ARGUMENT_VERSION_MISMATCH || code == NVML_ERROR_NOT_SUPPORTED;
}

static int read_memory(struct nvml_source *source, struct nvml_device *device)
{
    int code = device->memory_v1 ? NVML_ERROR_FUNCTION_NOT_FOUND : read_memory_v2(source, device);

    if (is_worth_first_version(code)) {
        int code_v1 = read_memory_v1(source, device);

        device->memory_v1 = code_v1 == NVML_SUCCESS;
        /* Where the old call is missing too, the new one's answer says more. */
        if (code_v1 != NVML_ERROR_FUNCTION_NOT_FOUND)
            code = code_v1;
    }
    /* A GPU that has no memory of its own to report uses the system's; an instance merely does not say. */
    device->model.flags &= ~(unsigned)DEVICE_UNIFIED_MEMORY;
    if (code == NVML_ERROR_NOT_SUPPORTED && !device->parent)
        device->model.flags |= DEVICE_UNIFIED_MEMORY;
    return code;
}

static int read_temperature(struct nvml_source *source, struct nvml_device *device)
{
    struct nvml_temperature_v1 reading = {NVML_TEMPERATURE_V1_VERSION, NVML_TEMPERATURE_GPU, 0};
    uint32_t celsius = 0;
    int code = NVML_ERROR_FUNCTION_NOT_FOUND;

    if (!device->temperature_v1)
        code = nvml_device_call(source, device, temperature_v, &reading);
    if (code == NVML_ERROR_FUNCTION_NOT_FOUND || code == NVML_ERROR_ARGUMENT_VERSION_MISMATCH) {
        code = nvml_device_call(source, device, temperature, NVML_TEMPERATURE_GPU, &celsius);
        device->temperature_v1 = code == NVML_SUCCESS;
        reading.temperature_c = (int32_t)celsius;
    }
    if (code == NVML_SUCCESS)
        set(device, FIELD_TEMP_C, reading.temperature_c);
    return code;
}

static int read_pstate(struct nvml_source *source, struct nvml_device *device)
{
    uint32_t pstate = 0;
    int code = nvml_device_call(source, device, pstate, &pstate);

    if (code == NVML_SUCCESS && pstate <= NVML_PSTATE_MAX)
        set(device, FIELD_PSTATE, pstate);
    return code;
}

static int read_throttle(struct nvml_source *source, struct nvml_device *device)
{
    uint64_t reasons = 0;
    int code = nvml_device_call(source, device, throttle_reasons, &reasons);

    if (code == NVML_SUCCESS)
        set(device, FIELD_THROTTLE_REASONS, (int64_t)reasons);
    return code;
}

static int read_recovery_action(struct nvml_source *source, struct nvml_device *device)
{
    struct nvml_field_value value = {.field_id = NVML_FIELD_RECOVERY_ACTION,
                                     .code = NVML_ERROR_NOT_SUPPORTED};
    uint32_t action;
    int code = nvml_device_call(source, device, field_values, 1, &value);

    if (code != NVML_SUCCESS)
        return code;
    /* The call succeeds if any field did; each has a code of its own. All whole types begin with 4 bytes
       that hold these small numbers on the little-endian machines that NVML exists for. */
    if (value.code == NVML_SUCCESS && value.value_type != NVML_VALUE_DOUBLE) {
        memcpy(&action, value.value, sizeof(action));
        set(device, FIELD_RECOVERY_ACTION, value.value_type == NVML_VALUE_U16 ? (uint16_t)action : action);
    }
    return value.code;
}

static int read_remapped_rows(struct nvml_source *source, struct nvml_device *device)
{
    uint32_t corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    int code = nvml_device_call(source, device, remapped_rows, &corrected, &uncorrected, &pending, &failed);

    if (code == NVML_SUCCESS) {
        set(device, FIELD_REMAPPED_CORRECTED, corrected);
        set(device, FIELD_REMAPPED_UNCORRECTED, uncorrected);
        set(device, FIELD_REMAPPED_PENDING, pending);
        set(device, FIELD_REMAPPED_FAILED, failed);
    }
    return code;
}

#define BIT(field) (UINT64_C(1) << FIELD_##field)

/* By enum nvml_reading: group, what becomes absent when the call fails, how to read it. */
static const struct {
    enum field_group group;
    uint64_t fields;
    int (*read)(struct nvml_source *source, struct nvml_device *device);
} rows[NVML_READING_VALUES] = {
    [NVML_READING_UTILIZATION] = {GROUP_HOT, BIT(UTIL_GPU_PERCENT) | BIT(UTIL_MEMORY_PERCENT),
                                  read_utilization},
    [NVML_READING_MEMORY] = {GROUP_HOT, BIT(MEM_TOTAL_BYTES) | BIT(MEM_USED_BYTES) | BIT(MEM_RESERVED_BYTES),
                             read_memory},
    [NVML_READING_TEMPERATURE] = {GROUP_WARM, BIT(TEMP_C), read_temperature},
    [NVML_READING_POWER] = {GROUP_WARM, BIT(POWER_MW), read_power},
    [NVML_READING_CLOCK_SM] = {GROUP_WARM, BIT(CLOCK_SM_MHZ), read_clock_sm},
    [NVML_READING_CLOCK_MEMORY] = {GROUP_WARM, BIT(CLOCK_MEMORY_MHZ), read_clock_memory},
    [NVML_READING_CLOCK_GRAPHICS] = {GROUP_WARM, BIT(CLOCK_GRAPHICS_MHZ), read_clock_graphics},
    [NVML_READING_CLOCK_VIDEO] = {GROUP_WARM, BIT(CLOCK_VIDEO_MHZ), read_clock_video},
    [NVML_READING_PSTATE] = {GROUP_WARM, BIT(PSTATE), read_pstate},
    [NVML_READING_THROTTLE] = {GROUP_WARM, BIT(THROTTLE_REASONS), read_throttle},
    [NVML_READING_POWER_LIMIT] = {GROUP_SLOW, BIT(POWER_LIMIT_MW), read_power_limit},
    [NVML_READING_ENCODER] = {GROUP_SLOW, BIT(UTIL_ENCODER_PERCENT), read_encoder},
    [NVML_READING_DECODER] = {GROUP_SLOW, BIT(UTIL_DECODER_PERCENT), read_decoder},
    [NVML_READING_FAN] = {GROUP_SLOW, BIT(FAN_PERCENT), read_fan},
    [NVML_READING_RECOVERY_ACTION] = {GROUP_SLOW, BIT(RECOVERY_ACTION), read_recovery_action},
    [NVML_READING_ECC_MODE] = {GROUP_SLOW, BIT(ECC_MODE) | BIT(ECC_MODE_PENDING), read_ecc_mode},
    [NVML_READING_ECC_VOLATILE_CORRECTED] = {GROUP_SLOW, BIT(ECC_VOLATILE_CORRECTED),
                                             read_ecc_volatile_corrected},
    [NVML_READING_ECC_VOLATILE_UNCORRECTED] = {GROUP_SLOW, BIT(ECC_VOLATILE_UNCORRECTED),
                                               read_ecc_volatile_uncorrected},
    [NVML_READING_ECC_AGGREGATE_CORRECTED] = {GROUP_SLOW, BIT(ECC_AGGREGATE_CORRECTED),
                                              read_ecc_aggregate_corrected},
    [NVML_READING_ECC_AGGREGATE_UNCORRECTED] = {GROUP_SLOW, BIT(ECC_AGGREGATE_UNCORRECTED),
                                                read_ecc_aggregate_uncorrected},
    [NVML_READING_REMAPPED_ROWS] = {GROUP_SLOW,
                                    BIT(REMAPPED_CORRECTED) | BIT(REMAPPED_UNCORRECTED) |
                                        BIT(REMAPPED_PENDING) | BIT(REMAPPED_FAILED),
                                    read_remapped_rows},
    [NVML_READING_MIG_MODE] = {GROUP_SLOW, BIT(MIG_MODE) | BIT(MIG_MODE_PENDING), read_mig_mode},
    [NVML_READING_PERSISTENCE] = {GROUP_SLOW, BIT(PERSISTENCE_MODE), read_persistence},
    [NVML_READING_COMPUTE_MODE] = {GROUP_SLOW, BIT(COMPUTE_MODE), read_compute_mode},
    [NVML_READING_PCIE_GEN] = {GROUP_SLOW, BIT(PCIE_GEN), read_pcie_gen},
    [NVML_READING_PCIE_WIDTH] = {GROUP_SLOW, BIT(PCIE_WIDTH), read_pcie_width},
    [NVML_READING_PCIE_GEN_MAX] = {GROUP_SLOW, BIT(PCIE_GEN_MAX), read_pcie_gen_max},
    [NVML_READING_PCIE_WIDTH_MAX] = {GROUP_SLOW, BIT(PCIE_WIDTH_MAX), read_pcie_width_max},
    [NVML_READING_CLOCK_GRAPHICS_MAX] = {GROUP_SLOW, BIT(CLOCK_GRAPHICS_MAX_MHZ), read_clock_graphics_max},
    [NVML_READING_CLOCK_MEMORY_MAX] = {GROUP_SLOW, BIT(CLOCK_MEMORY_MAX_MHZ), read_clock_memory_max},
};

/* Does one reading. Its fields are exchanged when all its calls have returned. */
static int do_reading(struct nvml_source *source, struct nvml_device *device, enum nvml_reading reading)
{
    struct field_values *shown = &device->model.values;
    uint64_t fields = rows[reading].fields;
    int code;

    device->fresh.present = 0;
    code = rows[reading].read(source, device);
    for (unsigned field = 0; field < FIELD_COUNT; field++)
        if (device->fresh.present >> field & 1)
            shown->value[field] = device->fresh.value[field];
    shown->present = (shown->present & ~fields) | device->fresh.present;
    return code;
}

int nvml_values_read_memory(struct nvml_source *source, struct nvml_device *device)
{
    return do_reading(source, device, NVML_READING_MEMORY);
}

void nvml_values_expire(struct nvml_device *device, struct instant now)
{
    if (instant_since_ns(now, device->ask_again_at) < 0)
        return;
    device->unsupported = 0;
    device->memory_v1 = false;
    device->temperature_v1 = false;
    device->ask_again_at = instant_add_ns(now, NVML_ASK_AGAIN_NS);
}

void nvml_values_note(struct nvml_device *device, unsigned reading, int code, struct instant now)
{
    if (code != NVML_ERROR_NOT_SUPPORTED)
        return;
    if (!device->unsupported)
        device->ask_again_at = instant_add_ns(now, NVML_ASK_AGAIN_NS);
    device->unsupported |= UINT64_C(1) << reading;
}

/* An instance answers for its memory and its processes only. */
static bool is_answered(const struct nvml_device *device, unsigned reading)
{
    return !nvml_is_refused(device, reading) && (!device->parent || reading == NVML_READING_MEMORY);
}

void nvml_values_read(struct nvml_source *source, struct nvml_device *device, enum field_group group,
                      struct instant now)
{
    nvml_values_expire(device, now);
    for (unsigned reading = 0; reading < NVML_READING_VALUES; reading++) {
        int code;

        if (rows[reading].group != group || !is_answered(device, reading))
            continue;
        code = do_reading(source, device, (enum nvml_reading)reading);
        nvml_values_note(device, reading, code, now);
        if (reading == NVML_READING_MEMORY && nvml_code_is_loss(code)) {
            nvml_device_fail(device, code, now);
            return;
        }
    }
    device->was_read[group] = true;
    device->read_at[group] = now;
}
