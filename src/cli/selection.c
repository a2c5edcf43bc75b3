#include "cli/selection.h"

#include "cli/python_text.h"
#include "core/cleanup.h"
#include "core/utf8.h"
#include "host/users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void number_list_deinit(struct number_list *list)
{
    free(list->numbers);
    *list = (struct number_list){0};
}

static int number_list_add(struct number_list *list, uint32_t number)
{
    uint32_t *larger;

    if (list->count == SELECTION_MAX)
        return -E2BIG;
    larger = reallocarray(list->numbers, list->count + 1, sizeof(*larger));
    if (!larger)
        return -ENOMEM;
    list->numbers = larger;
    list->numbers[list->count++] = number;
    return 0;
}

static void number_list_move(struct number_list *from, struct number_list *ret_to)
{
    *ret_to = *from;
    *from = (struct number_list){0};
}

/* The text before the next comma; *rest becomes what is behind it, NULL if there was none. */
static struct text next_item(const char **rest)
{
    const char *start = *rest;
    size_t len = strcspn(start, ",");

    *rest = start[len] ? start + len + 1 : NULL;
    return (struct text){start, len};
}

int selection_parse_ids(const char *text, struct number_list *ret_list, struct buffer *error)
{
    _cleanup_(number_list_deinit) struct number_list list = {0};
    const char *rest = text;
    int r;

    while (rest) {
        struct text item = next_item(&rest);
        int64_t number;

        if (python_parse_int(item, &number) < 0) {
            _cleanup_(cleanup_free) char *copy = strndup(item.bytes, item.len);

            if (!copy)
                return -ENOMEM;
            buffer_put_string(error, "invalid literal for int() with base 10: ");
            python_put_repr(error, copy);
            return 1;
        }
        r = number_list_add(&list, number < 0 || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number);
        if (r < 0)
            return r;
    }
    number_list_move(&list, ret_list);
    return 0;
}

static bool has_gpu(const struct snapshot *snapshot, uint32_t index)
{
    for (uint32_t i = 0; i < snapshot->device_count; i++)
        if (snapshot->devices[i].kind == DEVICE_GPU && snapshot->devices[i].index == index)
            return true;
    return false;
}

int64_t selection_missing_id(const struct number_list *ids, const struct snapshot *snapshot)
{
    for (size_t i = 0; i < ids->count; i++)
        if (!has_gpu(snapshot, ids->numbers[i]))
            return ids->numbers[i];
    return -1;
}

static int complain_of_user(struct buffer *error, struct text name, int reason)
{
    buffer_put_string(error, "user '");
    utf8_put_visible(error, name);
    if (reason == USERS_UNKNOWN)
        buffer_put_string(error, "': nobody has this name here; a uid works too");
    else if (reason == -ETIMEDOUT)
        buffer_put_string(error, "': the name service does not answer; a uid works without it");
    else
        buffer_printf(error, "': cannot be looked up: %s", strerror(-reason));
    return 1;
}

int selection_parse_users(const char *text, struct users *users, struct instant deadline,
                          struct number_list *ret_list, struct buffer *error)
{
    _cleanup_(number_list_deinit) struct number_list list = {0};
    const char *rest = text;

    while (rest) {
        struct text name = next_item(&rest);
        uint32_t uid;
        int r;

        r = users_uid_of(users, name, deadline, &uid);
        if (r == -ENOMEM)
            return r;
        if (r != USERS_FOUND)
            return complain_of_user(error, name, r);
        r = number_list_add(&list, uid);
        if (r < 0)
            return r;
    }
    number_list_move(&list, ret_list);
    return 0;
}
