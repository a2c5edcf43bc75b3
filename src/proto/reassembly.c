#include "proto/reassembly.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_PER_FRAME ((CHUNK_FRAME_MAX + REASSEMBLY_BLOCK_SIZE - 1) / REASSEMBLY_BLOCK_SIZE)
#define NO_BLOCK         UINT32_MAX
#define DONE_COUNT       1024u /* frames remembered as delivered, so that late duplicates begin nothing */

/* The checksums that came with a chunk. */
struct seam {
    uint32_t before, own, after;
};

struct slot {
    bool used;
    uint64_t owner;
    uint64_t age; /* number of its first chunk: the oldest has the lowest */
    struct instant deadline;
    uint32_t frame_id, frame_len, chunk_size;
    uint16_t chunks, received;
    uint8_t have[MESSAGE_BITMAP_MAX];
    uint32_t blocks[BLOCKS_PER_FRAME]; /* NO_BLOCK: no byte of it has come */
    struct seam seams[CHUNK_MAX];
};

struct done {
    uint64_t owner;
    uint32_t frame_id;
    bool used;
};

struct reassembly {
    struct reassembly_options options;
    struct slot *slots;  /* owned */
    uint8_t *memory;     /* owned: all blocks */
    uint32_t *free_next; /* owned: the chain of free blocks */
    uint32_t free_first;
    size_t block_count, blocks_used, slots_used;
    uint64_t ages;
    uint8_t *whole; /* owned: the frame handed out */
    struct done done[DONE_COUNT];
    struct reassembly_counters counters;
};

void reassembly_free(struct reassembly *reassembly)
{
    if (!reassembly)
        return;
    free(reassembly->slots);
    free(reassembly->memory);
    free(reassembly->free_next);
    free(reassembly->whole);
    free(reassembly);
}

int reassembly_new(const struct reassembly_options *options, struct reassembly **ret_reassembly)
{
    struct reassembly *reassembly;

    if (!options->slots || options->slots > REASSEMBLY_SLOTS_MAX || !options->slots_per_owner ||
        options->memory_bytes / REASSEMBLY_BLOCK_SIZE < BLOCKS_PER_FRAME ||
        options->memory_bytes / REASSEMBLY_BLOCK_SIZE >= NO_BLOCK)
        return -EINVAL;
    reassembly = calloc(1, sizeof(*reassembly));
    if (!reassembly)
        return -ENOMEM;
    reassembly->options = *options;
    reassembly->block_count = options->memory_bytes / REASSEMBLY_BLOCK_SIZE;
    reassembly->slots = calloc(options->slots, sizeof(*reassembly->slots));
    reassembly->memory = malloc(reassembly->block_count * REASSEMBLY_BLOCK_SIZE);
    reassembly->free_next = malloc(reassembly->block_count * sizeof(*reassembly->free_next));
    reassembly->whole = malloc(CHUNK_FRAME_MAX);
    if (!reassembly->slots || !reassembly->memory || !reassembly->free_next || !reassembly->whole) {
        reassembly_free(reassembly);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < reassembly->block_count; i++)
        reassembly->free_next[i] = i + 1 < reassembly->block_count ? i + 1 : NO_BLOCK;
    *ret_reassembly = reassembly;
    return 0;
}

static bool bit_is_set(const uint8_t *bits, uint32_t i)
{
    return bits[i / 8] >> i % 8 & 1;
}

static void drop_slot(struct reassembly *reassembly, struct slot *slot)
{
    for (uint32_t i = 0; i < BLOCKS_PER_FRAME; i++) {
        if (slot->blocks[i] == NO_BLOCK)
            continue;
        reassembly->free_next[slot->blocks[i]] = reassembly->free_first;
        reassembly->free_first = slot->blocks[i];
        reassembly->blocks_used--;
    }
    slot->used = false;
    reassembly->slots_used--;
}

/* The oldest slot (of one owner, if `owner` is given) but `spared`; NULL if there is none. */
static struct slot *oldest_slot(struct reassembly *reassembly, const uint64_t *owner,
                                const struct slot *spared)
{
    struct slot *oldest = NULL;

    for (size_t i = 0; i < reassembly->options.slots; i++) {
        struct slot *slot = &reassembly->slots[i];

        if (slot->used && slot != spared && (!owner || slot->owner == *owner) &&
            (!oldest || slot->age < oldest->age))
            oldest = slot;
    }
    return oldest;
}

static void evict(struct reassembly *reassembly, struct slot *slot)
{
    reassembly->counters.evicted++;
    drop_slot(reassembly, slot);
}

