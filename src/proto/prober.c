/* The backend's side of discovery: probes, and time. What announces cause is in prober_candidates.c. */
#include "proto/prober_internal.h"

#include "proto/timers.h"

#include <errno.h>
#include <stdlib.h>

/* The first probes, counted from the start. */
static const int64_t first_after_ns[] = {0, 250 * NS_PER_MS, 250 * NS_PER_MS, 500 * NS_PER_MS};
#define FIRST_PROBES (sizeof(first_after_ns) / sizeof(first_after_ns[0]))

#define NOBODY_KNOWN_NS NS_PER_S       /* while somebody asks and no node is known */
#define NEWS_NS         (2 * NS_PER_S) /* while new servers come up: where there is one, there are more */
#define BITS_PER_NODE   10u            /* of the digest, where there is room: one in 100 is mistaken */

/* Handshakes that failed, per source: more than these, and its announces are not looked at. */
static const struct rate_options failure_rate = {0.2, 8, 0, 0, 1024};

void prober_free(struct prober *prober)
{
    if (!prober)
        return;
    rate_free(prober->failures);
    free(prober);
}

int prober_new(const struct prober_options *options, const struct prober_events *events, struct instant now,
               struct prober **ret_prober)
{
    struct prober *prober = calloc(1, sizeof(*prober));
    int r;

    if (!prober)
        return -ENOMEM;
    prober->options = *options;
    prober->events = *events;
    prober->frame_id = (uint32_t)random_next(&options->random);
    prober->last_asked = now;
    prober->start_credit = instant_add_ns(now, -PROBER_START_BURST * PROBER_START_NS);
    r = rate_new(&failure_rate, &prober->failures);
    if (r < 0) {
        prober_free(prober);
        return r;
    }
    prober_again(prober, now);
    *ret_prober = prober;
    return 0;
}

void prober_again(struct prober *prober, struct instant now)
{
    prober->sent = 0;
    prober->next = now;
}

void prober_set_keys(struct prober *prober, const struct seal_keys *keys)
{
    prober->options.keys = keys;
}

bool prober_is_idle(const struct prober *prober, struct instant now)
{
    return instant_since_ns(now, prober->last_asked) >= DISCOVERY_IDLE_AFTER_NS;
}

static bool knows_nobody(struct prober *prober)
{
    uint8_t identity[IDENTITY_SIZE];

    return !prober->events.on_live(prober->events.userdata, 0, identity);
}

void prober_asked(struct prober *prober, struct instant now)
{
    bool was_idle = prober_is_idle(prober, now);

    prober->last_asked = now;
    if (was_idle)
        prober_again(prober, now);
    else if (instant_since_ns(now, prober->last_probe) >= NOBODY_KNOWN_NS && knows_nobody(prober))
        prober->next = now;
}

/* ---- probes ---- */

/* Counts the identities of live sessions. */
static size_t count_live(struct prober *prober)
{
    uint8_t identity[IDENTITY_SIZE];
    size_t live = 0;

    while (prober->events.on_live(prober->events.userdata, live, identity))
        live++;
    return live;
}

static void fill_digest(struct prober *prober, struct message_probe *probe, uint8_t *bloom)
{
    uint8_t identity[IDENTITY_SIZE];

    for (size_t i = 0; prober->events.on_live(prober->events.userdata, i, identity); i++)
        message_bloom_add(bloom, probe->bloom.len, probe->salt, probe->hashes, identity);
    for (size_t i = 0; i < PROBER_CANDIDATES; i++)
        if (prober->candidates[i].used)
            message_bloom_add(bloom, probe->bloom.len, probe->salt, probe->hashes,
                              prober->candidates[i].announce.node.identity);
}

/* A Bloom filter has fewest mistakes with ln 2 bits set per bit and item. */
static uint8_t best_hashes(size_t bits, size_t items)
{
    size_t hashes = items ? (bits * 69 + items * 50) / (items * 100) : 1;

    return (uint8_t)(hashes < 1 ? 1 : hashes > 16 ? 16 : hashes);
}

