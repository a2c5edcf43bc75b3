/*
 * The asking side of the local API (docs/protocol.md, "Local API"): writes questions, and collects the frames
 * of an answer into nodes with decoded snapshots, ready to be shown. No I/O and no clock: whoever asks sends
 * and receives with net/unix_client.h.
 *
 *     struct view_answer *answer;                     // kept for all questions of a connection
 *     view_answer_new(&answer);
 *     view_answer_begin(answer, ++request_id);
 *     view_put_query(&buffer, request_id, &query);    // send it, then for each frame received:
 *     while ((r = view_answer_take(answer, frame, len)) == VIEW_ANSWER_MORE || r == VIEW_ANSWER_OTHER)
 *         receive the next frame;
 *     view_answer_nodes(answer, &count);              // in the order of display
 *
 * An answer owns copies of all it shows: nodes live until the next view_answer_begin(). The memory of a
 * former answer is used again, so that a watch allocates only when the cluster grows.
 */
#ifndef PROTO_VIEW_CLIENT_H
#define PROTO_VIEW_CLIENT_H

#include "core/buffer.h"
#include "model/view.h"
#include "wire/message.h"

#define VIEW_ANSWER_NODES_MAX 65536u /* connecting.max_connections can be no larger */

/* Appends the frame of a question; users: message_users_put(). Errors stick in `out`. */
void view_put_query(struct buffer *out, uint64_t request_id, const struct message_view_query *query);

/* Appends the frame that asks to forget nodes. */
void view_put_forget(struct buffer *out, uint64_t request_id, struct text filter);

struct view_answer;

/* Returns 0 or -ENOMEM. */
int view_answer_new(struct view_answer **ret_answer);
void view_answer_free(struct view_answer *answer); /* accepts NULL */

/* Forgets the former answer and waits for the one to this question. */
void view_answer_begin(struct view_answer *answer, uint64_t request_id);

/* Outcomes of view_answer_take() beside -ENOMEM. */
enum view_answer_outcome {
    VIEW_ANSWER_MORE = 0,      /* taken; the answer is not complete */
    VIEW_ANSWER_COMPLETE = 1,  /* view_answer_nodes() and view_answer_end() */
    VIEW_ANSWER_FORGOTTEN = 2, /* the answer to FORGET: view_answer_forgotten() */
    VIEW_ANSWER_ERROR = 3,     /* the backend refuses: view_answer_error() says why, in words for a person */
    VIEW_ANSWER_OTHER = 4, /* of another question, or of a type that this version does not know: skipped */
    VIEW_ANSWER_BAD = 5,   /* malformed: the connection is of no more use */
};

/*
 * Takes a whole frame (header and body), as net_unix_client_receive() hands it out. A snapshot that cannot be
 * read (of a far newer server) costs its node the values, not the answer: the node's error says so.
 */
int view_answer_take(struct view_answer *answer, const uint8_t *frame, size_t len);

/* The nodes taken so far, in the order of display; valid until view_answer_begin(). */
const struct view_node *view_answer_nodes(const struct view_answer *answer, size_t *ret_count);

/* What a node's line (`clustat nodes`) shows beyond struct view_node. */
struct view_node_details {
    struct text software; /* the server's version; absent if it never answered */
    bool has_last_seen;
    uint64_t last_seen_age_us; /* since anything came from it */
};

/* The same nodes in the same order. */
const struct view_node_details *view_answer_details(const struct view_answer *answer);

/* Of a complete answer. */
const struct message_view_end *view_answer_end(const struct view_answer *answer);

/* After VIEW_ANSWER_FORGOTTEN. */
const struct message_forgotten *view_answer_forgotten(const struct view_answer *answer);

/* After VIEW_ANSWER_ERROR; the text lives until view_answer_begin(). */
const struct message_api_error *view_answer_error(const struct view_answer *answer);

#endif
