/*
 * Takes frames out of a stream socket without ever waiting, and keeps the newest snapshot only.
 *
 * Every length is checked against FRAME_BODY_MAX before anything is allocated for it; the memory held is that
 * of the two largest frames seen.
 */
#ifndef SAMPLER_INBOX_H
#define SAMPLER_INBOX_H

#include "core/cursor.h"

/* A frame under way: of one stream. */
struct inbox {
    uint8_t *bytes; /* owned */
    size_t len, cap;
};

/* The last whole snapshot: a frame, header included. */
struct picture_bytes {
    uint8_t *bytes; /* owned */
    size_t len, cap;
};

enum inbox_outcome {
    INBOX_NOTHING = 0,  /* no further whole snapshot has come */
    INBOX_SNAPSHOT = 1, /* *newest is a newer one */
    INBOX_ENDED = 2,    /* the other side closed the stream; told after the last snapshot */
};

/*
 * Reads what is there, at most some megabytes at a time. Frames of other types are skipped.
 * Returns an enum inbox_outcome; -EBADMSG if the stream is no stream of frames, -ENOMEM, or the errno of the
 * socket: told after the last good snapshot as well. After INBOX_ENDED or an error the stream is of no more
 * use.
 */
int inbox_read(struct inbox *inbox, int fd, struct picture_bytes *newest);

/* Forgets the frame under way and frees the memory. */
void inbox_deinit(struct inbox *inbox);
void picture_bytes_deinit(struct picture_bytes *picture);

/* The body of the newest snapshot, len 0 if there is none. */
struct reader picture_bytes_body(const struct picture_bytes *picture);

#endif
