#include "host/procfs.h"

#include "fake_proc.h"

#include <stdint.h>

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

/* Around the first buffer and its doublings, with the limit below, at and above the length. */
static void long_files_are_read_up_to_the_limit(void **state)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 131071, 131072, 200000};
    static const size_t limits[] = {0, 1, 64, 4095, 4096, 4097, 8192, 131072, SIZE_MAX};
    struct fake_proc proc;
    _cleanup_(cleanup_close) int root_fd = -1;
    char *content = test_malloc(200000);

    (void)state;
    fake_proc_init(&proc);
    root_fd = open(proc.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < 200000; i++)
        content[i] = (char)(i * 31 + i / 4096);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        fake_proc_write(&proc, "file", content, sizes[i]);
        for (size_t j = 0; j < sizeof(limits) / sizeof(limits[0]); j++) {
            _cleanup_(cleanup_free) char *bytes = NULL;
            size_t len, want = sizes[i] < limits[j] ? sizes[i] : limits[j];
            bool cut;

            assert_int_equal(procfs_read_long(root_fd, "file", limits[j], &bytes, &len, &cut), 0);
            assert_int_equal(len, want);
            assert_int_equal(cut, sizes[i] > limits[j]);
            if (len)
                assert_memory_equal(bytes, content, len);
        }
    }
    test_free(content);
    fake_proc_remove(&proc, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_is_read_from_the_last_bracket),
        cmocka_unit_test(bad_stat_is_refused),
        cmocka_unit_test(uid_is_the_real_one),
        cmocka_unit_test(resident_pages_are_the_second_number),
        cmocka_unit_test(long_files_are_read_up_to_the_limit),
    };

    return cmocka_run_group_tests_name("host/procfs", tests, NULL, NULL);
}
