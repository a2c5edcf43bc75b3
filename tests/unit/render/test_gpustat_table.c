/* gpustat's table to the byte. The expected texts are what gpustat printed (tests/cli goldens). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "picture.h"

#include <stdlib.h>
#include <string.h>

#define BASIC \
    "node host\n" \
    "driver 580.95.05\n" \
    "process 12255 0 0 1867776 /usr/bin/python3\\0train.py\\0--lr\\03e-4\n" \
    "user root\n" \
    "process 12256 0 15 20971520 /opt/julia/bin/julia\\0--project=.\\0run.jl\n" \
    "user root\n" \
    "process 12257 0 1000 10239 bash\\0-c\\0sleep inf\n" \
    "user root\n" \
    "device 0 NVIDIA A100-SXM4-80GB\n" \
    "temperature_c 49\nutilization_gpu_percent 29\nutilization_encoder_percent 49\n" \
    "utilization_decoder_percent 5\npower_mw 99500\npower_limit_mw 400000\n" \
    "memory_used_bytes 83688947712\nmemory_total_bytes 85899345920\n" \
    "entry compute 12255 4194304000\nentry compute 12256 79494119424\n" \
    "device 1 NVIDIA H200\n" \
    "temperature_c 50\nutilization_gpu_percent 30\nutilization_encoder_percent 50\n" \
    "utilization_decoder_percent 0\npower_mw 280000\npower_limit_mw 700000\n" \
    "memory_used_bytes 129452998656\nmemory_total_bytes 150754820096\n" \
    "entry compute 12257 -1\n" \
    "device 2 NVIDIA GeForce RTX 2080 Ti\n" \
    "temperature_c 71\nfan_percent 63\nutilization_gpu_percent 100\nutilization_encoder_percent 0\n" \
    "utilization_decoder_percent 0\npower_mw 250999\npower_limit_mw 250000\n" \
    "memory_used_bytes 11534336\nmemory_total_bytes 11811160064\n"

static void expect(const char *lines, const char *more_lines, const char *expected)
{
    struct picture picture;
    char *table;

    picture_init(&picture);
    picture_draw(&picture, lines);
    picture_draw(&picture, more_lines);
    table = picture_table(&picture);
    assert_string_equal(table, expected);
    free(table);
    picture_deinit(&picture);
}

static void plain(void **state)
{
    (void)state;
    expect(BASIC, "",
           "host                           Mon Nov 30 19:47:17 2026  580.95.05\n"
           "[0] NVIDIA A100-SXM4-80GB      | 49°C,  29 % | 79812 / 81920 MB | root(4000M) root(75811M)\n"
           "[1] NVIDIA H200                | 50°C,  30 % | 123456 / 143771 MB | root(?M)\n"
           "[2] NVIDIA GeForce RTX 2080 Ti | 71°C, 100 % |    11 / 11264 MB |\n");
}

static void all_columns(void **state)
{
    (void)state;
    expect(BASIC, "option cmd\noption user\noption pid\noption fan\noption codec 3\noption power 2\n",
           "host                           Mon Nov 30 19:47:17 2026  580.95.05\n"
           "[0] NVIDIA A100-SXM4-80GB      | 49°C,  ?? %,  29 % (E:  49 %  D:   5 %),   99 / 400 W | "
           "79812 / 81920 MB | root:python3/12255(4000M) root:julia/12256(75811M)\n"
           "[1] NVIDIA H200                | 50°C,  ?? %,  30 % (E:  50 %  D:   0 %),  280 / 700 W | "
           "123456 / 143771 MB | root:bash/12257(?M)\n"
           "[2] NVIDIA GeForce RTX 2080 Ti | 71°C,  63 %, 100 % (E:   0 %  D:   0 %),  250 / 250 W | "
           "   11 / 11264 MB |\n");
}

static void process_words(void **state)
{
    static const struct {
        const char *options, *words;
    } cases[] = {
        {"option user\n", " root(?M)\n"},
        {"option cmd\n", " bash(?M)\n"},
        {"option pid\n", " root/12257(?M)\n"},
        {"option cmd\noption user\n", " root:bash(?M)\n"},
        {"option cmd\noption pid\n", " bash/12257(?M)\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct picture picture;
        char *table;

        picture_init(&picture);
        picture_draw(&picture, BASIC "id 1\noption no-header\n");
        picture_draw(&picture, cases[i].options);
        table = picture_table(&picture);
        assert_string_equal(strrchr(table, '|') + 1, cases[i].words);
        free(table);
        picture_deinit(&picture);
    }
}

static void codec_and_power_alone(void **state)
{
    (void)state;
    expect(BASIC, "id 0\noption no-header\noption no-processes\noption codec 1\noption power 1\n",
           "[0] NVIDIA A100-SXM4-80GB | 49°C,  29 % (E:  49 %),   99 | 79812 / 81920 MB\n");
    expect(BASIC, "id 0\noption no-header\noption no-processes\noption codec 2\n",
           "[0] NVIDIA A100-SXM4-80GB | 49°C,  29 % (D:   5 %) | 79812 / 81920 MB\n");
}

static void tree(void **state)
{
    (void)state;
    expect(BASIC, "option full-cmd\nid 0\nid 2\n",
           "host                           Mon Nov 30 19:47:17 2026  580.95.05\n"
           "[0] NVIDIA A100-SXM4-80GB      | 49°C,  29 % | 79812 / 81920 MB | root(4000M) root(75811M)\n"
           " ├─  12255 (   0%, 1824KB): /usr/bin/python3 train.py --lr 3e-4\n"
           " └─  12256 (   2%,   20MB): /opt/julia/bin/julia --project=. run.jl\n"
           "[2] NVIDIA GeForce RTX 2080 Ti | 71°C, 100 % |    11 / 11264 MB |\n");
}

static void ascii_tree(void **state)
{
    (void)state;
    expect(BASIC, "option full-cmd\noption ascii\nid 0\noption no-header\noption width 10\n",
           "[0] .SXM4-80GB | 49'C,  29 % | 79812 / 81920 MB | root(4000M) root(75811M)\n"
           " |-  12255 (   0%, 1824KB): /usr/bin/python3 train.py --lr 3e-4\n"
           " `-  12256 (   2%,   20MB): /opt/julia/bin/julia --project=. run.jl\n");
}

static void ids_in_the_order_given(void **state)
{
    (void)state;
    expect(BASIC, "id 1\nid 0\nid 1\noption no-processes\n",
           "host                      Mon Nov 30 19:47:17 2026  580.95.05\n"
           "[1] NVIDIA H200           | 50°C,  30 % | 123456 / 143771 MB\n"
           "[0] NVIDIA A100-SXM4-80GB | 49°C,  29 % | 79812 / 81920 MB\n"
           "[1] NVIDIA H200           | 50°C,  30 % | 123456 / 143771 MB\n");
}

static void colors(void **state)
{
    (void)state;
    expect(BASIC,
           "option color\noption cmd\noption user\noption pid\noption fan\noption codec 3\noption power 2\n"
           "id 0\nid 2\n",
           "\033[1m\033[37mhost                         \033[0m  Mon Nov 30 19:47:17 2026  "
           "\033[1m\033[30m580.95.05\033[0m\n"
           "\033[36m[0]\033[0m \033[34mNVIDIA A100-SXM4-80GB     \033[0m |\033[31m 49°C\033[0m, "
           "\033[1m\033[30m ?? %\033[0m, \033[32m 29 %\033[0m (\033[1mE: \033[0m\033[32m 49 %\033[0m"
           "\033[1m  D: \033[0m\033[32m  5 %\033[0m),  \033[35m 99\033[0m / \033[35m400 W\033[0m | "
           "\033[1m\033[33m79812\033[0m / \033[33m81920\033[0m MB | "
           "\033[1m\033[30mroot\033[0m:\033[36mpython3\033[0m/12255(\033[33m4000M\033[0m) "
           "\033[1m\033[30mroot\033[0m:\033[36mjulia\033[0m/12256(\033[33m75811M\033[0m)\n"
           "\033[36m[2]\033[0m \033[34mNVIDIA GeForce RTX 2080 Ti\033[0m |\033[1m\033[31m 71°C\033[0m, "
           "\033[1m\033[36m 63 %\033[0m, \033[1m\033[32m100 %\033[0m (\033[1mE: \033[0m\033[32m  0 %\033[0m"
           "\033[1m  D: \033[0m\033[32m  0 %\033[0m),  \033[1m\033[35m250\033[0m / \033[35m250 W\033[0m | "
           "\033[1m\033[33m   11\033[0m / \033[33m11264\033[0m MB |\n");
}

static void colored_tree(void **state)
{
    (void)state;
    expect(BASIC, "option color\noption full-cmd\nid 1\noption no-header\noption width 0\n",
           "\033[36m[1]\033[0m \033[1m\033[31m 50°C\033[0m, \033[1m\033[32m 30 %\033[0m | "
           "\033[1m\033[33m123456\033[0m / \033[33m143771\033[0m MB | "
           "\033[1m\033[30mroot\033[0m(\033[33m?M\033[0m)\n"
           "\033[0m └─  12257 \033[0m(\033[32m 100%\033[0m, \033[33m   9KB\033[0m)\033[0m: "
           "\033[38;5;24m\033[38;5;24m\033[36mbash\033[38;5;24m -c sleep inf\033[0m\n");
}

static void no_colors_without_a_capable_terminal(void **state)
{
    (void)state;
    expect(BASIC, "option color\noption colors 0\nid 2\noption no-header\n",
           "[2] NVIDIA GeForce RTX 2080 Ti | 71°C, 100 % |    11 / 11264 MB |\n");
}

static void thresholds(void **state)
{
    (void)state;
    expect(
        "node h\ndriver 1\ndevice 0 A\ntemperature_c 49\nfan_percent 29\nutilization_gpu_percent 29\n"
        "power_mw 159999\npower_limit_mw 400000\nmemory_used_bytes 0\nmemory_total_bytes 1048576\n"
        "device 1 A\ntemperature_c 50\nfan_percent 30\nutilization_gpu_percent 30\n"
        "power_mw 160000\npower_limit_mw 400000\nmemory_used_bytes 0\nmemory_total_bytes 1048576\n",
        "option color\noption fan\noption power 2\noption no-header\noption no-processes\n",
        "\033[36m[0]\033[0m \033[34mA\033[0m |\033[31m 49°C\033[0m, \033[36m 29 %\033[0m, \033[32m 29 "
        "%\033[0m, "
        " \033[35m159\033[0m / \033[35m400 W\033[0m | \033[1m\033[33m    0\033[0m / \033[33m    1\033[0m MB\n"
        "\033[36m[1]\033[0m \033[34mA\033[0m |\033[1m\033[31m 50°C\033[0m, \033[1m\033[36m 30 %\033[0m, "
        "\033[1m\033[32m 30 %\033[0m,  \033[1m\033[35m160\033[0m / \033[35m400 W\033[0m | "
        "\033[1m\033[33m    0\033[0m / \033[33m    1\033[0m MB\n");
}

static void power_colors_where_a_part_is_missing(void **state)
{
    (void)state;
    expect("node h\ndriver 1\ndevice 0 A\npower_mw 8000\ndevice 1 A\npower_limit_mw 400000\ndevice 2 A\n",
           "option color\noption power 2\noption no-header\noption no-processes\noption width 0\n",
           "\033[36m[0]\033[0m \033[1m\033[30m ??°C\033[0m, \033[1m\033[30m ?? %\033[0m,  \033[1m\033[35m  "
           "8\033[0m / "
           "\033[35m ?? W\033[0m | \033[1m\033[30m   ??\033[0m / \033[1m\033[30m   ??\033[0m MB\n"
           "\033[36m[1]\033[0m \033[1m\033[30m ??°C\033[0m, \033[1m\033[30m ?? %\033[0m,  \033[1m\033[30m "
           "??\033[0m / "
           "\033[35m400 W\033[0m | \033[1m\033[30m   ??\033[0m / \033[1m\033[30m   ??\033[0m MB\n"
           "\033[36m[2]\033[0m \033[1m\033[30m ??°C\033[0m, \033[1m\033[30m ?? %\033[0m,  \033[1m\033[35m "
           "??\033[0m / "
           "\033[35m ?? W\033[0m | \033[1m\033[30m   ??\033[0m / \033[1m\033[30m   ??\033[0m MB\n");
}

static void lost_devices(void **state)
{
    static const char lines[] =
        "node host\ndriver 580.95.05\ndevice 0 x\nnameless\ncondition 1 15\ntemperature_c 40\n"
        "device 1 x\nnameless\ncondition 1 4\ndevice 2 NVIDIA H200\ncondition 4 0\n"
        "device 3 NVIDIA H200\ncondition 2 0\n";

    (void)state;
    expect(lines, "",
           "host                             Mon Nov 30 19:47:17 2026  580.95.05\n"
           "[0] ((GPU is lost))              | ??°C,  ?? % |    ?? /    ?? MB | (Not Supported)\n"
           "[1] ((Insufficient Permissions)) | ??°C,  ?? % |    ?? /    ?? MB | (Not Supported)\n"
           "[2] ((GPU is lost))              | ??°C,  ?? % |    ?? /    ?? MB | (Not Supported)\n"
           "[3] NVIDIA H200                  | ??°C,  ?? % |    ?? /    ?? MB | (Not Supported)\n");
    expect(lines, "option color\nid 0\noption no-header\n",
           "\033[36m[0]\033[0m \033[31m((GPU is lost))\033[0m |\033[1m\033[30m ??°C\033[0m, \033[1m\033[30m "
           "?? %\033[0m | "
           "\033[1m\033[30m   ??\033[0m / \033[1m\033[30m   ??\033[0m MB | (Not Supported)\n");
}

static void no_devices(void **state)
{
    (void)state;
    expect("node host\ndriver 580.95.05\n", "",
           "host                 Mon Nov 30 19:47:17 2026  580.95.05\n(No GPUs are available)\n");
    expect("node host\n", "option color\noption width 5\n",
           "\033[1m\033[37mhost    \033[0m  Mon Nov 30 19:47:17 2026  \033[1m\033[30mNone\033[0m\n"
           "\033[33m(No GPUs are available)\033[0m\n");
}

static void names_keep_their_end(void **state)
{
    static const char lines[] =
        "node h\ndriver 1\ndevice 0 A\ndevice 1 NVIDIA GH200 480GB\ndevice 2 测试 Größe\n"
        "device 3 e\xcc\x81tude\n";

    (void)state;
    expect(lines, "option no-processes\n",
           "h                      Mon Nov 30 19:47:17 2026  1\n"
           "[0] A                  | ??°C,  ?? % |    ?? /    ?? MB\n"
           "[1] NVIDIA GH200 480GB | ??°C,  ?? % |    ?? /    ?? MB\n"
           "[2] 测试 Größe           | ??°C,  ?? % |    ?? /    ?? MB\n"
           "[3] e\xcc\x81tude             | ??°C,  ?? % |    ?? /    ?? MB\n");
    expect(lines, "option no-processes\noption width 5\n",
           "h         Mon Nov 30 19:47:17 2026  1\n"
           "[0] A     | ??°C,  ?? % |    ?? /    ?? MB\n"
           "[1] …80GB | ??°C,  ?? % |    ?? /    ?? MB\n"
           "[2] …röße | ??°C,  ?? % |    ?? /    ?? MB\n"
           "[3] …tude | ??°C,  ?? % |    ?? /    ?? MB\n");
    expect(lines, "option no-processes\noption width 1\nid 1\noption no-header\n",
           "[1] … | ??°C,  ?? % |    ?? /    ?? MB\n");
}

static void extremes_shift_the_row(void **state)
{
    (void)state;
    expect("node h\ndriver 1\ndevice 10 B\ntemperature_c 104\nfan_percent 130\nutilization_gpu_percent 101\n"
           "power_mw 10000999\npower_limit_mw 12000000\nmemory_used_bytes 104857600000\n"
           "memory_total_bytes 1099511627776\n",
           "option fan\noption power 2\noption no-header\n",
           "[10] B |104°C, 130 %, 101 %,  10000 / 12000 W | 100000 / 1048576 MB |\n");
}

static void process_memory_edges(void **state)
{
    (void)state;
    expect("node h\ndriver 1\nprocess 1 0 0 0 a\nuser r\ndevice 0 A\nentry compute 1 0\n"
           "device 1 A\nentry compute 1 1048575\ndevice 2 A\nentry compute 1 2097151\n",
           "option no-header\noption width 0\n",
           "[0]  ??°C,  ?? % |    ?? /    ?? MB | r(?M)\n"
           "[1]  ??°C,  ?? % |    ?? /    ?? MB | r(0M)\n"
           "[2]  ??°C,  ?? % |    ?? /    ?? MB | r(1M)\n");
}

static void process_lists(void **state)
{
    (void)state;
    /* Compute before graphics, the first entry of a pid wins, MPS is unread, the exited are left out. */
    expect("node h\ndriver 1\nprocess 1 0 0 0 a\nprocess 2 1 0 0 b\nprocess 3 2 0 0 c\nprocess 4 3 0 0 "
           "d\nalive 2\n"
           "device 0 A\nentry graphics 2 1048576\nentry graphics 1 2097152\nentry compute 1 3145728\n"
           "entry mps 3 1048576\nentry compute 4 1048576\n"
           "device 1 A\nlist compute 3\nentry graphics 2 1048576\n"
           "device 2 A\nlist compute 3\nlist graphics 3\n",
           "option no-header\noption width 0\n",
           "[0]  ??°C,  ?? % |    ?? /    ?? MB | 0(3M) 1(1M)\n"
           "[1]  ??°C,  ?? % |    ?? /    ?? MB | 1(1M)\n"
           "[2]  ??°C,  ?? % |    ?? /    ?? MB | (Not Supported)\n");
}

