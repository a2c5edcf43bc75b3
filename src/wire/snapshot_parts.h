/*
 * A snapshot in three parts, so that what hardly changes need not travel with every reply, and put together
 * again without decoding. docs/protocol.md, "Parts of a snapshot".
 *
 *   readings       sections 4 to 7: in every reply
 *   facts          sections 1 and 2 (node and devices): known by a hash, sent when the receiver knows another
 *   process facts  section 3: known by a generation; only the records that are newer than the receiver's
 *                  generation are sent, so that the strings of a process travel once
 *
 * Parts are ranges of bytes, borrowed from the body or message they lie in. No allocation.
 */
#ifndef WIRE_SNAPSHOT_PARTS_H
#define WIRE_SNAPSHOT_PARTS_H

#include "core/cursor.h"
#include "model/snapshot.h"

struct snapshot_parts {
    struct reader readings;
    struct reader facts;
    struct reader process_facts; /* the whole of section 3, with its number and length */
};

/*
 * Takes a body of snapshot_encode() apart, which writes the parts in this order.
 * Returns 0, or -EBADMSG if a section is missing, comes twice or stands elsewhere.
 */
int snapshot_split(struct reader body, struct snapshot_parts *ret_parts);

/* Puts the parts behind each other: a body for snapshot_decode(). */
void snapshot_join(const struct snapshot_parts *parts, struct writer *writer);

/* The hash by which a receiver names the facts that it knows; never 0, which stands for none. */
uint64_t snapshot_facts_hash(struct reader facts);

/*
 * What a responder or backend may look at without decoding the rest: the node's two sections.
 * Texts borrow from the bytes. `in` may be a whole body, or readings and facts alone: what is not there stays
 * zero or absent. Returns 0 or -EBADMSG.
 */
struct snapshot_summary {
    bool has_readings, has_facts;
    uint64_t sequence;
    int64_t taken_unix_us;
    unsigned flags; /* enum node_flag */
    enum node_fault fault;
    int32_t fault_code;
    struct text fault_text, pending_call;
    struct text hostname, driver_version;
};
int snapshot_summarize(struct reader in, struct snapshot_summary *ret_summary);

/* ---- process facts ---- */

struct process_facts_record {
    uint64_t hash;  /* of the record's bytes */
    uint64_t since; /* the generation that brought it */
};

/*
 * Since which generation each process's facts have been as they are. The server keeps one and updates it with
 * each snapshot. About 260 KB; all zero: nothing known.
 */
struct process_facts_log {
    uint64_t generation; /* grows when a record is new; 0: no snapshot yet */
    uint32_t count;
    unsigned half; /* of records: the present ones, in the order of the section; the others are scratch */
    struct process_facts_record records[2][SNAPSHOT_MAX_PROCESSES];
};

/* Takes note of a new snapshot's process facts. Returns 0, or -EBADMSG (the log is then as it was). */
int process_facts_update(struct process_facts_log *log, struct reader process_facts);

/*
 * Appends a section of the records that a receiver who knows generation `known` lacks; of all records if it
 * is 0 or not one of ours. Returns the generation that the section builds on: `known`, or 0 for all records.
 * Writes nothing and returns log->generation if the receiver lacks nothing.
 *
 * process_facts: those of the last update. The writer's error sticks.
 */
uint64_t process_facts_write_newer(const struct process_facts_log *log, struct reader process_facts,
                                   uint64_t known, struct writer *writer);

/*
 * The receiver's side: appends a section with the facts of just those processes that the readings name, each
 * taken from `newer` or else from `known`, in the readings' order.
 *
 * readings: of the reply. known: the section as put together last; empty if there is none. newer: the section
 * in the reply; empty if there is none. The writer must not write over either.
 * Returns 0; -EBADMSG if something is malformed (or newer facts belong to no process); -ESTALE if the facts
 * stand in so different an order that the work would be out of proportion: ask again with generation 0, which
 * always works.
 */
int process_facts_merge(struct reader readings, struct reader known, struct reader newer,
                        struct writer *writer);

#endif
