#include "sampler/budget.h"

#define UNITS_PER_NS    INT64_C(1000000)
#define SAVED_AT_MOST   NS_PER_S         /* wall time whose earnings an account can hold */
#define DEBT_AT_MOST    (600 * NS_PER_S) /* wall time for which a debt can block */
#define COUNTED_AT_MOST (600 * NS_PER_S) /* of one interval; keeps the product below 2^63 */

void account_init(struct account *account, uint32_t ppm, struct instant now)
{
    if (!ppm)
        ppm = 1;
    *account = (struct account){.ppm = ppm, .balance = SAVED_AT_MOST * ppm, .filled_at = now};
}

void account_fill(struct account *account, struct instant now)
{
    int64_t elapsed = instant_since_ns(now, account->filled_at);
    int64_t most = SAVED_AT_MOST * account->ppm;

    if (elapsed <= 0)
        return;
    if (elapsed > COUNTED_AT_MOST)
        elapsed = COUNTED_AT_MOST;
    account->filled_at = now;
    account->balance += elapsed * account->ppm;
    if (account->balance > most)
        account->balance = most;
}

void account_charge(struct account *account, int64_t cost_ns)
{
    int64_t least = -DEBT_AT_MOST * account->ppm;

    if (cost_ns > DEBT_AT_MOST)
        cost_ns = DEBT_AT_MOST;
    account->balance -= cost_ns * UNITS_PER_NS;
    if (account->balance < least)
        account->balance = least;
}

struct instant account_ready_at(const struct account *account)
{
    if (account->balance >= 0)
        return account->filled_at;
    return instant_add_ns(account->filled_at, (-account->balance + account->ppm - 1) / account->ppm);
}

void share_init(struct share *share, struct instant now, int64_t spent_ns)
{
    *share = (struct share){.count = 1};
    share->began[0] = now;
    share->spent_ns[0] = spent_ns;
}

/* Puts a mark at most once a second; the oldest gives way. */
static void share_mark(struct share *share, struct instant now, int64_t spent_ns)
{
    unsigned size = SHARE_SECONDS + 1;
    unsigned last = (share->first + share->count - 1) % size;

    if (instant_since_ns(now, share->began[last]) < NS_PER_S)
        return;
    if (share->count == size)
        share->first = (share->first + 1) % size;
    else
        share->count++;
    last = (share->first + share->count - 1) % size;
    share->began[last] = now;
    share->spent_ns[last] = spent_ns;
}

uint32_t share_update(struct share *share, struct instant now, int64_t spent_ns)
{
    int64_t wall, spent;

    share_mark(share, now, spent_ns);
    while (share->count > 2 &&
           instant_since_ns(now, share->began[(share->first + 1) % (SHARE_SECONDS + 1)]) >=
               SHARE_SECONDS * NS_PER_S) {
        share->first = (share->first + 1) % (SHARE_SECONDS + 1);
        share->count--;
    }
    wall = instant_since_ns(now, share->began[share->first]);
    spent = spent_ns - share->spent_ns[share->first];
    if (wall <= 0 || spent <= 0)
        return 0;
    return spent >= wall ? 1000000 : (uint32_t)((double)spent * 1e6 / (double)wall);
}
