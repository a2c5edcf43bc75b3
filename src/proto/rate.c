#include "proto/rate.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define NONE UINT32_MAX

struct bucket {
    double tokens;
    struct instant filled;
};

/* A source: in a chain of its hash, and in the order of last use. */
struct entry {
    uint64_t source;
    struct bucket bucket;
    uint32_t chain_next;
    uint32_t newer, older;
};

struct rate {
    struct rate_options options;
    struct bucket total;
    struct entry *entries; /* owned, options.sources */
    uint32_t *chains;      /* owned: heads, chain_count of them */
    uint32_t chain_count;  /* a power of two */
    uint32_t used;
    uint32_t newest, oldest;
    uint64_t forgotten;
    bool started;
};

void rate_free(struct rate *rate)
{
    if (!rate)
        return;
    free(rate->entries);
    free(rate->chains);
    free(rate);
}

int rate_new(const struct rate_options *options, struct rate **ret_rate)
{
    struct rate *rate = calloc(1, sizeof(*rate));

    assert(options->sources && options->sources < NONE / 2);
    if (!rate)
        return -ENOMEM;
    rate->options = *options;
    rate->newest = rate->oldest = NONE;
    rate->chain_count = 1;
    while (rate->chain_count < options->sources)
        rate->chain_count *= 2;
    rate->entries = calloc(options->sources, sizeof(*rate->entries));
    rate->chains = malloc(rate->chain_count * sizeof(*rate->chains));
    if (!rate->entries || !rate->chains) {
        rate_free(rate);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < rate->chain_count; i++)
        rate->chains[i] = NONE;
    *ret_rate = rate;
    return 0;
}

/* Lets tokens flow in. */
static void fill(struct bucket *bucket, struct instant now, double per_second, double burst)
{
    int64_t passed_ns = instant_since_ns(now, bucket->filled);

    if (passed_ns <= 0)
        return;
    bucket->tokens += (double)passed_ns / (double)NS_PER_S * per_second;
    if (bucket->tokens > burst)
        bucket->tokens = burst;
    bucket->filled = now;
}

/* Sources are hashes already, or counters: either way the multiplication spreads them. */
static uint32_t *chain_of(struct rate *rate, uint64_t source)
{
    return &rate->chains[(source * 0x9e3779b97f4a7c15u >> 32) & (rate->chain_count - 1)];
}

static void unlink_age(struct rate *rate, uint32_t i)
{
    struct entry *entry = &rate->entries[i];

    *(entry->newer == NONE ? &rate->newest : &rate->entries[entry->newer].older) = entry->older;
    *(entry->older == NONE ? &rate->oldest : &rate->entries[entry->older].newer) = entry->newer;
}

static void link_newest(struct rate *rate, uint32_t i)
{
    struct entry *entry = &rate->entries[i];

    entry->newer = NONE;
    entry->older = rate->newest;
    *(rate->newest == NONE ? &rate->oldest : &rate->entries[rate->newest].newer) = i;
    rate->newest = i;
}

static void unlink_chain(struct rate *rate, uint32_t i)
{
    uint32_t *at = chain_of(rate, rate->entries[i].source);

    while (*at != i)
        at = &rate->entries[*at].chain_next;
    *at = rate->entries[i].chain_next;
}

/* A place for a new source: a free one, or that of the source that was idle longest. */
static uint32_t make_place(struct rate *rate)
{
    uint32_t i;

    if (rate->used < rate->options.sources)
        return rate->used++;
    i = rate->oldest;
    unlink_chain(rate, i);
    unlink_age(rate, i);
    rate->forgotten++;
    return i;
}

static struct entry *find_or_add(struct rate *rate, struct instant now, uint64_t source)
{
    uint32_t *chain = chain_of(rate, source), i = *chain;

    while (i != NONE && rate->entries[i].source != source)
        i = rate->entries[i].chain_next;
    if (i != NONE) {
        unlink_age(rate, i);
    } else {
        i = make_place(rate);
        rate->entries[i].source = source;
        rate->entries[i].bucket = (struct bucket){rate->options.burst, now};
        rate->entries[i].chain_next = *chain;
        *chain = i;
    }
    link_newest(rate, i);
    return &rate->entries[i];
}

/* The source's bucket if it and the total hold a token, else NULL. */
static struct bucket *find_token(struct rate *rate, struct instant now, uint64_t source)
{
    const struct rate_options *options = &rate->options;
    struct entry *entry = find_or_add(rate, now, source);

    if (!rate->started) {
        rate->total = (struct bucket){options->total_burst, now};
        rate->started = true;
    }
    fill(&entry->bucket, now, options->per_second, options->burst);
    fill(&rate->total, now, options->total_per_second, options->total_burst);
    return entry->bucket.tokens >= 1 && (options->total_per_second <= 0 || rate->total.tokens >= 1)
               ? &entry->bucket
               : NULL;
}

bool rate_has(struct rate *rate, struct instant now, uint64_t source)
{
    return find_token(rate, now, source) != NULL;
}

bool rate_take(struct rate *rate, struct instant now, uint64_t source)
{
    struct bucket *bucket = find_token(rate, now, source);

    if (!bucket)
        return false;
    bucket->tokens -= 1;
    if (rate->options.total_per_second > 0)
        rate->total.tokens -= 1;
    return true;
}

size_t rate_sources(const struct rate *rate)
{
    return rate->used;
}

uint64_t rate_forgotten(const struct rate *rate)
{
    return rate->forgotten;
}
