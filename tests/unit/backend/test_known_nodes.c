#include "backend/known_nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct known_node node(const char *hostname, uint32_t address)
{
    struct known_node node = {
        .software = "0.1.0", .udp_port = 30000, .answered_unix_us = 1700000000000001, .address_count = 1};

    snprintf(node.hostname, sizeof(node.hostname), "%s", hostname);
    memset(node.identity, (int)address, sizeof(node.identity));
    node.addresses[0] = net_address_ipv4(0x0a000000 + address, 0);
    return node;
}

static void assert_same(const struct known_node *a, const struct known_node *b)
{
    assert_memory_equal(a->identity, b->identity, sizeof(a->identity));
    assert_string_equal(a->hostname, b->hostname);
    assert_string_equal(a->software, b->software);
    assert_int_equal(a->address_count, b->address_count);
    for (size_t i = 0; i < a->address_count; i++)
        assert_true(net_address_equal(&a->addresses[i], &b->addresses[i]));
    assert_int_equal(a->udp_port, b->udp_port);
    assert_int_equal(a->tcp_port, b->tcp_port);
    assert_int_equal(a->answered_unix_us, b->answered_unix_us);
    assert_int_equal(a->stopped, b->stopped);
}

static void what_is_written_is_read(void **state)
{
    struct known_node nodes[] = {node("gpu1", 1),
                                 node("gr\xc3\xb6\xc3\x9f"
                                      "e \"2\"\\",
                                      2),
                                 node("", 3)};
    struct known_nodes read;
    struct buffer content = BUFFER_EMPTY, why = BUFFER_EMPTY;

    (void)state;
    nodes[1].stopped = true;
    nodes[1].tcp_port = 65535;
    nodes[2].udp_port = 0;
    nodes[2].tcp_port = 1;
    nodes[2].answered_unix_us = 0;
    assert_int_equal(net_address_parse(TEXT_LITERAL("fd00::7"), 0, &nodes[2].addresses[1]), 0);
    nodes[2].address_count = 2;
    known_nodes_put(nodes, 3, &content);
    assert_int_equal(known_nodes_parse(buffer_text(&content), &read, &why), 0);
    assert_int_equal(read.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_same(&read.nodes[i], &nodes[i]);
    known_nodes_deinit(&read);
    /* A file that ends early is refused, wherever it ends. */
    for (size_t len = 0; len + 2 < content.len; len++) {
        buffer_clear(&why);
        assert_int_equal(known_nodes_parse((struct text){content.bytes, len}, &read, &why), -EBADMSG);
        assert_true(why.len > 0);
    }
    buffer_deinit(&content);
    buffer_deinit(&why);
}

#define ID   "\"identity\": \"00112233445566778899aabbccddeeff\""
#define NAME "\"hostname\": \"a\", \"software\": \"1\""
#define ADDR "\"addresses\": [\"10.0.0.1\"]"
#define PORT "\"udp_port\": 1, \"tcp_port\": 0"
#define REST "\"answered_unix_us\": 1, \"stopped\": false"

static void wrong_content_is_refused_in_words(void **state)
{
    static const struct {
        const char *nodes, *says;
    } cases[] = {
        {"5", "node 1: is no object"},
        {"{" NAME "," ADDR "," PORT "," REST "}", "identity"},
        {"{\"identity\": \"00112233445566778899AABBCCDDEEFF\"," NAME "," ADDR "," PORT "," REST "}",
         "identity"},
        {"{\"identity\": \"00\"," NAME "," ADDR "," PORT "," REST "}", "identity"},
        {"{" ID ",\"software\": \"1\"," ADDR "," PORT "," REST "}", "hostname"},
        {"{" ID ",\"hostname\": 5, \"software\": \"1\"," ADDR "," PORT "," REST "}", "hostname"},
        {"{" ID "," NAME ",\"addresses\": []," PORT "," REST "}", "addresses"},
        {"{" ID "," NAME ",\"addresses\": [\"host\"]," PORT "," REST "}", "addresses"},
        {"{" ID "," NAME ",\"addresses\": [\"10.0.0.1:5\"]," PORT "," REST "}", "addresses"},
        {"{" ID "," NAME ",\"addresses\": [\"239.0.0.1\"]," PORT "," REST "}", "addresses"},
        {"{" ID "," NAME ",\"addresses\": [\"0.0.0.0\"]," PORT "," REST "}", "addresses"},
        {"{" ID "," NAME "," ADDR ",\"udp_port\": 0, \"tcp_port\": 0," REST "}", "port"},
        {"{" ID "," NAME "," ADDR ",\"udp_port\": 65536, \"tcp_port\": 0," REST "}", "port"},
        {"{" ID "," NAME "," ADDR ",\"udp_port\": 1.5, \"tcp_port\": 0," REST "}", "port"},
        {"{" ID "," NAME "," ADDR "," PORT ",\"answered_unix_us\": -1, \"stopped\": false}", "answered"},
        {"{" ID "," NAME "," ADDR "," PORT ",\"answered_unix_us\": 1, \"stopped\": 0}", "stopped"},
        {"{" ID "," ID "," NAME "," ADDR "," PORT "," REST "}", "duplicate"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buffer content = BUFFER_EMPTY, why = BUFFER_EMPTY;
        struct known_nodes read;

        buffer_printf(&content, "{\"version\": 1, \"nodes\": [%s]}", cases[i].nodes);
        assert_int_equal(known_nodes_parse(buffer_text(&content), &read, &why), -EBADMSG);
        buffer_put_char(&why, '\0');
        if (!strstr(why.bytes, cases[i].says))
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, why.bytes, cases[i].says);
        buffer_deinit(&content);
        buffer_deinit(&why);
    }
}

static void newer_members_are_skipped(void **state)
{
    struct known_nodes read;
    struct buffer why = BUFFER_EMPTY;

    (void)state;
    assert_int_equal(
        known_nodes_parse(TEXT_LITERAL("{\"version\": 1, \"x\": 1, \"nodes\": [{\"new\": [1], " ID "," NAME
                                       "," ADDR "," PORT "," REST "}]}"),
                          &read, &why),
        0);
    assert_int_equal(read.count, 1);
    known_nodes_deinit(&read);
}

struct folder {
    char path[64], file[96], aside[96];
};

static int make_folder(void **state)
{
    static struct folder folder;

    strcpy(folder.path, "/tmp/known-nodes-XXXXXX");
    if (!mkdtemp(folder.path))
        return -1;
    snprintf(folder.file, sizeof(folder.file), "%s/" KNOWN_NODES_FILE, folder.path);
    snprintf(folder.aside, sizeof(folder.aside), "%s/" KNOWN_NODES_ASIDE, folder.path);
    *state = &folder;
    return 0;
}

static int remove_folder(void **state)
{
    struct folder *folder = *state;

    unlink(folder->file);
    unlink(folder->aside);
    return rmdir(folder->path);
}

static void put_file(const char *path, const char *content)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static void a_file_is_saved_and_loaded(void **state)
{
    struct folder *folder = *state;
    struct known_node one = node("gpu1", 1);
    struct buffer content = BUFFER_EMPTY, why = BUFFER_EMPTY;
    struct known_nodes read;
    struct stat info;

    assert_int_equal(known_nodes_load(folder->path, &read, &why), KNOWN_NODES_NONE);
    known_nodes_put(&one, 1, &content);
    assert_int_equal(known_nodes_save(folder->path, buffer_text(&content)), 0);
    assert_int_equal(known_nodes_save(folder->path, buffer_text(&content)), 0); /* over the old one */
    assert_int_equal(known_nodes_load(folder->path, &read, &why), KNOWN_NODES_LOADED);
    assert_int_equal(read.count, 1);
    assert_same(&read.nodes[0], &one);
    assert_int_equal(stat(folder->file, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    known_nodes_deinit(&read);
    buffer_deinit(&content);
    buffer_deinit(&why);
}

static void a_damaged_file_is_set_aside(void **state)
{
    struct folder *folder = *state;
    struct buffer why = BUFFER_EMPTY;
    struct known_nodes read;

    put_file(folder->file, "{\"version\": 1, \"no");
    assert_int_equal(known_nodes_load(folder->path, &read, &why), KNOWN_NODES_SET_ASIDE);
    assert_int_equal(read.count, 0);
    assert_int_equal(access(folder->file, F_OK), -1);
    assert_int_equal(access(folder->aside, F_OK), 0);
    buffer_put_char(&why, '\0');
    assert_non_null(strstr(why.bytes, folder->file));
    assert_non_null(strstr(why.bytes, "line 1"));
    assert_non_null(strstr(why.bytes, "set aside"));
    assert_int_equal(known_nodes_load(folder->path, &read, &why), KNOWN_NODES_NONE);
    buffer_deinit(&why);
}

static void no_folder_is_an_error(void **state)
{
    struct buffer why = BUFFER_EMPTY;
    struct known_nodes read;

    (void)state;
    assert_int_equal(known_nodes_save("/no/such/folder", TEXT_LITERAL("x")), -ENOENT);
    assert_int_equal(known_nodes_load("/no/such/folder", &read, &why), KNOWN_NODES_NONE);
    assert_int_equal(known_nodes_load("/etc/passwd", &read, &why), -ENOTDIR);
    buffer_deinit(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(wrong_content_is_refused_in_words),
        cmocka_unit_test(newer_members_are_skipped),
        cmocka_unit_test_setup_teardown(a_file_is_saved_and_loaded, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_set_aside, make_folder, remove_folder),
        cmocka_unit_test(no_folder_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
