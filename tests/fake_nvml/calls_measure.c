/* Calls that read one figure of a device, or one struct of figures. */
#include "call.h"

#include "delay.h"
#include "nvml_structs.h"

#define PCIE_THROUGHPUT_NS 20000000

/* A call that writes one unsigned number, `member_` of the device. */
#define NVML_CALL_U32(name_, member_) \
    NVML_CALL(name_, const void *device, uint32_t *ret_number) \
    { \
        struct call call = call_begin(__func__); \
        if (call_gpu(&call, device) && call_require(&call, ret_number)) \
            call.rc = value_u32(&call.device->member_, call.t, ret_number); \
        return call_end(&call); \
    }

/* The same with 64 bits. */
#define NVML_CALL_U64(name_, member_) \
    NVML_CALL(name_, const void *device, uint64_t *ret_number) \
    { \
        struct call call = call_begin(__func__); \
        if (call_gpu(&call, device) && call_require(&call, ret_number)) \
            call.rc = value_u64(&call.device->member_, call.t, ret_number); \
        return call_end(&call); \
    }

NVML_CALL_U32(nvmlDeviceGetMinorNumber, minor)
NVML_CALL_U32(nvmlDeviceGetFanSpeed, fan)
NVML_CALL_U32(nvmlDeviceGetPowerUsage, power_mw)
NVML_CALL_U32(nvmlDeviceGetEnforcedPowerLimit, power_limit_mw)
NVML_CALL_U32(nvmlDeviceGetPowerManagementLimit, power_limit_mw)
NVML_CALL_U64(nvmlDeviceGetTotalEnergyConsumption, energy_mj)
NVML_CALL_U32(nvmlDeviceGetPerformanceState, pstate)
NVML_CALL_U32(nvmlDeviceGetComputeMode, compute_mode)
NVML_CALL_U32(nvmlDeviceGetPersistenceMode, persistence)
NVML_CALL_U32(nvmlDeviceGetDisplayActive, display_active)
NVML_CALL_U64(nvmlDeviceGetCurrentClocksThrottleReasons, throttle)
NVML_CALL_U64(nvmlDeviceGetCurrentClocksEventReasons, throttle)
NVML_CALL_U32(nvmlDeviceGetCurrPcieLinkGeneration, pcie.gen)
NVML_CALL_U32(nvmlDeviceGetCurrPcieLinkWidth, pcie.width)
NVML_CALL_U32(nvmlDeviceGetMaxPcieLinkGeneration, pcie.max_gen)
NVML_CALL_U32(nvmlDeviceGetMaxPcieLinkWidth, pcie.max_width)
NVML_CALL_U32(nvmlDeviceGetArchitecture, architecture)
NVML_CALL_U32(nvmlDeviceGetBrand, brand)
NVML_CALL_U32(nvmlDeviceGetNumaNodeId, numa_node)

NVML_CALL(nvmlDeviceGetNumFans, const void *device, uint32_t *ret_count)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_count))
        *ret_count = call.device->fan_count;
    return call_end(&call);
}

/* All fans have the same speed; without a fan, or with one that cannot be read, the code says so for every
 * fan. */
NVML_CALL(nvmlDeviceGetFanSpeed_v2, const void *device, uint32_t fan, uint32_t *ret_percent)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_percent)) {
        bool has_speed = call.device->fan.kind != VALUE_ABSENT && call.device->fan.kind != VALUE_RC;
        if (!has_speed || call_require_that(&call, fan < call.device->fan_count))
            call.rc = value_u32(&call.device->fan, call.t, ret_percent);
    }
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetTemperature, const void *device, int32_t sensor, uint32_t *ret_celsius)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_celsius) &&
        call_require_that(&call, sensor == 0)) {
        int32_t celsius = 0;
        call.rc = value_signed(&call.device->temperature, call.t, &celsius);
        if (call.rc == NVML_SUCCESS)
            *ret_celsius = (uint32_t)celsius;
    }
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetTemperatureV, const void *device, struct nvml_temperature *temperature)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, temperature)) {
        if (temperature->version != NVML_VERSION_WORD(*temperature, 1))
            call.rc = NVML_ARGUMENT_VERSION_MISMATCH;
        else if (call_require_that(&call, temperature->sensor == 0))
            call.rc = value_signed(&call.device->temperature, call.t, &temperature->celsius);
    }
    return call_end(&call);
}

