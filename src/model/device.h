/*
 * A device: a GPU or a MIG instance of one, as one sample found it.
 */
#ifndef MODEL_DEVICE_H
#define MODEL_DEVICE_H

#include "core/text.h"
#include "model/field.h"

enum device_kind {
    DEVICE_GPU,
    DEVICE_MIG, /* an instance; stands behind its parent in the snapshot */
};

/*
 * What is known of the device as a whole. Numbers on the wire: append only.
 * In any state, values that were read earlier may be present; their group's age tells how old they are.
 */
enum device_state {
    DEVICE_OK,
    DEVICE_FAULT,  /* handle or identity cannot be had; fault_code says why (15 lost, 4 no permission ...) */
    DEVICE_ASLEEP, /* runtime-suspended and left so; read nothing */
    DEVICE_LEFT_OUT, /* a driver call on it hangs; the replacement sampler leaves it out */
    DEVICE_REMOVED,  /* was there before, the driver no longer lists it */
    DEVICE_STATE_COUNT
};

enum device_flag {
    DEVICE_UNIFIED_MEMORY = 1 << 0, /* memory figures are the system's (MemTotal; sum of the processes) */
};

/* The driver's process lists. */
enum process_list { LIST_COMPUTE, LIST_GRAPHICS, LIST_MPS, LIST_COUNT };

/* Instead of a vendor code in list_code[]: the list has not been read yet; it is not read at all. */
#define LIST_CODE_UNREAD (-1)
#define LIST_CODE_ABSENT (-2)

/* group_age_us[]: the group has not been read yet. */
#define AGE_NEVER UINT64_MAX

/* An instance id of a process or device that does not belong to any (all ones, as in NVML). */
#define INSTANCE_NONE UINT32_MAX

struct device {
    enum device_kind kind;
    enum device_state state;
    int32_t fault_code; /* the vendor's return code (NVML's numbers) when state is DEVICE_FAULT, else 0 */
    unsigned flags;     /* enum device_flag */
    uint32_t index;     /* NVML's index; of an instance: the parent's */
    uint32_t mig_index; /* place of an instance in its parent; 0 for a GPU */

    /* Absent where the call failed. Bytes as they came. */
    struct text name;
    struct text uuid;
    struct text serial;
    struct text pci_bus_id; /* "00000000:41:00.0" as NVML prints it */

    struct field_values values;

    /* Age of each group at the snapshot's time, in microseconds, or AGE_NEVER. */
    uint64_t group_age_us[GROUP_COUNT];

    /* Per list: the vendor's return code of the last reading (0 = read), or LIST_CODE_*. */
    int32_t list_code[LIST_COUNT];

    /* This device's entries: snapshot->entries[first_entry .. first_entry + entry_count). */
    uint32_t first_entry;
    uint32_t entry_count;
};

/* All absent, never read, of kind GPU. */
void device_init(struct device *device, uint32_t index);

/* True if the process lists could be read: at least one list of those wanted gave an answer. */
bool device_has_process_list(const struct device *device);

#endif