/* The slot that a chunk belongs to; NULL if it begins a frame. */
static struct slot *find_slot(struct reassembly *reassembly, uint64_t owner, const struct chunk *chunk)
{
    for (size_t i = 0; i < reassembly->options.slots; i++) {
        struct slot *slot = &reassembly->slots[i];

        if (slot->used && slot->owner == owner && slot->frame_id == chunk->frame_id &&
            slot->frame_len == chunk->frame_len && slot->chunks == chunk->chunks &&
            slot->chunk_size == chunk->chunk_size)
            return slot;
    }
    return NULL;
}

static struct slot *new_slot(struct reassembly *reassembly, struct instant now, uint64_t owner,
                             const struct chunk *chunk)
{
    struct slot *slot = reassembly->slots;
    size_t of_owner = 0;

    for (size_t i = 0; i < reassembly->options.slots; i++)
        of_owner += reassembly->slots[i].used && reassembly->slots[i].owner == owner;
    if (of_owner >= reassembly->options.slots_per_owner)
        evict(reassembly, oldest_slot(reassembly, &owner, NULL));
    else if (reassembly->slots_used == reassembly->options.slots)
        evict(reassembly, oldest_slot(reassembly, NULL, NULL));
    while (slot->used)
        slot++;
    slot->used = true;
    slot->owner = owner;
    slot->age = reassembly->ages++;
    slot->deadline = instant_add_ns(now, reassembly->options.lifetime_ns);
    slot->frame_id = chunk->frame_id;
    slot->frame_len = chunk->frame_len;
    slot->chunk_size = chunk->chunk_size;
    slot->chunks = chunk->chunks;
    slot->received = 0;
    memset(slot->have, 0, sizeof(slot->have));
    for (uint32_t i = 0; i < BLOCKS_PER_FRAME; i++)
        slot->blocks[i] = NO_BLOCK;
    reassembly->slots_used++;
    return slot;
}

/* A block for this slot; older slots go if there is none left, and one frame's worth always is. */
static uint32_t take_block(struct reassembly *reassembly, const struct slot *slot)
{
    uint32_t block;

    if (reassembly->free_first == NO_BLOCK)
        evict(reassembly, oldest_slot(reassembly, NULL, slot));
    block = reassembly->free_first;
    reassembly->free_first = reassembly->free_next[block];
    reassembly->blocks_used++;
    return block;
}

static void store(struct reassembly *reassembly, struct slot *slot, const struct chunk *chunk)
{
    uint32_t at = chunk->offset, left = chunk->payload_len;
    const uint8_t *from = chunk->payload;

    while (left) {
        uint32_t place = at % REASSEMBLY_BLOCK_SIZE, *block = &slot->blocks[at / REASSEMBLY_BLOCK_SIZE];
        uint32_t len = REASSEMBLY_BLOCK_SIZE - place < left ? REASSEMBLY_BLOCK_SIZE - place : left;

        if (*block == NO_BLOCK)
            *block = take_block(reassembly, slot);
        memcpy(reassembly->memory + (size_t)*block * REASSEMBLY_BLOCK_SIZE + place, from, len);
        at += len;
        from += len;
        left -= len;
    }
    slot->have[chunk->chunk / 8] |= (uint8_t)(1u << chunk->chunk % 8);
    slot->seams[chunk->chunk] = (struct seam){chunk->crc_before, chunk->crc, chunk->crc_after};
    slot->received++;
}

static void forget_chunk(struct slot *slot, uint32_t i)
{
    slot->have[i / 8] &= (uint8_t) ~(1u << i % 8);
    slot->received--;
}

/* Does the neighbour `i` of a chunk contradict it? *ret_agrees: it is there and says the same. */
static bool contradicts(const struct slot *slot, const struct chunk *chunk, uint32_t i, bool *ret_agrees)
{
    const struct seam *seam = &slot->seams[i];
    bool same;

    *ret_agrees = false;
    if (i >= slot->chunks || !bit_is_set(slot->have, i))
        return false;
    same = i < chunk->chunk ? seam->after == chunk->crc && seam->own == chunk->crc_before
                            : seam->before == chunk->crc && seam->own == chunk->crc_after;
    *ret_agrees = same;
    return !same;
}

/* True if the chunk must not be kept; a neighbour that may be the damaged one is dropped with it. */
static bool conflicts(struct slot *slot, const struct chunk *chunk)
{
    uint32_t before = chunk->chunk - 1u, after = chunk->chunk + 1u;
    bool before_agrees, after_agrees;
    bool before_bad = contradicts(slot, chunk, before, &before_agrees);
    bool after_bad = contradicts(slot, chunk, after, &after_agrees);

    if (before_bad && !after_bad)
        forget_chunk(slot, before);
    if (after_bad && !before_bad)
        forget_chunk(slot, after);
    return before_bad || after_bad;
}

