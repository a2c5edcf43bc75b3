#include "config/config.h"

#include "config/schema.h"
#include "core/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

/* What parsing a text gave; to be released by drop(). */
struct outcome {
    int r;
    struct config config;
    struct config_report report;
};

static struct outcome parse_as(enum config_program program, const char *content)
{
    struct outcome outcome;

    outcome.r = config_parse(program, "x.toml", text_from_string(content), &outcome.config, &outcome.report);
    return outcome;
}

static void drop(struct outcome *outcome)
{
    config_deinit(&outcome->config);
    config_report_deinit(&outcome->report);
}

static void assert_lines(const struct buffer *lines, const char *want)
{
    struct text got = buffer_text(lines);

    if (!text_equal_string(got, want))
        fail_msg("\ngot:  %.*s\nwant: %s", (int)got.len, got.bytes, want);
}

static void assert_same_lists(const struct config_list *a, const struct config_list *b)
{
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++)
        assert_string_equal(a->items[i], b->items[i]);
}

static void assert_same(const struct config *a, const struct config *b)
{
    for (unsigned i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct schema_key *key = &schema_keys[i];
        const char *in_a = (const char *)a + key->offset, *in_b = (const char *)b + key->offset;

        switch (key->type) {
        case SCHEMA_BOOLEAN:
            assert_memory_equal(in_a, in_b, sizeof(bool));
            break;
        case SCHEMA_DURATION:
            assert_memory_equal(in_a, in_b, sizeof(int64_t));
            break;
        case SCHEMA_TEXT:
            assert_string_equal(*(char *const *)(const void *)in_a, *(char *const *)(const void *)in_b);
            break;
        case SCHEMA_LIST:
            assert_same_lists((const void *)in_a, (const void *)in_b);
            break;
        case SCHEMA_INTEGER:
        case SCHEMA_PERCENT:
        case SCHEMA_CHOICE:
        case SCHEMA_PORT_RANGE:
            assert_memory_equal(in_a, in_b, 4);
            break;
        }
    }
}

static void an_empty_file_gives_the_defaults(void **state)
{
    struct outcome outcome = parse_as(CONFIG_BACKEND, "");
    const struct config *config = &outcome.config;

    (void)state;
    assert_int_equal(outcome.r, 0);
    assert_lines(&outcome.report.errors, "");
    assert_lines(&outcome.report.warnings, "");
    assert_int_equal(config->connecting.port_first, 30000);
    assert_int_equal(config->connecting.port_last, 40000);
    assert_string_equal(config->connecting.multicast_addr, "239.0.0.1:4000");
    assert_int_equal(config->connecting.multicast_outbound_ip.count, 0);
    assert_int_equal(config->connecting.multicast_ttl, 1);
    assert_int_equal(config->connecting.protocol, CONFIG_PROTOCOL_UDP);
    assert_int_equal(config->connecting.udp_port, 0);
    assert_int_equal(config->connecting.tcp_port, 0);
    assert_int_equal(config->connecting.udp_mtu, 0);
    assert_int_equal(config->connecting.heartbeat_interval_ns, 5 * NS_PER_S);
    assert_int_equal(config->connecting.connection_idle_timeout_ns, 10 * NS_PER_S);
    assert_int_equal(config->connecting.max_connections, 4096);
    assert_int_equal(config->connecting.discover_wait_ns, 5 * NS_PER_S);
    assert_int_equal(config->connecting.multicast_retry_limit, 5);
    assert_int_equal(config->connecting.static_nodes.count, 0);
    assert_int_equal(config->connecting.announce_to.count, 0);
    assert_int_equal(config->services.cache_ttl_ns, 40 * NS_PER_MS);
    assert_int_equal(config->services.collector_interval_ns, 25 * NS_PER_MS);
    assert_int_equal(config->services.node_deadline_ns, 100 * NS_PER_MS);
    assert_true(config->services.latency_display);
    assert_string_equal(config->services.uds_path, "/run/clustat/client.sock");
    assert_string_equal(config->services.state_dir, "/var/lib/clustat");
    assert_string_equal(config->runtime.nvml_lib_path, "");
    assert_int_equal(config->runtime.driver_time_ppm, 20000);
    assert_int_equal(config->runtime.stuck_call_ns, 60 * NS_PER_S);
    assert_int_equal(config->runtime.command_line, COMMAND_LINE_NAME);
    assert_string_equal(config->security.key_file, "");
    assert_int_equal(config->security.allow.count, 0);
    for (unsigned key = 0; key < CONFIG_KEY_COUNT; key++)
        assert_false(config_is_set(config, (enum config_key)key));
    drop(&outcome);

    outcome = parse_as(CONFIG_SERVER, "");
    assert_int_equal(outcome.config.connecting.max_connections, 64);
    drop(&outcome);
}

