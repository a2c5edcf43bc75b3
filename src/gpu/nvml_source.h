/*
 * The inside of the NVML source: what its files share, none of it for others.
 *
 * A device is an object on the heap, so that its texts stay where they are while the lists around it change.
 * `gpus` holds the GPUs in the driver's order, then those that it no longer lists; each GPU owns its
 * MIG instances. `devices` is the same as one flat list, what the positions of source.h count.
 *
 * Every call of the vendor's library goes through nvml_call(), which tells the observer.
 */
#ifndef GPU_NVML_SOURCE_H
#define GPU_NVML_SOURCE_H

#include "core/buffer.h"
#include "gpu/nvml_library.h"
#include "gpu/nvml_process_list.h"
#include "gpu/source.h"
#include "gpu/sysfs_pci.h"

#define NVML_MAX_INSTANCES 32 /* of one GPU; drivers know at most 7 */
#define NVML_MAX_REMOVED   16 /* devices remembered after the driver stopped listing them */

/* What was refused with "not supported" is not asked again for this long. */
#define NVML_ASK_AGAIN_NS (60 * NS_PER_S)

/* Things that are read of a device, one bit each of nvml_device.unsupported. */
enum nvml_reading {
    NVML_READING_UTILIZATION,
    NVML_READING_MEMORY,
    NVML_READING_TEMPERATURE,
    NVML_READING_POWER,
    NVML_READING_CLOCK_SM,
    NVML_READING_CLOCK_MEMORY,
    NVML_READING_CLOCK_GRAPHICS,
    NVML_READING_CLOCK_VIDEO,
    NVML_READING_PSTATE,
    NVML_READING_THROTTLE,
    NVML_READING_POWER_LIMIT,
    NVML_READING_ENCODER,
    NVML_READING_DECODER,
    NVML_READING_FAN,
    NVML_READING_RECOVERY_ACTION,
    NVML_READING_ECC_MODE,
    NVML_READING_ECC_VOLATILE_CORRECTED,
    NVML_READING_ECC_VOLATILE_UNCORRECTED,
    NVML_READING_ECC_AGGREGATE_CORRECTED,
    NVML_READING_ECC_AGGREGATE_UNCORRECTED,
    NVML_READING_REMAPPED_ROWS,
    NVML_READING_MIG_MODE,
    NVML_READING_PERSISTENCE,
    NVML_READING_COMPUTE_MODE,
    NVML_READING_PCIE_GEN,
    NVML_READING_PCIE_WIDTH,
    NVML_READING_PCIE_GEN_MAX,
    NVML_READING_PCIE_WIDTH_MAX,
    NVML_READING_CLOCK_GRAPHICS_MAX,
    NVML_READING_CLOCK_MEMORY_MAX,
    NVML_READING_VALUES,                      /* those before have a row in nvml_values.c */
    NVML_READING_LISTS = NVML_READING_VALUES, /* + enum process_list */
    NVML_READING_PROCESS_UTILIZATION = NVML_READING_LISTS + LIST_COUNT,
    NVML_READINGS
};
_Static_assert(NVML_READINGS <= 64, "nvml_device.unsupported has one bit per reading");

/* A process's utilisation over the newest window that the driver reported. */
struct nvml_process_load {
    uint32_t pid;
    uint64_t time_stamp_us;
    uint8_t sm, memory, encoder, decoder; /* percent or PERCENT_ABSENT */
};

struct nvml_device {
    struct device model;        /* as fill() hands it out, but for ages and entries; texts point below */
    struct nvml_device *parent; /* of an instance; NULL for a GPU */
    void *handle;               /* NULL unless the state is DEVICE_OK */

    char name[NVML_NAME_SIZE];
    char uuid[NVML_UUID_SIZE];
    char serial[NVML_SERIAL_SIZE];
    char pci_bus_id[NVML_BUS_ID_SIZE];
    char identity[NVML_UUID_SIZE];  /* the UUID as it was first read, kept when the call fails later; or "" */
    char address[PCI_ADDRESS_SIZE]; /* sysfs's name of the device, or "" */

    struct field_values
        fresh; /* of the reading under way; model.values keeps the former ones until it is over */
    bool was_read[GROUP_COUNT];
    struct instant read_at[GROUP_COUNT];

