/* The server's side of discovery. */
#include "proto/discovery_common.h"

#include "proto/rate.h"
#include "proto/timers.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_WITHIN_NS (200 * NS_PER_MS)
#define ANSWERS         256u /* probes that wait for their answer */

/* The first announces are repeated, as nobody says whether they arrived. */
static const int64_t repeat_after_ns[] = {NS_PER_S, 3 * NS_PER_S};
#define REPEATS (sizeof(repeat_after_ns) / sizeof(repeat_after_ns[0]))

/*
 * A whole cluster that boots at once must not bury its backends: servers hear one another, and where so many
 * announced within the last second an announce waits for a random part of so long, its repetitions are left
 * out.
 */
#define CROWD_AT_FIRST  100u
#define CROWD_LATER     700u
#define CROWD_FIRST_NS  (9 * NS_PER_S)
#define CROWD_ANSWER_NS (2 * NS_PER_S) /* after the announce */
#define CROWD_LATER_NS  (3 * NS_PER_S)

/* Answers to a probe are spread so that all servers together send so many a second. */
#define ANSWERS_PER_SECOND 500u

static const struct rate_options probe_rate = {5, 20, 500, 1000, 512};

struct answer {
    bool used;
    struct peer prober;
    struct instant when;
};

/* Announces heard in the present period and the one before. */
struct heard {
    int64_t period_ns;
    struct instant begun;
    unsigned present, before;
};

struct announcer {
    struct announcer_options options;
    struct announcer_events events;
    char hostname[MESSAGE_TEXT_MAX];
    uint32_t frame_id;
    struct instant next;
    unsigned sent;      /* since the start, or since announcer_again() */
    unsigned postponed; /* since the last one */
    unsigned failures;  /* in a row */
    bool in_trouble;
    struct heard second, interval;
    struct answer answers[ANSWERS];
    unsigned answers_used;
    struct rate *probes; /* owned */
    struct announcer_counters counters;
};

void announcer_free(struct announcer *announcer)
{
    if (!announcer)
        return;
    rate_free(announcer->probes);
    free(announcer);
}

int announcer_new(const struct announcer_options *options, const struct announcer_events *events,
                  struct instant now, struct announcer **ret_announcer)
{
    struct announcer *announcer = calloc(1, sizeof(*announcer));
    int r;

    if (!announcer)
        return -ENOMEM;
    announcer->options = *options;
    announcer->events = *events;
    if (options->hostname.len > sizeof(announcer->hostname))
        announcer->options.hostname.len = sizeof(announcer->hostname);
    if (text_is_present(options->hostname)) {
        memcpy(announcer->hostname, options->hostname.bytes, announcer->options.hostname.len);
        announcer->options.hostname.bytes = announcer->hostname;
    }
    announcer->frame_id = (uint32_t)random_next(&options->random);
    announcer->second = (struct heard){.period_ns = NS_PER_S, .begun = now};
    announcer->interval = (struct heard){.period_ns = DISCOVERY_INTERVAL_NS, .begun = now};
    r = rate_new(&probe_rate, &announcer->probes);
    if (r < 0) {
        announcer_free(announcer);
        return r;
    }
    announcer_again(announcer, now);
    *ret_announcer = announcer;
    return 0;
}

void announcer_again(struct announcer *announcer, struct instant now)
{
    announcer->sent = announcer->failures = announcer->postponed = 0;
    announcer->next = instant_add_ns(now, random_under(&announcer->options.random, FIRST_WITHIN_NS));
}

void announcer_set_keys(struct announcer *announcer, const struct seal_keys *keys)
{
    announcer->options.keys = keys;
}

/* ---- how many there are ---- */

static void turn(struct heard *heard, struct instant now)
{
    int64_t passed_ns = instant_since_ns(now, heard->begun);

    if (passed_ns < heard->period_ns)
        return;
    heard->before = passed_ns < 2 * heard->period_ns ? heard->present : 0;
    heard->present = 0;
    heard->begun = now;
}

static unsigned heard_lately(struct heard *heard, struct instant now)
{
    turn(heard, now);
    return heard->present > heard->before ? heard->present : heard->before;
}

static void note_announce(struct announcer *announcer, struct instant now)
{
    turn(&announcer->second, now);
    turn(&announcer->interval, now);
    announcer->second.present++;
    announcer->interval.present++;
}

/* ---- announces ---- */

