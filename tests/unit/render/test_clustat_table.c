/* The table under clustat's own name: the same layout, columns that stay aligned, and what is wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "picture.h"

#include "core/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *draw(const char *lines, const char *more_lines)
{
    struct picture picture;
    char *table;

    picture_init(&picture);
    picture_draw(&picture, "option clustat");
    picture_draw(&picture, lines);
    picture_draw(&picture, more_lines);
    table = picture_table(&picture);
    picture_deinit(&picture);
    return table;
}

static void expect(const char *lines, const char *more_lines, const char *expected)
{
    char *table = draw(lines, more_lines);

    assert_string_equal(table, expected);
    free(table);
}

/* The one line of a node without devices. */
static void expect_header(const char *lines, const char *expected)
{
    expect("node host\ndriver 580.95.05\ndevice 0 A\nid 7\n", lines, expected);
}

#define HEADER "host                 Mon Nov 30 19:47:17 2026  580.95.05"

static void columns_stay_aligned(void **state)
{
    (void)state;
    expect("node one\ndriver 580.95.05\ndevice 9 NVIDIA H200\npower_mw 99000\npower_limit_mw 700000\n"
           "memory_used_bytes 1048576\nmemory_total_bytes 1099511627776\ndevice 10 A\n"
           "node two-with-a-very-long-name\ndriver 1\ndevice 0 测试\npower_mw 1234000\n",
           "option power 2\noption no-processes\n",
           "one                        Mon Nov 30 19:47:17 2026  580.95.05\n"
           "[9]  NVIDIA H200 | ??°C,  ?? %,    99 / 700 W |     1 / 1048576 MB\n"
           "[10] A           | ??°C,  ?? %,    ?? /  ?? W |    ?? /      ?? MB\n"
           "two-with-a-very-long-name  Mon Nov 30 19:47:17 2026  1\n"
           "[0]  测试        | ??°C,  ?? %,  1234 /  ?? W |    ?? /      ?? MB\n");
}

static void instances_stand_under_their_gpu(void **state)
{
    (void)state;
    expect("node n\ndriver 1\ndevice 0 NVIDIA A100\nentry compute 5 1048576 1 0\nentry compute 6 2097152\n"
           "instance 0 1 NVIDIA A100 MIG 3g.40gb\ngpu_instance_id 1\ncompute_instance_id 0\n"
           "entry compute 5 1048576 1 0\ndevice 1 NVIDIA A100\n",
           "option no-header\n",
           "[0]   NVIDIA A100   | ??°C,  ?? % |    ?? /    ?? MB | ?/6(2M)\n"
           "[0:1]   MIG 3g.40gb | ??°C,  ?? % |    ?? /    ?? MB | ?/5(1M)\n"
           "[1]   NVIDIA A100   | ??°C,  ?? % |    ?? /    ?? MB |\n");
    /* --id takes them along. */
    expect("node n\ndriver 1\ndevice 0 A\ndevice 1 B\ninstance 1 0 B MIG 1g\n",
           "id 1\noption no-header\noption no-processes\n",
           "[1]   B        | ??°C,  ?? % |    ?? /    ?? MB\n"
           "[1:0]   MIG 1g | ??°C,  ?? % |    ?? /    ?? MB\n");
}

static void unified_memory_is_marked(void **state)
{
    (void)state;
    expect("node n\ndriver 1\ndevice 0 NVIDIA GB10\nunified\nmemory_used_bytes 3145728000\n"
           "memory_total_bytes 128849018880\ndevice 1 NVIDIA GB10\nunified\n",
           "option no-header\noption no-processes\n",
           "[0] NVIDIA GB10 | ??°C,  ?? % |  3000 / 122880~MB\n"
           "[1] NVIDIA GB10 | ??°C,  ?? % |    ?? /     ?? MB\n");
}