    /* What this device refuses, and when it is asked again. */
    uint64_t unsupported; /* 1 << enum nvml_reading */
    bool memory_v1;       /* the second version of the call is refused, the first one works */
    bool temperature_v1;
    struct instant ask_again_at;

    /* DEVICE_FAULT: when its handle is tried again. */
    struct instant fault_since;
    struct instant retry_at;
    int64_t retry_delay_ns;
    bool was_ok;       /* it worked in this process */
    bool uuid_refused; /* a fresh handle's UUID call fails as well: no sign of a stale handle */

    struct process_entry *entries; /* of all lists, in the lists' order */
    uint32_t entry_count, entry_cap;
    bool mps_seen; /* the MPS list had an entry */
    struct instant mps_ask_at;
    struct nvml_process_load *loads;
    uint32_t load_count, load_cap;
    uint64_t load_seen_us; /* newest time stamp so far, by the driver's clock */
    struct instant load_read_at;

    void *events_on; /* the handle that is registered for events; NULL if none */

    struct nvml_device *instances[NVML_MAX_INSTANCES]; /* owned */
    uint32_t instance_count;
    bool mig_due; /* its layout may have changed */

    struct nvml_device *next_discarded;
};

struct nvml_source {
    struct source base;            /* first */
    struct source_options options; /* library_path is owned here */

    struct nvml_library library;
    bool initialised;
    unsigned failed_starts; /* init calls in a row that failed for no clear reason */

    enum node_fault fault;
    int32_t fault_code;
    struct buffer fault_text;
    char driver_version[NVML_VERSION_SIZE]; /* "" if the call failed */
    char nvml_version[NVML_VERSION_SIZE];

    uint32_t driver_count;                          /* what the device count call said last */
    struct nvml_device *gpus[SNAPSHOT_MAX_DEVICES]; /* owned */
    uint32_t gpu_count;
    struct nvml_device *devices[SNAPSHOT_MAX_DEVICES]; /* flat, borrowed from gpus */
    uint32_t device_count;
    struct nvml_device *discarded; /* not in gpus any more, but still in devices; owned */

    bool relist;          /* a handle leads to another device than before: list them all again */
    unsigned bad_checks;  /* in a row: the device count call fails */
    unsigned lost_checks; /* in a row: every device is lost */
    struct instant mig_check_at;

    void *event_set;
    bool events_refused;

    uint8_t *process_bytes; /* one buffer for all process lists, process_cap * PROCESS_STRIDE_MAX bytes */
    uint32_t process_cap;
    unsigned process_stride[LIST_COUNT]; /* 0: not known yet */
    struct process_entry *fresh;         /* entries of the lists that are being read */
    uint32_t fresh_count, fresh_cap;
};

static inline struct nvml_source *nvml_source_of(struct source *source)
{
    return (struct nvml_source *)(void *)source;
}

/*
 * Calls a function of the library, with the observer told. gpu: the GPU's index or -1. A function that the
 * library lacks is not called: the result is NVML_ERROR_FUNCTION_NOT_FOUND.
 */
#define nvml_call(source, gpu, symbol, ...) \
    ({ \
        const struct nvml_source *source_ = (source); \
        const struct call_observer *observer_ = &source_->options.observer; \
        int code_ = NVML_ERROR_FUNCTION_NOT_FOUND; \
        if (source_->library.resolved.calls.symbol) { \
            observer_->begin(observer_->context, source_->library.resolved.name[NVML_SYMBOL(symbol)], \
                             (gpu)); \
            code_ = source_->library.resolved.calls.symbol(__VA_ARGS__); \
            observer_->end(observer_->context); \
        } \
        code_; \
    })

/* The same for a call on a device's handle. */
#define nvml_device_call(source, device, symbol, ...) \
    nvml_call(source, (int32_t)(device)->model.index, symbol, (device)->handle, __VA_ARGS__)

/* True if an identity or memory call that answers so means that the whole device is gone. */
static inline bool nvml_code_is_loss(int code)
{
    return code == NVML_ERROR_GPU_IS_LOST || code == NVML_ERROR_UNKNOWN;
}

/* ---- nvml_device.c: one device ---- */

/* A GPU that was never read, in state DEVICE_OK, without handle. NULL without memory. */
struct nvml_device *nvml_device_new(uint32_t index);
void nvml_device_free(struct nvml_device *device); /* with its instances; accepts NULL */

/*
 * Frees a device, with its instances, once source->devices does not show it any more: until nvml_flatten(),
 * source_fill() may be asked for. Accepts NULL.
 */
