#include "core/file.h"

#include "core/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

/* Around the first buffer and its doublings, with the limit below, at and above the length. */
static void long_files_are_read_up_to_the_limit(void **state)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 131071, 131072, 200000};
    static const size_t limits[] = {0, 1, 64, 4095, 4096, 4097, 8192, 131072, SIZE_MAX};
    _cleanup_(cleanup_close) int fd = memfd_create("file", MFD_CLOEXEC);
    char path[64];
    char *content = test_malloc(200000);

    (void)state;
    assert_true(fd >= 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    for (size_t i = 0; i < 200000; i++)
        content[i] = (char)(i * 31 + i / 4096);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, content, sizes[i], 0), (ssize_t)sizes[i]);
        for (size_t j = 0; j < sizeof(limits) / sizeof(limits[0]); j++) {
            _cleanup_(cleanup_free) char *bytes = NULL;
            size_t len, want = sizes[i] < limits[j] ? sizes[i] : limits[j];
            bool cut;

            assert_int_equal(file_read_long(AT_FDCWD, path, limits[j], &bytes, &len, &cut), 0);
            assert_int_equal(len, want);
            assert_int_equal(cut, sizes[i] > limits[j]);
            if (len)
                assert_memory_equal(bytes, content, len);
        }
    }
    test_free(content);
}

static void short_files_are_read_into_a_buffer(void **state)
{
    _cleanup_(cleanup_close) int fd = memfd_create("file", MFD_CLOEXEC);
    char buf[8], path[64];
    size_t len = 99;

    (void)state;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    assert_int_equal(file_read(AT_FDCWD, path, buf, sizeof(buf), &len), 0);
    assert_int_equal(len, 0);
    assert_int_equal(write(fd, "python", 6), 6);
    assert_int_equal(file_read(AT_FDCWD, path, buf, 5, &len), 0);
    assert_int_equal(len, 5);
    assert_memory_equal(buf, "pytho", 5);
    assert_int_equal(file_read(AT_FDCWD, path, buf, sizeof(buf), &len), 0);
    assert_int_equal(len, 6);
}

static void what_cannot_be_read_says_why(void **state)
{
    char buf[8], *bytes = buf;
    size_t len;
    bool cut;

    (void)state;
    assert_int_equal(file_read(AT_FDCWD, "/nonexistent", buf, sizeof(buf), &len), -ENOENT);
    assert_int_equal(file_read(AT_FDCWD, "/proc", buf, sizeof(buf), &len), -EISDIR);
    assert_int_equal(file_read_long(AT_FDCWD, "/nonexistent", 8, &bytes, &len, &cut), -ENOENT);
    assert_int_equal(file_read_long(AT_FDCWD, "/proc", 8, &bytes, &len, &cut), -EISDIR);
    assert_ptr_equal(bytes, buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_files_are_read_up_to_the_limit),
        cmocka_unit_test(short_files_are_read_into_a_buffer),
        cmocka_unit_test(what_cannot_be_read_says_why),
    };

    return cmocka_run_group_tests_name("core/file", tests, NULL, NULL);
}