static void processes(void **state)
{
    (void)state;
    /* One line each with the largest figure, also of the MPS list; the exited stay. */
    expect("node n\ndriver 1\nprocess 1 0 0 0 /bin/a\nuser root\nprocess 2 1000 -1 -1\nalive 1 defunct\n"
           "process 3 -1 -1 -1\nalive 2\nprocess 4 -1 -1 -1\nalive 3\n"
           "device 0 A\nentry compute 1 1048576\nentry graphics 1 3145728\nentry mps 1 2097152\n"
           "entry compute 2 0\nentry compute 3 -1\nentry compute 4 1048576\nentry compute 5 1048576\n",
           "option no-header\noption cmd\noption user\noption width 0\n",
           "[0]  ??°C,  ?? % |    ?? /    ?? MB | root:a(3M) 1000:defunct(0M zombie) ?:?/3(?M exited?) "
           "?:?/4(1M) "
           "?:?/5(1M)\n");
    /* In a pid namespace nothing can be said about the host's processes. */
    expect("node n\ncounts 5 1 0 0\nprocess 3 -1 -1 -1\nalive 2\ndevice 0 A\nentry compute 3 1048576\n",
           "option no-header\noption width 0\n", "[0]  ??°C,  ?? % |    ?? /    ?? MB | ?/3(1M)\n");
}

static void unknown_figures_of_the_tree(void **state)
{
    (void)state;
    expect("node n\ndriver 1\nprocess 3 -1 -1 -1\nalive 2\ndevice 0 A\nentry compute 3 1048576\n",
           "option no-header\noption width 0\noption full-cmd\n",
           "[0]  ??°C,  ?? % |    ?? /    ?? MB | ?/3(1M exited?)\n └─      3 (   ?%,      ?): ?\n");
}

static void why_there_is_no_list(void **state)
{
    (void)state;
    expect("node n\ndriver 1\ndevice 0 A\nlist compute 3\nlist graphics 3\ndevice 1 A\nlist compute -1\nlist "
           "graphics -1\n"
           "device 2 A\nlist compute 4\nlist graphics 4\n",
           "option no-header\noption width 0\n",
           "[0]  ??°C,  ?? % |    ?? /    ?? MB | (Not Supported)\n"
           "[1]  ??°C,  ?? % |    ?? /    ?? MB | (not read yet)\n"
           "[2]  ??°C,  ?? % |    ?? /    ?? MB | (Insufficient Permissions)\n");
}

static void devices_in_trouble(void **state)
{
    (void)state;
    /* Values that were read before are not shown as present ones. */
    expect("node n\ndriver 1\ndevice 0 A\ncondition 1 16\ntemperature_c 40\ndevice 1 A\ncondition 2 0\n"
           "device 2 A\ncondition 3 0\ndevice 3 A\ncondition 4 0\n",
           "option no-header\n",
           "[0] ((GPU requires restart)) | ??°C,  ?? % |    ?? /    ?? MB | "
           "(needs a reset before it can be used again: nvidia-smi --gpu-reset)\n"
           "[1] A                        | ??°C,  ?? % |    ?? /    ?? MB | (asleep)\n"
           "[2] A                        | ??°C,  ?? % |    ?? /    ?? MB | (driver call hangs)\n"
           "[3] ((removed))              | ??°C,  ?? % |    ?? /    ?? MB |\n");
}

static void notes(void **state)
{
    (void)state;
    expect(
        "node n\ndriver 1\nprocess 1 0 0 0 a\ndevice 0 A\nage hot 3200000\nxid_last 79\n"
        "xid_last_unix_us 1796060000000000\nremapped_rows_pending 1\nthrottle_reasons 76\n"
        "recovery_action 1\necc_volatile_uncorrected 2\nentry compute 1 1048576\n"
        "device 1 A\nage hot 2000000\nxid_last 31\nxid_last_unix_us 1795900000000000\nthrottle_reasons 7\n"
        "recovery_action 0\nremapped_rows_pending 0\nremapped_rows_failed 0\necc_volatile_uncorrected 0\n"
        "device 2 A\nthrottle_reasons 40\nremapped_rows_failed 1\nrecovery_action 99\n",
        "option no-header\noption width 0\n",
        "[0]  ??°C,  ?? % |    ?? /    ?? MB | (3.2s old, Xid 79 17:33, reset required, pending row remap, "
        "ECC errors, HW thermal slowdown) 0(1M)\n"
        "[1]  ??°C,  ?? % |    ?? /    ?? MB |\n"
        "[2]  ??°C,  ?? % |    ?? /    ?? MB | (recovery required, row remap failed, HW slowdown, "
        "SW thermal slowdown)\n");
    expect("node n\ndriver 1\ndevice 0 A\nremapped_rows_pending 1\n",
           "option no-header\noption no-processes\noption color\noption width 0\n",
           "\033[36m[0]\033[0m \033[90m ??°C\033[0m, \033[90m ?? %\033[0m | \033[90m   ??\033[0m / "
           "\033[90m   ??\033[0m MB (\033[33mpending row remap\033[0m)\n");
}

