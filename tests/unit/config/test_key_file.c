#include "config/key_file.h"

#include "core/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#define DIGITS_16 "0123456789abcdef"
#define KEY       DIGITS_16 DIGITS_16 DIGITS_16 DIGITS_16

static char folder[64];
static char path[96];

static int make_folder(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/clustat-key-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/key", folder);
    return seal_start();
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_file(const char *content, mode_t mode)
{
    FILE *file;

    unlink(path);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static void assert_read(int want, const char *words)
{
    _cleanup_(buffer_deinit) struct buffer why = BUFFER_EMPTY;
    struct seal_keys keys;

    assert_int_equal(key_file_read(path, &keys, &why), want);
    buffer_put_char(&why, '\0');
    assert_non_null(strstr(why.bytes, words));
    assert_non_null(strstr(why.bytes, want ? folder : ""));
    assert_null(strstr(why.bytes, DIGITS_16));
}

static void what_is_made_can_be_read(void **state)
{
    _cleanup_(buffer_deinit) struct buffer why = BUFFER_EMPTY;
    struct seal_keys keys, again;
    struct stat stat_;

    (void)state;
    assert_int_equal(key_file_make(path, (gid_t)-1, &why), 0);
    assert_int_equal(stat(path, &stat_), 0);
    assert_int_equal(stat_.st_mode & 07777, 0600);
    assert_int_equal(key_file_read(path, &keys, &why), 0);
    assert_int_equal(keys.count, 1);

    assert_int_equal(key_file_make(path, (gid_t)-1, &why), -EEXIST);
    assert_int_equal(key_file_read(path, &again, &why), 0);
    assert_memory_equal(keys.keys[0].bytes, again.keys[0].bytes, SEAL_KEY_SIZE);

    unlink(path);
    assert_int_equal(key_file_make(path, getegid(), &why), 0);
    assert_int_equal(stat(path, &stat_), 0);
    assert_int_equal(stat_.st_mode & 07777, 0640);
    assert_int_equal(key_file_read(path, &again, &why), 0);
    assert_memory_not_equal(keys.keys[0].bytes, again.keys[0].bytes, SEAL_KEY_SIZE);
}

static void files_that_others_could_have_touched_are_refused(void **state)
{
    static const mode_t good[] = {0400, 0600, 0640, 0440}, bad[] = {0644, 0604, 0660, 0620, 0602, 0666};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        write_file("# ours\n\n" KEY "\n", good[i]);
        assert_read(0, "");
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        write_file(KEY "\n", bad[i]);
        assert_read(-EPERM, "allowed is 0600");
    }
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_read(-EPERM, "not a regular file");
    rmdir(path);
    assert_read(-ENOENT, strerror(ENOENT));
}

static void a_file_of_another_user_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    write_file(KEY "\n", 0600);
    assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
    assert_read(-EPERM, "must belong to root");
}

static void wrong_content_is_named_by_line(void **state)
{
    (void)state;
    write_file("# a comment\n" KEY "\nxyz\n", 0600);
    assert_read(-EINVAL, "key:3: ");
    write_file("", 0600);
    assert_read(-EINVAL, "key: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_can_be_read),
        cmocka_unit_test(files_that_others_could_have_touched_are_refused),
        cmocka_unit_test(a_file_of_another_user_is_refused),
        cmocka_unit_test(wrong_content_is_named_by_line),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