/* The defaults as the design's table writes them, put into a file, must be the defaults. */
static void the_written_defaults_are_the_defaults(void **state)
{
    struct outcome
        none = parse_as(CONFIG_SERVER, ""),
        written = parse_as(
            CONFIG_SERVER,
            "[connecting]\nport_range = [30000, 40000]\nmulticast_addr = \"239.0.0.1:4000\"\n"
            "multicast_outbound_ip = []\nmulticast_ttl = 1\nprotocol = \"udp\"\nudp_port = 0\ntcp_port = 0\n"
            "udp_mtu = 0\nheartbeat_interval = 5\nconnection_idle_timeout = 10\nmax_connections = 64\n"
            "discover_wait_secs = 5\nmulticast_retry_limit = 5\nstatic_nodes = []\nannounce_to = []\n"
            "[services]\ncache_ttl_ms = 40\ncollector_interval_ms = 25\nnode_deadline_ms = 100\n"
            "latency_display = true\nuds_path = \"/run/clustat/client.sock\"\nstate_dir = "
            "\"/var/lib/clustat\"\n"
            "[runtime]\nnvml_lib_path = \"\"\ndriver_time_percent = 2.0\nstuck_call_secs = 60\n"
            "command_line = \"name\"\n");
    const uint64_t unset = UINT64_C(1) << CONFIG_KEY_KEY_FILE | UINT64_C(1) << CONFIG_KEY_ALLOW;

    (void)state;
    assert_int_equal(written.r, 0);
    assert_same(&none.config, &written.config);
    assert_true(written.config.set_keys == (((UINT64_C(1) << CONFIG_KEY_COUNT) - 1) & ~unset));
    drop(&none);
    drop(&written);
}