static struct done *done_place(struct reassembly *reassembly, uint64_t owner, uint32_t frame_id)
{
    return &reassembly->done[(owner * 0x9e3779b97f4a7c15u + frame_id * UINT64_C(0x9e3779b1)) >> 20 &
                             (DONE_COUNT - 1)];
}

static bool was_done(struct reassembly *reassembly, uint64_t owner, uint32_t frame_id)
{
    const struct done *done = done_place(reassembly, owner, frame_id);

    return done->used && done->owner == owner && done->frame_id == frame_id;
}

static void gather(struct reassembly *reassembly, const struct slot *slot)
{
    for (uint32_t at = 0; at < slot->frame_len; at += REASSEMBLY_BLOCK_SIZE) {
        uint32_t left = slot->frame_len - at;

        memcpy(reassembly->whole + at,
               reassembly->memory + (size_t)slot->blocks[at / REASSEMBLY_BLOCK_SIZE] * REASSEMBLY_BLOCK_SIZE,
               left < REASSEMBLY_BLOCK_SIZE ? left : REASSEMBLY_BLOCK_SIZE);
    }
}

static int hand_out(struct reassembly *reassembly, const struct chunk *chunk,
                    struct reassembly_frame *ret_frame)
{
    *ret_frame = (struct reassembly_frame){reassembly->whole, chunk->frame_len};
    reassembly->counters.whole++;
    return REASSEMBLY_WHOLE;
}

int reassembly_add(struct reassembly *reassembly, struct instant now, uint64_t owner,
                   const struct chunk *chunk, struct reassembly_frame *ret_frame)
{
    struct slot *slot;

    if (chunk->chunks == 1) {
        memcpy(reassembly->whole, chunk->payload, chunk->payload_len);
        return hand_out(reassembly, chunk, ret_frame);
    }
    if (was_done(reassembly, owner, chunk->frame_id)) {
        reassembly->counters.duplicates++;
        return REASSEMBLY_DUPLICATE;
    }
    reassembly_expire(reassembly, now);
    slot = find_slot(reassembly, owner, chunk);
    if (!slot)
        slot = new_slot(reassembly, now, owner, chunk);
    if (bit_is_set(slot->have, chunk->chunk) && slot->seams[chunk->chunk].own == chunk->crc) {
        reassembly->counters.duplicates++;
        return REASSEMBLY_DUPLICATE;
    }
    if (bit_is_set(slot->have, chunk->chunk) || conflicts(slot, chunk)) {
        if (bit_is_set(slot->have, chunk->chunk))
            forget_chunk(slot, chunk->chunk);
        reassembly->counters.conflicts++;
        return REASSEMBLY_CONFLICT;
    }
    store(reassembly, slot, chunk);
    if (slot->received < slot->chunks)
        return REASSEMBLY_PART;
    gather(reassembly, slot);
    drop_slot(reassembly, slot);
    *done_place(reassembly, owner, chunk->frame_id) = (struct done){owner, chunk->frame_id, true};
    return hand_out(reassembly, chunk, ret_frame);
}

bool reassembly_gaps(const struct reassembly *reassembly, uint64_t owner, struct reassembly_gaps *ret_gaps)
{
    const struct slot *best = NULL;

    for (size_t i = 0; i < reassembly->options.slots; i++) {
        const struct slot *slot = &reassembly->slots[i];

        if (slot->used && slot->owner == owner && (!best || slot->received > best->received))
            best = slot;
    }
    if (!best)
        return false;
    *ret_gaps = (struct reassembly_gaps){best->chunks, (uint16_t)(best->chunks - best->received), {0}};
    for (uint32_t i = 0; i < best->chunks; i++)
        if (!bit_is_set(best->have, i))
            ret_gaps->missing[i / 8] |= (uint8_t)(1u << i % 8);
    return true;
}

void reassembly_forget(struct reassembly *reassembly, uint64_t owner)
{
    for (size_t i = 0; reassembly->slots_used && i < reassembly->options.slots; i++)
        if (reassembly->slots[i].used && reassembly->slots[i].owner == owner)
            drop_slot(reassembly, &reassembly->slots[i]);
}

void reassembly_expire(struct reassembly *reassembly, struct instant now)
{
    for (size_t i = 0; reassembly->slots_used && i < reassembly->options.slots; i++) {
        struct slot *slot = &reassembly->slots[i];

        if (slot->used && slot->deadline.ns <= now.ns) {
            reassembly->counters.expired++;
            drop_slot(reassembly, slot);
        }
    }
}

size_t reassembly_slots_used(const struct reassembly *reassembly)
{
    return reassembly->slots_used;
}

size_t reassembly_bytes_used(const struct reassembly *reassembly)
{
    return reassembly->blocks_used * REASSEMBLY_BLOCK_SIZE;
}

const struct reassembly_counters *reassembly_counters(const struct reassembly *reassembly)
{
    return &reassembly->counters;
}