static void command_lines(void **state)
{
    (void)state;
    expect(
        "node h\ndriver 1\n"
        "process 1 0 12 9999 python3\\0-c\\0print(\"hi there\")\\0\n" /* the last word is empty */
        "process 2 0 0 10000 /trailing/slash/\n"
        "process 3 0 0 0 \\0empty-argv0\n"
        "process 4 0 0 0 /\n"
        "process 5 0 0 0 a b\\0c d\n"
        "process 6 0 0 0 //double//slash\\0|\n"
        "process 7 0 0 0 nginx: worker process /etc/x\n"
        "process 8 0 0 0\nalive 1\n"
        "device 0 A\nentry compute 1 1048576\nentry compute 2 1048576\nentry compute 3 1048576\n"
        "entry compute 4 1048576\nentry compute 5 1048576\nentry compute 6 1048576\nentry compute 7 1048576\n"
        "entry compute 8 1048576\n",
        "option no-header\noption width 0\noption full-cmd\noption cmd\n",
        "[0]  ??°C,  ?? % |    ?? /    ?? MB | python3(1M) (1M) (1M) (1M) a b(1M) slash(1M) nginx:(1M) "
        "?(1M)\n"
        " ├─      1 (   1%,  9999B): python3 -c print(\"hi there\") \n"
        " ├─      2 (   0%,    9KB): /trailing/slash/\n"
        " ├─      3 (   0%,     0B):  empty-argv0\n"
        " ├─      4 (   0%,     0B): /\n"
        " ├─      5 (   0%,     0B): a b c d\n"
        " ├─      6 (   0%,     0B): //double/slash |\n"
        " ├─      7 (   0%,     0B): nginx: worker process /etc/x\n"
        " └─      8 (   0%,     0B): ?\n");
}

