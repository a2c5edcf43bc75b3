#include "server/settings.h"

#include "core/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

static char folder[64], config_path[96], key_path[96];

static int make_folder(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    unsetenv("CLUSTAT_NVML_LIB");
    snprintf(folder, sizeof(folder), "%s/clustat-set-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    snprintf(config_path, sizeof(config_path), "%s/server.toml", folder);
    snprintf(key_path, sizeof(key_path), "%s/key", folder);
    return seal_start();
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(config_path);
    unlink(key_path);
    return rmdir(folder);
}

static void write_file(const char *path, const char *content, mode_t mode)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static int load(const char *content, struct settings *settings, struct buffer *errors)
{
    struct config_report report = {.errors = BUFFER_EMPTY};
    int r;

    write_file(config_path, content, 0644);
    r = settings_load(config_path, settings, &report);
    buffer_put_text(errors, buffer_text(&report.errors));
    buffer_put_char(errors, '\0');
    config_report_deinit(&report);
    return r;
}

static void texts_become_values(void **state)
{
    static const char content[] = "[connecting]\n"
                                  "multicast_addr = \"239.1.2.3:4321\"\n"
                                  "multicast_outbound_ip = [\"127.0.0.1\"]\n"
                                  "announce_to = [\"login[1-3]\", \"10.0.0.9:5000\"]\n"
                                  "[services]\ncollector_interval_ms = 50\n"
                                  "[runtime]\nnvml_lib_path = \"/lib/x\"\ncommand_line = \"full\"\n"
                                  "[security]\nallow = [\"10.0.0.0/8\"]\n";
    _cleanup_(settings_deinit) struct settings settings;
    _cleanup_(buffer_deinit) struct buffer errors = BUFFER_EMPTY;
    struct net_address inside = net_address_ipv4(0x0a010203, 1), loopback = net_address_ipv4(0x7f000001, 1);
    struct net_cidr_list allow;

    (void)state;
    assert_int_equal(load(content, &settings, &errors), 0);
    assert_int_equal(settings.group.port, 4321);
    assert_int_equal(settings.outbound_count, 1);
    assert_int_equal(settings.target_count, 4);
    assert_string_equal(settings.targets[2], "login3");
    assert_string_equal(settings.targets[3], "10.0.0.9:5000");
    assert_int_equal(settings.sampler.tick_ns, 50 * NS_PER_MS);
    assert_int_equal(settings.sampler.command_line, COMMAND_LINE_FULL);
    assert_string_equal(settings.sampler.library_path, "/lib/x");
    assert_int_equal(settings.keys.count, 0);
    settings_allow(&settings, &allow);
    assert_true(net_cidr_list_contains(&allow, &inside));
    assert_false(net_cidr_list_contains(&allow, &loopback));
}

static void without_a_list_neighbours_may_ask(void **state)
{
    struct net_address loopback = net_address_ipv4(0x7f000001, 1), stranger = net_address_ipv4(0x08080808, 1);
    struct net_cidr_list allow;
    _cleanup_(buffer_deinit) struct buffer errors = BUFFER_EMPTY;

    (void)state;
    for (int listed = 0; listed < 2; listed++) {
        _cleanup_(settings_deinit) struct settings settings;

        assert_int_equal(load(listed ? "[security]\nallow = []\n" : "", &settings, &errors), 0);
        settings_allow(&settings, &allow);
        assert_int_equal(net_cidr_list_contains(&allow, &loopback), !listed);
        assert_false(net_cidr_list_contains(&allow, &stranger));
    }
}

static void the_environment_names_the_library_first(void **state)
{
    _cleanup_(settings_deinit) struct settings settings;
    _cleanup_(buffer_deinit) struct buffer errors = BUFFER_EMPTY;

    (void)state;
    setenv("CLUSTAT_NVML_LIB", "/lib/y", 1);
    assert_int_equal(load("[runtime]\nnvml_lib_path = \"/lib/x\"\n", &settings, &errors), 0);
    assert_string_equal(settings.sampler.library_path, "/lib/y");
    unsetenv("CLUSTAT_NVML_LIB");
}

static void errors_name_file_and_key(void **state)
{
    char with_key[256];

    (void)state;
    snprintf(with_key, sizeof(with_key), "[security]\nkey_file = \"%s\"\n", key_path);
    write_file(key_path, "0123\n", 0644);
    {
        _cleanup_(settings_deinit) struct settings settings;
        _cleanup_(buffer_deinit) struct buffer errors = BUFFER_EMPTY;

        assert_int_equal(load(with_key, &settings, &errors), -EPERM);
        assert_non_null(strstr(errors.bytes, "server.toml: security.key_file: "));
        assert_non_null(strstr(errors.bytes, "mode 0644"));
    }
    chmod(key_path, 0600);
    {
        _cleanup_(settings_deinit) struct settings settings;
        _cleanup_(buffer_deinit) struct buffer errors = BUFFER_EMPTY;

        assert_int_equal(load(with_key, &settings, &errors), -EINVAL);
        assert_non_null(strstr(errors.bytes, "key:1: "));
    }
    {
        _cleanup_(settings_deinit) struct settings settings;
        _cleanup_(buffer_deinit) struct buffer errors = BUFFER_EMPTY;

        assert_int_equal(load("[security]\nallow = [\"10.0.0.1/8\"]\n", &settings, &errors), -EINVAL);
        assert_non_null(strstr(errors.bytes, "security.allow"));
        assert_non_null(strstr(errors.bytes, "10.0.0.1/8"));
    }
}

static void keys_that_need_a_restart_are_named(void **state)
{
    _cleanup_(settings_deinit) struct settings a, b, c;
    _cleanup_(buffer_deinit) struct buffer errors = BUFFER_EMPTY, out = BUFFER_EMPTY;

    (void)state;
    assert_int_equal(load("", &a, &errors), 0);
    assert_int_equal(load("[connecting]\nudp_port = 31000\nannounce_to = [\"x\"]\n", &b, &errors), 0);
    assert_int_equal(load("[services]\ncollector_interval_ms = 30\n[security]\nallow = []\n", &c, &errors),
                     0);
    settings_put_restart(&a, &b, &out);
    buffer_put_char(&out, '\0');
    assert_string_equal(out.bytes, "connecting.udp_port, connecting.announce_to");
    buffer_clear(&out);
    settings_put_restart(&a, &c, &out);
    assert_int_equal(out.len, 0);
    assert_true(settings_same_sampler(&a, &b));
    assert_false(settings_same_sampler(&a, &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_values),
        cmocka_unit_test(without_a_list_neighbours_may_ask),
        cmocka_unit_test(the_environment_names_the_library_first),
        cmocka_unit_test(errors_name_file_and_key),
        cmocka_unit_test(keys_that_need_a_restart_are_named),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
