#include "core/cursor.h"

#include <string.h>

const uint8_t *read_bytes(struct reader *reader, size_t len)
{
    const uint8_t *at;

    if (reader->failed || len > reader->len - reader->pos) {
        reader->failed = true;
        return NULL;
    }
    at = reader->bytes + reader->pos;
    reader->pos += len;
    return at;
}

static uint64_t read_big_endian(struct reader *reader, size_t len)
{
    const uint8_t *at = read_bytes(reader, len);
    uint64_t value = 0;

    for (size_t i = 0; at && i < len; i++)
        value = value << 8 | at[i];
    return value;
}

uint8_t read_u8(struct reader *reader)
{
    return (uint8_t)read_big_endian(reader, 1);
}

uint16_t read_u16(struct reader *reader)
{
    return (uint16_t)read_big_endian(reader, 2);
}

uint32_t read_u32(struct reader *reader)
{
    return (uint32_t)read_big_endian(reader, 4);
}

uint64_t read_u64(struct reader *reader)
{
    return read_big_endian(reader, 8);
}

/* The general case of read_varint(): more than one byte, or none left. */
static uint64_t read_long_varint(struct reader *reader)
{
    size_t left = reader->failed ? 0 : reader_left(reader);
    const uint8_t *at = left ? reader->bytes + reader->pos : NULL;
    uint64_t value = 0;

    for (unsigned i = 0; i < left && i < 10; i++) {
        bool overflows = i == 9 && at[i] > 1;
        bool padded = i && at[i] == 0;

        if (overflows || padded)
            break;
        value |= (uint64_t)(at[i] & 0x7f) << 7 * i;
        if (at[i] < 0x80) {
            reader->pos += i + 1;
            return value;
        }
    }
    reader->failed = true;
    return 0;
}

uint64_t read_varint(struct reader *reader)
{
    if (!reader->failed && reader->pos < reader->len && reader->bytes[reader->pos] < 0x80)
        return reader->bytes[reader->pos++];
    return read_long_varint(reader);
}

uint64_t read_varint_max(struct reader *reader, uint64_t max)
{
    uint64_t value = read_varint(reader);

    if (value > max) {
        reader->failed = true;
        return 0;
    }
    return value;
}

int64_t read_zigzag(struct reader *reader)
{
    uint64_t value = read_varint(reader);

    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

struct text read_text(struct reader *reader, size_t max_len)
{
    size_t len = (size_t)read_varint_max(reader, max_len);
    const uint8_t *at = read_bytes(reader, len);

    return at ? (struct text){(const char *)at, len} : TEXT_ABSENT;
}

struct text read_optional_text(struct reader *reader, size_t max_len)
{
    size_t len = (size_t)read_varint_max(reader, max_len + 1);
    const uint8_t *at = len ? read_bytes(reader, len - 1) : NULL;

    return at ? (struct text){(const char *)at, len - 1} : TEXT_ABSENT;
}

struct reader read_nested(struct reader *reader, size_t len)
{
    const uint8_t *at = read_bytes(reader, len);

    if (!at)
        return (struct reader){.failed = true};
    return reader_over(at, len);
}

void write_bytes(struct writer *writer, const void *bytes, size_t len)
{
    if (writer->failed || len > writer->cap - writer->pos) {
        writer->failed = true;
        return;
    }
    if (len && writer->bytes)
        memcpy(writer->bytes + writer->pos, bytes, len);
    writer->pos += len;
}

static void write_big_endian(struct writer *writer, uint64_t value, size_t len)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(value >> 8 * (len - 1 - i));
    write_bytes(writer, bytes, len);
}

void write_u8(struct writer *writer, uint8_t value)
{
    if (writer->failed || writer->pos == writer->cap) {
        writer->failed = true;
        return;
    }
    if (writer->bytes)
        writer->bytes[writer->pos] = value;
    writer->pos++;
}

void write_u16(struct writer *writer, uint16_t value)
{
    write_big_endian(writer, value, 2);
}

void write_u32(struct writer *writer, uint32_t value)
{
    write_big_endian(writer, value, 4);
}

void write_u64(struct writer *writer, uint64_t value)
{
    write_big_endian(writer, value, 8);
}

void write_varint(struct writer *writer, uint64_t value)
{
    uint8_t bytes[10];
    size_t len = 0;

    if (value <= 0x7f) { /* by far the most */
        write_u8(writer, (uint8_t)value);
        return;
    }
    while (value > 0x7f) {
        bytes[len++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[len++] = (uint8_t)value;
    write_bytes(writer, bytes, len);
}

void write_zigzag(struct writer *writer, int64_t value)
{
    write_varint(writer, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void write_text(struct writer *writer, struct text text)
{
    write_varint(writer, text.len);
    write_bytes(writer, text.bytes, text.len);
}

void write_optional_text(struct writer *writer, struct text text)
{
    if (!text_is_present(text)) {
        write_varint(writer, 0);
        return;
    }
    write_varint(writer, (uint64_t)text.len + 1);
    write_bytes(writer, text.bytes, text.len);
}

size_t varint_size(uint64_t value)
{
    size_t size = 1;

    for (; value > 0x7f; value >>= 7)
        size++;
    return size;
}

size_t write_length_begin(struct writer *writer)
{
    size_t mark = writer->pos;

    write_u32(writer, 0);
    return mark;
}

void write_length_end(struct writer *writer, size_t mark)
{
    struct writer length;

    if (writer->failed || !writer->bytes)
        return;
    length = writer_over(writer->bytes + mark, 4);
    write_u32(&length, (uint32_t)(writer->pos - mark - 4));
}

size_t write_sized_begin(struct writer *writer)
{
    size_t mark = writer->pos;

    write_u8(writer, 0);
    return mark;
}

void write_sized_end(struct writer *writer, size_t mark)
{
    static const uint8_t room[10];
    size_t len, size;
    struct writer length;

    if (writer->failed)
        return;
    len = writer->pos - mark - 1;
    size = varint_size(len);
    write_bytes(writer, room, size - 1);
    if (writer->failed || !writer->bytes)
        return;
    if (size > 1)
        memmove(writer->bytes + mark + size, writer->bytes + mark + 1, len);
    length = writer_over(writer->bytes + mark, size);
    write_varint(&length, len);
}