void nvml_device_discard(struct nvml_source *source, struct nvml_device *take_device);

/* Takes the dynamic part of a record of the same device, whose handle is not valid any more. Discards it. */
void nvml_device_inherit(struct nvml_source *source, struct nvml_device *device,
                         struct nvml_device *take_old);

/* Puts the device into a state in which nothing is called on it. */
void nvml_device_set_state(struct nvml_device *device, enum device_state state);

/* Puts the device into DEVICE_FAULT, or keeps it there, and sets when it is tried again. */
void nvml_device_fail(struct nvml_device *device, int code, struct instant now);

/* Reads the static group, identity first. Returns 0, or the code of an identity call that means loss. */
int nvml_device_read_static(struct nvml_source *source, struct nvml_device *device, struct instant now);

/*
 * Reads over a new handle what a working device must answer. Sets state and fault. Sets source->relist if
 * another device answers now.
 */
void nvml_device_use(struct nvml_source *source, struct nvml_device *device, struct instant now);

/* Looks up the handle of a GPU, by PCI bus id where that is known, else by index, and uses it. */
void nvml_device_find(struct nvml_source *source, struct nvml_device *device, struct instant now);

/* Asks whether the handle still leads to this device; fails it or finds it again if not. */
void nvml_device_verify(struct nvml_source *source, struct nvml_device *device, struct instant now);

/* Reads the UUID into device->uuid and model.uuid (absent on error). Returns the code. */
int nvml_device_read_uuid(struct nvml_source *source, struct nvml_device *device);

/* ---- nvml_values.c: hot, warm, slow ---- */

/* Reads the values of a group. Fails the device if its memory call says that it is lost. */
void nvml_values_read(struct nvml_source *source, struct nvml_device *device, enum field_group group,
                      struct instant now);

/* The one memory reading. Returns the code after all fall-backs. */
int nvml_values_read_memory(struct nvml_source *source, struct nvml_device *device);

/* Forgets what is not supported when the time has come. */
void nvml_values_expire(struct nvml_device *device, struct instant now);

/* Notes that a reading is not supported, if that is what the code says. */
void nvml_values_note(struct nvml_device *device, unsigned reading, int code, struct instant now);

static inline bool nvml_is_refused(const struct nvml_device *device, unsigned reading)
{
    return device->unsupported >> reading & 1;
}

/* ---- nvml_processes.c ---- */

/* Reads the lists and the processes' utilisation. Returns 0 or -ENOMEM. */
int nvml_processes_read(struct nvml_source *source, struct nvml_device *device, struct instant now);

/* ---- nvml_process_load.c ---- */

/* Reads per-process utilisation into device->loads and from there into the entries. Returns 0 or -ENOMEM. */
int nvml_process_load_read(struct nvml_source *source, struct nvml_device *device, struct instant now);

/* Makes source->process_bytes hold at least `entries` entries. Returns 0 or -ENOMEM. */
int nvml_process_buffer_reserve(struct nvml_source *source, uint32_t entries);

/* ---- nvml_mig.c ---- */

/* Lists a GPU's instances anew, keeping those that are still there. Returns 0 or -ENOMEM. */
int nvml_mig_list(struct nvml_source *source, struct nvml_device *gpu, struct instant now);

/* ---- nvml_events.c ---- */

/* Registers devices that are not yet, and takes in all events that wait. */
void nvml_events_read(struct nvml_source *source);

/* ---- nvml_enumerate.c ---- */

/* Lists all devices anew, keeping what is known of those that are still there. Returns 0 or -ENOMEM. */
int nvml_enumerate(struct nvml_source *source, struct instant now);

/* Makes source->devices from source->gpus, and frees what was discarded. */
void nvml_flatten(struct nvml_source *source);

/* ---- nvml_start.c, nvml_check.c: operations of source.h ---- */

int nvml_start(struct nvml_source *source, struct instant now);
int nvml_check(struct nvml_source *source, struct instant now);

/* Calls init. Returns SOURCE_OK or SOURCE_FAULT with source->fault set. */
int nvml_initialise(struct nvml_source *source);

/* Sets the node's fault; the text is what was put into source->fault_text since nvml_clear_fault(). */
void nvml_set_fault(struct nvml_source *source, enum node_fault fault, int code);
void nvml_clear_fault(struct nvml_source *source);

#endif
