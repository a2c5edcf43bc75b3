/* The local API: connections, limits, and the CLI's frames. */
#include "backend/api.h"

#include "backend/api_internal.h"

#include "core/cleanup.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define IDLE_MS 3600000u

/* ---- limits ---- */

bool api_take_request(struct connection *connection, struct rate *rate, size_t weight, struct instant now)
{
    while (weight && rate_take(rate, now, connection->uid))
        weight--;
    connection->api->counters.over_rate += weight > 0;
    return !weight;
}

bool api_may_forget(const struct connection *connection)
{
    return connection->uid == 0 || connection->uid == connection->api->owner;
}

static size_t count_of_user(const struct api *api, uid_t uid)
{
    size_t count = 0;

    for (const struct connection *connection = api->connections.next; connection != &api->connections;
         connection = connection->next)
        count += connection->uid == uid;
    return count;
}

/* All connections together may hold so much that nobody reads. */
static bool is_over_queues(const struct api *api, size_t len)
{
    size_t sum = len;

    if (len < (1u << 20))
        return false;
    for (const struct connection *connection = api->connections.next; connection != &api->connections;
         connection = connection->next)
        sum += net_stream_queued(connection->stream);
    return sum > API_QUEUES_MAX_BYTES;
}

/* ---- sending ---- */

void api_finish(struct connection *connection)
{
    if (connection->is_finishing)
        return;
    connection->is_finishing = true;
    questions_withdraw(connection->api->questions, connection);
    connection->has_question = false;
    net_stream_finish(connection->stream);
}

void api_send(struct connection *connection, const void *bytes, size_t len)
{
    if (net_stream_send(connection->stream, bytes, len, NET_STREAM_KEEP) != NET_STREAM_FULL)
        return;
    connection->api->counters.over_queue++;
    api_finish(connection);
}

/* The latest answer only: an older one of which nothing was sent yet makes way. */
static void send_latest(struct connection *connection, const void *bytes, size_t len)
{
    struct api *api = connection->api;
    int r = is_over_queues(api, len) ? (int)NET_STREAM_FULL
                                     : net_stream_send(connection->stream, bytes, len, NET_STREAM_LATEST);

    api->counters.slow += r == NET_STREAM_REPLACED;
    if (r != NET_STREAM_FULL)
        return;
    api->counters.over_queue++;
    api_finish(connection);
}

static void send_frame(struct connection *connection, enum frame_type type, uint64_t request_id,
                       void (*put)(struct writer *writer, const void *message), const void *message)
{
    struct frame_header header = {.version = FRAME_VERSION, .type = (uint8_t)type, .request_id = request_id};
    uint8_t bytes[FRAME_HEADER_SIZE + MESSAGE_ERROR_MAX + 64];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    size_t mark = frame_begin(&writer, &header);

    put(&writer, message);
    frame_end(&writer, mark);
    if (!writer.failed)
        api_send(connection, bytes, writer.pos);
}

static void put_error(struct writer *writer, const void *message)
{
    message_put_api_error(writer, message);
}

static void put_forgotten(struct writer *writer, const void *message)
{
    message_put_forgotten(writer, message);
}