static void every_key_can_be_set(void **state)
{
    struct outcome outcome = parse_as(
        CONFIG_SERVER,
        "[connecting]\nport_range = [1, 65535]\nmulticast_addr = \"\"\nmulticast_outbound_ip = "
        "[\"10.0.0.1\"]\n"
        "multicast_ttl = 255\nprotocol = \"tcp\"\nudp_port = 65535\ntcp_port = 1\nudp_mtu = 9000\n"
        "heartbeat_interval = 0.5\nconnection_idle_timeout = \"2m\"\nmax_connections = 65536\n"
        "discover_wait_secs = 0\nmulticast_retry_limit = 0\n"
        "static_nodes = [\"gpu[01-08]:30000\", \"172.16.108.10:30000\", \"login\"]\n"
        "announce_to = [\"login1\", \"login2\"]\n"
        "[services]\ncache_ttl_ms = 0\ncollector_interval_ms = 2.5\nnode_deadline_ms = \"1s\"\n"
        "latency_display = false\nuds_path = \"/tmp/s\"\nstate_dir = \"/tmp\"\n"
        "[runtime]\nnvml_lib_path = \"/opt/libnvidia-ml.so.1\"\ndriver_time_percent = 5\nstuck_call_secs = "
        "1\n"
        "command_line = \"full\"\n"
        "[security]\nkey_file = \"/etc/clustat/key\"\nallow = [\"10.0.0.0/8\", \"fd00::/8\", \"::1\"]\n");
    const struct config *config = &outcome.config;

    (void)state;
    assert_lines(&outcome.report.errors, "");
    assert_int_equal(outcome.r, 0);
    assert_true(config->set_keys == (UINT64_C(1) << CONFIG_KEY_COUNT) - 1);
    assert_int_equal(config->connecting.port_first, 1);
    assert_int_equal(config->connecting.port_last, 65535);
    assert_string_equal(config->connecting.multicast_addr, "");
    assert_string_equal(config->connecting.multicast_outbound_ip.items[0], "10.0.0.1");
    assert_int_equal(config->connecting.multicast_ttl, 255);
    assert_int_equal(config->connecting.protocol, CONFIG_PROTOCOL_TCP);
    assert_int_equal(config->connecting.udp_port, 65535);
    assert_int_equal(config->connecting.tcp_port, 1);
    assert_int_equal(config->connecting.udp_mtu, 9000);
    assert_int_equal(config->connecting.heartbeat_interval_ns, NS_PER_S / 2);
    assert_int_equal(config->connecting.connection_idle_timeout_ns, 120 * NS_PER_S);
    assert_int_equal(config->connecting.max_connections, 65536);
    assert_int_equal(config->connecting.discover_wait_ns, 0);
    assert_int_equal(config->connecting.multicast_retry_limit, 0);
    assert_int_equal(config->connecting.static_nodes.count, 3);
    assert_string_equal(config->connecting.static_nodes.items[0], "gpu[01-08]:30000");
    assert_string_equal(config->connecting.static_nodes.items[2], "login");
    assert_string_equal(config->connecting.announce_to.items[1], "login2");
    assert_int_equal(config->services.cache_ttl_ns, 0);
    assert_int_equal(config->services.collector_interval_ns, 2500 * NS_PER_US);
    assert_int_equal(config->services.node_deadline_ns, NS_PER_S);
    assert_false(config->services.latency_display);
    assert_string_equal(config->services.uds_path, "/tmp/s");
    assert_string_equal(config->runtime.nvml_lib_path, "/opt/libnvidia-ml.so.1");
    assert_int_equal(config->runtime.driver_time_ppm, 50000);
    assert_int_equal(config->runtime.stuck_call_ns, NS_PER_S);
    assert_int_equal(config->runtime.command_line, COMMAND_LINE_FULL);
    assert_string_equal(config->security.key_file, "/etc/clustat/key");
    assert_int_equal(config->security.allow.count, 3);
    drop(&outcome);
}

