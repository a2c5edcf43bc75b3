/*
 * Shares of wall time: an account that fills with time and is charged with the cost of driver calls, and the
 * measured share of the last ten seconds. Pure: time is an argument.
 *
 * An account may be used while its balance is not negative and may then go into debt by whatever the call
 * really took, so that no cost has to be known before. What it can save up is one second's worth.
 */
#ifndef SAMPLER_BUDGET_H
#define SAMPLER_BUDGET_H

#include "core/clock.h"

#include <stdbool.h>

struct account {
    uint32_t ppm;    /* nanoseconds earned per millisecond of wall time: millionths of it */
    int64_t balance; /* nanoseconds x 10^6, so that no short interval is lost to rounding */
    struct instant filled_at;
};

/* A full account. `ppm`: at least 1; 0 is taken as 1, since a debt must end some day. */
void account_init(struct account *account, uint32_t ppm, struct instant now);

/* Adds what was earned since the last call. */
void account_fill(struct account *account, struct instant now);

/* Takes a cost away; the balance may become negative, at most by ten minutes' worth. */
void account_charge(struct account *account, int64_t cost_ns);

static inline bool account_may_spend(const struct account *account)
{
    return account->balance >= 0;
}

/* When the account may be used (again), seen from its last filling. */
struct instant account_ready_at(const struct account *account);

#define SHARE_SECONDS 10

/* Which share of the last ten seconds was spent, from the ever-growing sum of the costs. */
struct share {
    struct instant began[SHARE_SECONDS + 1]; /* a ring of one mark per second */
    int64_t spent_ns[SHARE_SECONDS + 1];
    unsigned first, count;
};

/* Forgets everything; the share is that since `now`. */
void share_init(struct share *share, struct instant now, int64_t spent_ns);

/* The share in millionths, 1000000 at most, given the sum of all costs until now. */
uint32_t share_update(struct share *share, struct instant now, int64_t spent_ns);

#endif
