/*
 * Copies of datagrams that wait to be sent: a ring of slots over a ring of bytes, both with fixed caps, in
 * the order they came. Memory that was never needed is never touched. Internal to net/.
 */
#ifndef NET_DATAGRAM_QUEUE_H
#define NET_DATAGRAM_QUEUE_H

#include "net/udp.h"

struct datagram_queue {
    struct datagram_slot *slots; /* owned; slot_cap of them */
    uint8_t *bytes;              /* owned; byte_cap of them */
    size_t slot_cap;
    size_t byte_cap;
    size_t first; /* slot */
    size_t count;
    size_t head; /* where the next copy goes, if there is room */
};

/* Returns 0 or -ENOMEM. */
int datagram_queue_init(struct datagram_queue *queue, size_t slot_cap, size_t byte_cap);
void datagram_queue_deinit(struct datagram_queue *queue);

/* Appends a copy. Returns false if there is no room. */
bool datagram_queue_push(struct datagram_queue *queue, const struct net_datagram *datagram);

/* The `at`-th waiting one (at < count); its bytes are borrowed until it is removed. */
struct net_datagram datagram_queue_peek(const struct datagram_queue *queue, size_t at);

/* Removes the first `count` (<= queue->count). */
void datagram_queue_pop(struct datagram_queue *queue, size_t count);

#endif
