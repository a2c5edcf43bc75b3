#include "wire/snapshot_parts.h"

#include "wire/snapshot_format.h"
#include "wire/snapshot_records.h"

#include <errno.h>
#include <sodium.h>

#define ALL_SECTIONS ((1u << SECTION_END) - 2) /* bits 1 .. SECTION_END-1 */

/* In the order in which they stand in a body. */
enum part { PART_READINGS, PART_FACTS, PART_PROCESS_FACTS, PART_COUNT };

/* The part of a section; those of newer writers belong where they stand. */
static enum part part_of(uint8_t section, enum part present)
{
    switch (section) {
    case SECTION_NODE_FACTS:
    case SECTION_DEVICE_FACTS:
        return PART_FACTS;
    case SECTION_PROCESS_FACTS:
        return PART_PROCESS_FACTS;
    case SECTION_NODE_READINGS:
    case SECTION_DEVICE_READINGS:
    case SECTION_ENTRIES:
    case SECTION_PROCESS_READINGS:
        return PART_READINGS;
    default:
        return present;
    }
}

int snapshot_split(struct reader body, struct snapshot_parts *ret_parts)
{
    struct reader parts[PART_COUNT] = {{0}};
    enum part part = PART_READINGS;
    unsigned seen = 0;

    while (!body.failed && reader_left(&body)) {
        const uint8_t *start = body.bytes + body.pos;
        size_t pos = body.pos;
        uint8_t section = read_u8(&body);
        enum part next = part_of(section, part);

        read_bytes(&body, read_u32(&body));
        if (next < part || (section < SECTION_END && seen >> section & 1))
            return -EBADMSG;
        if (section < SECTION_END)
            seen |= 1u << section;
        if (!parts[next].bytes)
            parts[next].bytes = start;
        parts[next].len += body.pos - pos;
        part = next;
    }
    if (body.failed || (seen & ALL_SECTIONS) != ALL_SECTIONS)
        return -EBADMSG;
    *ret_parts = (struct snapshot_parts){parts[PART_READINGS], parts[PART_FACTS], parts[PART_PROCESS_FACTS]};
    return 0;
}

static void put_all(struct writer *writer, struct reader part)
{
    write_bytes(writer, part.bytes, part.len);
}

void snapshot_join(const struct snapshot_parts *parts, struct writer *writer)
{
    put_all(writer, parts->readings);
    put_all(writer, parts->facts);
    put_all(writer, parts->process_facts);
}

uint64_t snapshot_facts_hash(struct reader facts)
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    struct reader reader = reader_over(hash, sizeof(hash));
    uint64_t value;

    crypto_generichash(hash, sizeof(hash), facts.bytes, facts.len, NULL, 0);
    value = read_u64(&reader);
    return value ? value : 1;
}

int snapshot_summarize(struct reader in, struct snapshot_summary *ret_summary)
{
    struct snapshot node = {0}; /* only its own members are filled: there are no arrays */
    bool has_readings = false, has_facts = false;

    while (reader_left(&in)) {
        uint8_t section = read_u8(&in);
        struct reader content = read_nested(&in, read_u32(&in));

        if (in.failed)
            return -EBADMSG;
        if (section == SECTION_NODE_READINGS && !snapshot_read_node_readings(content, &node))
            return -EBADMSG;
        if (section == SECTION_NODE_FACTS && !snapshot_read_node_facts(content, &node))
            return -EBADMSG;
        has_readings |= section == SECTION_NODE_READINGS;
        has_facts |= section == SECTION_NODE_FACTS;
    }
    *ret_summary = (struct snapshot_summary){
        .has_readings = has_readings,
        .has_facts = has_facts,
        .sequence = node.sequence,
        .taken_unix_us = node.taken_unix_us,
        .flags = node.flags,
        .fault = node.fault,
        .fault_code = node.fault_code,
        .fault_text = node.fault_text,
        .pending_call = node.pending.name,
        .hostname = node.hostname,
        .driver_version = node.driver_version,
    };
    return 0;
}
