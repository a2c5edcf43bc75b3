/*
 * Questions of users. A question asks all nodes that its filter wants at once, those whose values are older
 * than cache_ttl_ms, and is answered when all have answered or node_deadline_ms has passed; no answer waits
 * for a node that is late already. Equal questions that are under way are one: whoever comes later gets the
 * same answer. While no node at all is known, a one-shot question may wait for discovery.
 *
 * No I/O and no clock.
 */
#ifndef BACKEND_QUESTIONS_H
#define BACKEND_QUESTIONS_H

#include "backend/answer.h"
#include "model/host_list.h"

enum question_form {
    QUESTION_FRAMES, /* VIEW_NODE ... VIEW_END */
    QUESTION_JSON,   /* one line */
};

struct question_request {
    struct text filter; /* absent or empty: all nodes */
    unsigned flags;     /* enum view_query_flag */
    const uint32_t *uids;
    uint16_t uid_count;
    uint32_t interval_us; /* until the next one; 0: none follows */
    enum question_form form;
};

struct questions_events {
    /* The answer to one asker; the bytes are there for the time of the call. Errors: an empty answer. */
    void (*on_answer)(void *userdata, void *asker, enum question_form form, const void *bytes, size_t len);
    /* What an answer says beside the rows. */
    void (*on_facts)(void *userdata, struct instant now, struct answer_facts *ret_facts);
    void *userdata;
};

struct questions_times {
    int64_t cache_ttl_ns, deadline_ns;
};

struct questions;

/* Returns 0 or -ENOMEM. */
int questions_new(struct cluster *cluster, const struct questions_times *times,
                  const struct questions_events *events, struct questions **ret_questions);
void questions_free(struct questions *questions); /* accepts NULL; nobody gets an answer */

/* SIGHUP. */
void questions_set_times(struct questions *questions, const struct questions_times *times);

/* How discovery goes, for questions that may wait for it. */
struct questions_discovery {
    struct instant wait_until;  /* for this long while no node is known at all */
    bool began_empty;           /* no node was known when it began ... */
    struct instant first_round; /* ... so that the first node alone is no answer before this */
};
void questions_set_discovery(struct questions *questions, const struct questions_discovery *discovery);

/*
 * Asks. on_answer follows, perhaps from within this call. Returns 0, -EINVAL or -E2BIG with *ret_error (the
 * filter), or -ENOMEM.
 */
int questions_ask(struct questions *questions, struct instant now, const struct question_request *request,
                  void *asker, uint64_t request_id, struct host_list_error *ret_error);

/* The asker has gone, or asks something else. */
void questions_withdraw(struct questions *questions, const void *asker);

/* struct cluster_events. */
void questions_settled(struct questions *questions, struct instant now, const struct node *node);
void questions_rows_changed(struct questions *questions, struct instant now, const struct node *node,
                            bool gone);

struct instant questions_next(const struct questions *questions);
void questions_tick(struct questions *questions, struct instant now);

struct questions_counters {
    uint64_t asked;   /* by users */
    uint64_t joined;  /* of them, with one under way */
    uint64_t answers; /* made */
    uint64_t late;    /* of them, at the deadline */
    uint64_t node_queries, cache_hits;
};
const struct questions_counters *questions_counters(const struct questions *questions);
size_t questions_under_way(const struct questions *questions);

#endif