/* The number at place `type` of four that a device's struct has one after the other. */
static int pick(const struct value *const values[4], uint32_t type, double t, uint32_t *ret_number)
{
    return type < 4 ? value_u32(values[type], t, ret_number) : NVML_INVALID_ARGUMENT;
}

NVML_CALL(nvmlDeviceGetTemperatureThreshold, const void *device, uint32_t type, uint32_t *ret_celsius)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_celsius)) {
        const struct thresholds *all = &call.device->thresholds;
        const struct value *const values[] = {&all->shutdown, &all->slowdown, &all->mem_max, &all->gpu_max};
        call.rc = pick(values, type, call.t, ret_celsius);
    }
    return call_end(&call);
}

static int pick_clock(const struct clocks *all, uint32_t type, double t, uint32_t *ret_mhz)
{
    const struct value *const values[] = {&all->graphics, &all->sm, &all->mem, &all->video};
    return pick(values, type, t, ret_mhz);
}

NVML_CALL(nvmlDeviceGetClockInfo, const void *device, uint32_t type, uint32_t *ret_mhz)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_mhz))
        call.rc = pick_clock(&call.device->clocks, type, call.t, ret_mhz);
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetMaxClockInfo, const void *device, uint32_t type, uint32_t *ret_mhz)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_mhz))
        call.rc = pick_clock(&call.device->max_clocks, type, call.t, ret_mhz);
    return call_end(&call);
}

NVML_CALL(nvmlDeviceGetUtilizationRates, const void *device, struct nvml_utilization *ret_rates)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_rates))
        call.rc = evaluate_rates(&call.device->utilization, call.t, &ret_rates->gpu, &ret_rates->memory);
    return call_end(&call);
}

/* A call that writes the utilisation `member_` of an engine and the period it was measured over. */
#define NVML_CALL_ENGINE(name_, member_) \
    NVML_CALL(name_, const void *device, uint32_t *ret_percent, uint32_t *ret_period_us) \
    { \
        struct call call = call_begin(__func__); \
        if (call_gpu(&call, device) && call_require(&call, ret_percent) && \
            call_require(&call, ret_period_us)) { \
            call.rc = value_u32(&call.device->utilization.member_, call.t, ret_percent); \
            if (call.rc == NVML_SUCCESS) \
                *ret_period_us = call.device->utilization.period_us; \
        } \
        return call_end(&call); \
    }

NVML_CALL_ENGINE(nvmlDeviceGetEncoderUtilization, enc)
NVML_CALL_ENGINE(nvmlDeviceGetDecoderUtilization, dec)
NVML_CALL_ENGINE(nvmlDeviceGetJpgUtilization, jpg)
NVML_CALL_ENGINE(nvmlDeviceGetOfaUtilization, ofa)

/* counter 0 is what leaves the device, 1 what reaches it. Slow, as the real one is. */
NVML_CALL(nvmlDeviceGetPcieThroughput, const void *device, uint32_t counter, uint32_t *ret_kbs)
{
    struct call call = call_begin(__func__);
    if (call_gpu(&call, device) && call_require(&call, ret_kbs) && call_require_that(&call, counter < 2)) {
        const struct value *value = counter == 0 ? &call.device->pcie.tx_kbs : &call.device->pcie.rx_kbs;
        if (value->kind != VALUE_ABSENT)
            delay_for(PCIE_THROUGHPUT_NS);
        call.rc = value_u32(value, call.t, ret_kbs);
    }
    return call_end(&call);
}