static void control_characters_are_made_visible(void **state)
{
    (void)state;
    expect("node h\ndriver 1\nprocess 1 0 0 0 /bin/ev\\x1bil\\0\\x1b[2J\\0new\\nline\\0\\xff\\xc2\\x9b\nuser "
           "ro\\x07ot\n"
           "device 0 A\\x1b[31m\nentry compute 1 1048576\n",
           "option no-header\noption cmd\noption user\noption full-cmd\n",
           "[0] A^[[31m | ??°C,  ?? % |    ?? /    ?? MB | ro^Got:ev^[il(1M)\n"
           " └─      1 (   0%,     0B): /bin/ev^[il ^[[2J new^Jline \\xFF\\u{9B}\n");
}

static void unified_memory_is_missing(void **state)
{
    (void)state;
    expect("node h\ndriver 1\ndevice 0 NVIDIA GB10\nunified\nmemory_used_bytes 1048576\nmemory_total_bytes "
           "1048576\n",
           "option no-header\n", "[0] NVIDIA GB10 | ??°C,  ?? % |    ?? /    ?? MB |\n");
}

static void instances_are_not_shown(void **state)
{
    (void)state;
    expect("node h\ndriver 1\ndevice 0 A\ninstance 0 0 NVIDIA A100-SXM4-80GB MIG 1g.10gb\n",
           "option no-header\n", "[0] A | ??°C,  ?? % |    ?? /    ?? MB |\n");
}

