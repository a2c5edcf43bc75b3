#include "server/responder.h"

#include "clustat_version.h"
#include "core/event_log.h"
#include "net/peer_address.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>

#define RECEIVE_BUFFER (1 << 20)

struct responder {
    struct responder_options options;
    struct net_udp *udp;
    struct streams *streams;
    struct peers *peers;
    struct net_timer timer; /* peers' */
    struct questions questions;
    uint64_t seed;
    bool stopped;
    struct event_limit sessions_logged, refusals_logged;
};

static uint64_t next_random(void *userdata)
{
    uint64_t value;

    (void)userdata;
    randombytes_buf(&value, sizeof(value));
    return value;
}

/* After anything was passed to peers. */
static void follow_peers(struct responder *responder)
{
    if (!responder->stopped)
        net_timer_set(&responder->timer, peers_next(responder->peers));
}

/* ---- questions ---- */

static void on_query(void *userdata, const struct peers_query *query)
{
    struct responder *responder = userdata;

    questions_ask(&responder->questions, query);
}

static void on_answer(void *userdata, const struct peers_ticket *ticket, const struct message_reply *reply)
{
    struct responder *responder = userdata;

    peers_answer(responder->peers, clock_now(), ticket, reply);
}

/* Not from within a wake-up of the socket, after which answers leave by themselves. */
static void on_answered(void *userdata)
{
    struct responder *responder = userdata;

    net_udp_flush(responder->udp);
    follow_peers(responder);
}

void responder_snapshot_came(struct responder *responder)
{
    questions_snapshot_came(&responder->questions);
}

/* ---- what peers ask and tell ---- */

static void on_send(void *userdata, const struct peer *peer, const uint8_t *bytes, size_t len)
{
    struct responder *responder = userdata;
    struct net_datagram datagram = {.bytes = bytes, .len = len};

    if (peer->stream) {
        streams_send(responder->streams, peer->stream, bytes, len);
        return;
    }
    datagram.peer = net_peer_address(peer);
    datagram.local = net_peer_local(peer);
    net_udp_send(responder->udp, &datagram);
}

static bool on_allow(void *userdata, const struct peer *peer)
{
    struct responder *responder = userdata;
    struct net_address address = net_peer_address(peer);

    return net_cidr_list_contains(responder->options.allow, &address);
}

static void on_facts(void *userdata, uint64_t *ret_hash, struct reader *ret_facts)
{
    struct responder *responder = userdata;
    struct reader facts;
    uint64_t hash = latest_facts(responder->options.latest, &facts);

    if (!hash)
        return;
    *ret_hash = hash;
    *ret_facts = facts;
}

static size_t on_mtu(void *userdata, const struct peer *peer)
{
    struct responder *responder = userdata;
    struct net_address address = net_peer_address(peer);

    return net_path_mtu(&address, responder->options.udp_mtu);
}

static const char *describe(enum peers_change change)
{
    switch (change) {
    case PEERS_SESSION_NEW:
        return "a new session";
    case PEERS_SESSION_GOODBYE:
        return "the peer ended its session";
    case PEERS_SESSION_IDLE:
        return "silent too long, session ended";
    case PEERS_SESSION_DROPPED:
        return "session ended, its place was needed for another";
    case PEERS_SESSION_REPLACED:
        return "session replaced by a newer one";
    case PEERS_SESSION_CLOSED:
        return "connection and session ended";
    }
    return "session changed";
}

/* Connections whose session is over are of no use, but the peer may begin another on the same one. */
static bool ends_connection(enum peers_change change)
{
    return change == PEERS_SESSION_IDLE || change == PEERS_SESSION_DROPPED || change == PEERS_SESSION_GOODBYE;
}

static void on_session(void *userdata, const struct peer *peer, enum peers_change change)
{
    struct responder *responder = userdata;
    struct net_address address = net_peer_address(peer);
    char text[NET_ADDRESS_TEXT_CAP];

    event_log(&responder->sessions_logged, clock_now(),
              change == PEERS_SESSION_DROPPED ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "%s over %s: %s",
              net_address_format(&address, text), peer->stream ? "TCP" : "UDP", describe(change));
    if (peer->stream && ends_connection(change))
        streams_finish(responder->streams, peer->stream);
}

