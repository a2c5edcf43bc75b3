/*
 * A scenario file in memory: what the fake answers, as the scenario format describes it. Read once, never
 * changed afterwards, everything in one arena. An absent key is a value of kind VALUE_ABSENT, or false in its
 * `has_...`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "value.h"

#define SCENARIO_DEVICE_COUNT_MAX 64
#define SCENARIO_FILE_SIZE_MAX    (64 << 20)
#define SCENARIO_ERROR_SIZE       512
#define SCENARIO_NO_INSTANCE      UINT32_MAX /* gi, ci of what is on no MIG instance */
#define SCENARIO_FOR_EVER         __builtin_inf()

/* `{"rc":N}` in place of the object is kept in `total`. */
struct memory {
    struct value total;
    struct value used;
    struct value reserved;
    bool used_is_sum; /* used = sum_base + what the listed processes hold; `used` is absent then */
    uint64_t sum_base;
};

struct bar1 {
    struct value total;
    struct value used;
};

struct thresholds {
    struct value shutdown, slowdown, mem_max, gpu_max;
};

/* `{"rc":N}` in place of the object is kept in every value. */
struct utilization {
    struct value gpu, memory, enc, dec, jpg, ofa;
    uint32_t period_us;
};

struct clocks {
    struct value graphics, sm, mem, video;
};

struct ecc {
    struct value mode_current, mode_pending;
    struct value volatile_corrected, volatile_uncorrected, aggregate_corrected, aggregate_uncorrected;
};

struct remapped_rows {
    struct value corrected, uncorrected, pending, failed;
};

struct pcie {
    struct value gen, width, max_gen, max_width, tx_kbs, rx_kbs;
};

/* DDDDDDDD:BB:DD.F */
struct pci {
    const char *address;
    uint32_t domain, bus, device;
    uint32_t id;
    uint32_t subsystem_id;
};

struct field_value {
    uint32_t id;
    struct value value;
};

enum process_type {
    PROCESS_COMPUTE = 1,
    PROCESS_GRAPHICS = 2,
    PROCESS_MPS = 4,
};

struct process {
    uint32_t pid;
    unsigned types;   /* of enum process_type */
    struct value mem; /* absent: "na" */
    double from_s, to_s;
    uint32_t gi, ci;
    struct value sm, mem_util, enc, dec;
};

struct mig_device {
    uint32_t index;
    uint32_t gi, ci;
    struct value uuid;
    struct value name; /* absent: the parent's name with name_suffix */
    const char *profile;
    struct memory memory;
    struct bar1 bar1;
    uint32_t sms, gi_slices, ci_slices;
};

struct mig {
    struct value mode_current, mode_pending;
    uint32_t max;
    struct mig_device *devices;
    size_t device_count;
};

struct process_codes {
    struct value compute, graphics, mps;
};

struct device {
    const char *id;
    struct value name, uuid, handle, index, minor, serial;
    struct pci pci;
    struct memory memory;
    struct bar1 bar1;
    struct value temperature;
    struct thresholds thresholds;
    struct value fan;
    uint32_t fan_count;
    struct value power_mw, power_limit_mw, energy_mj;
    struct utilization utilization;
    struct clocks clocks, max_clocks;
    struct value pstate, compute_mode, persistence, display_active;
    struct value throttle;
    struct ecc ecc;
    struct remapped_rows remapped_rows;
    struct pcie pcie;
    struct value architecture, brand, numa_node;
    struct value capability_major, capability_minor;
    struct field_value *field_values;
    size_t field_value_count;
    struct mig *mig; /* NULL: the device knows no MIG */
    struct process_codes process_codes;
    struct process *processes;
    size_t process_count;
};

enum fault_kind {
    FAULT_RC,
    FAULT_LATENCY,
    FAULT_HANG_FOREVER,
};

struct fault {
    double at_s, until_s;
    int device; /* position, -1: every call */
    const char *function_glob;
    enum fault_kind kind;
    int rc;
    double latency_us; /* of FAULT_LATENCY; a hang of so many ms is one */
};

struct event {
    double at_s;
    uint32_t device; /* position */
    uint64_t type;
    uint64_t data;
    uint32_t gi, ci;
};

struct driver {
    struct value version;
    const char *nvml;
    int cuda;
    int init_rc;
    double init_ms;
};

struct scenario {
    struct arena arena;
    const char *profile;
    struct driver driver;
    struct device *devices;
    size_t device_count;
    struct fault *faults;
    size_t fault_count;
    struct event *events; /* by time; those of one time in the order of the file */
    size_t event_count;
};

/*
 * Reads the file `path` into *ret_scenario (which stays untouched on failure). `profile` is the symbol
 * profile the scenario must be for; NULL takes any. Returns 0, or -1 with one line for a person, without its
 * end, in `ret_error`.
 */
int scenario_load(const char *path, const char *profile, struct scenario *ret_scenario,
                  char ret_error[static SCENARIO_ERROR_SIZE]);

/* True for the fields whose value has 64 bits. */
bool scenario_field_is_wide(uint32_t id);

/* Gives back all that the scenario holds. */
void scenario_deinit(struct scenario *scenario);
