/* Any bytes as the beginning of a frame. */
#include "fuzz/fuzz.h"

#include "wire/frame.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct reader reader = reader_over(bytes, len);
    uint8_t again[FRAME_HEADER_SIZE];
    struct writer writer = writer_over(again, sizeof(again));
    struct frame_header header;
    int r = frame_read_header(&reader, &header);

    MUST((r == FRAME_SHORT) == (len < FRAME_HEADER_SIZE));
    MUST(reader.pos == (r == FRAME_OK ? FRAME_HEADER_SIZE : 0) && !reader.failed);
    if (r == FRAME_SHORT || r == FRAME_BAD_MAGIC)
        return 0;
    MUST((r == FRAME_BAD_VERSION) == (header.version != FRAME_VERSION));
    MUST(r != FRAME_OK || header.body_len <= FRAME_BODY_MAX);
    frame_write_header(&writer, &header);
    MUST(!writer.failed && memcmp(bytes, again, sizeof(again)) == 0);
    if (r == FRAME_OK && header.type == FRAME_INTEREST)
        read_varint(&reader);
    return 0;
}
