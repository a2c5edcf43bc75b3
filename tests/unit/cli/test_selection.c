#include "cli/selection.h"

#include "host/users.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void expect_ids(const char *text, size_t count, const uint32_t *numbers)
{
    struct buffer error = BUFFER_EMPTY;
    struct number_list list;

    assert_int_equal(selection_parse_ids(text, &list, &error), 0);
    assert_int_equal(list.count, count);
    assert_memory_equal(list.numbers, numbers, count * sizeof(*numbers));
    number_list_deinit(&list);
}

static void ids_keep_their_order(void **state)
{
    (void)state;
    expect_ids("0", 1, (uint32_t[]){0});
    expect_ids("2,0, 1 ,0", 4, (uint32_t[]){2, 0, 1, 0});
    expect_ids("-1,99999999999", 2, (uint32_t[]){UINT32_MAX, UINT32_MAX});
}

static void expect_bad_ids(const char *text, const char *message)
{
    struct buffer error = BUFFER_EMPTY;
    struct number_list list;

    assert_int_equal(selection_parse_ids(text, &list, &error), 1);
    buffer_put_char(&error, '\0');
    assert_string_equal(error.bytes, message);
    buffer_deinit(&error);
}

static void bad_ids_get_pythons_message(void **state)
{
    (void)state;
    expect_bad_ids("", "invalid literal for int() with base 10: ''");
    expect_bad_ids("0,", "invalid literal for int() with base 10: ''");
    expect_bad_ids("9,x", "invalid literal for int() with base 10: 'x'");
    expect_bad_ids("1.0", "invalid literal for int() with base 10: '1.0'");
}

static void lists_are_capped(void **state)
{
    struct buffer error = BUFFER_EMPTY;
    struct number_list list;
    char *text = malloc(2 * SELECTION_MAX + 2);

    (void)state;
    for (size_t i = 0; i <= SELECTION_MAX; i++)
        memcpy(text + 2 * i, "1,", 2);
    text[2 * SELECTION_MAX + 1] = '\0'; /* SELECTION_MAX + 1 items */
    assert_int_equal(selection_parse_ids(text, &list, &error), -E2BIG);
    text[2 * SELECTION_MAX - 1] = '\0';
    assert_int_equal(selection_parse_ids(text, &list, &error), 0);
    assert_int_equal(list.count, SELECTION_MAX);
    number_list_deinit(&list);
    free(text);
}

static void missing_ids_are_found(void **state)
{
    struct device devices[3];
    struct snapshot snapshot;
    uint32_t good[] = {2, 0, 0}, bad[] = {0, 1};

    (void)state;
    snapshot_init(&snapshot);
    device_init(&devices[0], 0);
    device_init(&devices[1], 1);
    devices[1].kind = DEVICE_MIG; /* an instance of GPU 1 makes no GPU 1 */
    device_init(&devices[2], 2);
    snapshot.devices = devices;
    snapshot.device_count = 3;
    assert_int_equal(selection_missing_id(&(struct number_list){good, 3}, &snapshot), -1);
    assert_int_equal(selection_missing_id(&(struct number_list){bad, 2}, &snapshot), 1);
}

static int name_to_uid(void *context, const char *name, uint32_t *ret_uid)
{
    (void)context;
    if (strcmp(name, "alice") != 0)
        return -ENOENT;
    *ret_uid = 1000;
    return 0;
}

static int uid_to_name(void *context, uint32_t uid, char name[static USER_NAME_MAX + 1])
{
    (void)context;
    (void)uid;
    (void)name;
    return -ENOENT;
}

static void users_are_names_or_uids(void **state)
{
    static const struct users_lookup lookup = {.name_of = uid_to_name, .uid_of = name_to_uid};
    struct buffer error = BUFFER_EMPTY;
    struct instant deadline = instant_add_ns(clock_now(), 10 * NS_PER_S);
    struct number_list list;
    struct users *users;

    (void)state;
    assert_int_equal(users_new(&lookup, &users), 0);
    assert_int_equal(selection_parse_users("alice,1234", users, deadline, &list, &error), 0);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.numbers[0], 1000);
    assert_int_equal(list.numbers[1], 1234);
    number_list_deinit(&list);
    assert_int_equal(selection_parse_users("alice,m\033allory", users, deadline, &list, &error), 1);
    buffer_put_char(&error, '\0');
    assert_string_equal(error.bytes, "user 'm^[allory': nobody has this name here; a uid works too");
    buffer_clear(&error);
    assert_int_equal(selection_parse_users("alice,", users, deadline, &list, &error), 1);
    buffer_deinit(&error);
    users_free(users);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_keep_their_order),    cmocka_unit_test(bad_ids_get_pythons_message),
        cmocka_unit_test(lists_are_capped),        cmocka_unit_test(missing_ids_are_found),
        cmocka_unit_test(users_are_names_or_uids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