static struct text write_announce(struct announcer *announcer, struct envelope *envelope, unsigned flags)
{
    const struct announcer_options *options = &announcer->options;
    struct message_announce announce = {
        .node = options->node,
        .sequence = announcer->options.sequence++,
        .udp_port = options->udp_port,
        .tcp_port = options->tcp_port,
        .flags = flags,
        .hostname = options->hostname,
    };
    struct envelope_way way = {
        .random = &options->random,
        .direction = SEAL_TO_BACKEND,
        .frame_id = announcer->frame_id++,
    };

    envelope_begin(envelope, FRAME_ANNOUNCE, 0, seal_first_key(options->keys));
    message_put_announce(&envelope->writer, &announce);
    return envelope_end(envelope, &way);
}

/* To the group and to all targets. Returns 0 or -errno of the group's. */
static int send_announce(struct announcer *announcer, unsigned flags)
{
    const struct announcer_events *events = &announcer->events;
    struct envelope envelope;
    struct text bytes = write_announce(announcer, &envelope, flags);
    int r = 0;

    announcer->counters.announces++;
    if (events->on_announce)
        r = events->on_announce(events->userdata, (const uint8_t *)bytes.bytes, bytes.len);
    for (size_t i = 0; i < announcer->options.targets; i++)
        events->on_unicast(events->userdata, i, (const uint8_t *)bytes.bytes, bytes.len);
    return r;
}

/* True if there is such a crowd that this one waits. */
static bool postpone(struct announcer *announcer, struct instant now)
{
    bool first = !announcer->postponed && !announcer->sent;
    unsigned crowd = heard_lately(&announcer->second, now);

    if (crowd < (first ? CROWD_AT_FIRST : CROWD_LATER))
        return false;
    announcer->postponed++;
    announcer->counters.postponed++;
    announcer->next = instant_add_ns(
        now, random_under(&announcer->options.random, first ? CROWD_FIRST_NS : CROWD_LATER_NS));
    return true;
}

static int64_t after_success(struct announcer *announcer)
{
    bool alone = !announcer->postponed;
    unsigned repeat = announcer->sent++;

    announcer->postponed = 0;
    if (repeat < REPEATS && alone)
        return repeat_after_ns[repeat];
    announcer->sent = REPEATS + 1;
    return discovery_jitter(&announcer->options.random, DISCOVERY_INTERVAL_NS);
}

static int64_t after_failure(struct announcer *announcer, int error)
{
    unsigned doublings = announcer->failures < 5 ? announcer->failures : 5;

    announcer->counters.failed++;
    announcer->failures++;
    if (announcer->failures >= announcer->options.retry_limit && !announcer->in_trouble) {
        announcer->in_trouble = true;
        announcer->events.on_trouble(announcer->events.userdata, announcer->failures, error);
    }
    return discovery_jitter(&announcer->options.random, NS_PER_S << doublings);
}

static void announce(struct announcer *announcer, struct instant now)
{
    int r;

    if (postpone(announcer, now))
        return;
    r = send_announce(announcer, 0);
    if (r == 0 && announcer->in_trouble) {
        announcer->in_trouble = false;
        announcer->events.on_trouble(announcer->events.userdata, announcer->failures, 0);
    }
    if (r == 0)
        announcer->failures = 0;
    announcer->next = instant_add_ns(now, r == 0 ? after_success(announcer) : after_failure(announcer, r));
}

void announcer_stop(struct announcer *announcer, struct instant now)
{
    (void)now;
    send_announce(announcer, ANNOUNCE_STOPPING);
    announcer->next = TIMERS_NEVER;
    for (unsigned i = 0; i < ANSWERS; i++)
        announcer->answers[i].used = false;
    announcer->answers_used = 0;
}

/* ---- answers ---- */

static void answer_now(struct announcer *announcer, struct answer *answer)
{
    struct envelope envelope;
    struct text bytes = write_announce(announcer, &envelope, 0);

    answer->used = false;
    announcer->answers_used--;
    announcer->counters.answers++;
    announcer->events.on_answer(announcer->events.userdata, &answer->prober, (const uint8_t *)bytes.bytes,
                                bytes.len);
}

/*
 * In a crowd the announce that is still to come is an answer for everybody; only a prober who has not heard
 * that either, and says so by not knowing us in a later digest, needs one of his own.
 */