static void what_is_not_allowed_is_told_with_its_place(void **state)
{
    static const struct {
        const char *content, *error;
    } cases[] = {
        {"[connecting]\n\nprotocol = \"tpc\"\n",
         "x.toml:3: connecting.protocol is the text \"tpc\"; allowed is \"udp\" or \"tcp\"\n"},
        {"services.cache_ttl_ms = true", "x.toml:1: services.cache_ttl_ms is true; allowed is milliseconds "
                                         "from 0 to 60000, or a text such as "
                                         "\"500ms\", \"5s\", \"2m\"\n"},
        {"connecting.udp_port = 65536",
         "x.toml:1: connecting.udp_port is 65536; allowed is a whole number from 0 to 65535\n"},
        {"connecting.udp_port = 1.0",
         "x.toml:1: connecting.udp_port is 1; allowed is a whole number from 0 to 65535\n"},
        {"connecting.udp_mtu = 100",
         "x.toml:1: connecting.udp_mtu is 100; allowed is 0, or a whole number from 576 to 65535\n"},
        {"runtime.driver_time_percent = nan",
         "x.toml:1: runtime.driver_time_percent is nan; allowed is a number from 0.01 to 100\n"},
        {"connecting.static_nodes = [\n\"a\",\n\"b c\"]",
         "x.toml:3: connecting.static_nodes holds the text \"b c\"; allowed is a list of texts: host names "
         "or "
         "addresses, with or without :port; host lists such as gpu[01-08]\n"},
        {"connecting.static_nodes = \"a\"",
         "x.toml:1: connecting.static_nodes is the text \"a\"; allowed is a list of texts: host names or "
         "addresses, with or without :port; host lists such as gpu[01-08]\n"},
        {"services.latency_display = 1",
         "x.toml:1: services.latency_display is 1; allowed is true or false\n"},
        {"[services.uds_path]\nx = 1", "x.toml:1: services.uds_path is a table; allowed is a text: an "
                                       "absolute path of at most 107 bytes\n"},
        {"services = 7", "x.toml:1: services is 7; allowed is a table\n"},
        {"services.state_dir = \"/a\\u001b[31mb\"",
         "x.toml:1: services.state_dir is the text \"/a^[[31mb\"; allowed is a text: an absolute path\n"},
        {"connecting.port_range = [2, 1]", "x.toml:1: connecting.port_range is a list of 2; allowed is a "
                                           "list of two ports, the first not above the "
                                           "last\n"},
        {"security.allow = [1979-05-27]", "x.toml:1: security.allow holds a date or time; allowed is a list "
                                          "of texts: networks such as 10.0.0.0/8, "
                                          "or addresses\n"},
        {"connecting.udp_port = -1\nconnecting.tcp_port = 70000\n",
         "x.toml:2: connecting.tcp_port is 70000; allowed is a whole number from 0 to 65535\n"
         "x.toml:1: connecting.udp_port is -1; allowed is a whole number from 0 to 65535\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome outcome = parse_as(CONFIG_SERVER, cases[i].content),
                       none = parse_as(CONFIG_SERVER, "");

        assert_int_equal(outcome.r, -EINVAL);
        assert_lines(&outcome.report.errors, cases[i].error);
        assert_same(&outcome.config, &none.config); /* a wrong value changes nothing */
        assert_true(outcome.config.set_keys == 0);
        drop(&none);
        drop(&outcome);
    }
}

static void texts_are_checked(void **state)
{
    static const struct {
        const char *content;
        bool good;
    } cases[] = {
        {"connecting.multicast_addr = \"239.1.2.3:1\"", true},
        {"connecting.multicast_addr = \"10.1.2.3:4000\"", false}, /* not multicast */
        {"connecting.multicast_addr = \"239.1.2.3\"", false},
        {"connecting.multicast_addr = \"239.1.2.3:0\"", false},
        {"connecting.multicast_addr = \"239.1.2.3:65536\"", false},
        {"connecting.multicast_addr = \":4000\"", false},
        {"connecting.multicast_outbound_ip = [\"10.0.0.256\"]", false},
        {"connecting.multicast_outbound_ip = [\"eth0\"]", false},
        {"connecting.static_nodes = [\"\"]", false},
        {"connecting.static_nodes = [\"a:0\"]", false},
        {"connecting.static_nodes = [\"a:b\"]", false},
        {"connecting.static_nodes = [\":30000\"]", false},
        {"connecting.static_nodes = [\"gpu[1-\"]", false},
        {"connecting.static_nodes = [\"gpu[1-4294967295]\"]", false},
        {"connecting.static_nodes = [\"a,b:1\", \"fe80::1\"]", true},
        {"connecting.static_nodes = [1]", false},
        {"services.uds_path = \"relative\"", false},
        {"services.uds_path = \"\"", false},
        {"services.state_dir = \"/a\\u0000b\"", false},
        {"security.allow = [\"10.0.0.0/33\"]", false},
        {"security.allow = [\"fd00::/129\"]", false},
        {"security.allow = [\"10.0.0.0/\"]", false},
        {"security.allow = [\"/8\"]", false},
        {"security.allow = [\"fd00::/128\", \"10.1.2.3\"]", true},
        {"connecting.heartbeat_interval = \"5\"", false},
        {"connecting.heartbeat_interval = \"5 s\"", false},
        {"connecting.heartbeat_interval = \"-5s\"", false},
        {"connecting.heartbeat_interval = \"99999999999h\"", false},
        {"connecting.heartbeat_interval = \"1h\"", true},
        {"connecting.heartbeat_interval = \"61m\"", false},
        {"connecting.heartbeat_interval = inf", false},
        {"connecting.heartbeat_interval = -9223372036854775808", false},
        {"runtime.driver_time_percent = 100", true},
        {"runtime.driver_time_percent = 0", false},
        {"runtime.driver_time_percent = 1e300", false},
    };
    char content[200], path[110];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome outcome = parse_as(CONFIG_SERVER, cases[i].content);

        if ((outcome.r == 0) != cases[i].good)
            fail_msg("%s: %d", cases[i].content, outcome.r);
        drop(&outcome);
    }
    for (size_t len = 107; len <= 108; len++) { /* sockaddr_un */
        struct outcome outcome;

        memset(path, 'x', len);
        path[0] = '/';
        path[len] = '\0';
        snprintf(content, sizeof(content), "services.uds_path = \"%s\"", path);
        outcome = parse_as(CONFIG_CLI, content);
        assert_int_equal(outcome.r, len == 107 ? 0 : -EINVAL);
        drop(&outcome);
    }
}

