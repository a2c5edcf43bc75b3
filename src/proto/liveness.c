#include "proto/liveness.h"

void liveness_init(struct liveness *liveness, struct instant now)
{
    *liveness = (struct liveness){.begun = now};
}

void liveness_recall(struct liveness *liveness, struct instant last_answer, bool stopped)
{
    liveness->answered = true;
    liveness->last_answer = last_answer;
    liveness->stopped = stopped;
    liveness->stopped_at = last_answer;
    liveness->recalled = true;
}

void liveness_asked(struct liveness *liveness, struct instant now)
{
    if (liveness->asking)
        return;
    liveness->asking = true;
    liveness->asked_since = now;
}

void liveness_heard(struct liveness *liveness, struct instant now)
{
    liveness->asking = false;
    liveness->stopped = false;
    liveness->last_heard = now;
}

void liveness_answered(struct liveness *liveness, struct instant now, bool in_time)
{
    liveness_heard(liveness, now);
    liveness->answered = true;
    liveness->recalled = false;
    liveness->down = false;
    liveness->last_answer = now;
    if (in_time)
        liveness->late = false;
}

void liveness_late(struct liveness *liveness, struct instant now)
{
    (void)now;
    liveness->late = true;
}

void liveness_stopped(struct liveness *liveness, struct instant now)
{
    liveness->stopped = true;
    liveness->stopped_at = now;
    liveness->asking = false;
}

static struct instant last_good(const struct liveness *liveness)
{
    return liveness->answered ? liveness->last_answer : liveness->begun;
}

struct liveness_state liveness_state(struct liveness *liveness, struct instant now, int64_t idle_timeout_ns)
{
    if (liveness->stopped)
        return (struct liveness_state){NODE_STOPPED, liveness->stopped_at};
    if (liveness->asking && instant_since_ns(now, liveness->asked_since) >= idle_timeout_ns)
        liveness->down = true;
    if (liveness->down)
        return (struct liveness_state){NODE_DOWN, last_good(liveness)};
    if (!liveness->answered || (liveness->recalled && !liveness->late))
        return (struct liveness_state){NODE_WARMING, last_good(liveness)};
    if (liveness->late)
        return (struct liveness_state){NODE_STALE, liveness->last_answer};
    return (struct liveness_state){NODE_UP, liveness->last_answer};
}

bool liveness_worth_waiting(struct liveness *liveness, struct instant now, int64_t idle_timeout_ns)
{
    enum node_state state = liveness_state(liveness, now, idle_timeout_ns).state;

    return state == NODE_UP || (state == NODE_WARMING && !liveness->late);
}
