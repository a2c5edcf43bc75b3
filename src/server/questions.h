/*
 * What becomes of a question: interest for the sampler, and an answer from the latest snapshot, at once. Only
 * the first question after a pause waits a moment, for a reading that was made for it.
 */
#ifndef SERVER_QUESTIONS_H
#define SERVER_QUESTIONS_H

#include "net/loop.h"
#include "proto/peers.h"
#include "server/interest.h"
#include "server/latest.h"
#include "server/sampling.h"

#define QUESTIONS_WAIT_NS (20 * NS_PER_MS) /* for a fresh reading; design, section 5 */
#define QUESTIONS_WAITING 256              /* at a time; more are answered at once */

struct question {
    struct peers_ticket ticket;
    struct message_query query; /* the token is not set */
};

struct questions {
    struct latest *latest;     /* borrowed */
    struct sampling *sampling; /* borrowed */
    struct interest interest;
    struct question waiting[QUESTIONS_WAITING];
    size_t waiting_count;
    struct net_timer timer; /* of the first that waits */
    void (*on_answer)(void *userdata, const struct peers_ticket *ticket, const struct message_reply *reply);
    void (*on_answered)(void *userdata); /* those that waited have their answers */
    void *userdata;
};

/* Sets the timer up; all other members are the owner's to set. */
void questions_init(struct questions *questions, uv_loop_t *loop);

/* The memory must stay until the loop has turned once more. Accepts one that was only zeroed. */
void questions_deinit(struct questions *questions);

/* A question came; on_answer is called from within, or later. */
void questions_ask(struct questions *questions, const struct peers_query *query);

/* A newer snapshot is there: those that wait get their answers. */
void questions_snapshot_came(struct questions *questions);

/* Forgets those that wait. */
void questions_drop(struct questions *questions);

#endif