static void bad_toml_gives_line_and_column(void **state)
{
    static const struct {
        const char *content, *begins, *ends;
    } cases[] = {
        {"[connecting]\nprotocol = udp\n", "x.toml:2: ", " (column 12)\n"},
        {"a = 1\na = 2\n", "x.toml:2: ", ")\n"},
        {"[connecting\n", "x.toml:1: ", ")\n"},
        {"a = \"\xff\"", "x.toml:1: ", ")\n"},
        {"a = 99999999999999999999", "x.toml:1: ", ")\n"},
        {"[ =", "x.toml:1: ", " (column 3)\n"}, /* an assertion of toml++ fails on it */
        {"a = \xc3\xa9", "x.toml:1: ", ")\n"},  /* and here it promises what does not hold */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome outcome = parse_as(CONFIG_SERVER, cases[i].content);
        struct text got = buffer_text(&outcome.report.errors);
        size_t begin = strlen(cases[i].begins), end = strlen(cases[i].ends);

        assert_int_equal(outcome.r, -EINVAL);
        if (got.len <= begin + end || memcmp(got.bytes, cases[i].begins, begin) ||
            memcmp(got.bytes + got.len - end, cases[i].ends, end))
            fail_msg("%.*s", (int)got.len, got.bytes);
        assert_null(memchr(got.bytes, '\n', got.len - 1));
        drop(&outcome);
    }
}

