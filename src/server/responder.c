#include "server/responder.h"

#include "clustat_version.h"
#include "net/loop.h"
#include "net/peer_address.h"
#include "core/event_log.h"
#include "server/interest.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>

#define WAITING_MAX    256                /* questions; more are answered at once */
#define OLD_NS         (1500 * NS_PER_MS) /* an older snapshot is worth waiting for a newer one */
#define LONG_CALL_NS   (100 * NS_PER_MS)  /* nothing fresh can be expected while one runs */
#define RECEIVE_BUFFER (1 << 20)

/* A question that waits for a fresh reading. */
struct waiting {
    struct peers_ticket ticket;
    struct message_query query;
};

struct responder {
    struct responder_options options;
    struct net_udp *udp;
    struct streams *streams;
    struct peers *peers;
    struct net_timer timer;      /* peers' */
    struct net_timer wait_timer; /* of the first question that waits */
    struct waiting waiting[WAITING_MAX];
    size_t waiting_count;
    struct interest interest;
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

/* ---- answers ---- */

static void answer(struct responder *responder, const struct waiting *question)
{
    struct instant now = clock_now();
    struct sampler_call call;
    bool in_call = sampling_call(responder->options.sampling, now, &call);
    struct message_reply reply;

    latest_reply(responder->options.latest, &question->query, in_call ? &call : NULL, now, &reply);
    peers_answer(responder->peers, now, &question->ticket, &reply);
}

static void answer_waiting(struct responder *responder)
{
    size_t count = responder->waiting_count;

    net_timer_stop(&responder->wait_timer);
    responder->waiting_count = 0;
    for (size_t i = 0; i < count; i++)
        answer(responder, &responder->waiting[i]);
}

static void on_waited(void *userdata)
{
    struct responder *responder = userdata;

    answer_waiting(responder);
    net_udp_flush(responder->udp);
    follow_peers(responder);
}

/* Is a fresh reading worth waiting for, and to be expected within the time we wait? */
static bool is_worth_waiting(const struct responder *responder, bool first, struct instant now)
{
    struct sampler_call call;
    int64_t age_ns;

    if (sampling_state(responder->options.sampling) != SAMPLING_RUNNING ||
        responder->waiting_count == WAITING_MAX || !latest_age_ns(responder->options.latest, now, &age_ns))
        return false;
    if (sampling_call(responder->options.sampling, now, &call) && call.running_ns >= LONG_CALL_NS)
        return false;
    return age_ns >= sampling_tick_ns(responder->options.sampling) && (first || age_ns >= OLD_NS);
}

static void on_query(void *userdata, const struct peers_query *query)
{
    struct responder *responder = userdata;
    struct instant now = clock_now();
    struct waiting question = {
        .ticket = query->ticket,
        .query = {.facts_hash = query->facts_hash, .process_generation = query->process_generation},
    };
    struct interest_outcome interest =
        interest_note(&responder->interest, (int64_t)query->interval_us * NS_PER_US, now);

    if (interest.tell)
        sampling_show_interest(responder->options.sampling, interest.interval_ns);
    if (!is_worth_waiting(responder, interest.first, now)) {
        answer(responder, &question);
        return;
    }
    if (!responder->waiting_count)
        net_timer_set(&responder->wait_timer, instant_add_ns(now, RESPONDER_WAIT_NS));
    responder->waiting[responder->waiting_count++] = question;
}

void responder_snapshot_came(struct responder *responder)
{
    if (!responder->waiting_count)
        return;
    answer_waiting(responder);
    net_udp_flush(responder->udp);
    follow_peers(responder);
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
    net_timer_init(&responder->wait_timer, loop, on_waited, responder);
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
    responder->waiting_count = 0;
    net_timer_stop(&responder->timer);
    net_timer_stop(&responder->wait_timer);
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
    net_timer_deinit(&responder->wait_timer);
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
