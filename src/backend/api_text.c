/* The local API for people and scripts: lines of text. */
#include "backend/api_internal.h"

#include "core/cleanup.h"
#include "core/utf8.h"

#include <errno.h>
#include <jansson.h>
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

/* What a QUERY's object asks for. Texts are borrowed from the object. */
struct query_json {
    struct text filter;
    uint32_t uids[MESSAGE_USERS_MAX];
    uint16_t uid_count;
    unsigned flags;
};

static const char *take_users(const json_t *list, struct query_json *query)
{
    if (!json_is_array(list) || json_array_size(list) > MESSAGE_USERS_MAX)
        return "users must be a list of at most 1024 user ids";
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *uid = json_array_get(list, i);

        if (!json_is_integer(uid) || json_integer_value(uid) < 0 || json_integer_value(uid) > UINT32_MAX)
            return "users must be user ids (numbers): see id -u NAME";
        query->uids[query->uid_count++] = (uint32_t)json_integer_value(uid);
    }
    return NULL;
}

/* Returns NULL, or what is wrong with a member. */
static const char *take_member(const char *key, const json_t *value, struct query_json *query)
{
    if (strcmp(key, "filter") == 0) {
        if (!json_is_string(value))
            return "filter must be a text, as behind clustat -n";
        query->filter = (struct text){json_string_value(value), json_string_length(value)};
        return NULL;
    }
    if (strcmp(key, "users") == 0)
        return take_users(value, query);
    if (strcmp(key, "wait") == 0) {
        if (!json_is_boolean(value))
            return "wait must be true or false";
        if (json_is_false(value))
            query->flags |= VIEW_NO_WAIT;
        return NULL;
    }
    return "allowed are filter, users and wait";
}

/* Returns NULL, or what is wrong. */
static const char *take_object(json_t *object, struct query_json *query)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return "QUERY takes an object, as in QUERY {\"filter\": \"gpu[01-08]\"}";
    json_object_foreach(object, key, value)
    {
        const char *problem = take_member(key, value, query);

        if (problem)
            return problem;
    }
    return NULL;
}

static void put_question(struct connection *connection, const struct query_json *query)
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
    struct query_json query = {.filter = TEXT_ABSENT};
    json_error_t error;
    json_t *object;
    const char *problem;

    if (!operand.len) {
        put_question(connection, &query);
        return;
    }
    object = json_loadb(operand.bytes, operand.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!object) {
        api_text_error(connection, "QUERY, character %d: %s", error.position, error.text);
        return;
    }
    problem = take_object(object, &query);
    if (problem)
        api_text_error(connection, "%s", problem);
    else
        put_question(connection, &query);
    json_decref(object);
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

static void take(struct connection *connection, struct text line)
{
    struct api *api = connection->api;
    size_t weight = 1 + api->events.on_count(api->events.userdata) / API_TEXT_NODES;
    const char *blank = memchr(line.bytes, ' ', line.len);
    size_t word_len = blank ? (size_t)(blank - line.bytes) : line.len;
    struct text word = {line.bytes, word_len}, operand = {"", 0};

    if (blank)
        operand = (struct text){blank + 1, line.len - word_len - 1};
    if (!api_take_request(connection, api->texts, weight, clock_now()))
        api_text_error(connection, "more than %.0f lines a second (of %u nodes each)", API_TEXT_PER_SECOND,
                       API_TEXT_NODES);
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