static void unknown_keys_are_warned_of(void **state)
{
    static const struct {
        enum config_program program;
        const char *content, *warning;
    } cases[] = {
        {CONFIG_BACKEND, "[connecting]\nprotocl = \"udp\"\n",
         "x.toml:2: unknown key connecting.protocl; did you mean connecting.protocol?\n"},
        {CONFIG_BACKEND, "conecting.protocol = \"udp\"\n",
         "x.toml:1: unknown key conecting.protocol; did you mean connecting.protocol?\n"},
        {CONFIG_BACKEND, "runtime.cache_ttl_ms = 1\n",
         "x.toml:1: unknown key runtime.cache_ttl_ms; did you mean services.cache_ttl_ms?\n"},
        {CONFIG_BACKEND, "services.cache_ttl = 1\n",
         "x.toml:1: unknown key services.cache_ttl; did you mean services.cache_ttl_ms?\n"},
        {CONFIG_BACKEND, "colour = 1\n", "x.toml:1: unknown key colour\n"},
        {CONFIG_BACKEND, "[a.b.c]\nd = 1\n", "x.toml:2: unknown key a.b.c.d\n"},
        {CONFIG_BACKEND, "[empty]\n", "x.toml:1: unknown key empty\n"},
        {CONFIG_BACKEND, "[connecting]\n[services]\n", ""},
        {CONFIG_BACKEND, "\"connecting.udp_mtu\" = 9000\n",
         "x.toml:1: unknown key connecting.udp_mtu in quotes, which make it one name; write it without\n"},
        {CONFIG_BACKEND, "\"\\u001b[31m\" = 1\n", "x.toml:1: unknown key ^[[31m\n"},
        {CONFIG_SERVER, "[log]\nlevel = \"info\"\nfile.path = \"/x\"\n", ""}, /* the first clustat's */
        {CONFIG_SERVER, "services.state_dir = \"/x\"\n",
         "x.toml:1: services.state_dir has no effect here: only the backend or the CLI reads it\n"},
        {CONFIG_BACKEND, "runtime.nvml_lib_path = \"/x\"\nservices.uds_path = \"/x\"\n", ""},
        {CONFIG_CLI, "connecting.udp_port = 7\n",
         "x.toml:1: connecting.udp_port has no effect here: only the server reads it\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome outcome = parse_as(cases[i].program, cases[i].content);

        assert_int_equal(outcome.r, 0);
        assert_lines(&outcome.report.errors, "");
        assert_lines(&outcome.report.warnings, cases[i].warning);
        drop(&outcome);
    }
}

static void many_problems_are_counted_and_long_ones_cut(void **state)
{
    _cleanup_(buffer_deinit) struct buffer content = BUFFER_EMPTY;
    struct outcome outcome;
    struct text warnings;
    unsigned lines = 0;

    (void)state;
    buffer_put_repeated(&content, 'k', 5000);
    buffer_put_string(&content, " = 1\n");
    for (unsigned i = 1; i < CONFIG_MAX_PROBLEMS + 7; i++)
        buffer_printf(&content, "k%u = 1\n", i);
    buffer_put_char(&content, '\0');
    outcome = parse_as(CONFIG_SERVER, content.bytes);
    warnings = buffer_text(&outcome.report.warnings);
    for (size_t i = 0; i < warnings.len; i++)
        lines += warnings.bytes[i] == '\n';
    assert_int_equal(lines, CONFIG_MAX_PROBLEMS + 1);
    assert_true(warnings.len < CONFIG_MAX_PROBLEMS * 100);
    assert_non_null(memmem(warnings.bytes, warnings.len, "... and 7 more\n", 15));
    drop(&outcome);
}

static void a_hostile_file_ends_in_an_error(void **state)
{
    _cleanup_(buffer_deinit) struct buffer content = BUFFER_EMPTY;
    struct outcome outcome;

    (void)state;
    buffer_put_string(&content, "a = ");
    buffer_put_repeated(&content, '[', 100000);
    buffer_put_char(&content, '\0');
    outcome = parse_as(CONFIG_SERVER, content.bytes);
    assert_int_equal(outcome.r, -EINVAL);
    drop(&outcome);
}

/* ---- files and the environment ---- */

static char folder[] = "/tmp/clustat-config-XXXXXX";
static char file[sizeof(folder) + 16];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof(file), "%s/a.toml", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

static void write_file(const void *bytes, size_t len)
{
    _cleanup_(cleanup_close) int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
}

static struct outcome load(enum config_program program, const char *path)
{
    struct outcome outcome;

    outcome.r = config_load(program, path, &outcome.config, &outcome.report);
    return outcome;
}

static void the_file_is_found(void **state)
{
    struct outcome outcome;
    char want[128];

    (void)state;
    write_file("services.cache_ttl_ms = 7\n", 26);
    outcome = load(CONFIG_CLI, file);
    assert_int_equal(outcome.r, 0);
    assert_true(outcome.config.file_found);
    assert_string_equal(outcome.config.path, file);
    assert_int_equal(outcome.config.services.cache_ttl_ns, 7 * NS_PER_MS);
    drop(&outcome);

    setenv("CLUSTAT_CONFIG", file, 1);
    outcome = load(CONFIG_CLI, NULL);
    assert_string_equal(outcome.config.path, file);
    assert_true(config_is_set(&outcome.config, CONFIG_KEY_CACHE_TTL_MS));
    drop(&outcome);
    outcome = load(CONFIG_CLI, "/nonexistent"); /* the argument comes first; absent is no error */
    assert_int_equal(outcome.r, 0);
    assert_false(outcome.config.file_found);
    assert_lines(&outcome.report.warnings, "/nonexistent: there is no such file; the defaults are used\n");
    drop(&outcome);
    setenv("CLUSTAT_CONFIG", "", 1);
    outcome = load(CONFIG_SERVER, NULL);
    assert_string_equal(outcome.config.path, "/etc/clustat/server.toml");
    drop(&outcome);
    unsetenv("CLUSTAT_CONFIG");
    outcome = load(CONFIG_BACKEND, NULL);
    assert_string_equal(outcome.config.path, "/etc/clustat/client.toml");
    drop(&outcome);

    outcome = load(CONFIG_CLI, folder);
    assert_int_equal(outcome.r, -EISDIR);
    assert_true(outcome.config.file_found);
    snprintf(want, sizeof(want), "%s: cannot be read: Is a directory\n", folder);
    assert_lines(&outcome.report.errors, want);
    assert_int_equal(outcome.config.services.cache_ttl_ns, 40 * NS_PER_MS); /* usable all the same */
    drop(&outcome);
}

static void a_file_that_is_too_large_is_refused(void **state)
{
    char *bytes = test_malloc(CONFIG_MAX_BYTES + 1), want[128];
    struct outcome outcome;

    (void)state;
    memset(bytes, '\n', CONFIG_MAX_BYTES + 1);
    write_file(bytes, CONFIG_MAX_BYTES);
    outcome = load(CONFIG_CLI, file);
    assert_int_equal(outcome.r, 0);
    drop(&outcome);
    write_file(bytes, CONFIG_MAX_BYTES + 1);
    outcome = load(CONFIG_CLI, file);
    assert_int_equal(outcome.r, -EFBIG);
    snprintf(want, sizeof(want), "%s: cannot be read: it is larger than 1 MiB\n", file);
    assert_lines(&outcome.report.errors, want);
    drop(&outcome);
    test_free(bytes);
}

static void the_environment_adds_nodes(void **state)
{
    struct outcome outcome;

    (void)state;
    write_file("connecting.static_nodes = [\"a\"]\n", 32);
    setenv("CLUSTAT_STATIC_NODES", "172.16.108.10:30000, gpu[01,03]", 1);
    outcome = load(CONFIG_BACKEND, file);
    assert_int_equal(outcome.r, 0);
    assert_int_equal(outcome.config.connecting.static_nodes.count, 3);
    assert_string_equal(outcome.config.connecting.static_nodes.items[0], "a");
    assert_string_equal(outcome.config.connecting.static_nodes.items[1], "172.16.108.10:30000");
    assert_string_equal(outcome.config.connecting.static_nodes.items[2], "gpu[01,03]");
    drop(&outcome);
    outcome = load(CONFIG_SERVER, file);
    assert_int_equal(outcome.config.connecting.static_nodes.count, 1);
    drop(&outcome);

    setenv("CLUSTAT_STATIC_NODES", "b,x y,c[", 1);
    outcome = load(CONFIG_BACKEND, file);
    assert_int_equal(outcome.r, -EINVAL);
    assert_int_equal(outcome.report.error_count > 0, 1);
    drop(&outcome);
    setenv("CLUSTAT_STATIC_NODES", "b,x y,c", 1);
    outcome = load(CONFIG_BACKEND, file);
    assert_lines(&outcome.report.errors,
                 "CLUSTAT_STATIC_NODES: the text \"x y\"; allowed is a list of texts: host "
                 "names or addresses, with or without :port; host lists such as "
                 "gpu[01-08]\n");
    assert_int_equal(outcome.config.connecting.static_nodes.count, 3);
    drop(&outcome);
    unsetenv("CLUSTAT_STATIC_NODES");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_gives_the_defaults),
        cmocka_unit_test(the_written_defaults_are_the_defaults),
        cmocka_unit_test(every_key_can_be_set),
        cmocka_unit_test(what_is_not_allowed_is_told_with_its_place),
        cmocka_unit_test(texts_are_checked),
        cmocka_unit_test(bad_toml_gives_line_and_column),
        cmocka_unit_test(unknown_keys_are_warned_of),
        cmocka_unit_test(many_problems_are_counted_and_long_ones_cut),
        cmocka_unit_test(a_hostile_file_ends_in_an_error),
        cmocka_unit_test(the_file_is_found),
        cmocka_unit_test(a_file_that_is_too_large_is_refused),
        cmocka_unit_test(the_environment_adds_nodes),
    };

    return cmocka_run_group_tests_name("config/config", tests, make_folder, remove_folder);
}