static void send_error(struct connection *connection, uint64_t request_id, enum api_error_code code,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

static void send_error(struct connection *connection, uint64_t request_id, enum api_error_code code,
                       const char *format, ...)
{
    char text[MESSAGE_ERROR_MAX];
    struct message_api_error message = {.code = (uint8_t)code};
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    message.text = text_from_string(text);
    connection->api->counters.errors++;
    send_frame(connection, FRAME_API_ERROR, request_id, put_error, &message);
}

/* ---- answers ---- */

void api_answer(struct api *api, void *asker, enum question_form form, const void *bytes, size_t len)
{
    struct connection *connection = asker;

    (void)api;
    connection->has_question = false;
    if (form == QUESTION_FRAMES) {
        if (len)
            send_latest(connection, bytes, len);
        else
            send_error(connection, 0, API_ERROR_INTERNAL, "the backend is out of memory");
    } else if (len) {
        api_send(connection, bytes, len);
    } else {
        api_text_error(connection, "the backend is out of memory");
    }
    if (form == QUESTION_JSON && !connection->is_finishing)
        api_text_next(connection);
    if (connection->input_ended && !connection->has_question)
        api_finish(connection);
}

/* ---- requests ---- */

static void take_query(struct connection *connection, uint64_t request_id, struct reader body,
                       struct instant now)
{
    struct api *api = connection->api;
    struct message_view_query query;
    uint32_t uids[MESSAGE_USERS_MAX];
    struct question_request request = {.form = QUESTION_FRAMES, .uids = uids};
    struct host_list_error error;
    int r;

    if (message_get_view_query(body, &query) < 0) {
        send_error(connection, request_id, API_ERROR_BAD_REQUEST, "a question that cannot be read");
        return;
    }
    for (uint16_t i = 0; i < query.user_count; i++)
        uids[i] = message_users_next(&query);
    request.filter = query.filter;
    request.flags = query.flags;
    request.uid_count = query.user_count;
    request.interval_us = query.interval_us;
    /* Of several questions that come without waiting for answers the last one counts. */
    questions_withdraw(api->questions, connection);
    connection->has_question = true;
    api->events.on_asked(api->events.userdata, now);
    r = questions_ask(api->questions, now, &request, connection, request_id, &error);
    if (r == 0)
        return;
    connection->has_question = false;
    if (r == -ENOMEM)
        send_error(connection, request_id, API_ERROR_INTERNAL, "the backend is out of memory");
    else
        send_error(connection, request_id, API_ERROR_BAD_REQUEST, "filter, character %zu: %s",
                   error.offset + 1, error.message);
}

static void take_forget(struct connection *connection, uint64_t request_id, struct reader body,
                        struct instant now)
{
    struct api *api = connection->api;
    struct message_forgotten forgotten;
    struct message_forget forget;
    struct host_list_error error;
    int r;

    if (message_get_forget(body, &forget) < 0) {
        send_error(connection, request_id, API_ERROR_BAD_REQUEST, "a request that cannot be read");
        return;
    }
    if (!api_may_forget(connection)) {
        send_error(connection, request_id, API_ERROR_NOT_ALLOWED,
                   "only root and the user that runs clustat-backend may forget nodes");
        return;
    }
    r = api->events.on_forget(api->events.userdata, now, forget.filter, &forgotten, &error);
    if (r == -ENOMEM)
        send_error(connection, request_id, API_ERROR_INTERNAL, "the backend is out of memory");
    else if (r < 0)
        send_error(connection, request_id, API_ERROR_BAD_REQUEST, "filter, character %zu: %s",
                   error.offset + 1, error.message);
    else if (!forgotten.forgotten && !forgotten.still_up)
        send_error(connection, request_id, API_ERROR_NO_MATCH, "there is no such node");
    else
        send_frame(connection, FRAME_FORGOTTEN, request_id, put_forgotten, &forgotten);
}

static void take_frame(void *userdata, struct net_stream *stream, const struct frame_header *header,
                       const uint8_t *frame, size_t len)
{
    struct connection *connection = userdata;
    struct api *api = connection->api;
    struct reader body = reader_over(frame + FRAME_HEADER_SIZE, len - FRAME_HEADER_SIZE);
    struct instant now = clock_now();

    (void)stream;
    if (connection->is_finishing)
        return;
    api->counters.requests++;
    if (connection->is_over_limit) {
        send_error(connection, header->request_id, API_ERROR_LIMIT, "you have more than %u connections",
                   API_CONNECTIONS_PER_USER);
        api_finish(connection);
    } else if (!api_take_request(connection, api->requests, 1, now)) {
        send_error(connection, header->request_id, API_ERROR_LIMIT, "more than %.0f requests a second",
                   API_REQUESTS_PER_SECOND);
    } else if (header->type == FRAME_VIEW_QUERY) {
        take_query(connection, header->request_id, body, now);
    } else if (header->type == FRAME_FORGET) {
        take_forget(connection, header->request_id, body, now);
    } else {
        send_error(connection, header->request_id, API_ERROR_BAD_REQUEST,
                   "this backend knows no request of type %u", header->type);
    }
}

static void take_line(void *userdata, struct net_stream *stream, struct text line)
{
    struct connection *connection = userdata;

    (void)stream;
    if (connection->is_finishing)
        return;
    connection->api->counters.lines++;
    if (connection->is_over_limit) {
        api_text_error(connection, "you have more than %u connections", API_CONNECTIONS_PER_USER);
        api_finish(connection);
        return;
    }
    api_text_line(connection, line);
}

static void take_bad_input(void *userdata, struct net_stream *stream, enum net_stream_bad_input what,
                           const struct frame_header *header)
{
    struct connection *connection = userdata;

    (void)stream;
    switch (what) {
    case NET_STREAM_LINE_TOO_LONG:
        api_text_error(connection, "the line is too long: allowed are %u bytes", NET_STREAM_LINE_MAX);
        break;
    case NET_STREAM_BAD_VERSION:
        send_error(connection, header->request_id, API_ERROR_VERSION,
                   "clustat speaks frame version %u, this backend %u: upgrade the older one", header->version,
                   FRAME_VERSION);
        break;
    case NET_STREAM_FRAME_TOO_LONG:
        send_error(connection, 0, API_ERROR_BAD_REQUEST, "the frame is too long: allowed are %u bytes",
                   FRAME_BODY_MAX);
        break;
    case NET_STREAM_BAD_MAGIC:
        send_error(connection, 0, API_ERROR_BAD_REQUEST, "no frame of clustat");
        break;
    }
    api_finish(connection);
}

/* ---- connections ---- */

static void free_connection(struct connection *connection)
{
    struct api *api = connection->api;

    questions_withdraw(api->questions, connection);
    connection->previous->next = connection->next;
    connection->next->previous = connection->previous;
    api->count--;
    net_stream_close(connection->stream);
    buffer_deinit(&connection->lines);
    free(connection);
}

static void end_connection(void *userdata, struct net_stream *stream, int end)
{
    (void)stream;
    (void)end;
    free_connection(userdata);
}

/* As after `echo LIST | socat - UNIX:...`: what was asked is still answered. */
static void end_input(void *userdata, struct net_stream *stream)
{
    struct connection *connection = userdata;

    (void)stream;
    connection->input_ended = true;
    if (!connection->has_question)
        api_finish(connection);
}

static void accept_connection(void *userdata, struct net_stream *stream, const struct net_stream_peer *peer)
{
    struct api *api = userdata;
    struct connection *connection = calloc(1, sizeof(*connection));
    struct net_stream_events events = {
        .on_frame = take_frame,
        .on_line = take_line,
        .on_input_end = end_input,
        .on_bad_input = take_bad_input,
        .on_closed = end_connection,
        .userdata = connection,
    };

    if (!connection) {
        net_stream_close(stream);
        return;
    }
    connection->api = api;
    connection->stream = stream;
    connection->uid = peer->uid;
    connection->lines.max = API_LINES_MAX_BYTES;
    if (count_of_user(api, peer->uid) >= API_CONNECTIONS_PER_USER) {
        connection->is_over_limit = true;
        api->counters.over_connections++;
        event_log(&api->logged, clock_now(), LOG_LEVEL_WARNING, "uid %u has more than %u connections",
                  (unsigned)peer->uid, API_CONNECTIONS_PER_USER);
    }
    connection->next = api->connections.next;
    connection->previous = &api->connections;
    connection->next->previous = connection;
    api->connections.next = connection;
    api->count++;
    net_stream_set_events(stream, &events);
}

static void note_trouble(void *userdata, int error)
{
    struct api *api = userdata;

    if (error)
        event_log(&api->logged, clock_now(), LOG_LEVEL_ERROR, "connections cannot be accepted: %s",
                  strerror(-error));
    else
        event_log(&api->logged, clock_now(), LOG_LEVEL_INFO, "connections are accepted again");
}

/* ---- life ---- */

static int open_rates(struct api *api)
{
    struct rate_options requests = {
        .per_second = API_REQUESTS_PER_SECOND, .burst = API_REQUESTS_BURST, .sources = 1024};
    struct rate_options texts = {.per_second = API_TEXT_PER_SECOND, .burst = API_TEXT_BURST, .sources = 1024};
    int r = rate_new(&requests, &api->requests);

    return r == 0 ? rate_new(&texts, &api->texts) : r;
}

int api_open(uv_loop_t *loop, int take_fd, uid_t owner, const struct api_events *events, struct api **ret_api)
{
    struct api *api = calloc(1, sizeof(*api));
    struct net_listener_options options = {
        .stream = {.lines = true, .idle_ms = IDLE_MS, .queue_max_bytes = API_QUEUE_MAX_BYTES},
        .max_streams = API_CONNECTIONS_MAX,
        .max_per_source = API_CONNECTIONS_REFUSED,
    };
    struct net_listener_events listener_events = {
        .on_accept = accept_connection, .on_accept_trouble = note_trouble, .userdata = api};
    int r;

    if (!api) {
        close(take_fd);
        return -ENOMEM;
    }
    api->events = *events;
    api->owner = owner;
    api->connections.next = api->connections.previous = &api->connections;
    r = net_listener_open(loop, take_fd, &options, &listener_events, &api->listener);
    if (r == 0)
        r = open_rates(api);
    if (r < 0) {
        api_close(api);
        api_free(api);
        return r;
    }
    *ret_api = api;
    return 0;
}

void api_set_questions(struct api *api, struct questions *questions)
{
    api->questions = questions;
}

void api_close(struct api *api)
{
    if (!api)
        return;
    net_listener_close(api->listener);
    api->listener = NULL;
    while (api->connections.next != &api->connections)
        free_connection(api->connections.next);
}

void api_free(struct api *api)
{
    if (!api)
        return;
    rate_free(api->requests);
    rate_free(api->texts);
    free(api);
}

const struct api_counters *api_counters(const struct api *api)
{
    return &api->counters;
}

const struct net_listener_counters *api_listener_counters(const struct api *api)
{
    return net_listener_counters(api->listener);
}

size_t api_connections(const struct api *api)
{
    return api->count;
}
