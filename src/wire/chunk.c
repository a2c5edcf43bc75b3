#include "wire/chunk.h"

#include <assert.h>
#include <errno.h>
#include <zlib.h>

#define MTU_MIN 68    /* RFC 791: what every link must carry */
#define MTU_MAX 65535 /* the length field of IPv4 */

size_t chunk_payload_size(size_t mtu)
{
    if (mtu < MTU_MIN)
        mtu = MTU_MIN;
    if (mtu > MTU_MAX)
        mtu = MTU_MAX;
    return mtu - CHUNK_IP_UDP_SIZE - CHUNK_HEADER_SIZE;
}

static uint32_t crc_of(const uint8_t *bytes, uint32_t len)
{
    return (uint32_t)crc32(0, bytes, len);
}

int chunk_sender_init(struct chunk_sender *sender, const void *frame, size_t frame_len, uint32_t frame_id,
                      size_t payload_size)
{
    size_t chunk_size = frame_len < payload_size ? frame_len : payload_size;

    assert(frame_len >= FRAME_HEADER_SIZE && payload_size);
    if (frame_len > CHUNK_FRAME_MAX || (frame_len - 1) / chunk_size >= CHUNK_MAX)
        return -EMSGSIZE;
    *sender = (struct chunk_sender){
        .frame = frame,
        .frame_len = (uint32_t)frame_len,
        .frame_id = frame_id,
        .chunk_size = (uint32_t)chunk_size,
        .chunks = (uint32_t)((frame_len - 1) / chunk_size + 1),
    };
    return 0;
}

static struct text payload_of(const struct chunk_sender *sender, uint32_t chunk)
{
    uint32_t offset = chunk * sender->chunk_size;
    uint32_t left = sender->frame_len - offset;

    return (struct text){(const char *)sender->frame + offset,
                         left < sender->chunk_size ? left : sender->chunk_size};
}

/* 0 for a chunk before the first (which wraps around) or behind the last. */
static uint32_t checksum(struct chunk_sender *sender, uint32_t chunk)
{
    uint32_t place = chunk % 3;

    if (chunk >= sender->chunks)
        return 0;
    if (sender->known[place].chunk_plus_1 != chunk + 1) {
        struct text payload = payload_of(sender, chunk);

        sender->known[place].crc = crc_of((const uint8_t *)payload.bytes, (uint32_t)payload.len);
        sender->known[place].chunk_plus_1 = chunk + 1;
    }
    return sender->known[place].crc;
}

struct text chunk_sender_get(struct chunk_sender *sender, uint32_t chunk,
                             uint8_t ret_header[CHUNK_HEADER_SIZE])
{
    struct writer writer = writer_over(ret_header, CHUNK_HEADER_SIZE);

    assert(chunk < sender->chunks);
    write_u16(&writer, CHUNK_MAGIC);
    write_u8(&writer, CHUNK_VERSION);
    write_u8(&writer, 0); /* flags: none yet */
    write_u32(&writer, sender->frame_id);
    write_u16(&writer, (uint16_t)chunk);
    write_u16(&writer, (uint16_t)sender->chunks);
    write_u32(&writer, sender->frame_len);
    write_u32(&writer, checksum(sender, chunk - 1));
    write_u32(&writer, checksum(sender, chunk));
    write_u32(&writer, checksum(sender, chunk + 1));
    return payload_of(sender, chunk);
}

/* Works out where the payload lies. False if it cannot be a chunk of such a frame. */
static bool place_chunk(struct chunk *chunk)
{
    uint32_t before = chunk->chunk, last = chunk->chunks - 1u;

    if (chunk->frame_len < FRAME_HEADER_SIZE || chunk->frame_len > CHUNK_FRAME_MAX ||
        chunk->payload_len > chunk->frame_len)
        return false;
    if (before < last || !last) {
        chunk->chunk_size = chunk->payload_len;
        chunk->offset = before * chunk->chunk_size;
        return (chunk->frame_len - 1) / chunk->chunk_size == last;
    }
    /* The last one tells by what is before it how long the others are. */
    chunk->offset = chunk->frame_len - chunk->payload_len;
    chunk->chunk_size = chunk->offset / last;
    return chunk->offset % last == 0 && chunk->payload_len <= chunk->chunk_size;
}

int chunk_read(struct reader datagram, struct chunk *ret_chunk)
{
    struct chunk chunk = {0};
    uint8_t version;

    if (reader_left(&datagram) <= CHUNK_HEADER_SIZE)
        return CHUNK_SHORT;
    if (read_u16(&datagram) != CHUNK_MAGIC)
        return CHUNK_BAD_MAGIC;
    version = read_u8(&datagram);
    if (version != CHUNK_VERSION)
        return CHUNK_BAD_VERSION;
    read_u8(&datagram); /* flags: those of newer senders mean nothing to us */
    chunk.frame_id = read_u32(&datagram);
    chunk.chunk = read_u16(&datagram);
    chunk.chunks = read_u16(&datagram);
    chunk.frame_len = read_u32(&datagram);
    chunk.crc_before = read_u32(&datagram);
    chunk.crc = read_u32(&datagram);
    chunk.crc_after = read_u32(&datagram);
    if (!chunk.chunks || chunk.chunks > CHUNK_MAX || chunk.chunk >= chunk.chunks)
        return CHUNK_BAD_COUNT;
    if (reader_left(&datagram) > CHUNK_FRAME_MAX)
        return CHUNK_BAD_LENGTH;
    chunk.payload_len = (uint32_t)reader_left(&datagram);
    chunk.payload = read_bytes(&datagram, chunk.payload_len);
    if (!place_chunk(&chunk))
        return CHUNK_BAD_LENGTH;
    if ((!chunk.chunk && chunk.crc_before) || (chunk.chunk + 1 == chunk.chunks && chunk.crc_after))
        return CHUNK_BAD_ENDS;
    if (crc_of(chunk.payload, chunk.payload_len) != chunk.crc)
        return CHUNK_BAD_CRC;
    *ret_chunk = chunk;
    return CHUNK_OK;
}

bool chunk_same_frame(const struct chunk *a, const struct chunk *b)
{
    if (a->frame_id != b->frame_id || a->frame_len != b->frame_len || a->chunks != b->chunks ||
        a->chunk_size != b->chunk_size)
        return false;
    if (a->chunk == b->chunk)
        return a->crc == b->crc && a->crc_before == b->crc_before && a->crc_after == b->crc_after;
    if (a->chunk + 1 == b->chunk)
        return a->crc_after == b->crc && b->crc_before == a->crc;
    if (b->chunk + 1 == a->chunk)
        return b->crc_after == a->crc && a->crc_before == b->crc;
    return true;
}
