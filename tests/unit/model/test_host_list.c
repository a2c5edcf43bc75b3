#include "model/host_list.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

struct names {
    char all[4096];
    size_t count;
};

static int collect(void *context, struct text name)
{
    struct names *names = context;
    size_t len = strlen(names->all);

    names->count++;
    if (len + name.len + 2 < sizeof(names->all)) {
        memcpy(names->all + len, name.bytes, name.len);
        names->all[len + name.len] = ' ';
    }
    return 0;
}

static void expect_expansion(const char *item, const char *expected)
{
    struct host_list_error error;
    struct names names = {0};

    assert_int_equal(host_list_expand(text_from_string(item), collect, &names, &error), 0);
    assert_string_equal(names.all, expected);
}

static void expands_ranges(void **state)
{
    (void)state;
    expect_expansion("node7", "node7 ");
    expect_expansion("gpu[01-03,12]", "gpu01 gpu02 gpu03 gpu12 ");
    expect_expansion("node[8-11]", "node8 node9 node10 node11 ");
    expect_expansion("gpu[098-101]", "gpu098 gpu099 gpu100 gpu101 ");
    expect_expansion("r[1-2]n[1-2].lan", "r1n1.lan r1n2.lan r2n1.lan r2n2.lan ");
    expect_expansion("x[0]", "x0 ");
}

static void expect_refusal(const char *item, int r, size_t offset)
{
    struct host_list_error error;
    struct names names = {0};

    assert_int_equal(host_list_expand(text_from_string(item), collect, &names, &error), r);
    assert_int_equal(names.count, 0);
    assert_int_equal(error.offset, offset);
    assert_true(strlen(error.message) > 10);
}

static void refuses_what_is_no_list(void **state)
{
    (void)state;
    expect_refusal("", -EINVAL, 0);
    expect_refusal("x[", -EINVAL, 2);
    expect_refusal("x[1", -EINVAL, 1);
    expect_refusal("x[1-", -EINVAL, 4);
    expect_refusal("x[1,]", -EINVAL, 4);
    expect_refusal("x[3-1]", -EINVAL, 2);
    expect_refusal("x[08-9]", -EINVAL, 2);
    expect_refusal("x]1", -EINVAL, 1);
    expect_refusal("x*", -EINVAL, 1);
    expect_refusal("x[a-b]", -EINVAL, 2);
}

static void caps_hold(void **state)
{
    struct host_list_error error;
    struct names names = {0};

    (void)state;
    expect_refusal("x[0-4294967295]", -E2BIG, 2);
    expect_refusal("x[0-99999999999]", -E2BIG, 4);
    expect_refusal("x[0-9][0-9][0-9][0-9]", -E2BIG, 20);
    expect_refusal("x[1][1][1][1][1]", -E2BIG, 13);
    assert_int_equal(host_list_expand(text_from_string("x[1-4096]"), collect, &names, &error), 0);
    assert_int_equal(names.count, HOST_LIST_MAX_HOSTS);
    expect_refusal("x[1-4097]", -E2BIG, 8);
}

static bool matches(const char *pattern, const char *name)
{
    struct host_list_error error;

    assert_int_equal(host_list_check_pattern(text_from_string(pattern), &error), 0);
    return host_list_matches(text_from_string(pattern), text_from_string(name));
}

static void patterns_match_as_they_expand(void **state)
{
    (void)state;
    assert_true(matches("node[1-10]", "node1"));
    assert_true(matches("node[1-10]", "node9"));
    assert_true(matches("node[1-10]", "node10"));
    assert_false(matches("node[1-10]", "node01"));
    assert_false(matches("node[1-10]", "node11"));
    assert_false(matches("node[1-10]", "node"));
    assert_true(matches("gpu[01-08,12]", "GPU08"));
    assert_false(matches("gpu[01-08,12]", "gpu8"));
    assert_true(matches("gpu[01-08,12]", "gpu12"));
    assert_true(matches("r[1-2]n[1-2].*", "r2n1.cluster"));
    assert_false(matches("r[1-2]n[1-2].*", "r2n3.cluster"));
    assert_true(matches("a[1-30][1-3]", "a123"));
    assert_true(matches("*", ""));
    assert_true(matches("*gpu*", "my-gpu-1"));
    assert_false(matches("gpu*", "my-gpu"));
    assert_true(matches("[098-101]", "100"));
    assert_false(matches("[098-101]", "0100"));
}

static void matching_takes_no_exponential_time(void **state)
{
    char name[256], pattern[512];

    (void)state;
    memset(name, 'a', 255);
    name[255] = '\0';
    for (size_t i = 0; i < 510; i += 2)
        memcpy(pattern + i, "*a", 2);
    memcpy(pattern + 508, "*b", 3);
    assert_false(matches(pattern, name));
}

static void splits_outside_brackets(void **state)
{
    struct host_list_error error;
    struct names names = {0};

    (void)state;
    assert_int_equal(host_list_split(text_from_string(" a[1,2] ,, b,c[3] "), collect, &names, &error), 0);
    assert_string_equal(names.all, "a[1,2] b c[3] ");
    assert_int_equal(host_list_split(text_from_string("a[1,2"), collect, &names, &error), -EINVAL);
    assert_int_equal(error.offset, 1);
    assert_int_equal(host_list_split(text_from_string("a]"), collect, &names, &error), -EINVAL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(expands_ranges),
        cmocka_unit_test(refuses_what_is_no_list),
        cmocka_unit_test(caps_hold),
        cmocka_unit_test(patterns_match_as_they_expand),
        cmocka_unit_test(matching_takes_no_exponential_time),
        cmocka_unit_test(splits_outside_brackets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
