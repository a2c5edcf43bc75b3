/* What the codecs of the messages share. Private to src/wire. */
#ifndef WIRE_MESSAGE_FORMAT_H
#define WIRE_MESSAGE_FORMAT_H

#include "wire/message.h"

#include <errno.h>
#include <string.h>

/* Smallest bodies of messages that are filled up with padding, for message_may_answer_stranger(). */
#define HELLO_BODY_SIZE   64  /* exactly: CHALLENGE and REFUSE are shorter */
#define ANNOUNCE_BODY_MIN 64  /* answered by a HELLO */
#define PROBE_BODY_MIN    297 /* answered by an ANNOUNCE, which has at most 297 */

/* An optional text, cut to what a reader accepts. */
static inline void put_text(struct writer *writer, struct text text, size_t max)
{
    if (text.len > max)
        text.len = max;
    write_optional_text(writer, text);
}

/* A u32 length and the bytes left in `part`. */
static inline void put_part(struct writer *writer, struct reader part)
{
    write_u32(writer, (uint32_t)reader_left(&part));
    if (reader_left(&part))
        write_bytes(writer, part.bytes + part.pos, reader_left(&part));
}

static inline struct reader get_part(struct reader *body)
{
    return read_nested(body, read_u32(body));
}

/* A u16 length and so many zero bytes, so that the body that began at `start` has at least `size` bytes. */
static inline void put_padding(struct writer *writer, size_t start, size_t size)
{
    size_t used = writer->pos - start + sizeof(uint16_t);
    size_t padding = used < size ? size - used : 0;

    write_u16(writer, (uint16_t)padding);
    while (padding--)
        write_u8(writer, 0);
}

static inline void skip_padding(struct reader *body)
{
    read_bytes(body, read_u16(body));
}

/* Copies `len` bytes; leaves ret_bytes alone if there are fewer. */
static inline void get_fixed(struct reader *body, uint8_t *ret_bytes, size_t len)
{
    const uint8_t *bytes = read_bytes(body, len);

    if (bytes)
        memcpy(ret_bytes, bytes, len);
}

#endif
