/*
 * Token buckets per source in a table of fixed size: how often one address may cause work, an answer or a
 * line in the log. Where the table is full the source that was idle longest is forgotten, so a flood from
 * many addresses costs no memory; what it can cause in total is limited by a bucket for all of them.
 */
#ifndef PROTO_RATE_H
#define PROTO_RATE_H

#include "core/clock.h"

#include <stdbool.h>
#include <stddef.h>

struct rate_options {
    double per_second;                    /* tokens that flow in, per source */
    double burst;                         /* a source's bucket holds so many; it begins full */
    double total_per_second, total_burst; /* of all sources together; 0: not limited */
    size_t sources;                       /* remembered at a time: at least 1 */
};

struct rate;

/* Returns 0 or -ENOMEM. About 40 bytes per source. */
int rate_new(const struct rate_options *options, struct rate **ret_rate);
void rate_free(struct rate *rate);

/* Takes a token of the source (any number that stands for it) and of the total. False: none left. */
bool rate_take(struct rate *rate, struct instant now, uint64_t source);

/* True: rate_take() would succeed. For limits on what failed, which is only known later. */
bool rate_has(struct rate *rate, struct instant now, uint64_t source);

/* Sources remembered at present, never more than options.sources. */
size_t rate_sources(const struct rate *rate);

/* Sources forgotten because the table was full, since creation. */
uint64_t rate_forgotten(const struct rate *rate);

#endif
