#include "server/interest.h"

#define TELL_AGAIN_NS (5 * NS_PER_MS) /* the same twice within this helps nobody */
#define FORGET_NS     (2 * NS_PER_S)  /* a watcher that is late by more has gone */

/* Is the fastest watcher still expected? */
static bool has_fastest(const struct interest *interest, struct instant now)
{
    return interest->fastest_ns &&
           instant_since_ns(now, interest->fastest_at) < interest->fastest_ns + FORGET_NS;
}

bool interest_is_watched(const struct interest *interest, struct instant now)
{
    return interest->asked.ns && instant_since_ns(now, interest->asked) < INTEREST_PAUSE_NS;
}

struct interest_outcome interest_note(struct interest *interest, int64_t interval_ns, struct instant now)
{
    struct interest_outcome outcome = {.first = !interest_is_watched(interest, now)};

    if (interval_ns > 0 && (!has_fastest(interest, now) || interval_ns <= interest->fastest_ns)) {
        interest->fastest_ns = interval_ns;
        interest->fastest_at = now;
    }
    interest->asked = now;
    outcome.interval_ns = has_fastest(interest, now) ? interest->fastest_ns : 0;
    outcome.tell = !interest->told.ns || outcome.interval_ns != interest->told_ns ||
                   instant_since_ns(now, interest->told) >= TELL_AGAIN_NS;
    if (outcome.tell) {
        interest->told = now;
        interest->told_ns = outcome.interval_ns;
    }
    return outcome;
}
