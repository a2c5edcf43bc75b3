#include "host/identity.h"
#include "host/memory.h"

#include "fake_proc.h"

#include <stdint.h>
#include <sys/utsname.h>

static void the_node_has_a_name(void **state)
{
    char name[NODE_NAME_MAX + 1], longest[400];
    struct utsname kernel;

    (void)state;
    assert_int_equal(uname(&kernel), 0);
    unsetenv("CLUSTAT_HOSTNAME");
    assert_string_equal(identity_node_name(name), kernel.nodename);
    setenv("CLUSTAT_HOSTNAME", "", 1);
    assert_string_equal(identity_node_name(name), kernel.nodename);
    setenv("CLUSTAT_HOSTNAME", "gpu7", 1);
    assert_string_equal(identity_node_name(name), "gpu7");
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    setenv("CLUSTAT_HOSTNAME", longest, 1);
    assert_int_equal(strlen(identity_node_name(name)), NODE_NAME_MAX);
}

static void the_machine_has_an_id_of_one_word(void **state)
{
    char id[MACHINE_ID_MAX + 1], want[MACHINE_ID_MAX + 1] = "";
    FILE *file = fopen("/etc/machine-id", "r");

    (void)state;
    memset(id, 'x', sizeof(id));
    assert_ptr_equal(identity_machine_id(id), id);
    assert_null(strpbrk(id, " \t\n"));
    if (file && fgets(want, sizeof(want), file) && strncmp(want, "uninitialized", 13) != 0 &&
        want[0] != '\n') {
        want[strcspn(want, "\n")] = '\0';
        assert_string_equal(id, want);
    }
    if (file)
        fclose(file);
}

static void main_memory_is_read(void **state)
{
    static const struct {
        const char *content;
        int want;
    } files[] = {
        {"MemTotal:       65842972 kB\nMemFree:  1 kB\nMemAvailable:   51200000 kB\n", 0},
        {"MemAvailable:   51200000 kB\nMemTotal:       65842972 kB", 0},
        {"MemTotal:       65842972 kB\nMemFree:  1 kB\n", -EBADMSG}, /* Linux before 3.14 */
        {"MemTotal:       1 kB\nMemAvailable:   2 kB\n", -EBADMSG},
        {"MemTotal:       65842972 kB\nMemAvailable:   51200000\n", -EBADMSG},
        {"MemTotal:       99999999999999999999 kB\nMemAvailable:   1 kB\n", -EBADMSG},
        {"MemTotal:\nMemAvailable: kB\n", -EBADMSG},
        {"", -EBADMSG},
    };
    struct fake_proc proc;
    struct host_memory memory;

    (void)state;
    fake_proc_init(&proc);
    assert_int_equal(host_memory_read(proc.root, &memory), -ENOENT);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        fake_proc_write_string(&proc, "meminfo", files[i].content);
        assert_int_equal(host_memory_read(proc.root, &memory), files[i].want);
        assert_true(memory.total_bytes == UINT64_C(65842972) * 1024);
        assert_true(memory.available_bytes == UINT64_C(51200000) * 1024);
    }
    fake_proc_remove(&proc, "");
    assert_int_equal(host_memory_read(proc.root, &memory), -ENOENT);
    assert_int_equal(host_memory_read("/proc", &memory), 0);
    assert_true(memory.available_bytes > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_node_has_a_name),
        cmocka_unit_test(the_machine_has_an_id_of_one_word),
        cmocka_unit_test(main_memory_is_read),
    };

    return cmocka_run_group_tests_name("host/machine", tests, NULL, NULL);
}