static void header_states(void **state)
{
    (void)state;
    expect_header("", HEADER "\n");
    expect_header("delay 280 10000000\n", HEADER "\n");
    expect_header("delay 280 10000000\noption delay\n", HEADER "  delay=280us\n");
    expect_header("delay 280 10000001\noption delay\n", HEADER "\n");
    expect_header("state 1 0 3200000\n", HEADER "  stale 3.2s\n");
    expect_header("state 2 1796047320000000 0\n", HEADER "  down since 14:02\n");
    expect_header("state 4 1795874520000000 0\n", HEADER "  stopped since Nov 28 14:02\n");
    expect_header("state 3 0 0\n", HEADER "  warming\n");
    expect_header("error refused by security.allow\n", HEADER "  refused by security.allow\n");
    expect_header(
        "state 1 0 12000000\noption color\n",
        "\033[1m\033[37mhost               \033[0m  Mon Nov 30 19:47:17 2026  \033[90m580.95.05\033[0m"
        "  \033[31mstale 12s\033[0m\n");
}

static void header_faults(void **state)
{
    (void)state;
    expect_header("fault 4 9\n", HEADER "  NVIDIA kernel driver not loaded: modprobe nvidia\n");
    expect_header("fault 5 18 kernel 580.95.05, library 570.1\n", HEADER
                  "  NVIDIA kernel driver and library versions differ (kernel 580.95.05, library 570.1): "
                  "reload the kernel driver or reboot\n");
    expect_header("pending 1 12000000 nvmlDeviceGetMemoryInfo\nfault 8 0\n",
                  HEADER "  driver not answering: nvmlDeviceGetMemoryInfo on device 1 for 12 s\n");
    expect_header("pending -1 2000000 nvmlInit_v2\n", HEADER "  driver not answering: nvmlInit_v2 for 2 s\n");
    expect_header("pending -1 1999999 nvmlInit_v2\n", HEADER "\n");
    expect_header("fault 9 0\nstate 1 0 3200000\nerror \\x1b[2J\n",
                  HEADER "  stale 3.2s; ^[[2J; paused by admin\n");
    expect_header("fault 6 999\n", HEADER
                  "  NVIDIA driver cannot be initialised: the driver reports an unknown error: see dmesg "
                  "(NVML error 999, Unknown Error)\n");
}

static void every_fault_has_a_text(void **state)
{
    (void)state;
    for (int fault = NODE_FAULT_NONE + 1; fault <= NODE_FAULT_KINDS; fault++) {
        struct snapshot snapshot = {.fault = (enum node_fault)fault};
        struct buffer out = BUFFER_EMPTY;

        render_node_fault(&snapshot, &out);
        assert_true(out.len > 8);
        buffer_deinit(&out);
    }
}

static void header_notes_on_processes(void **state)
{
    (void)state;
    expect_header("counts 3 14 3 20\n",
                  HEADER "  14 processes not visible from here (hidepid)  20 process entries left out\n");
    expect_header("counts 5 14 3 0\noption full-cmd\n",
                  HEADER "  14 processes not visible from here (pid namespace)  3 command lines shortened\n");
    expect_header("age processes 5000000\n", HEADER "  procs 5s old\n");
    expect_header("age processes 2000000\n", HEADER "\n");
    expect_header("age processes 5000000\noption no-processes\n", HEADER "\n");
}

