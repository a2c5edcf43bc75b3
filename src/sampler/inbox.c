#include "sampler/inbox.h"

#include "wire/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>

#define FIRST_CAP     4096
#define READ_PER_CALL (4u << 20) /* a stream that never pauses must not keep us */

static int reserve(struct inbox *inbox, size_t cap)
{
    uint8_t *bytes;

    if (cap <= inbox->cap)
        return 0;
    if (cap < FIRST_CAP)
        cap = FIRST_CAP;
    bytes = realloc(inbox->bytes, cap);
    if (!bytes)
        return -ENOMEM;
    inbox->bytes = bytes;
    inbox->cap = cap;
    return 0;
}

/* The size of the frame under way as far as it is known: that of a header first. */
static int wanted(const struct inbox *inbox, struct frame_header *ret_header, size_t *ret_size)
{
    struct reader reader = reader_over(inbox->bytes, inbox->len);

    if (inbox->len < FRAME_HEADER_SIZE) {
        *ret_size = FRAME_HEADER_SIZE;
        return 0;
    }
    if (frame_read_header(&reader, ret_header) != FRAME_OK)
        return -EBADMSG;
    *ret_size = FRAME_HEADER_SIZE + (size_t)ret_header->body_len;
    return 0;
}

/* Makes the finished frame the newest one; the memory of the former is used for the next. */
static void keep(struct inbox *inbox, struct picture_bytes *newest)
{
    struct picture_bytes finished = {inbox->bytes, inbox->len, inbox->cap};

    *inbox = (struct inbox){.bytes = newest->bytes, .cap = newest->cap};
    *newest = finished;
}

/* One recv(). Returns the bytes read, 0 if there are none now, -ECONNRESET at the end of the stream. */
static ssize_t read_some(struct inbox *inbox, int fd, size_t size)
{
    ssize_t n;
    int r = reserve(inbox, size);

    if (r < 0)
        return r;
    do
        n = recv(fd, inbox->bytes + inbox->len, size - inbox->len, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
    if (n == 0)
        return -ECONNRESET;
    inbox->len += (size_t)n;
    return n;
}

int inbox_read(struct inbox *inbox, int fd, struct picture_bytes *newest)
{
    int outcome = INBOX_NOTHING;

    for (size_t total = 0; total < READ_PER_CALL;) {
        struct frame_header header = {0};
        size_t size;
        ssize_t n;
        int r = wanted(inbox, &header, &size);

        if (r < 0)
            return outcome == INBOX_NOTHING ? r : outcome;
        if (inbox->len == size) {
            if (header.type == FRAME_SNAPSHOT) {
                keep(inbox, newest);
                outcome = INBOX_SNAPSHOT;
            }
            inbox->len = 0;
            continue;
        }
        n = read_some(inbox, fd, size);
        if (n == -ECONNRESET && outcome == INBOX_NOTHING)
            return INBOX_ENDED;
        if (n < 0 && outcome == INBOX_NOTHING)
            return (int)n;
        if (n <= 0) /* an end is found again by the next call */
            return outcome;
        total += (size_t)n;
    }
    return outcome;
}

void inbox_deinit(struct inbox *inbox)
{
    free(inbox->bytes);
    *inbox = (struct inbox){0};
}

void picture_bytes_deinit(struct picture_bytes *picture)
{
    free(picture->bytes);
    *picture = (struct picture_bytes){0};
}

struct reader picture_bytes_body(const struct picture_bytes *picture)
{
    if (picture->len <= FRAME_HEADER_SIZE)
        return reader_over("", 0);
    return reader_over(picture->bytes + FRAME_HEADER_SIZE, picture->len - FRAME_HEADER_SIZE);
}
