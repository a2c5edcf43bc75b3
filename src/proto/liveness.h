/*
 * What a node's row says about the node: up, stale, down, stopped or warming, since when, and whether a
 * question waits for it. Told what happened; asks nobody. Two rules keep rows from flapping:
 *
 * - stale begins with a deadline that passed without an answer and ends with an answer within one, not with
 *   any sign of life; down begins when nothing at all was heard for the idle time-out *while we asked*, and
 *   ends with an answer;
 * - time in which nobody asked does not count against a node.
 */
#ifndef PROTO_LIVENESS_H
#define PROTO_LIVENESS_H

#include "core/clock.h"
#include "model/view.h"

#include <stdbool.h>

struct liveness {
    bool answered;        /* ever */
    bool recalled;        /* but not since we started */
    bool late;            /* the last deadline passed without an answer */
    bool down;            /* until the next answer */
    bool stopped;         /* said goodbye */
    bool asking;          /* something was sent since anything was last heard */
    struct instant begun; /* known since */
    struct instant last_answer;
    struct instant last_heard;
    struct instant
        asked_since; /* the first thing sent since anything was heard; means something if `asking` */
    struct instant stopped_at;
};

/* A node that is known from now on, of which nothing is known yet. */
void liveness_init(struct liveness *liveness, struct instant now);

/*
 * From the known-nodes file: it answered this long ago (monotonic, may be before the start). Whether it is
 * still there shows when it is asked; the first question waits for it.
 */
void liveness_recall(struct liveness *liveness, struct instant last_answer, bool stopped);

/* Something was sent to it (a query, a ping, a hello). */
void liveness_asked(struct liveness *liveness, struct instant now);

/* Anything authentic was heard from it: a pong, a challenge, a welcome. */
void liveness_heard(struct liveness *liveness, struct instant now);

/* A reply with readings came. in_time: within its question's deadline. */
void liveness_answered(struct liveness *liveness, struct instant now, bool in_time);

/* A question's deadline passed without an answer. */
void liveness_late(struct liveness *liveness, struct instant now);

/* It said goodbye; counts until it is heard again. */
void liveness_stopped(struct liveness *liveness, struct instant now);

struct liveness_state {
    enum node_state state;
    struct instant since; /* UP, WARMING: known or answered since; STALE, DOWN: the last good answer, or when
                           * it became known if there was none; STOPPED: the goodbye */
};

/* idle_timeout_ns: connecting.connection_idle_timeout. Remembers a node that has become down. */
struct liveness_state liveness_state(struct liveness *liveness, struct instant now, int64_t idle_timeout_ns);

/* True: a question may wait for this node (up to its deadline). Not for one that is late already. */
bool liveness_worth_waiting(struct liveness *liveness, struct instant now, int64_t idle_timeout_ns);

#endif