static void on_refused(void *userdata, const struct peer *peer, enum refuse_reason reason)
{
    static const char *const reasons[] = {
        [REFUSE_NOT_ALLOWED] = "its address is not in security.allow",
        [REFUSE_VERSION] = "it speaks another version of the protocol",
        [REFUSE_FULL] = "connecting.max_connections, or the limit for one address, is reached",
        [REFUSE_UNKNOWN_SESSION] = "its session is not known (any more)",
        [REFUSE_SEALED_ONLY] = "it does not seal its traffic, and security.key_file is set",
        [REFUSE_RATE] = "it asks too often",
    };
    struct responder *responder = userdata;
    struct net_address address = net_peer_address(peer);
    char text[NET_ADDRESS_TEXT_CAP];

    if (reason == REFUSE_UNKNOWN_SESSION)
        return; /* what every backend gets after a restart */
    event_log(&responder->refusals_logged, clock_now(), LOG_LEVEL_WARNING, "refused %s: %s",
              net_address_format(&address, text), reasons[reason]);
}

/* ---- what comes in ---- */

static void on_datagram(void *userdata, const struct net_datagram *datagram)
{
    struct responder *responder = userdata;
    struct peer peer = net_peer_make(&datagram->peer, &datagram->local, responder->seed, 0);

    if (!responder->stopped)
        peers_datagram(responder->peers, clock_now(), &peer, datagram->bytes, datagram->len);
}

static void on_batch_end(void *userdata)
{
    follow_peers(userdata);
}

/* Whether a connection makes sense after a frame that came to this. */
static bool may_go_on(enum peers_input input)
{
    switch (input) {
    case PEERS_INPUT_TAKEN:
    case PEERS_INPUT_RATE:
    case PEERS_INPUT_REPLAYED:
    case PEERS_INPUT_BAD_COOKIE:
    case PEERS_INPUT_UNKNOWN:
    case PEERS_INPUT_STALE:
        return true;
    case PEERS_INPUT_BAD_CHUNK:
    case PEERS_INPUT_BAD_FRAME:
    case PEERS_INPUT_OTHER_VERSION:
    case PEERS_INPUT_NOT_ALLOWED:
    case PEERS_INPUT_UNSEALED:
    case PEERS_INPUT_SEALED:
    case PEERS_INPUT_BAD_SEAL:
    case PEERS_INPUT_BAD_TYPE:
    case PEERS_INPUT_BAD_MESSAGE:
    case PEERS_INPUT_FULL:
    case PEERS_INPUTS:
        break;
    }
    return false;
}

static bool on_stream_frame(void *userdata, const struct peer *from, uint8_t *frame, size_t len)
{
    struct responder *responder = userdata;
    enum peers_input input;

    if (responder->stopped)
        return false;
    input = peers_stream_frame(responder->peers, clock_now(), from, frame, len);
    follow_peers(responder);
    return may_go_on(input);
}

static size_t on_other_version(void *userdata, uint64_t request_id, uint8_t *frame, size_t cap)
{
    uint8_t refusal[PEERS_REFUSAL_SIZE];
    size_t len = peers_version_refusal(request_id, refusal);
    struct writer writer = writer_over(frame, cap);

    (void)userdata;
    write_bytes(&writer, refusal, len);
    return writer.pos;
}

static void on_stream_closed(void *userdata, uint64_t stream)
{
    struct responder *responder = userdata;

    peers_stream_closed(responder->peers, stream);
    follow_peers(responder);
}

static void on_timer(void *userdata)
{
    struct responder *responder = userdata;

    peers_tick(responder->peers, clock_now());
    net_udp_flush(responder->udp);
    follow_peers(responder);
}

/* ---- life ---- */

