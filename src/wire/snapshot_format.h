/*
 * The numbers of an encoded snapshot that encoder and decoder share; docs/protocol.md, "Snapshot", gives them
 * to everyone else. Private to src/wire. Numbers on the wire: append only, never reuse.
 */
#ifndef WIRE_SNAPSHOT_FORMAT_H
#define WIRE_SNAPSHOT_FORMAT_H

#include "model/snapshot.h"

/*
 * Facts change hardly ever and are by far the larger part; readings change with every snapshot. They never
 * share a section, so that facts can travel on their own, and seldom.
 */
enum snapshot_section {
    SECTION_NODE_FACTS = 1,
    SECTION_DEVICE_FACTS = 2,
    SECTION_PROCESS_FACTS = 3,
    SECTION_NODE_READINGS = 4,
    SECTION_DEVICE_READINGS = 5,
    SECTION_ENTRIES = 6,
    SECTION_PROCESS_READINGS = 7,
    SECTION_END /* no section; those from here on are skipped */
};

/* Flags of an entry: which optional parts follow, in this order. */
enum entry_flag {
    ENTRY_HAS_PID = 1 << 0, /* else the pid is its process's */
    ENTRY_HAS_MEM = 1 << 1,
    ENTRY_HAS_UTIL = 1 << 2,
    ENTRY_HAS_INSTANCE = 1 << 3,
};

/* Bytes of present bits that a reader accepts: up to 256 fields. */
#define FIELD_BITS_MAX_BYTES 32

/* Groups and lists of a device that a reader accepts; those it does not know it drops. */
#define DEVICE_MAX_GROUPS 32
#define DEVICE_MAX_LISTS  32

/* The bits of struct process's `facts` by the section that carries them. */
#define PROCESS_FACT_BITS \
    (PROCESS_HAS_UID | PROCESS_HAS_START | PROCESS_HAS_COMMAND_LINE | PROCESS_COMMAND_LINE_CUT)
#define PROCESS_READING_BITS (PROCESS_HAS_START | PROCESS_HAS_CPU | PROCESS_HAS_RSS)

#define NODE_FLAG_BITS   (NODE_FIRST_ROUND_DONE | NODE_PROC_HIDDEN | NODE_PID_NAMESPACE)
#define DEVICE_FLAG_BITS DEVICE_UNIFIED_MEMORY

/*
 * Fields that are written among the facts: identity, totals, limits, modes, and what happens a few times in a
 * device's life. A reader takes any field from either place, so this list may change.
 */
#define FIELD_BIT(name) (UINT64_C(1) << FIELD_##name)
#define FACT_FIELDS \
    (FIELD_BIT(MEM_TOTAL_BYTES) | FIELD_BIT(POWER_LIMIT_MW) | FIELD_BIT(CLOCK_GRAPHICS_MAX_MHZ) | \
     FIELD_BIT(CLOCK_MEMORY_MAX_MHZ) | FIELD_BIT(ECC_MODE) | FIELD_BIT(ECC_MODE_PENDING) | \
     FIELD_BIT(REMAPPED_CORRECTED) | FIELD_BIT(REMAPPED_UNCORRECTED) | FIELD_BIT(REMAPPED_PENDING) | \
     FIELD_BIT(REMAPPED_FAILED) | FIELD_BIT(RECOVERY_ACTION) | FIELD_BIT(MIG_MODE) | \
     FIELD_BIT(MIG_MODE_PENDING) | FIELD_BIT(PERSISTENCE_MODE) | FIELD_BIT(COMPUTE_MODE) | \
     FIELD_BIT(PCIE_GEN_MAX) | FIELD_BIT(PCIE_WIDTH_MAX) | FIELD_BIT(XID_LAST) | FIELD_BIT(XID_COUNT) | \
     FIELD_BIT(XID_LAST_UNIX_US) | FIELD_BIT(MINOR) | FIELD_BIT(GPU_INSTANCE_ID) | \
     FIELD_BIT(COMPUTE_INSTANCE_ID) | FIELD_BIT(MULTIPROCESSORS))

/* The code that stands for "unknown error" where a state of a newer writer brings none (NVML's number). */
#define FAULT_CODE_UNKNOWN 999

#endif
