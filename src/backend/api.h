/*
 * The Unix socket: binary frames for the CLI, lines of text for people and scripts (docs/protocol.md, "Local
 * API"). Whatever a user does costs himself: connections, requests and waiting answers are counted per user
 * (SO_PEERCRED), and who reads slowly gets the latest answer, never a backlog.
 */
#ifndef BACKEND_API_H
#define BACKEND_API_H

#include "backend/questions.h"
#include "net/stream.h"

#define API_CONNECTIONS_MAX      2048u  /* in all */
#define API_CONNECTIONS_PER_USER 256u   /* beyond: an error when it speaks */
#define API_CONNECTIONS_REFUSED  288u   /* beyond: closed at once */
#define API_REQUESTS_PER_SECOND  4000.0 /* per user; 64 watches at 50 ms need 1,280 */
#define API_REQUESTS_BURST       8000.0
#define API_TEXT_PER_SECOND      200.0 /* the same of lines, whose answers are rendered here */
#define API_TEXT_BURST           400.0
#define API_TEXT_WEIGHT_MAX      200u  /* a line counts several times: */
#define API_QUERY_NODES          8u    /* QUERY once more for so many nodes: about 1 ms of rendering each */
#define API_LIST_NODES           1024u /* other lines */
#define API_QUEUE_MAX_BYTES      (64u << 20) /* waiting to be read by one connection */
#define API_QUEUES_MAX_BYTES     (512u << 20)
#define API_LINES_MAX_BYTES      (128u << 10) /* text lines that wait for the answer to an earlier one */

struct api_events {
    /* Somebody asks for nodes: before his question. */
    void (*on_asked)(void *userdata, struct instant now);
    size_t (*on_count)(void *userdata);                    /* how many nodes are known */
    void (*on_status)(void *userdata, struct buffer *out); /* appends the JSON line */
    void (*on_list)(void *userdata, struct instant now, struct buffer *out);
    /* Forgets the nodes of this filter that are down. Returns 0, or as node_filter_new(). */
    int (*on_forget)(void *userdata, struct instant now, struct text filter,
                     struct message_forgotten *ret_forgotten, struct host_list_error *ret_error);
    void *userdata;
};

struct api;

/*
 * Listens on take_fd (net/unix.h). owner: uid that may forget nodes, beside root. Returns 0 or -errno.
 */
int api_open(uv_loop_t *loop, int take_fd, uid_t owner, const struct api_events *events,
             struct api **ret_api);

/* The questions are put here; must be called before the loop turns. */
void api_set_questions(struct api *api, struct questions *questions);

/* struct questions_events, on_answer: asker is a connection of ours. */
void api_answer(struct api *api, void *asker, enum question_form form, const void *bytes, size_t len);

/* Stops listening and ends all connections; frees when the loop has turned. Accept NULL. */
void api_close(struct api *api);
void api_free(struct api *api);

struct api_counters {
    uint64_t requests, lines, errors, over_rate, over_connections, over_queue;
    uint64_t slow; /* answers that replaced one which had not been read */
};
const struct api_counters *api_counters(const struct api *api);
const struct net_listener_counters *api_listener_counters(const struct api *api);
size_t api_connections(const struct api *api);

#endif
