/*
 * Sends pictures into a stream socket without ever waiting. A frame that was begun is finished; what comes
 * meanwhile is not queued: the caller makes a new picture when the way is free.
 */
#ifndef SAMPLER_OUTBOX_H
#define SAMPLER_OUTBOX_H

#include "model/snapshot.h"

struct outbox {
    int fd;         /* borrowed */
    uint8_t *bytes; /* owned: the frame under way */
    size_t len, sent, cap;
};

enum outbox_outcome {
    OUTBOX_SENT = 0,
    OUTBOX_BUSY = 1, /* a frame is still under way; after outbox_send(): that picture was not taken */
};

/* True while a begun frame is not wholly sent. */
static inline bool outbox_is_busy(const struct outbox *outbox)
{
    return outbox->sent < outbox->len;
}

/*
 * Encodes the snapshot as a frame and sends it, as far as the socket takes it now. Command lines are cut so
 * that the body fits `body_target` (wire/snapshot_fit.h).
 * Returns an enum outbox_outcome, -ENOMEM, or the errno of the socket (-EPIPE: the other side is gone).
 */
int outbox_send(struct outbox *outbox, struct snapshot *snapshot, size_t body_target);

/*
 * The same in two steps: the frame is made now and sent by outbox_flush(), or gives way to that of a later
 * outbox_send(). Not while the outbox is busy.
 */
int outbox_encode(struct outbox *outbox, struct snapshot *snapshot, size_t body_target);

/* Goes on with the frame under way. Returns an enum outbox_outcome or a negative errno. */
int outbox_flush(struct outbox *outbox);

void outbox_deinit(struct outbox *outbox);

#endif
