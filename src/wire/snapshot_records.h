/*
 * The records of an encoded snapshot, one at a time: the inner half of snapshot_decode(), private to
 * src/wire.
 *
 * Each function takes a reader over one record, fills what the record tells, and returns false if the record
 * is malformed. What a newer writer put at its end stays unread. Texts borrow from the record's bytes.
 */
#ifndef WIRE_SNAPSHOT_RECORDS_H
#define WIRE_SNAPSHOT_RECORDS_H

#include "core/cursor.h"
#include "model/snapshot.h"

bool snapshot_read_node_facts(struct reader record, struct snapshot *snapshot);
bool snapshot_read_node_readings(struct reader record, struct snapshot *snapshot);

/* Initialises the device. */
bool snapshot_read_device_facts(struct reader record, struct device *device);

/* Adds to a device that has its facts; first_entry is left to the caller. */
bool snapshot_read_device_readings(struct reader record, struct device *device);

/* Initialises the process. */
bool snapshot_read_process_readings(struct reader record, struct process *process);

/* The key in front of a process's facts; moves the reader behind it. */
struct process_key {
    uint32_t pid;
    uint64_t start_ticks;
};
struct process_key snapshot_read_process_key(struct reader *record);

/* Adds to a process that has its readings. record: behind the key. */
bool snapshot_read_process_facts(struct reader record, struct process *process);

/* snapshot: has all its processes; the entry's place among them is checked. */
bool snapshot_read_entry(struct reader record, const struct snapshot *snapshot, struct process_entry *entry);

#endif
