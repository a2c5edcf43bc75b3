#include "sampler/outbox.h"

#include "wire/frame.h"
#include "wire/snapshot_codec.h"
#include "wire/snapshot_fit.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

static int reserve(struct outbox *outbox, size_t cap)
{
    uint8_t *bytes;

    if (cap <= outbox->cap)
        return 0;
    cap += cap / 4; /* pictures grow by a process now and then */
    bytes = realloc(outbox->bytes, cap);
    if (!bytes)
        return -ENOMEM;
    outbox->bytes = bytes;
    outbox->cap = cap;
    return 0;
}

int outbox_encode(struct outbox *outbox, struct snapshot *snapshot, size_t body_target)
{
    struct writer writer;
    size_t body_len;
    int r;

    assert(!outbox_is_busy(outbox));
    snapshot_fit(snapshot, body_target);
    body_len = snapshot_encoded_max(snapshot);
    assert(body_len <= FRAME_BODY_MAX);
    r = reserve(outbox, FRAME_HEADER_SIZE + body_len);
    if (r < 0)
        return r;
    writer = writer_over(outbox->bytes, outbox->cap);
    frame_write_header(&writer, &(struct frame_header){.version = FRAME_VERSION,
                                                       .type = FRAME_SNAPSHOT,
                                                       .body_len = (uint32_t)body_len});
    snapshot_encode(snapshot, &writer);
    assert(!writer.failed && writer.pos == FRAME_HEADER_SIZE + body_len);
    outbox->len = writer.pos;
    outbox->sent = 0;
    return 0;
}

int outbox_flush(struct outbox *outbox)
{
    while (outbox_is_busy(outbox)) {
        ssize_t n = send(outbox->fd, outbox->bytes + outbox->sent, outbox->len - outbox->sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return OUTBOX_BUSY;
        if (n < 0)
            return -errno;
        outbox->sent += (size_t)n;
    }
    return OUTBOX_SENT;
}

int outbox_send(struct outbox *outbox, struct snapshot *snapshot, size_t body_target)
{
    int r;

    if (!outbox->sent) /* nothing of it has gone out: it gives way to the newer one */
        outbox->len = 0;
    r = outbox_flush(outbox);
    if (r != OUTBOX_SENT)
        return r;
    r = outbox_encode(outbox, snapshot, body_target);
    if (r < 0)
        return r;
    r = outbox_flush(outbox);
    return r == OUTBOX_BUSY ? OUTBOX_SENT : r;
}

void outbox_deinit(struct outbox *outbox)
{
    free(outbox->bytes);
    *outbox = (struct outbox){.fd = outbox->fd};
}
