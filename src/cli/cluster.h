/*
 * The conversation with clustat-backend: finding and trusting its socket, questions, answers, and what went
 * wrong, in words. One question is on its way at a time; the last whole answer stays until the next one is
 * complete, so that there is always something to show.
 */
#ifndef CLI_CLUSTER_H
#define CLI_CLUSTER_H

#include "cli/mode.h"
#include "core/clock.h"
#include "net/unix_client.h"
#include "proto/view_client.h"

/* How long the backend may take for an answer that waits for nothing, connecting included. */
#define CLUSTER_ANSWER_NS (2500 * NS_PER_MS)

enum cluster_trouble {
    CLUSTER_WELL,
    CLUSTER_NOT_RUNNING, /* nobody listens: the text is CLUSTER_NOT_RUNNING_TEXT */
    CLUSTER_TROUBLE,     /* anything else; the connection is closed */
    CLUSTER_REFUSED,     /* the backend says why it does not answer; the connection stays */
};

#define CLUSTER_NOT_RUNNING_TEXT \
    "clustat-backend is not running: systemctl status clustat-client; --local shows this machine"

#define CLUSTER_LOCAL_INSTEAD_TEXT "clustat-backend knows no node; this machine's own GPUs are shown"

struct cluster {
    const struct socket_places *places;
    uid_t service_uid;
    const char *path; /* of the socket connected to, or tried last */
    struct net_unix_client client;
    struct view_answer *answer;   /* the last whole one; means something if has_answer */
    struct view_answer *incoming; /* being collected */
    bool has_answer;
    uint64_t answer_count;   /* so far */
    struct instant answered; /* when the last one was complete */
    uint64_t request_id;     /* of the question asked last */
    bool is_waiting;         /* its answer is not complete */
    struct instant asked;
    enum cluster_trouble trouble;
    struct buffer text; /* one line about the trouble, without a newline */
};

/* Connects to nobody yet. places must outlive the cluster. Returns 0 or -ENOMEM. */
int cluster_init(struct cluster *ret_cluster, const struct socket_places *places);
void cluster_deinit(struct cluster *cluster);

/* Outcomes of the functions below, beside -ENOMEM. */
enum cluster_outcome {
    CLUSTER_DONE = 0,
    CLUSTER_FAILED = 1,  /* see cluster->trouble */
    CLUSTER_PENDING = 2, /* nothing is lost: call again */
};

/* Connects if there is no connection. Returns CLUSTER_DONE or CLUSTER_FAILED. */
int cluster_connect(struct cluster *cluster, struct instant deadline);

/* Sends a question; an answer that is still on its way is dropped. CLUSTER_DONE or CLUSTER_FAILED. */
int cluster_ask(struct cluster *cluster, const struct message_view_query *query, struct instant deadline);

/* The same for --forget; the answer is cluster->incoming's. */
int cluster_ask_to_forget(struct cluster *cluster, struct text filter, struct instant deadline);

/* Takes in what comes until the answer is complete (CLUSTER_DONE), it cannot come any more (CLUSTER_FAILED),
 * or `until` has passed (CLUSTER_PENDING). */
int cluster_receive(struct cluster *cluster, struct instant until);

/*
 * Gives up the connection because no answer came for so long. Sets the trouble. Returns CLUSTER_FAILED.
 */
int cluster_give_up(struct cluster *cluster, int64_t waited_ns);

/*
 * Connects, asks and waits for the answer. CLUSTER_DONE, CLUSTER_FAILED (no answer within wait_ns, too), or
 * -ENOMEM.
 */
int cluster_fetch(struct cluster *cluster, const struct message_view_query *query, int64_t wait_ns);

#endif
