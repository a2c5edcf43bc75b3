#include "server/streams.h"

#include "net/peer_address.h"
#include "wire/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_MAX 4096 /* bytes of a frame that a backend sends; the longest is far shorter */

struct stream_slot {
    struct streams *streams;
    struct net_stream *stream; /* NULL: free */
    uint64_t number;           /* never used twice; modulo slot_count it is the slot's place */
    struct peer peer;
    bool finishing;
};

struct streams {
    struct streams_events events;
    struct net_listener *listener;
    uint64_t seed;
    struct stream_slot *slots;
    size_t slot_count, used;
    uint64_t round; /* of numbers */
};

static struct stream_slot *find(const struct streams *streams, uint64_t number)
{
    struct stream_slot *slot = &streams->slots[number % streams->slot_count];

    return slot->stream && slot->number == number ? slot : NULL;
}

static struct stream_slot *find_free(struct streams *streams)
{
    for (size_t i = 0; i < streams->slot_count; i++)
        if (!streams->slots[i].stream)
            return &streams->slots[i];
    return NULL;
}

static void release(struct stream_slot *slot)
{
    net_stream_close(slot->stream);
    slot->stream = NULL;
    slot->streams->used--;
}

static void finish(struct stream_slot *slot)
{
    if (slot->finishing)
        return;
    slot->finishing = true;
    net_stream_finish(slot->stream);
}

/* ---- events of a connection ---- */

static void on_frame(void *userdata, struct net_stream *stream, const struct frame_header *header,
                     const uint8_t *frame, size_t len)
{
    struct stream_slot *slot = userdata;
    struct streams *streams = slot->streams;
    uint8_t copy[FRAME_MAX]; /* seals are opened in place */

    (void)stream;
    (void)header;
    if (slot->finishing)
        return;
    if (len > sizeof(copy)) {
        finish(slot);
        return;
    }
    memcpy(copy, frame, len);
    if (!streams->events.on_frame(streams->events.userdata, &slot->peer, copy, len))
        finish(slot);
}

static void on_bad_input(void *userdata, struct net_stream *stream, enum net_stream_bad_input what,
                         const struct frame_header *header)
{
    struct stream_slot *slot = userdata;
    struct streams *streams = slot->streams;
    uint8_t answer[256];

    if (what == NET_STREAM_BAD_VERSION) {
        size_t len = streams->events.on_other_version(streams->events.userdata, header->request_id, answer,
                                                      sizeof(answer));

        net_stream_send(stream, answer, len, NET_STREAM_KEEP);
    }
    finish(slot);
}

static void on_closed(void *userdata, struct net_stream *stream, int end)
{
    struct stream_slot *slot = userdata;
    struct streams *streams = slot->streams;
    uint64_t number = slot->number;

    (void)stream;
    (void)end;
    release(slot);
    streams->events.on_closed(streams->events.userdata, number);
}

static void on_accept(void *userdata, struct net_stream *stream, const struct net_stream_peer *peer)
{
    struct streams *streams = userdata;
    struct stream_slot *slot = find_free(streams);
    struct net_stream_events events = {
        .on_frame = on_frame, .on_bad_input = on_bad_input, .on_closed = on_closed, .userdata = slot};

    if (!slot) {
        net_stream_close(stream);
        return;
    }
    slot->stream = stream;
    slot->finishing = false;
    slot->number = ++streams->round * streams->slot_count + (uint64_t)(slot - streams->slots);
    slot->peer = net_peer_make(&peer->address, &peer->local, streams->seed, slot->number);
    streams->used++;
    net_stream_set_events(stream, &events);
}

/* ---- the whole ---- */

static int allocate(const struct streams_options *options, const struct streams_events *events,
                    struct streams **ret_streams)
{
    struct streams *streams = calloc(1, sizeof(*streams));

    if (!streams)
        return -ENOMEM;
    streams->events = *events;
    streams->seed = options->seed;
    streams->slot_count = options->max_connections + STREAMS_SPARE;
    streams->slots = calloc(streams->slot_count, sizeof(*streams->slots));
    if (!streams->slots) {
        free(streams);
        return -ENOMEM;
    }
    for (size_t i = 0; i < streams->slot_count; i++)
        streams->slots[i].streams = streams;
    *ret_streams = streams;
    return 0;
}

int streams_open(uv_loop_t *loop, const struct streams_options *options, const struct streams_events *events,
                 struct streams **ret_streams)
{
    struct net_listener_options listener_options = {
        .stream = {.first_ms = NET_STREAM_FIRST_FRAME_MS, .idle_ms = options->idle_ms},
        .max_streams = options->max_connections + STREAMS_SPARE,
        .max_per_source = options->per_source + STREAMS_SPARE,
    };
    struct net_listener_events listener_events = {.on_accept = on_accept};
    struct streams *streams;
    int r = allocate(options, events, &streams);

    if (r < 0) {
        close(options->take_fd);
        return r;
    }
    listener_events.userdata = streams;
    r = net_listener_open(loop, options->take_fd, &listener_options, &listener_events, &streams->listener);
    if (r < 0) {
        streams_close(streams);
        return r;
    }
    *ret_streams = streams;
    return 0;
}

void streams_close(struct streams *streams)
{
    if (!streams)
        return;
    net_listener_close(streams->listener);
    for (size_t i = 0; i < streams->slot_count; i++)
        if (streams->slots[i].stream)
            release(&streams->slots[i]);
    free(streams->slots);
    free(streams);
}

void streams_send(struct streams *streams, uint64_t stream, const uint8_t *bytes, size_t len)
{
    struct stream_slot *slot = find(streams, stream);

    if (slot)
        net_stream_send(slot->stream, bytes, len, NET_STREAM_KEEP);
}

void streams_finish(struct streams *streams, uint64_t stream)
{
    struct stream_slot *slot = find(streams, stream);

    if (slot)
        finish(slot);
}

void streams_stop(struct streams *streams)
{
    net_listener_close(streams->listener);
    streams->listener = NULL;
    for (size_t i = 0; i < streams->slot_count; i++)
        if (streams->slots[i].stream)
            finish(&streams->slots[i]);
}

size_t streams_count(const struct streams *streams)
{
    return streams->used;
}

const struct net_listener_counters *streams_counters(const struct streams *streams)
{
    static const struct net_listener_counters none;

    return streams->listener ? net_listener_counters(streams->listener) : &none;
}
