#include "wire/frame.h"

void frame_write_header(struct writer *writer, const struct frame_header *header)
{
    write_u32(writer, FRAME_MAGIC);
    write_u8(writer, header->version);
    write_u8(writer, header->type);
    write_u16(writer, header->flags);
    write_u64(writer, header->request_id);
    write_u32(writer, header->body_len);
}

size_t frame_begin(struct writer *writer, const struct frame_header *header)
{
    size_t mark = writer->pos;

    frame_write_header(writer, header);
    return mark;
}

void frame_end(struct writer *writer, size_t mark)
{
    struct writer at;
    size_t body_len;

    if (writer->failed)
        return;
    body_len = writer->pos - mark - FRAME_HEADER_SIZE;
    if (body_len > FRAME_BODY_MAX) {
        writer->failed = true;
        return;
    }
    at = writer->bytes ? writer_over(writer->bytes + mark, FRAME_HEADER_SIZE) : writer_counting();
    at.pos = FRAME_HEADER_SIZE - sizeof(uint32_t); /* the length is the header's last member */
    write_u32(&at, (uint32_t)body_len);
}

int frame_read_header(struct reader *reader, struct frame_header *ret_header)
{
    struct reader ahead = *reader;
    struct frame_header header;

    if (reader->failed || reader_left(reader) < FRAME_HEADER_SIZE)
        return FRAME_SHORT;
    if (read_u32(&ahead) != FRAME_MAGIC)
        return FRAME_BAD_MAGIC;
    header.version = read_u8(&ahead);
    header.type = read_u8(&ahead);
    header.flags = read_u16(&ahead);
    header.request_id = read_u64(&ahead);
    header.body_len = read_u32(&ahead);
    *ret_header = header;
    if (header.version != FRAME_VERSION)
        return FRAME_BAD_VERSION;
    if (header.body_len > FRAME_BODY_MAX)
        return FRAME_TOO_LONG;
    *reader = ahead;
    return FRAME_OK;
}