static void nodes_without_rows(void **state)
{
    (void)state;
    expect(
        "node a\ndriver 1\ndevice 0 A\nstate 2 1796047320000000 9000000\nnode b\nunheard\naddr "
        "10.0.0.1:30000\n"
        "state 2 0 0\nnode c\nnode d\nfault 4 9\n",
        "",
        "a                    Mon Nov 30 19:47:17 2026  1  down since 14:02\n"
        "10.0.0.1:30000       down\n"
        "c                    Mon Nov 30 19:47:17 2026\n(No GPUs are available)\n"
        "d                    Mon Nov 30 19:47:17 2026  NVIDIA kernel driver not loaded: modprobe nvidia\n");
    /* Without a header the reason stands where the rows would. */
    expect("node d\nfault 4 9\n", "option no-header\n",
           "(NVIDIA kernel driver not loaded: modprobe nvidia)\n");
}

static void long_names_do_not_widen_the_column_for_ever(void **state)
{
    const size_t name_len = 131072;
    static const char start[] = "node n\ndriver 1\noption no-header\noption no-processes\ndevice 0 ";
    char *lines = calloc(1, sizeof(start) + name_len), *table;

    (void)state;
    assert_non_null(lines);
    memcpy(lines, start, sizeof(start) - 1);
    memset(lines + sizeof(start) - 1, 'x', name_len);
    table = draw(lines, "");
    assert_true(strlen(table) < 128);
    free(table);
    free(lines);
}

/* Columns of a line without its colours. */
static size_t line_columns(const char *line, size_t len)
{
    size_t columns = 0, pos = 0;

    while (pos < len) {
        if (line[pos] == '\033')
            pos += strcspn(line + pos, "m") + 1;
        else
            columns += utf8_code_width(utf8_next((struct text){line, len}, &pos));
    }
    return columns;
}

static void rows_are_cut_to_the_terminal(void **state)
{
    static const char lines[] =
        "node compute01\ndriver 580.95.05\nprocess 1 1000 0 0 /usr/bin/测试\\0\\x1b[31m\\0\\xff\nuser 日本\n"
        "device 0 ＧＰＵ 測試\nentry compute 1 1048576\nentry compute 2 1048576\ndevice 1 "
        "e\xcc\x81tude\ncondition 1 15\n"
        "option cmd\noption user\noption pid\noption fan\noption codec 3\noption power 2\noption full-cmd\n"
        "node compute02\nfault 5 18 kernel 580.95.05, Bibliothek 測試\n";

    (void)state;
    for (unsigned columns = 1; columns <= 200; columns++) {
        for (unsigned color = 0; color < 2; color++) {
            char more[64], *table;

            snprintf(more, sizeof(more), "option columns %u\n%s", columns, color ? "option color\n" : "");
            table = draw(lines, more);
            for (char *at = table, *end; *at; at = end + 1) {
                end = strchr(at, '\n');
                assert_non_null(end);
                assert_true(line_columns(at, (size_t)(end - at)) <= columns);
            }
            free(table);
        }
    }
}

static void a_long_error_stands_below_its_header(void **state)
{
    (void)state;
    expect("node n\ndriver 1\nfault 5 18 kernel 580.95.05, library 570.1\n", "option columns 50\n",
           "n                    Mon Nov 30 19:47:17 2026  1\n"
           "    NVIDIA kernel driver and library versions\n"
           "    differ (kernel 580.95.05, library 570.1):\n"
           "    reload the kernel driver or reboot\n");
    expect("node n\ndriver 1\nstate 1 0 3200000\n", "option columns 50\n",
           "n                    Mon Nov 30 19:47:17 2026  1\n"
           "    stale 3.2s\n"
           "(No GPUs are available)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_stay_aligned),
        cmocka_unit_test(instances_stand_under_their_gpu),
        cmocka_unit_test(unified_memory_is_marked),
        cmocka_unit_test(processes),
        cmocka_unit_test(unknown_figures_of_the_tree),
        cmocka_unit_test(why_there_is_no_list),
        cmocka_unit_test(devices_in_trouble),
        cmocka_unit_test(notes),
        cmocka_unit_test(header_states),
        cmocka_unit_test(header_faults),
        cmocka_unit_test(every_fault_has_a_text),
        cmocka_unit_test(header_notes_on_processes),
        cmocka_unit_test(nodes_without_rows),
        cmocka_unit_test(long_names_do_not_widen_the_column_for_ever),
        cmocka_unit_test(rows_are_cut_to_the_terminal),
        cmocka_unit_test(a_long_error_stands_below_its_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