static bool wait_for_announce(struct announcer *announcer, struct instant now, struct answer *answer)
{
    if (!announcer->events.on_announce || announcer->next.ns == TIMERS_NEVER.ns ||
        (!announcer->postponed &&
         (announcer->sent || heard_lately(&announcer->second, now) < CROWD_AT_FIRST)))
        return false;
    answer->when =
        instant_add_ns(instant_earlier(announcer->next, instant_add_ns(now, CROWD_FIRST_NS)),
                       CROWD_ANSWER_NS + random_under(&announcer->options.random, CROWD_ANSWER_NS));
    return true;
}

static void send_answer(struct announcer *announcer, struct instant now, struct answer *answer)
{
    if (wait_for_announce(announcer, now, answer))
        return;
    answer_now(announcer, answer);
}

/* The place of this prober's answer, or a free one; NULL if there is none. */
static struct answer *answer_place(struct announcer *announcer, const struct peer *prober)
{
    struct answer *place = NULL;

    for (unsigned i = 0; i < ANSWERS; i++) {
        struct answer *answer = &announcer->answers[i];

        if (answer->used && peer_equal(&answer->prober, prober))
            return answer;
        if (!answer->used && !place)
            place = answer;
    }
    return place;
}

static int64_t answer_delay(struct announcer *announcer, struct instant now, unsigned within_ms)
{
    unsigned servers = heard_lately(&announcer->interval, now);
    int64_t fair_ms = (int64_t)servers * 1000 / ANSWERS_PER_SECOND;

    if (fair_ms < within_ms)
        fair_ms = within_ms;
    if (fair_ms > DISCOVERY_ANSWER_MAX_MS)
        fair_ms = DISCOVERY_ANSWER_MAX_MS;
    return random_under(&announcer->options.random, fair_ms * NS_PER_MS + 1);
}

static enum discovery_input on_probe(struct announcer *announcer, struct instant now, const struct peer *from,
                                     const struct discovery_message *in)
{
    struct message_probe probe;
    struct answer *answer;

    if (message_get_probe(in->body, &probe) < 0)
        return DISCOVERY_INPUT_BAD_MESSAGE;
    if (!rate_take(announcer->probes, now, from->source))
        return DISCOVERY_INPUT_RATE;
    answer = answer_place(announcer, from);
    if (message_bloom_has(&probe, announcer->options.node.identity)) {
        if (answer && answer->used) {
            answer->used = false;
            announcer->answers_used--;
        }
        return DISCOVERY_INPUT_KNOWN;
    }
    if (!answer)
        return DISCOVERY_INPUT_FULL;
    if (!answer->used) {
        answer->used = true;
        announcer->answers_used++;
        answer->when = instant_add_ns(now, answer_delay(announcer, now, probe.answer_within_ms));
    }
    answer->prober = *from;
    return DISCOVERY_INPUT_TAKEN;
}

static enum discovery_input take(struct announcer *announcer, struct instant now, const struct peer *from,
                                 const uint8_t *bytes, size_t len)
{
    struct discovery_message in;
    enum discovery_input input = discovery_read(bytes, len, announcer->options.keys, &in);

    if (input != DISCOVERY_INPUT_TAKEN)
        return input;
    if (in.type == FRAME_PROBE)
        return on_probe(announcer, now, from, &in);
    note_announce(announcer, now);
    return DISCOVERY_INPUT_OTHER_SIDE;
}

enum discovery_input announcer_datagram(struct announcer *announcer, struct instant now,
                                        const struct peer *from, const uint8_t *bytes, size_t len)
{
    enum discovery_input input = take(announcer, now, from, bytes, len);

    announcer->counters.input[input]++;
    return input;
}

/* ---- time ---- */

struct instant announcer_next(const struct announcer *announcer)
{
    struct instant next = announcer->next;

    for (unsigned i = 0; announcer->answers_used && i < ANSWERS; i++)
        if (announcer->answers[i].used)
            next = instant_earlier(next, announcer->answers[i].when);
    return next;
}

void announcer_tick(struct announcer *announcer, struct instant now)
{
    for (unsigned i = 0; announcer->answers_used && i < ANSWERS; i++)
        if (announcer->answers[i].used && announcer->answers[i].when.ns <= now.ns)
            send_answer(announcer, now, &announcer->answers[i]);
    if (announcer->next.ns <= now.ns)
        announce(announcer, now);
}

const struct announcer_counters *announcer_counters(const struct announcer *announcer)
{
    return &announcer->counters;
}
