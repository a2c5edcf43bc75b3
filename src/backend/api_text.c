/* The local API for people and scripts: lines of text. */
#include "backend/api_internal.h"

#include "backend/query_line.h"
#include "core/cleanup.h"
#include "core/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

void api_text_error(struct connection *connection, const char *format, ...)
{
    _cleanup_(buffer_deinit) struct buffer line = BUFFER_EMPTY;
    char text[MESSAGE_ERROR_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    buffer_put_string(&line, "ERR ");
    utf8_put_visible(&line, text_from_string(text));
    buffer_put_char(&line, '\n');
    connection->api->counters.errors++;
    if (!buffer_error(&line))
        api_send(connection, line.bytes, line.len);
}

static void send_buffer(struct connection *connection, const struct buffer *out)
{
    if (buffer_error(out))
        api_text_error(connection, "the backend is out of memory");
    else
        api_send(connection, out->bytes, out->len);
}

/* ---- QUERY ---- */

static void put_question(struct connection *connection, const struct query_line *query)
{
    struct api *api = connection->api;
    struct instant now = clock_now();
    struct question_request request = {.filter = query->filter,
                                       .flags = query->flags,
                                       .uids = query->uids,
                                       .uid_count = query->uid_count,
                                       .form = QUESTION_JSON};
    struct host_list_error error;
    int r;

    connection->has_question = true;
    api->events.on_asked(api->events.userdata, now);
    r = questions_ask(api->questions, now, &request, connection, 0, &error);
    if (r == 0)
        return;
    connection->has_question = false;
    if (r == -ENOMEM)
        api_text_error(connection, "the backend is out of memory");
    else
        api_text_error(connection, "filter, character %zu: %s", error.offset + 1, error.message);
}

static void take_query(struct connection *connection, struct text operand)
{
    _cleanup_(buffer_deinit) struct buffer why = BUFFER_EMPTY;
    struct query_line query;
    int r = query_line_parse(operand, &query, &why);

    if (r == -ENOMEM) {
        api_text_error(connection, "the backend is out of memory");
    } else if (r < 0) {
        api_text_error(connection, "%.*s", (int)why.len, buffer_text(&why).bytes);
    } else {
        put_question(connection, &query);
        query_line_deinit(&query);
    }
}

/* ---- the other words ---- */

static void take_status(struct connection *connection)
{
    struct api *api = connection->api;
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;

    api->events.on_status(api->events.userdata, &out);
    send_buffer(connection, &out);
}

static void take_list(struct connection *connection)
{
    struct api *api = connection->api;
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;

    api->events.on_list(api->events.userdata, clock_now(), &out);
    send_buffer(connection, &out);
}

static void take_forget(struct connection *connection, struct text filter)
{
    struct api *api = connection->api;
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;
    struct message_forgotten forgotten;
    struct host_list_error error;
    int r;

    if (!filter.len) {
        api_text_error(connection, "FORGET takes a filter, as behind clustat -n");
        return;
    }
    if (!api_may_forget(connection)) {
        api_text_error(connection, "only root and the user that runs clustat-backend may forget nodes");
        return;
    }
    r = api->events.on_forget(api->events.userdata, clock_now(), filter, &forgotten, &error);
    if (r == -ENOMEM) {
        api_text_error(connection, "the backend is out of memory");
    } else if (r < 0) {
        api_text_error(connection, "filter, character %zu: %s", error.offset + 1, error.message);
    } else {
        buffer_printf(&out, "FORGOTTEN %u, still up %u\n", forgotten.forgotten, forgotten.still_up);
        send_buffer(connection, &out);
    }
}

/* The line's share of what a user may ask for. All nodes in JSON are the most that can be asked. */
static size_t weight_of(const struct connection *connection, struct text word)
{
    const struct api_events *events = &connection->api->events;
    size_t nodes = events->on_count(events->userdata);
    size_t weight = 1 + nodes / (text_equal_string(word, "QUERY") ? API_QUERY_NODES : API_LIST_NODES);

    return weight < API_TEXT_WEIGHT_MAX ? weight : API_TEXT_WEIGHT_MAX;
}

static void take(struct connection *connection, struct text line)
{
    struct api *api = connection->api;
    const char *blank = memchr(line.bytes, ' ', line.len);
    size_t word_len = blank ? (size_t)(blank - line.bytes) : line.len;
    struct text word = {line.bytes, word_len}, operand = {"", 0};

    if (blank)
        operand = (struct text){blank + 1, line.len - word_len - 1};
    if (!api_take_request(connection, api->texts, weight_of(connection, word), clock_now()))
        api_text_error(connection,
                       "too many lines: allowed are %.0f a second, less where there are many nodes",
                       API_TEXT_PER_SECOND);
    else if (text_equal_string(word, "QUERY"))
        take_query(connection, operand);
    else if (text_equal_string(word, "LIST") && !operand.len)
        take_list(connection);
    else if (text_equal_string(word, "STATUS") && !operand.len)
        take_status(connection);
    else if (text_equal_string(word, "FORGET"))
        take_forget(connection, operand);
    else
        api_text_error(connection, "allowed are QUERY [JSON], LIST, STATUS and FORGET FILTER");
}

/* ---- turns ---- */

/* Takes the first waiting line out of the buffer. Returns false if there is none. */
static bool take_first(struct connection *connection)
{
    struct buffer *lines = &connection->lines;
    const char *end = lines->len ? memchr(lines->bytes, '\n', lines->len) : NULL;
    _cleanup_(cleanup_free) char *line = NULL;
    size_t len;

    if (!end)
        return false;
    len = (size_t)(end - lines->bytes);
    line = malloc(len + 1);
    if (!line) {
        buffer_clear(lines);
        return false;
    }
    memcpy(line, lines->bytes, len);
    memmove(lines->bytes, end + 1, lines->len - len - 1);
    lines->len -= len + 1;
    take(connection, (struct text){line, len});
    return true;
}

void api_text_next(struct connection *connection)
{
    if (connection->is_taking) /* an answer that came at once: whoever called take_first() goes on */
        return;
    connection->is_taking = true;
    while (!connection->has_question && !connection->is_finishing && take_first(connection))
        continue;
    connection->is_taking = false;
}

void api_text_line(struct connection *connection, struct text line)
{
    buffer_put_text(&connection->lines, line);
    buffer_put_char(&connection->lines, '\n');
    if (buffer_error(&connection->lines)) {
        api_text_error(connection, "too many lines at once: wait for the answers");
        api_finish(connection);
        return;
    }
    api_text_next(connection);
}
