#include "net/datagram_queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct datagram_slot {
    struct net_address peer;
    struct net_address local;
    uint32_t interface;
    size_t start;
    size_t len;
};

int datagram_queue_init(struct datagram_queue *queue, size_t slot_cap, size_t byte_cap)
{
    *queue = (struct datagram_queue){.slot_cap = slot_cap, .byte_cap = byte_cap};
    queue->slots = calloc(slot_cap, sizeof(*queue->slots));
    queue->bytes = malloc(byte_cap);
    if (queue->slots && queue->bytes)
        return 0;
    datagram_queue_deinit(queue);
    return -ENOMEM;
}

void datagram_queue_deinit(struct datagram_queue *queue)
{
    free(queue->slots);
    free(queue->bytes);
    *queue = (struct datagram_queue){0};
}

static struct datagram_slot *slot_at(const struct datagram_queue *queue, size_t at)
{
    return &queue->slots[(queue->first + at) % queue->slot_cap];
}

/* Finds `len` bytes in one piece. The bytes in use run from the first slot's start to head, perhaps around
 * the end. */
static bool find_room(const struct datagram_queue *queue, size_t len, size_t *ret_start)
{
    size_t tail = queue->count ? slot_at(queue, 0)->start : 0;
    bool wrapped = queue->count && queue->head <= tail;

    if (wrapped) {
        *ret_start = queue->head;
        return len <= tail - queue->head;
    }
    if (len <= queue->byte_cap - queue->head) {
        *ret_start = queue->head;
        return true;
    }
    *ret_start = 0;
    return queue->count && len <= tail;
}

bool datagram_queue_push(struct datagram_queue *queue, const struct net_datagram *datagram)
{
    /* Never nothing: head == start of the first slot then always means full. */
    size_t room = datagram->len ? datagram->len : 1;
    size_t start;

    if (queue->count == queue->slot_cap || !find_room(queue, room, &start))
        return false;
    if (datagram->len)
        memcpy(queue->bytes + start, datagram->bytes, datagram->len);
    *slot_at(queue, queue->count) = (struct datagram_slot){
        .peer = datagram->peer,
        .local = datagram->local,
        .interface = datagram->interface,
        .start = start,
        .len = datagram->len,
    };
    queue->head = start + room;
    queue->count++;
    return true;
}

struct net_datagram datagram_queue_peek(const struct datagram_queue *queue, size_t at)
{
    const struct datagram_slot *slot = slot_at(queue, at);

    assert(at < queue->count);
    return (struct net_datagram){
        .peer = slot->peer,
        .local = slot->local,
        .interface = slot->interface,
        .bytes = queue->bytes + slot->start,
        .len = slot->len,
    };
}

void datagram_queue_pop(struct datagram_queue *queue, size_t count)
{
    assert(count <= queue->count);
    queue->first = (queue->first + count) % queue->slot_cap;
    queue->count -= count;
    if (queue->count == 0) {
        queue->first = 0;
        queue->head = 0;
    }
}
