/* Process facts on their way: which are new to a receiver, and how he puts them together. */
#include "wire/snapshot_parts.h"

#include "wire/snapshot_format.h"
#include "wire/snapshot_records.h"

#include <errno.h>
#include <sodium.h>

/* A walk over the records of a section. */
struct walk {
    struct reader section; /* at the next record */
    uint32_t count;        /* records in all */
    uint32_t place;        /* of the next one */
};

struct record {
    const uint8_t *bytes; /* with the length before them */
    size_t size;
    struct process_key key;
};

/* Begins at the content of a section. False if it is malformed. */
static bool walk_begin(struct reader content, struct walk *ret_walk)
{
    struct walk walk = {.section = content};

    walk.count = (uint32_t)read_varint_max(&walk.section, SNAPSHOT_MAX_PROCESSES);
    if (walk.section.failed || walk.count > reader_left(&walk.section))
        return false;
    *ret_walk = walk;
    return true;
}

static bool walk_next(struct walk *walk, struct record *ret_record)
{
    size_t start = walk->section.pos;
    struct reader record;

    if (walk->place == walk->count)
        return false;
    record = read_nested(&walk->section, (size_t)read_varint_max(&walk->section, UINT32_MAX));
    ret_record->bytes = walk->section.bytes + start;
    ret_record->size = walk->section.pos - start;
    ret_record->key = snapshot_read_process_key(&record);
    if (record.failed)
        walk->section.failed = true;
    walk->place++;
    return !walk->section.failed;
}

/* All records were good, and nothing follows them. */
static bool walk_is_done(const struct walk *walk)
{
    return !walk->section.failed && walk->place == walk->count && !reader_left(&walk->section);
}

/* Finds a section in a row of them. One that is not there is empty. False if the row is malformed. */
static bool find_section(struct reader row, uint8_t wanted, struct walk *ret_walk)
{
    struct walk found = {.count = 0};

    while (!row.failed && reader_left(&row)) {
        uint8_t section = read_u8(&row);
        struct reader content = read_nested(&row, read_u32(&row));

        if (section == wanted && !row.failed && !walk_begin(content, &found))
            return false;
    }
    if (row.failed)
        return false;
    *ret_walk = found;
    return true;
}

/* ---- the sender's side ---- */

static uint64_t hash_of(const struct record *record)
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    struct reader reader = reader_over(hash, sizeof(hash));

    crypto_generichash(hash, sizeof(hash), record->bytes, record->size, NULL, 0);
    return read_u64(&reader);
}

/* Looks for a hash from place `from` on, around the end, in at most *budget steps. Returns count if not
 * found. */
static uint32_t find_hash(const struct process_facts_record *records, uint32_t count, uint32_t from,
                          uint64_t hash, uint32_t *budget)
{
    for (uint32_t i = 0; i < count && *budget; i++, --*budget) {
        uint32_t place = (from + i) % count;

        if (records[place].hash == hash)
            return place;
    }
    return count;
}

/*
 * How far a search may go in all: enough for lists that were shuffled a little. What is not found within it
 * counts as new, and is only sent once more.
 */
static uint32_t search_budget(uint32_t records)
{
    return 64 * (records + 1);
}

int process_facts_update(struct process_facts_log *log, struct reader process_facts)
{
    const struct process_facts_record *old = log->records[log->half];
    struct process_facts_record *new = log->records[!log->half];
    uint32_t budget = search_budget(log->count), from = 0, count = 0;
    struct record record;
    bool any_new = !log->generation; /* the first one always is */
    struct walk walk;

    if (!find_section(process_facts, SECTION_PROCESS_FACTS, &walk))
        return -EBADMSG;
    while (walk_next(&walk, &record)) {
        uint64_t hash = hash_of(&record);
        uint32_t place = find_hash(old, log->count, from, hash, &budget);
        bool is_new = place == log->count;

        new[count++] = (struct process_facts_record){hash, is_new ? log->generation + 1 : old[place].since};
        any_new |= is_new;
        if (!is_new)
            from = place + 1;
    }
    if (!walk_is_done(&walk))
        return -EBADMSG;
    log->generation += any_new;
    log->count = count;
    log->half = !log->half;
    return 0;
}

static uint32_t count_newer(const struct process_facts_log *log, uint64_t known)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < log->count; i++)
        count += log->records[log->half][i].since > known;
    return count;
}

