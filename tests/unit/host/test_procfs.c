#include "host/procfs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct procfs_stat parse(const char *content, int want)
{
    struct procfs_stat stat = {0};

    assert_int_equal(procfs_parse_stat(text_from_string(content), &stat), want);
    return stat;
}

#define TAIL " S 1 1 1 0 -1 4194304 9 0 0 0 70 30 5 5 20 0 1 0 4242 99 9 18446744073709551615\n"

static void stat_is_read_from_the_last_bracket(void **state)
{
    static const struct {
        const char *content, *comm;
    } names[] = {
        {"7 (python)" TAIL, "python"},
        {"7 (a b)" TAIL, "a b"},
        {"7 (x) R 1 2 (y))" TAIL, "x) R 1 2 (y)"},
        {"7 ()" TAIL, ""},
        {"7 (a\\nb\\\\c)" TAIL, "a\nb\\c"},
        {"7 (a\\tb)" TAIL, "a\\tb"}, /* not an escape of the kernel's */
        {"7 (kworker/u64:3-events_unbound)" TAIL, "kworker/u64:3-e"},
        {"7 (\xff\x1b[31m)" TAIL, "\xff\x1b[31m"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct procfs_stat stat = parse(names[i].content, 0);

        assert_true(text_equal_string((struct text){stat.comm, stat.comm_len}, names[i].comm));
        assert_int_equal(stat.state, 'S');
        assert_int_equal(stat.cpu_ticks, 100);
        assert_int_equal(stat.start_ticks, 4242);
    }
}

static void bad_stat_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "7",
        "7 (x",
        "7 x)",
        ")(",
        "7 (x)",
        "7 (x) ",
        "7 (x) S",
        "7 (x) S 1 1 1 0 -1 4194304 9 0 0 0 70 30",
        "7 (x) S 1 1 1 0 -1 4194304 9 0 0 0 7x 30 5 5 20 0 1 0 4242 9\n",
        "7 (x) S 1 1 1 0 -1 4194304 9 0 0 0 70 30 5 5 20 0 1 0 -1 9\n",
        "7 (x) S 1 1 1 0 -1 4194304 9 0 0 0 70 30 5 5 20 0 1 0 99999999999999999999 9\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        parse(bad[i], -EBADMSG);
}

static void uid_is_the_real_one(void **state)
{
    uint32_t uid = 7;

    (void)state;
    assert_int_equal(procfs_parse_uid(text_from_string("Name:\tUid:\nUid:\t1000\t0\t0\t0\nGid:\t5\n"), &uid),
                     0);
    assert_int_equal(uid, 1000);
    assert_int_equal(procfs_parse_uid(text_from_string("Uid:\t4294967294\t0\t0\t0"), &uid), 0);
    assert_true(uid == 4294967294);
    assert_int_equal(procfs_parse_uid(text_from_string("Uid:\t4294967296\t0\t0\t0"), &uid), -EBADMSG);
    assert_int_equal(procfs_parse_uid(text_from_string("Uid:\t"), &uid), -EBADMSG);
    assert_int_equal(procfs_parse_uid(text_from_string("Name:\tx\n"), &uid), -EBADMSG);
    assert_int_equal(procfs_parse_uid(text_from_string(""), &uid), -EBADMSG);
}

static void resident_pages_are_the_second_number(void **state)
{
    uint64_t pages;

    (void)state;
    assert_int_equal(procfs_parse_statm(text_from_string("900 123 7 1 0 9 0\n"), &pages), 0);
    assert_int_equal(pages, 123);
    assert_int_equal(procfs_parse_statm(text_from_string("900"), &pages), -EBADMSG);
    assert_int_equal(procfs_parse_statm(text_from_string("900 -1 7"), &pages), -EBADMSG);
    assert_int_equal(procfs_parse_statm(text_from_string(""), &pages), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_is_read_from_the_last_bracket),
        cmocka_unit_test(bad_stat_is_refused),
        cmocka_unit_test(uid_is_the_real_one),
        cmocka_unit_test(resident_pages_are_the_second_number),
    };

    return cmocka_run_group_tests_name("host/procfs", tests, NULL, NULL);
}
