/* Any bytes as a datagram. What is accepted lies inside its frame, and cutting that frame gives the same
 * header. */
#include "fuzz/fuzz.h"

#include "wire/chunk.h"

#include <string.h>
#include <zlib.h>

/* The middle of a frame around this chunk, cut again: only the neighbours' checksums may differ. */
static void cut_again(const uint8_t *datagram, const struct chunk *chunk)
{
    static uint8_t frame[CHUNK_FRAME_MAX];
    uint8_t header[CHUNK_HEADER_SIZE];
    struct chunk_sender sender;
    struct text payload;

    memcpy(frame + chunk->offset, chunk->payload, chunk->payload_len);
    MUST(chunk_sender_init(&sender, frame, chunk->frame_len, chunk->frame_id, chunk->chunk_size) == 0);
    MUST(sender.chunks == chunk->chunks && sender.chunk_size == chunk->chunk_size);
    payload = chunk_sender_get(&sender, chunk->chunk, header);
    MUST(payload.len == chunk->payload_len && payload.bytes == (const char *)frame + chunk->offset);
    MUST(memcmp(header + 4, datagram + 4, 12) == 0);  /* id, number, count, length */
    MUST(memcmp(header + 20, datagram + 20, 4) == 0); /* checksum of the payload */
}

static int read_and_check(const uint8_t *bytes, size_t len)
{
    struct chunk chunk;
    int r = chunk_read(reader_over(bytes, len), &chunk);

    MUST(r >= CHUNK_OK && r < CHUNK_OUTCOMES);
    MUST((r == CHUNK_SHORT) == (len <= CHUNK_HEADER_SIZE));
    if (r != CHUNK_OK)
        return r;
    MUST(chunk.payload == bytes + CHUNK_HEADER_SIZE && chunk.payload_len == len - CHUNK_HEADER_SIZE);
    MUST(chunk.payload_len && chunk.payload_len <= chunk.chunk_size);
    MUST(chunk.offset < chunk.frame_len && chunk.payload_len <= chunk.frame_len - chunk.offset);
    MUST(chunk_same_frame(&chunk, &chunk));
    cut_again(bytes, &chunk);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    uint8_t *repaired;
    struct writer crc;

    if (read_and_check(bytes, len) != CHUNK_BAD_CRC)
        return 0;
    /* No fuzzer finds a checksum by chance. */
    repaired = malloc(len);
    MUST(repaired);
    memcpy(repaired, bytes, len);
    crc = writer_over(repaired + 20, 4);
    write_u32(&crc, (uint32_t)crc32(0, bytes + CHUNK_HEADER_SIZE, (uInt)(len - CHUNK_HEADER_SIZE)));
    MUST(read_and_check(repaired, len) == CHUNK_OK);
    free(repaired);
    return 0;
}
