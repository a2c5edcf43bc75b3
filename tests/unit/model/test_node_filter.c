#include "model/node_filter.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define T(literal) \
    { \
        "" literal, sizeof(literal) - 1 \
    }

static const struct node_names nodes[] = {
    {T("node1.compute"), T("10.0.0.1:30000"), T("conn-aa")},
    {T("node2.compute"), T("10.0.0.2:30000"), T("conn-bb")},
    {T("node11.compute"), T("10.0.1.11:30000"), T("conn-cc")},
    {T("gpu01"), T("[fd00::1]:30000"), T("conn-dd")},
    {T("gpu02"), T("10.0.0.22:30001"), T("conn-ee")},
};
#define NODES (sizeof(nodes) / sizeof(nodes[0]))

/* Which nodes a filter selects, as a string of 0 and 1; a trailing ~ says that the match was inexact. */
static void expect(const char *expression, const char *expected)
{
    struct host_list_error error;
    struct node_filter *filter;
    bool selected[NODES], inexact;
    char got[NODES + 2] = {0};
    size_t count, ones = 0;

    assert_int_equal(node_filter_new(text_from_string(expression), &filter, &error), 0);
    count = node_filter_select(filter, nodes, NODES, selected, &inexact);
    for (size_t i = 0; i < NODES; i++) {
        got[i] = selected[i] ? '1' : '0';
        ones += selected[i];
    }
    got[NODES] = inexact ? '~' : '\0';
    assert_string_equal(got, expected);
    assert_int_equal(count, ones);
    node_filter_free(filter);
}

static void selects(void **state)
{
    (void)state;
    expect("node1", "10000");
    expect("node1.compute", "10000");
    expect("NODE1", "10000");
    expect("1.compute", "10000~");
    expect("node", "11100~");
    expect("compute", "11100~");
    expect("gpu0", "00000");
    expect("gpu", "00011~");
    expect("gpu[01-02]", "00011");
    expect("node[1-10]", "11000");
    expect("node*", "11100");
    expect("*.compute,gpu02", "11101");
    expect("10.0.0.1", "10000");
    expect("10.0.0.1:30000", "10000");
    expect("10.0.0.0/24", "11001");
    expect("10.0.0.16/28", "00001");
    expect("0.0.0.0/0", "11101");
    expect("fd00::/16", "00010");
    expect("fd00::1", "00010");
    expect("conn-cc", "00100");
    expect("!gpu01", "11101");
    expect("!gpu01,*", "11101");
    expect("node*,!node[2-20]", "10000");
    expect("nothing", "00000");
}

static void refuses(void **state)
{
    static const struct {
        const char *expression;
        int r;
        size_t offset;
    } bad[] = {
        {"", -EINVAL, 0},
        {" , ", -EINVAL, 0},
        {"a,!", -EINVAL, 3},
        {"a,b[1", -EINVAL, 3},
        {"a,10.0.0.0/33", -EINVAL, 2},
        {"x[0-4294967295]", -E2BIG, 2},
        {"n,x[0-4294967295]", -E2BIG, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct host_list_error error;
        struct node_filter *filter = NULL;

        assert_int_equal(node_filter_new(text_from_string(bad[i].expression), &filter, &error), bad[i].r);
        assert_null(filter);
        assert_int_equal(error.offset, bad[i].offset);
        assert_true(error.message[0]);
    }
}

static void caps_hold(void **state)
{
    struct host_list_error error;
    struct node_filter *filter = NULL;
    char *many = malloc(2 * (NODE_FILTER_MAX_ITEMS + 1) + NODE_FILTER_MAX_BYTES + 2);

    (void)state;
    many[0] = '\0';
    for (size_t i = 0; i <= NODE_FILTER_MAX_ITEMS; i++)
        memcpy(many + 2 * i, "a,", 3);
    assert_int_equal(node_filter_new(text_from_string(many), &filter, &error), -E2BIG);
    assert_true(error.message[0]);
    memset(many, 'a', NODE_FILTER_MAX_BYTES + 1);
    many[NODE_FILTER_MAX_BYTES + 1] = '\0';
    assert_int_equal(node_filter_new(text_from_string(many), &filter, &error), -E2BIG);
    assert_true(error.message[0]);
    free(many);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(selects),
        cmocka_unit_test(refuses),
        cmocka_unit_test(caps_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