static size_t digest_size(size_t known)
{
    size_t bytes = (known * BITS_PER_NODE + 7) / 8;

    return bytes < MESSAGE_BLOOM_MAX ? bytes : MESSAGE_BLOOM_MAX;
}

static int send_probe(struct prober *prober, size_t known)
{
    const struct prober_options *options = &prober->options;
    uint8_t bloom[MESSAGE_BLOOM_MAX] = {0};
    struct message_probe probe = {
        .instance = options->instance,
        .salt = random_next(&options->random),
        .answer_within_ms = DISCOVERY_ANSWER_MS,
        .bloom = {(const char *)bloom, digest_size(known)},
    };
    struct envelope_way way = {
        .random = &options->random,
        .direction = SEAL_TO_SERVER,
        .frame_id = prober->frame_id++,
    };
    struct envelope envelope;
    struct text bytes;

    probe.hashes = best_hashes(8 * probe.bloom.len, known);
    fill_digest(prober, &probe, bloom);
    envelope_begin(&envelope, FRAME_PROBE, 0, seal_first_key(options->keys));
    message_put_probe(&envelope.writer, &probe);
    bytes = envelope_end(&envelope, &way);
    return prober->events.on_probe(prober->events.userdata, (const uint8_t *)bytes.bytes, bytes.len);
}

static void probe_now(struct prober *prober, struct instant now)
{
    const struct random_source *random = &prober->options.random;
    size_t live = count_live(prober);
    bool news = prober->missed || live > prober->live;
    int64_t pause_ns;

    prober->live = live;
    prober->counters.probes++;
    prober->counters.failed += send_probe(prober, live + prober->used) != 0;
    prober->last_probe = now;
    prober->sent++;
    if (prober->sent < FIRST_PROBES)
        pause_ns = first_after_ns[prober->sent];
    else if (prober_is_idle(prober, now))
        pause_ns = discovery_jitter(random, DISCOVERY_IDLE_INTERVAL_NS);
    else
        pause_ns = discovery_jitter(random, news ? NEWS_NS : DISCOVERY_INTERVAL_NS);
    prober->missed = false;
    prober->next = instant_add_ns(now, pause_ns);
}

/* ---- what comes in ---- */

static enum discovery_input take(struct prober *prober, struct instant now, const struct peer *from,
                                 const uint8_t *bytes, size_t len)
{
    struct discovery_message in;
    enum discovery_input input = discovery_read(bytes, len, prober->options.keys, &in);

    if (input != DISCOVERY_INPUT_TAKEN)
        return input;
    return in.type == FRAME_ANNOUNCE ? prober_on_announce(prober, now, from, &in)
                                     : DISCOVERY_INPUT_OTHER_SIDE;
}

enum discovery_input prober_datagram(struct prober *prober, struct instant now, const struct peer *from,
                                     const uint8_t *bytes, size_t len)
{
    enum discovery_input input = take(prober, now, from, bytes, len);

    prober->counters.input[input]++;
    return input;
}

/* ---- time ---- */

struct instant prober_next(const struct prober *prober)
{
    struct instant next = prober->next;

    if (prober->waiting)
        next = instant_earlier(next, prober->start_credit);
    for (size_t i = 0; prober->used && i < PROBER_CANDIDATES; i++)
        if (prober->candidates[i].used && prober->candidates[i].begun)
            next = instant_earlier(next, instant_add_ns(prober->candidates[i].since, PROBER_CANDIDATE_NS));
    return next;
}

void prober_tick(struct prober *prober, struct instant now)
{
    for (size_t i = 0; prober->used && i < PROBER_CANDIDATES; i++) {
        struct candidate *candidate = &prober->candidates[i];

        if (candidate->used && candidate->begun &&
            instant_since_ns(now, candidate->since) >= PROBER_CANDIDATE_NS)
            prober_give_up(prober, now, candidate);
    }
    prober_start_some(prober, now);
    if (prober->missed && prober->sent >= FIRST_PROBES)
        prober->next = instant_earlier(prober->next, instant_add_ns(prober->last_probe, NEWS_NS));
    if (prober->next.ns <= now.ns)
        probe_now(prober, now);
}

const struct prober_counters *prober_counters(const struct prober *prober)
{
    return &prober->counters;
}
