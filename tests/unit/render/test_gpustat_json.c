/* gpustat's JSON to the byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "picture.h"

#include <stdlib.h>
#include <string.h>

static void expect(const char *lines, const char *expected)
{
    struct picture picture;
    char *json;

    picture_init(&picture);
    picture_draw(&picture, lines);
    json = picture_gpustat_json(&picture);
    assert_string_equal(json, expected);
    free(json);
    picture_deinit(&picture);
}

static void one_node(void **state)
{
    (void)state;
    expect(
        "node host\ndriver 580.95.05\n"
        "process 100 0 125 1867776 /usr/bin/python3\\0gr\xc3\xb6\xc3\x9f\\0\\xff\nuser root\n"
        "process 101 54321 -1 -1\nalive 1\n"
        "device 0 NVIDIA A100\nuuid GPU-1\ntemperature_c 49\nmemory_used_bytes 83688947712\n"
        "memory_total_bytes 85899345920\nutilization_gpu_percent 29\npower_mw 99999\npower_limit_mw 400000\n"
        "entry compute 100 4194304000\nentry compute 101 0\n"
        "device 1 x\ncondition 1 999\ntemperature_c 3\n"
        "device 2 Orin\nlist compute 3\nlist graphics 3\n"
        "device 3 T4\nuuid GPU-3\n",
        "{\n"
        "    \"hostname\": \"host\",\n"
        "    \"driver_version\": \"580.95.05\",\n"
        "    \"query_time\": \"2026-11-30T19:47:17.009893\",\n"
        "    \"gpus\": [\n"
        "        {\n"
        "            \"index\": 0,\n"
        "            \"name\": \"NVIDIA A100\",\n"
        "            \"uuid\": \"GPU-1\",\n"
        "            \"temperature.gpu\": 49,\n"
        "            \"fan.speed\": null,\n"
        "            \"memory.used\": 79812,\n"
        "            \"memory.total\": 81920,\n"
        "            \"utilization.gpu\": 29,\n"
        "            \"utilization.enc\": null,\n"
        "            \"utilization.dec\": null,\n"
        "            \"power.draw\": 99,\n"
        "            \"enforced.power.limit\": 400,\n"
        "            \"processes\": [\n"
        "                {\n"
        "                    \"username\": \"root\",\n"
        "                    \"command\": \"python3\",\n"
        "                    \"full_command\": [\n"
        "                        \"/usr/bin/python3\",\n"
        "                        \"gr\\u00f6\\u00df\",\n"
        "                        \"\\udcff\"\n"
        "                    ],\n"
        "                    \"gpu_memory_usage\": 4000,\n"
        "                    \"cpu_percent\": 12.5,\n"
        "                    \"cpu_memory_usage\": 1867776,\n"
        "                    \"pid\": 100\n"
        "                },\n"
        "                {\n"
        "                    \"username\": \"54321\",\n"
        "                    \"command\": \"?\",\n"
        "                    \"full_command\": [\n"
        "                        \"?\"\n"
        "                    ],\n"
        "                    \"gpu_memory_usage\": null,\n"
        "                    \"cpu_percent\": 0.0,\n"
        "                    \"cpu_memory_usage\": 0,\n"
        "                    \"pid\": 101\n"
        "                }\n"
        "            ]\n"
        "        },\n"
        "        {\n"
        "            \"index\": 1,\n"
        "            \"name\": \"((Unknown Error))\",\n"
        "            \"processes\": null\n"
        "        },\n"
        "        {\n"
        "            \"index\": 2,\n"
        "            \"name\": \"Orin\",\n"
        "            \"uuid\": null,\n"
        "            \"temperature.gpu\": null,\n"
        "            \"fan.speed\": null,\n"
        "            \"memory.used\": null,\n"
        "            \"memory.total\": null,\n"
        "            \"utilization.gpu\": null,\n"
        "            \"utilization.enc\": null,\n"
        "            \"utilization.dec\": null,\n"
        "            \"power.draw\": null,\n"
        "            \"enforced.power.limit\": null,\n"
        "            \"processes\": null\n"
        "        },\n"
        "        {\n"
        "            \"index\": 3,\n"
        "            \"name\": \"T4\",\n"
        "            \"uuid\": \"GPU-3\",\n"
        "            \"temperature.gpu\": null,\n"
        "            \"fan.speed\": null,\n"
        "            \"memory.used\": null,\n"
        "            \"memory.total\": null,\n"
        "            \"utilization.gpu\": null,\n"
        "            \"utilization.enc\": null,\n"
        "            \"utilization.dec\": null,\n"
        "            \"power.draw\": null,\n"
        "            \"enforced.power.limit\": null,\n"
        "            \"processes\": []\n"
        "        }\n"
        "    ]\n"
        "}\n");
}

static void nothing(void **state)
{
    (void)state;
    expect("node host\ntaken 1796068037000000\n", "{\n"
                                                  "    \"hostname\": \"host\",\n"
                                                  "    \"driver_version\": null,\n"
                                                  "    \"query_time\": \"2026-11-30T19:47:17\",\n"
                                                  "    \"gpus\": []\n"
                                                  "}\n");
}

static void several_nodes(void **state)
{
    (void)state;
    expect("node one\ndriver 1\ndevice 0 x\ncondition 1 15\ninstance 0 0 x\nnode two\ndriver 2\ndevice 0 x\n"
           "condition 1 15\nnode three\ndriver 1\ndevice 0 x\nstate 2 0 0\n",
           "{\n"
           "    \"hostname\": null,\n"
           "    \"driver_version\": null,\n"
           "    \"query_time\": \"2026-11-30T19:47:17.009893\",\n"
           "    \"gpus\": [\n"
           "        {\n"
           "            \"index\": 0,\n"
           "            \"name\": \"((GPU is lost))\",\n"
           "            \"processes\": null,\n"
           "            \"hostname\": \"one\"\n"
           "        },\n"
           "        {\n"
           "            \"index\": 0,\n"
           "            \"name\": \"((GPU is lost))\",\n"
           "            \"processes\": null,\n"
           "            \"hostname\": \"two\"\n"
           "        }\n"
           "    ]\n"
           "}\n");
}

static void only_the_ids_wanted(void **state)
{
    (void)state;
    expect("node h\ndriver 1\ndevice 0 x\ncondition 1 15\ndevice 1 x\ncondition 1 15\nid 1\n",
           "{\n"
           "    \"hostname\": \"h\",\n"
           "    \"driver_version\": \"1\",\n"
           "    \"query_time\": \"2026-11-30T19:47:17.009893\",\n"
           "    \"gpus\": [\n"
           "        {\n"
           "            \"index\": 1,\n"
           "            \"name\": \"((GPU is lost))\",\n"
           "            \"processes\": null\n"
           "        }\n"
           "    ]\n"
           "}\n");
}

static void unified_memory_hides_nothing_else(void **state)
{
    (void)state;
    expect("node h\ndriver 1\ndevice 0 NVIDIA GB10\nunified\nmemory_used_bytes 1048576\nmemory_total_bytes "
           "1048576\ntemperature_c 45\nutilization_gpu_percent 12\npower_mw 14500\n",
           "{\n"
           "    \"hostname\": \"h\",\n"
           "    \"driver_version\": \"1\",\n"
           "    \"query_time\": \"2026-11-30T19:47:17.009893\",\n"
           "    \"gpus\": [\n"
           "        {\n"
           "            \"index\": 0,\n"
           "            \"name\": \"NVIDIA GB10\",\n"
           "            \"uuid\": null,\n"
           "            \"temperature.gpu\": 45,\n"
           "            \"fan.speed\": null,\n"
           "            \"memory.used\": null,\n"
           "            \"memory.total\": null,\n"
           "            \"utilization.gpu\": 12,\n"
           "            \"utilization.enc\": null,\n"
           "            \"utilization.dec\": null,\n"
           "            \"power.draw\": 14,\n"
           "            \"enforced.power.limit\": null,\n"
           "            \"processes\": []\n"
           "        }\n"
           "    ]\n"
           "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node),
        cmocka_unit_test(nothing),
        cmocka_unit_test(several_nodes),
        cmocka_unit_test(only_the_ids_wanted),
        cmocka_unit_test(unified_memory_hides_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
