#include "cli/footer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void check_line(struct footer footer, const char *expected)
{
    struct buffer out = BUFFER_EMPTY;

    footer_put(&footer, &out);
    buffer_put_char(&out, '\0');
    assert_string_equal(out.bytes, expected);
    buffer_deinit(&out);
}

static void nothing_is_said_if_all_is_shown(void **state)
{
    (void)state;
    check_line((struct footer){0}, "");
    check_line((struct footer){.known = 3, .matched = 3}, "");
    check_line((struct footer){.known = 3, .matched = 3, .filter = "gpu*", .users = "alice"}, "");
}

static void every_reason_has_its_part(void **state)
{
    (void)state;
    check_line((struct footer){.known = 16, .matched = 8, .filter = "gpu[01-08]"},
               "not shown: 8 nodes (-n gpu[01-08])");
    check_line((struct footer){.known = 3, .matched = 2, .filter = "pu", .is_inexact = true},
               "not shown: 1 node (-n pu, not an exact match)");
    check_line((struct footer){.known = 4, .matched = 4, .emptied = 3, .users = "a,b"},
               "not shown: 3 nodes without a process of a,b");
    check_line((struct footer){.known = 4, .matched = 4, .silent = 2},
               "not shown: 2 nodes without values (--no-header)");
    check_line((struct footer){.known = 4, .matched = 4, .left_out = 1},
               "not shown: 1 node (connecting.max_connections is reached)");
    check_line((struct footer){.known = 4, .matched = 4, .is_warming = true},
               "not shown: nodes that are not found yet (discovery has only begun)");
}

static void reasons_are_told_together(void **state)
{
    (void)state;
    check_line(
        (struct footer){.known = 9, .matched = 5, .emptied = 2, .left_out = 7, .filter = "x", .users = "y"},
        "not shown: 4 nodes (-n x); 2 nodes without a process of y; 7 nodes (connecting.max_connections is "
        "reached)");
}

static void what_a_person_typed_is_made_visible(void **state)
{
    (void)state;
    check_line((struct footer){.known = 2, .matched = 1, .filter = "a\033[2J"},
               "not shown: 1 node (-n a^[[2J)");
}

/* Nodes of 3, 1 and 2 lines, cut to `rows`. */
static void check_cut(size_t rows, const char *expected)
{
    static const char table[] = "a\na0\na1\nb\nc\nc0\n";
    static const size_t ends[] = {8, 10, 15};
    struct buffer out = BUFFER_EMPTY;

    assert_int_equal(strlen(table), ends[2]);
    buffer_put_string(&out, table);
    footer_cut_nodes(&out, ends, 3, rows);
    buffer_put_char(&out, '\0');
    assert_string_equal(out.bytes, expected);
    buffer_deinit(&out);
}

static void a_table_that_fits_is_not_cut(void **state)
{
    (void)state;
    check_cut(6, "a\na0\na1\nb\nc\nc0\n");
    check_cut(100, "a\na0\na1\nb\nc\nc0\n");
    check_cut(0, "a\na0\na1\nb\nc\nc0\n");
}

static void a_cut_between_nodes_counts_nodes(void **state)
{
    (void)state;
    check_cut(5, "a\na0\na1\nb\n... 1 more node (terminal height)\n");
    check_cut(4, "a\na0\na1\n... 2 more nodes (terminal height)\n");
    check_cut(1, "... 3 more nodes (terminal height)\n");
}

static void a_cut_inside_a_node_counts_its_lines_too(void **state)
{
    (void)state;
    check_cut(3, "a\na0\n... 1 more line, 2 more nodes (terminal height)\n");
    check_cut(2, "a\n... 2 more lines, 2 more nodes (terminal height)\n");
}

static void a_table_without_nodes_counts_lines(void **state)
{
    struct buffer out = BUFFER_EMPTY;

    (void)state;
    buffer_put_string(&out, "a\nb\nc\n");
    footer_cut_nodes(&out, NULL, 0, 2);
    buffer_put_char(&out, '\0');
    assert_string_equal(out.bytes, "a\n... 2 more lines (terminal height)\n");
    buffer_deinit(&out);
}

static void an_empty_table_stays_empty(void **state)
{
    struct buffer out = BUFFER_EMPTY;

    (void)state;
    footer_cut_nodes(&out, NULL, 0, 3);
    assert_int_equal(out.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_if_all_is_shown),
        cmocka_unit_test(every_reason_has_its_part),
        cmocka_unit_test(reasons_are_told_together),
        cmocka_unit_test(what_a_person_typed_is_made_visible),
        cmocka_unit_test(a_table_that_fits_is_not_cut),
        cmocka_unit_test(a_cut_between_nodes_counts_nodes),
        cmocka_unit_test(a_cut_inside_a_node_counts_its_lines_too),
        cmocka_unit_test(a_table_without_nodes_counts_lines),
        cmocka_unit_test(an_empty_table_stays_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
