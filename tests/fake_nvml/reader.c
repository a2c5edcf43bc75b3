#include "reader.h"

#include <stdio.h>
#include <string.h>

#include "nvml_codes.h"

bool reader_failed(const struct reader *reader)
{
    return reader->error[0] != '\0';
}

/* Writes the path of `node` at `to`; returns how much of `size` is used. */
static size_t write_path(const struct json *node, char *to, size_t size)
{
    if (!node->parent)
        return 0;
    size_t used = write_path(node->parent, to, size);
    int more;
    if (node->key) {
        more = snprintf(to + used, size - used, "%s%s", used ? "." : "", node->key);
    } else {
        size_t position = 0;
        for (const struct json *other = node->parent->first; other != node; other = other->next)
            position++;
        more = snprintf(to + used, size - used, "[%zu]", position);
    }
    used += more > 0 ? (size_t)more : 0;
    return used < size ? used : size - 1;
}

/* The message is one line, whatever the keys of a wrong file hold. */
static void make_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F)
            *text = '?';
}

void reader_fail(struct reader *reader, const struct json *where, const char *reason)
{
    if (reader_failed(reader))
        return;
    char path[200] = "";
    size_t used = where ? write_path(where, path, sizeof(path)) : 0;
    snprintf(reader->error, SCENARIO_ERROR_SIZE, "%s: %s", used ? path : "the scenario", reason);
    make_one_line(reader->error);
}

static struct json *reader_type(struct reader *reader, struct json *node, enum json_type type,
                                const char *reason)
{
    if (node && node->type != type) {
        reader_fail(reader, node, reason);
        return NULL;
    }
    return node;
}

struct json *reader_object(struct reader *reader, struct json *node)
{
    return reader_type(reader, node, JSON_OBJECT, "must be an object");
}

struct json *reader_list(struct reader *reader, struct json *node)
{
    return reader_type(reader, node, JSON_LIST, "must be a list");
}

struct json *reader_member(struct reader *reader, struct json *from, const char *key)
{
    (void)reader;
    struct json *member = from ? json_member(from, key) : NULL;
    if (member)
        member->used = true;
    return member;
}

struct json *reader_required(struct reader *reader, struct json *from, const char *key)
{
    struct json *member = reader_member(reader, from, key);
    if (from && !member) {
        char reason[80];
        snprintf(reason, sizeof(reason), "the key \"%s\" is required", key);
        reader_fail(reader, from, reason);
    }
    return member;
}

void reader_finish_object(struct reader *reader, struct json *from)
{
    for (const struct json *member = from ? from->first : NULL; member; member = member->next)
        if (!member->used)
            reader_fail(reader, member, "this key is unknown here");
}

const char *reader_text_of(struct reader *reader, const struct json *node)
{
    if (!node || node->type != JSON_TEXT) {
        reader_fail(reader, node, "must be a text");
        return NULL;
    }
    return arena_copy_text(reader->arena, node->text);
}

const char *reader_text(struct reader *reader, struct json *from, const char *key, const char *absent)
{
    struct json *node = reader_member(reader, from, key);
    return node ? reader_text_of(reader, node) : absent;
}

static long double number_of(struct reader *reader, const struct json *node)
{
    if (node->type == JSON_NUMBER)
        return node->number;
    reader_fail(reader, node, "must be a number");
    return 0;
}

uint64_t reader_whole_of(struct reader *reader, const struct json *node, uint64_t min, uint64_t max)
{
    long double number = number_of(reader, node);
    struct whole whole;
    if (!whole_round(number, &whole) || whole.negative || whole.magnitude < min || whole.magnitude > max) {
        reader_fail(reader, node, "is out of range");
        return min;
    }
    if ((long double)whole.magnitude != number)
        reader_fail(reader, node, "must be a whole number");
    return whole.magnitude;
}

uint64_t reader_whole(struct reader *reader, struct json *from, const char *key, uint64_t min, uint64_t max,
                      uint64_t absent)
{
    struct json *node = reader_member(reader, from, key);
    return node ? reader_whole_of(reader, node, min, max) : absent;
}

double reader_number(struct reader *reader, struct json *from, const char *key, double min, double absent)
{
    struct json *node = reader_member(reader, from, key);
    if (!node)
        return absent;
    double number = (double)number_of(reader, node);
    if (number < min)
        reader_fail(reader, node, "is out of range");
    return number;
}

void reader_values(struct reader *reader, struct json *from, const struct value_key *keys, size_t count,
                   void *into)
{
    for (size_t i = 0; i < count; i++) {
        bool required = keys[i].presence == KEY_REQUIRED;
        struct json *node =
            required ? reader_required(reader, from, keys[i].key) : reader_member(reader, from, keys[i].key);
        struct value value = {0};
        if (node)
            value = reader_value_of(reader, node, keys[i].type);
        else if (keys[i].presence == KEY_ZERO)
            value = value_of_number(0);
        memcpy((char *)into + keys[i].offset, &value, sizeof(value));
    }
}

void reader_value_list(struct reader *reader, struct json *node, size_t count, struct value *const into[])
{
    struct json *list = reader_list(reader, node);
    if (!list)
        return;
    if (list->count != count) {
        reader_fail(reader, list, "has too few or too many members");
        return;
    }
    size_t i = 0;
    for (struct json *member = list->first; member; member = member->next)
        *into[i++] = reader_value_of(reader, member, VALUE_TYPE_U32);
}