uint64_t process_facts_write_newer(const struct process_facts_log *log, struct reader process_facts,
                                   uint64_t known, struct writer *writer)
{
    const struct process_facts_record *records = log->records[log->half];
    struct record record;
    struct walk walk;
    uint32_t count;
    size_t mark;

    if (known > log->generation)
        known = 0;
    count = count_newer(log, known);
    if ((known && !count) || !log->generation)
        return log->generation;
    if (!find_section(process_facts, SECTION_PROCESS_FACTS, &walk) || walk.count != log->count) {
        writer->failed = true; /* not the section of the last update */
        return known;
    }
    write_u8(writer, SECTION_PROCESS_FACTS);
    mark = write_length_begin(writer);
    write_varint(writer, count);
    for (uint32_t i = 0; walk_next(&walk, &record); i++)
        if (records[i].since > known)
            write_bytes(writer, record.bytes, record.size);
    write_length_end(writer, mark);
    return known;
}

/* ---- the receiver's side ---- */

/*
 * Where the facts of the processes come from. Newer records stand in the readings' order, so only the next
 * one needs to be looked at; known ones nearly so.
 */
struct merge {
    struct walk readings;
    struct walk newer;
    struct record newer_head;
    bool has_newer_head;
    struct walk known;       /* where to go on */
    struct walk known_start; /* and what follows the end */
    uint32_t budget;
};

static bool same_key(const struct record *a, const struct record *b)
{
    return a->key.pid == b->key.pid && a->key.start_ticks == b->key.start_ticks;
}

static void advance_newer(struct merge *merge)
{
    merge->has_newer_head = walk_next(&merge->newer, &merge->newer_head);
}

/* Looks for a process among the known ones, from where the last one was found, around the end. */
static int find_known(struct merge *merge, const struct record *process, struct record *ret_record)
{
    struct walk at = merge->known;

    for (uint32_t i = 0; i < merge->known_start.count; i++) {
        if (!merge->budget--)
            return -ESTALE;
        if (at.place == at.count)
            at = merge->known_start;
        if (!walk_next(&at, ret_record))
            return -EBADMSG;
        if (same_key(ret_record, process)) {
            merge->known = at;
            return 1;
        }
    }
    return 0;
}

/* The facts of a process: 1 if there are any, 0 if not, or an error. */
static int find_facts(struct merge *merge, const struct record *process, struct record *ret_record)
{
    if (merge->has_newer_head && same_key(&merge->newer_head, process)) {
        *ret_record = merge->newer_head;
        advance_newer(merge);
        return 1;
    }
    return find_known(merge, process, ret_record);
}

/* One pass over all processes. With `writer` counting, the first of two: *ret_count goes before the records.
 */
static int merge_records(struct merge merge, struct writer *writer, uint32_t *ret_count)
{
    struct record process, facts;
    uint32_t count = 0;

    advance_newer(&merge);
    while (walk_next(&merge.readings, &process)) {
        int r = find_facts(&merge, &process, &facts);

        if (r < 0)
            return r;
        if (r > 0) {
            write_bytes(writer, facts.bytes, facts.size);
            count++;
        }
    }
    if (!walk_is_done(&merge.readings) || !walk_is_done(&merge.newer) || merge.has_newer_head)
        return -EBADMSG;
    *ret_count = count;
    return 0;
}

int process_facts_merge(struct reader readings, struct reader known, struct reader newer,
                        struct writer *writer)
{
    struct writer counting = writer_counting();
    struct merge merge = {.budget = 0};
    uint32_t count;
    size_t mark;
    int r;

    if (!find_section(readings, SECTION_PROCESS_READINGS, &merge.readings) ||
        !find_section(known, SECTION_PROCESS_FACTS, &merge.known) ||
        !find_section(newer, SECTION_PROCESS_FACTS, &merge.newer))
        return -EBADMSG;
    merge.known_start = merge.known;
    merge.budget = search_budget(merge.readings.count + merge.known.count);
    r = merge_records(merge, &counting, &count);
    if (r < 0)
        return r;
    write_u8(writer, SECTION_PROCESS_FACTS);
    mark = write_length_begin(writer);
    write_varint(writer, count);
    r = merge_records(merge, writer, &count);
    write_length_end(writer, mark);
    return r;
}
