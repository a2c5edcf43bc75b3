#include "backend/transport.h"

#include "net/peer_address.h"
#include "net/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECEIVE_BUFFER_BYTES (4u << 20) /* asked for; the system's limit is mostly lower */

struct transport {
    uv_loop_t *loop;
    bool tcp;
    uint64_t seed;
    unsigned idle_ms;
    struct net_udp *udp;
    struct cluster *cluster;
    uint64_t kernel_dropped; /* as last seen */
    struct buffer scratch;   /* a frame of a stream, which is opened in place */
};

static void take_datagram(void *userdata, const struct net_datagram *datagram)
{
    struct transport *transport = userdata;
    struct net_address any = NET_ADDRESS_NONE;
    struct peer peer = net_peer_make(&datagram->peer, &any, transport->seed, 0);

    cluster_datagram(transport->cluster, clock_now(), &peer, datagram->bytes, datagram->len);
}

static void end_batch(void *userdata)
{
    struct transport *transport = userdata;
    uint64_t dropped = net_udp_counters(transport->udp)->kernel_dropped;

    if (dropped != transport->kernel_dropped)
        cluster_overflowed(transport->cluster, clock_now());
    transport->kernel_dropped = dropped;
}

int transport_open(uv_loop_t *loop, bool tcp, uint64_t seed, int64_t idle_timeout_ns,
                   struct transport **ret_transport)
{
    struct transport *transport = calloc(1, sizeof(*transport));
    struct net_udp_options options = {
        .fd = -1, .bind = NET_ADDRESS_NONE, .receive_buffer_bytes = (int)RECEIVE_BUFFER_BYTES};
    struct net_udp_events events = {
        .on_datagram = take_datagram, .on_batch_end = end_batch, .userdata = transport};
    int r = 0;

    if (!transport)
        return -ENOMEM;
    transport->loop = loop;
    transport->tcp = tcp;
    transport->seed = seed;
    transport_set_idle_timeout(transport, idle_timeout_ns);
    if (!tcp)
        r = net_udp_open(loop, &options, &events, &transport->udp);
    if (r < 0) {
        free(transport);
        return r;
    }
    *ret_transport = transport;
    return 0;
}

void transport_set_cluster(struct transport *transport, struct cluster *cluster)
{
    transport->cluster = cluster;
}

void transport_set_idle_timeout(struct transport *transport, int64_t idle_timeout_ns)
{
    transport->idle_ms = (unsigned)(idle_timeout_ns / NS_PER_MS);
}

size_t transport_receive_buffer(const struct transport *transport)
{
    return transport->udp ? net_udp_receive_buffer(transport->udp) : RECEIVE_BUFFER_BYTES;
}

const struct net_udp_counters *transport_counters(const struct transport *transport)
{
    return transport->udp ? net_udp_counters(transport->udp) : NULL;
}

void transport_close(struct transport *transport)
{
    if (!transport)
        return;
    net_udp_close(transport->udp);
    transport->udp = NULL;
}

void transport_free(struct transport *transport)
{
    if (!transport)
        return;
    buffer_deinit(&transport->scratch);
    free(transport);
}

void transport_send(struct transport *transport, struct endpoint *endpoint, const uint8_t *bytes, size_t len)
{
    struct net_datagram datagram = {.peer = endpoint->address, .bytes = bytes, .len = len};

    if (transport->udp)
        net_udp_send(transport->udp, &datagram);
    else if (endpoint->stream)
        net_stream_send(endpoint->stream, bytes, len, NET_STREAM_KEEP);
}

/* ---- TCP ---- */

static void connected(void *userdata, struct net_stream *stream)
{
    (void)stream;
    cluster_stream_opened(userdata, clock_now());
}

static void take_frame(void *userdata, struct net_stream *stream, const struct frame_header *header,
                       const uint8_t *frame, size_t len)
{
    struct endpoint *endpoint = userdata;
    struct transport *transport = endpoint->transport;

    (void)stream;
    (void)header;
    buffer_clear(&transport->scratch);
    buffer_put(&transport->scratch, frame, len);
    if (!buffer_error(&transport->scratch))
        cluster_stream_frame(endpoint, clock_now(), (uint8_t *)transport->scratch.bytes, len);
}

static void ended(void *userdata, struct net_stream *stream, int end)
{
    struct endpoint *endpoint = userdata;

    (void)end;
    endpoint->stream = NULL;
    net_stream_close(stream);
    cluster_stream_closed(endpoint, clock_now());
}

/* A goodbye is on its way; the endpoint is of no more interest. */
static void finished(void *userdata, struct net_stream *stream, int end)
{
    (void)userdata;
    (void)end;
    net_stream_close(stream);
}

static void ignore_frame(void *userdata, struct net_stream *stream, const struct frame_header *header,
                         const uint8_t *frame, size_t len)
{
    (void)userdata;
    (void)stream;
    (void)header;
    (void)frame;
    (void)len;
}

void transport_disconnect(struct transport *transport, struct endpoint *endpoint)
{
    struct net_stream_events events = {.on_frame = ignore_frame, .on_closed = finished};
    struct net_stream *stream = endpoint->stream;

    (void)transport;
    endpoint->stream = NULL;
    if (!stream)
        return;
    net_stream_set_events(stream, &events);
    net_stream_finish(stream);
}

void transport_connect(struct transport *transport, struct endpoint *endpoint)
{
    struct net_stream_events events = {
        .on_connected = connected, .on_frame = take_frame, .on_closed = ended, .userdata = endpoint};
    struct net_stream_options options = {.first_ms = NET_STREAM_FIRST_FRAME_MS,
                                         .idle_ms = transport->idle_ms};
    struct net_stream *stream;

    transport_disconnect(transport, endpoint);
    endpoint->transport = transport;
    if (net_stream_connect(transport->loop, &endpoint->address, &options, &events, &stream) == 0)
        endpoint->stream = stream;
    else
        cluster_stream_closed(endpoint, clock_now());
}
