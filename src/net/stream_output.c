#include "net/stream_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void stream_output_init(struct stream_output *output)
{
    *output = (struct stream_output){0};
    output->last = &output->first;
}

/* Takes the message that *link points to out of the queue and frees it. */
static void remove_message(struct stream_output *output, struct stream_message **link)
{
    struct stream_message *message = *link;

    *link = message->next;
    if (output->last == &message->next)
        output->last = link;
    output->queued_bytes -= message->len - message->sent;
    free(message);
}

void stream_output_deinit(struct stream_output *output)
{
    while (output->first)
        remove_message(output, &output->first);
}

static int append_message(struct stream_output *output, const uint8_t *bytes, size_t len, size_t sent,
                          enum net_stream_send_mode mode)
{
    struct stream_message *message = malloc(sizeof(*message) + len);

    if (!message)
        return -ENOMEM;
    *message = (struct stream_message){.mode = mode, .len = len, .sent = sent};
    memcpy(message->bytes, bytes, len);
    *output->last = message;
    output->last = &message->next;
    output->queued_bytes += len - sent;
    return 0;
}

/* The waiting LATEST message of which nothing has been sent; there is at most one. */
static struct stream_message **find_replaceable(struct stream_output *output)
{
    for (struct stream_message **link = &output->first; *link; link = &(*link)->next) {
        if ((*link)->mode == NET_STREAM_LATEST && (*link)->sent == 0)
            return link;
    }
    return NULL;
}

/* Bytes taken by the kernel, or -errno of a broken connection. */
static ssize_t send_some(int fd, const uint8_t *bytes, size_t len)
{
    ssize_t n;

    do {
        n = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN || errno == ENOBUFS ? 0 : -errno;
    return n;
}

int stream_output_flush(struct stream_output *output, int fd)
{
    while (output->first) {
        struct stream_message *message = output->first;
        ssize_t n = send_some(fd, message->bytes + message->sent, message->len - message->sent);

        if (n < 0)
            return (int)n;
        message->sent += (size_t)n;
        output->queued_bytes -= (size_t)n;
        if (message->sent < message->len)
            return 0;
        remove_message(output, &output->first);
    }
    return 0;
}

int net_stream_send(struct net_stream *stream, const void *bytes, size_t len, enum net_stream_send_mode mode)
{
    struct stream_output *output = &stream->output;
    struct stream_message **old = mode == NET_STREAM_LATEST ? find_replaceable(output) : NULL;
    size_t waiting = output->queued_bytes - (old ? (*old)->len : 0);
    size_t sent = 0;
    int r;

    assert(!stream->closed);
    if (stream->connecting || stream->ended || stream->finishing)
        return -ENOTCONN;
    if (len > stream->options.queue_max_bytes - waiting)
        return NET_STREAM_FULL;
    if (!output->first) {
        ssize_t n = send_some(stream->fd, bytes, len);

        /* A broken connection: reading finds out, and tells. */
        if (n < 0 || (size_t)n == len)
            return 0;
        sent = (size_t)n;
    }
    r = append_message(output, bytes, len, sent, mode);
    if (r < 0)
        return r;
    if (old)
        remove_message(output, old);
    stream_watch(stream);
    return old ? NET_STREAM_REPLACED : 0;
}

size_t net_stream_queued(const struct net_stream *stream)
{
    return stream->output.queued_bytes;
}
