/* Announced servers, of which a bounded number is tried at a bounded pace. */
#include "proto/prober_internal.h"

#define MAY_GO_NS (200 * NS_PER_MS) /* a candidate that has had so long may make room for another */

static void forget(struct prober *prober, struct candidate *candidate)
{
    prober->used--;
    prober->waiting -= !candidate->begun;
    candidate->used = false;
}

void prober_give_up(struct prober *prober, struct instant now, struct candidate *candidate)
{
    prober->counters.given_up++;
    rate_take(prober->failures, now, candidate->from.source);
    forget(prober, candidate);
    prober->events.on_give_up(prober->events.userdata, (unsigned)(candidate - prober->candidates));
}

void prober_done(struct prober *prober, struct instant now, unsigned number)
{
    (void)now;
    if (number < PROBER_CANDIDATES && prober->candidates[number].used && prober->candidates[number].begun)
        forget(prober, &prober->candidates[number]);
}

size_t prober_candidates(const struct prober *prober)
{
    return prober->used;
}

/* The candidate that came first, of those that wait (or of those whose handshake goes on). */
static struct candidate *oldest(struct prober *prober, bool begun)
{
    struct candidate *first = NULL;

    for (size_t i = 0; i < PROBER_CANDIDATES; i++) {
        struct candidate *candidate = &prober->candidates[i];

        if (candidate->used && candidate->begun == begun && (!first || candidate->order < first->order))
            first = candidate;
    }
    return first;
}

static bool may_start(const struct prober *prober, struct instant now)
{
    return prober->waiting && prober->start_credit.ns <= now.ns;
}

static void start(struct prober *prober, struct instant now, struct candidate *candidate)
{
    struct prober_candidate told = {
        .number = (unsigned)(candidate - prober->candidates),
        .from = &candidate->from,
        .announce = &candidate->announce,
    };
    struct instant earliest = instant_add_ns(now, -PROBER_START_BURST * PROBER_START_NS);

    if (prober->start_credit.ns < earliest.ns)
        prober->start_credit = earliest;
    prober->start_credit = instant_add_ns(prober->start_credit, PROBER_START_NS);
    candidate->begun = true;
    candidate->since = now;
    prober->waiting--;
    prober->counters.candidates++;
    prober->events.on_candidate(prober->events.userdata, &told);
}

void prober_start_some(struct prober *prober, struct instant now)
{
    while (may_start(prober, now)) {
        struct candidate *candidate = oldest(prober, false);

        if (prober->events.on_is_live(prober->events.userdata, &candidate->announce.node))
            forget(prober, candidate);
        else
            start(prober, now, candidate);
    }
}

/* A free place; where there is none, that of a handshake that has had its chance. */
static struct candidate *make_place(struct prober *prober, struct instant now)
{
    struct candidate *candidate = prober->candidates;

    if (prober->used == PROBER_CANDIDATES) {
        candidate = oldest(prober, true);
        if (!candidate || instant_since_ns(now, candidate->since) < MAY_GO_NS)
            return NULL;
        prober_give_up(prober, now, candidate);
        return candidate;
    }
    while (candidate->used)
        candidate++;
    return candidate;
}

static bool same_announcer(const struct candidate *candidate, const struct peer *from,
                           const struct message_announce *announce)
{
    return peer_equal(&candidate->from, from) && candidate->announce.udp_port == announce->udp_port &&
           candidate->announce.tcp_port == announce->tcp_port &&
           memcmp(candidate->announce.node.identity, announce->node.identity, IDENTITY_SIZE) == 0 &&
           candidate->announce.node.instance == announce->node.instance;
}

static void fill(struct prober *prober, struct candidate *candidate, struct instant now,
                 const struct peer *from, const struct message_announce *announce)
{
    *candidate = (struct candidate){
        .used = true,
        .from = *from,
        .announce = *announce,
        .since = now,
        .order = prober->orders++,
    };
    if (text_is_present(announce->hostname)) {
        memcpy(candidate->hostname, announce->hostname.bytes, announce->hostname.len);
        candidate->announce.hostname.bytes = candidate->hostname;
    }
    prober->used++;
    prober->waiting++;
}

enum discovery_input prober_on_announce(struct prober *prober, struct instant now, const struct peer *from,
                                        const struct discovery_message *in)
{
    struct message_announce announce;
    struct candidate *candidate;
    unsigned of_source = 0;

    if (message_get_announce(in->body, &announce) < 0 || (!announce.udp_port && !announce.tcp_port))
        return DISCOVERY_INPUT_BAD_MESSAGE;
    if (announce.flags & ANNOUNCE_STOPPING ||
        prober->events.on_is_live(prober->events.userdata, &announce.node))
        return DISCOVERY_INPUT_KNOWN;
    for (size_t i = 0; i < PROBER_CANDIDATES; i++) {
        candidate = &prober->candidates[i];
        if (!candidate->used)
            continue;
        if (same_announcer(candidate, from, &announce))
            return DISCOVERY_INPUT_KNOWN;
        of_source += candidate->from.source == from->source;
    }
    if (!rate_has(prober->failures, now, from->source))
        return DISCOVERY_INPUT_RATE;
    candidate = of_source < PROBER_PER_SOURCE ? make_place(prober, now) : NULL;
    if (!candidate) {
        prober->missed = true;
        return DISCOVERY_INPUT_FULL;
    }
    fill(prober, candidate, now, from, &announce);
    prober_start_some(prober, now);
    return DISCOVERY_INPUT_TAKEN;
}