static int open_udp(struct responder *responder, uv_loop_t *loop)
{
    struct net_udp_options options = {.fd = responder->options.take_udp_fd,
                                      .receive_buffer_bytes = RECEIVE_BUFFER};
    struct net_udp_events events = {
        .on_datagram = on_datagram, .on_batch_end = on_batch_end, .userdata = responder};

    return net_udp_open(loop, &options, &events, &responder->udp);
}

static int open_tcp(struct responder *responder, uv_loop_t *loop)
{
    struct streams_options options = {
        .take_fd = responder->options.take_tcp_fd,
        .max_connections = responder->options.max_connections,
        .per_source = PEERS_PER_SOURCE,
        .idle_ms = (unsigned)(responder->options.idle_timeout_ns / NS_PER_MS),
        .seed = responder->seed,
    };
    struct streams_events events = {.on_frame = on_stream_frame,
                                    .on_other_version = on_other_version,
                                    .on_closed = on_stream_closed,
                                    .userdata = responder};

    return streams_open(loop, &options, &events, &responder->streams);
}

static int open_peers(struct responder *responder)
{
    struct peers_options options = {
        .random = {.next = next_random},
        .node = responder->options.node,
        .software = TEXT_LITERAL(CLUSTAT_VERSION),
        .max_connections = responder->options.max_connections,
        .reply_bytes = responder->options.reply_bytes,
        .idle_timeout_ns = responder->options.idle_timeout_ns,
        .keys = responder->options.keys,
    };
    struct peers_events events = {
        .on_send = on_send,
        .on_allow = on_allow,
        .on_query = on_query,
        .on_facts = on_facts,
        .on_mtu = on_mtu,
        .on_session = on_session,
        .on_refused = on_refused,
        .userdata = responder,
    };

    randombytes_buf(options.secret, sizeof(options.secret));
    return peers_new(&options, &events, &responder->peers);
}

int responder_open(uv_loop_t *loop, const struct responder_options *options, struct responder **ret_responder)
{
    struct responder *responder = calloc(1, sizeof(*responder));
    int r;

    *ret_responder = responder;
    if (!responder) {
        close(options->take_udp_fd);
        close(options->take_tcp_fd);
        return -ENOMEM;
    }
    responder->options = *options;
    responder->seed = next_random(NULL);
    net_timer_init(&responder->timer, loop, on_timer, responder);
    responder->questions = (struct questions){
        .latest = options->latest,
        .sampling = options->sampling,
        .on_answer = on_answer,
        .on_answered = on_answered,
        .userdata = responder,
    };
    questions_init(&responder->questions, loop);
    r = open_udp(responder, loop);
    if (r == 0)
        r = open_tcp(responder, loop);
    else
        close(options->take_tcp_fd);
    if (r == 0)
        r = open_peers(responder);
    return r;
}

void responder_stop(struct responder *responder)
{
    peers_stop(responder->peers, clock_now());
    responder->stopped = true;
    questions_drop(&responder->questions);
    net_timer_stop(&responder->timer);
    net_udp_flush(responder->udp);
    streams_stop(responder->streams);
}

void responder_close(struct responder *responder)
{
    if (!responder)
        return;
    responder->stopped = true;
    streams_close(responder->streams);
    responder->streams = NULL;
    net_udp_close(responder->udp);
    responder->udp = NULL;
    net_timer_deinit(&responder->timer);
    questions_deinit(&responder->questions);
}

void responder_free(struct responder *responder)
{
    if (!responder)
        return;
    peers_free(responder->peers);
    free(responder);
}

void responder_set_keys(struct responder *responder, const struct seal_keys *keys)
{
    responder->options.keys = keys;
    peers_set_keys(responder->peers, keys);
}

void responder_send_to(struct responder *responder, const struct net_address *to, const uint8_t *bytes,
                       size_t len)
{
    struct net_datagram datagram = {.peer = *to, .bytes = bytes, .len = len};

    net_udp_send(responder->udp, &datagram);
}

const struct peers *responder_peers(const struct responder *responder)
{
    return responder->peers;
}

const struct net_udp *responder_udp(const struct responder *responder)
{
    return responder->udp;
}

const struct streams *responder_streams(const struct responder *responder)
{
    return responder->streams;
}
