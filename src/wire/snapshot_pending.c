#include "wire/snapshot_pending.h"

#include "wire/snapshot_codec.h"
#include "wire/snapshot_format.h"

#include <errno.h>

/* Moves behind the members before the pending call. */
static void skip_to_pending(struct reader *record)
{
    read_varint(record); /* sequence */
    read_zigzag(record); /* taken */
    read_varint(record); /* flags */
    read_varint(record); /* fault */
    read_zigzag(record); /* its code */
    read_optional_text(record, SNAPSHOT_FAULT_TEXT_MAX);
}

static void skip_pending(struct reader *record)
{
    read_optional_text(record, SNAPSHOT_TEXT_MAX);
    read_zigzag(record);
    read_varint(record);
}

static int put_node_readings(struct reader record, const struct pending_call *call, struct writer *writer)
{
    struct text name = call->name;
    size_t start, mark;

    skip_to_pending(&record);
    start = record.pos;
    skip_pending(&record);
    if (record.failed)
        return -EBADMSG;
    if (name.len > SNAPSHOT_TEXT_MAX)
        name.len = SNAPSHOT_TEXT_MAX;
    write_u8(writer, SECTION_NODE_READINGS);
    mark = write_length_begin(writer);
    write_bytes(writer, record.bytes, start);
    write_optional_text(writer, name);
    write_zigzag(writer, call->device);
    write_varint(writer, call->running_us);
    write_bytes(writer, record.bytes + record.pos, reader_left(&record));
    write_length_end(writer, mark);
    return 0;
}

int snapshot_put_pending(struct reader readings, const struct pending_call *call, struct writer *writer)
{
    bool found = false;

    while (reader_left(&readings)) {
        size_t start = readings.pos;
        uint8_t section = read_u8(&readings);
        struct reader content = read_nested(&readings, read_u32(&readings));

        if (readings.failed)
            return -EBADMSG;
        if (section == SECTION_NODE_READINGS && !found) {
            found = true;
            if (put_node_readings(content, call, writer) < 0)
                return -EBADMSG;
        } else {
            write_bytes(writer, readings.bytes + start, readings.pos - start);
        }
    }
    return found ? 0 : -EBADMSG;
}
