/*
 * Bounds-checked byte cursors: the only way this program reads or writes bytes that cross a process border.
 * An error sticks: a reader that ran past its end returns zeros from then on, a writer without room writes
 * nothing more, so that codecs are straight lines with one check at the end. Numbers are big-endian;
 * varints are little groups first (LEB128), at most 10 bytes, the shortest form only.
 */
#ifndef CORE_CURSOR_H
#define CORE_CURSOR_H

#include "core/text.h"

#include <stdint.h>

struct reader {
    const uint8_t *bytes; /* borrowed */
    size_t len;
    size_t pos;
    bool failed;
};

struct writer {
    uint8_t *bytes; /* borrowed; NULL: only count */
    size_t cap;
    size_t pos;
    bool failed;
};

static inline struct reader reader_over(const void *bytes, size_t len)
{
    return (struct reader){.bytes = bytes, .len = len};
}

static inline size_t reader_left(const struct reader *reader)
{
    return reader->len - reader->pos;
}

uint8_t read_u8(struct reader *reader);
uint16_t read_u16(struct reader *reader);
uint32_t read_u32(struct reader *reader);
uint64_t read_u64(struct reader *reader);
uint64_t read_varint(struct reader *reader);

/* A varint that must be <= max; else the reader fails. */
uint64_t read_varint_max(struct reader *reader, uint64_t max);

/* A signed number as zigzag varint (0, -1, 1, -2 ... = 0, 1, 2, 3 ...). */
int64_t read_zigzag(struct reader *reader);

/* The next `len` bytes, borrowed from the input; NULL and failure if there are fewer. */
const uint8_t *read_bytes(struct reader *reader, size_t len);

/* A varint length, then that many bytes, as text borrowed from the input. Fails above max_len. */
struct text read_text(struct reader *reader, size_t max_len);

/* The counterpart of write_optional_text(). Fails above max_len (max_len < UINT32_MAX). */
struct text read_optional_text(struct reader *reader, size_t max_len);

/* A reader over the next `len` bytes, which the outer reader skips. If there are fewer, both have failed. */
struct reader read_nested(struct reader *reader, size_t len);

static inline struct writer writer_over(void *bytes, size_t cap)
{
    return (struct writer){.bytes = bytes, .cap = cap};
}

/* A writer that stores nothing and only counts: its pos tells how many bytes a real one would have got. */
static inline struct writer writer_counting(void)
{
    return (struct writer){.cap = SIZE_MAX};
}

static inline size_t writer_left(const struct writer *writer)
{
    return writer->cap - writer->pos;
}

void write_u8(struct writer *writer, uint8_t value);
void write_u16(struct writer *writer, uint16_t value);
void write_u32(struct writer *writer, uint32_t value);
void write_u64(struct writer *writer, uint64_t value);
void write_varint(struct writer *writer, uint64_t value);
void write_zigzag(struct writer *writer, int64_t value);
void write_bytes(struct writer *writer, const void *bytes, size_t len);

/* A varint length, then the bytes. An absent text is written as an empty one. */
void write_text(struct writer *writer, struct text text);

/* Keeps absent and empty apart: varint 0 for absent, else a varint length + 1, then the bytes. */
void write_optional_text(struct writer *writer, struct text text);

/* Bytes that write_varint() takes for this value: 1 to 10. */
size_t varint_size(uint64_t value);

/*
 * Reserves a big-endian u32 for the length of what follows; write_length_end() fills in how many bytes were
 * written since. `mark` is the value that write_length_begin() returned.
 */
size_t write_length_begin(struct writer *writer);
void write_length_end(struct writer *writer, size_t mark);

/*
 * The same with a varint length. One byte is reserved for it; where the length needs more, what was written
 * is moved up, so this is for records that are mostly shorter than 128 bytes.
 */
size_t write_sized_begin(struct writer *writer);
void write_sized_end(struct writer *writer, size_t mark);

#endif