static void a_block_for_each_node(void **state)
{
    (void)state;
    expect("node one\ndriver 1\ndevice 0 AB\nnode two\ndriver 2\ndevice 0 ABC\nnode three\nunheard\n"
           "addr 10.0.0.3:30000\nstate 2 1796060000000000 0\n",
           "option no-processes\n",
           "one    Mon Nov 30 19:47:17 2026  1\n[0] AB | ??°C,  ?? % |    ?? /    ?? MB\n"
           "two     Mon Nov 30 19:47:17 2026  2\n[0] ABC | ??°C,  ?? % |    ?? /    ?? MB\n"
           "10.0.0.3:30000       down since 17:33\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(all_columns),
        cmocka_unit_test(process_words),
        cmocka_unit_test(codec_and_power_alone),
        cmocka_unit_test(tree),
        cmocka_unit_test(ascii_tree),
        cmocka_unit_test(ids_in_the_order_given),
        cmocka_unit_test(colors),
        cmocka_unit_test(colored_tree),
        cmocka_unit_test(no_colors_without_a_capable_terminal),
        cmocka_unit_test(thresholds),
        cmocka_unit_test(power_colors_where_a_part_is_missing),
        cmocka_unit_test(lost_devices),
        cmocka_unit_test(no_devices),
        cmocka_unit_test(names_keep_their_end),
        cmocka_unit_test(extremes_shift_the_row),
        cmocka_unit_test(process_memory_edges),
        cmocka_unit_test(process_lists),
        cmocka_unit_test(command_lines),
        cmocka_unit_test(control_characters_are_made_visible),
        cmocka_unit_test(unified_memory_is_missing),
        cmocka_unit_test(instances_are_not_shown),
        cmocka_unit_test(a_block_for_each_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
