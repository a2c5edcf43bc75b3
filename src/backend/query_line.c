#include "backend/query_line.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void query_line_deinit(struct query_line *query)
{
    free((char *)query->filter.bytes);
    query->filter = TEXT_ABSENT;
}

static int refuse(struct buffer *why, const char *what)
{
    buffer_put_string(why, what);
    return -EINVAL;
}

static int take_filter(const json_t *value, struct query_line *query, struct buffer *why)
{
    size_t len = json_string_length(value);
    char *copy;

    if (!json_is_string(value))
        return refuse(why, "filter must be a text, as behind clustat -n");
    copy = malloc(len + 1);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, json_string_value(value), len + 1);
    query->filter = (struct text){copy, len};
    return 0;
}

static int take_users(const json_t *list, struct query_line *query, struct buffer *why)
{
    if (!json_is_array(list) || json_array_size(list) > MESSAGE_USERS_MAX)
        return refuse(why, "users must be a list of at most 1024 user ids");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *uid = json_array_get(list, i);

        if (!json_is_integer(uid) || json_integer_value(uid) < 0 || json_integer_value(uid) > UINT32_MAX)
            return refuse(why, "users must be user ids (numbers): see id -u NAME");
        query->uids[query->uid_count++] = (uint32_t)json_integer_value(uid);
    }
    return 0;
}

static int take_wait(const json_t *value, struct query_line *query, struct buffer *why)
{
    if (!json_is_boolean(value))
        return refuse(why, "wait must be true or false");
    if (json_is_false(value))
        query->flags |= VIEW_NO_WAIT;
    return 0;
}

static int take_member(const char *key, const json_t *value, struct query_line *query, struct buffer *why)
{
    if (strcmp(key, "filter") == 0)
        return take_filter(value, query, why);
    if (strcmp(key, "users") == 0)
        return take_users(value, query, why);
    if (strcmp(key, "wait") == 0)
        return take_wait(value, query, why);
    return refuse(why, "allowed are filter, users and wait");
}

static int take_object(json_t *object, struct query_line *query, struct buffer *why)
{
    const char *key;
    json_t *value;
    int r = 0;

    if (!json_is_object(object))
        return refuse(why, "QUERY takes an object, as in QUERY {\"filter\": \"gpu[01-08]\"}");
    json_object_foreach(object, key, value)
    {
        r = take_member(key, value, query, why);
        if (r < 0)
            break;
    }
    return r;
}

int query_line_parse(struct text operand, struct query_line *ret_query, struct buffer *why)
{
    struct query_line query = {.filter = TEXT_ABSENT};
    json_error_t error;
    json_t *object;
    int r = 0;

    if (operand.len) {
        object = json_loadb(operand.bytes, operand.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
        if (!object) {
            buffer_printf(why, "QUERY, character %d: %s", error.position, error.text);
            return -EINVAL;
        }
        r = take_object(object, &query, why);
        json_decref(object);
    }
    if (r < 0)
        query_line_deinit(&query);
    else
        *ret_query = query;
    return r;
}
