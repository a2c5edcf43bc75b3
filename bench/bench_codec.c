/*
 * What one encode and one decode of a snapshot cost: 8 devices with 16 processes, everything present.
 * Prints the medians over many rounds of a batch each.  usage: bench-codec [ROUNDS]
 */
#include "core/clock.h"
#include "wire/frame.h"
#include "wire/snapshot_codec.h"

#include <stdio.h>
#include <stdlib.h>

#define DEVICES   8
#define PROCESSES 16
#define BATCH     200

static const char command[] = "python\0train.py\0--config\0configs/llama.yaml\0--resume";

static void fill_device(struct snapshot *snapshot, uint32_t i)
{
    struct device *device = &snapshot->devices[i];

    device_init(device, i);
    device->name = TEXT_LITERAL("NVIDIA H100 80GB HBM3");
    device->uuid = TEXT_LITERAL("GPU-6ad6cb2e-0d3a-4d2c-8a5b-0e6b5d4f3a21");
    device->serial = TEXT_LITERAL("1650522012345");
    device->pci_bus_id = TEXT_LITERAL("00000000:41:00.0");
    for (unsigned field = 0; field < FIELD_COUNT; field++)
        field_set(&device->values, (enum device_field)field, 3 * field);
    field_set(&device->values, FIELD_MEM_TOTAL_BYTES, INT64_C(85520809984));
    field_set(&device->values, FIELD_MEM_USED_BYTES, INT64_C(40000000000));
    field_set(&device->values, FIELD_POWER_MW, 300000 + i);
    field_set(&device->values, FIELD_CLOCK_SM_MHZ, 1980);
    for (unsigned group = 0; group < GROUP_COUNT; group++)
        device->group_age_us[group] = 20000u << group;
    for (unsigned list = 0; list < LIST_COUNT; list++)
        device->list_code[list] = 0;
    device->first_entry = 2 * i;
    device->entry_count = 2;
}

static void fill_process(struct snapshot *snapshot, uint32_t i)
{
    snapshot->entries[i] = (struct process_entry){
        .has_mem = true,
        .util_sm_percent = 40,
        .util_memory_percent = 12,
        .pid = 1234567 + i,
        .gpu_instance_id = INSTANCE_NONE,
        .compute_instance_id = INSTANCE_NONE,
        .mem_bytes = UINT64_C(20000000000),
        .process = i,
    };
    snapshot->processes[i] = (struct process){
        .pid = 1234567 + i,
        .facts = PROCESS_HAS_UID | PROCESS_HAS_START | PROCESS_HAS_CPU | PROCESS_HAS_RSS |
                 PROCESS_HAS_COMMAND_LINE,
        .uid = 20001,
        .start_ticks = 987654321,
        .start_unix_us = INT64_C(1790000000000000),
        .cpu_permille = 1012,
        .rss_bytes = UINT64_C(9000000000),
        .user = TEXT_LITERAL("alice"),
        .comm = TEXT_LITERAL("python"),
        .command_line = {command, sizeof(command) - 1},
        .slurm_job = TEXT_LITERAL("4711"),
        .slurm_step = TEXT_LITERAL("0"),
    };
}

static void fill_snapshot(struct snapshot *snapshot)
{
    snapshot->sequence = 123456;
    snapshot->taken_unix_us = INT64_C(1790000000000000);
    snapshot->hostname = TEXT_LITERAL("gpu01.cluster.example.org");
    snapshot->driver_version = TEXT_LITERAL("580.65.06");
    snapshot->nvml_version = TEXT_LITERAL("13.580.65.06");
    for (uint32_t i = 0; i < DEVICES; i++)
        fill_device(snapshot, i);
    for (uint32_t i = 0; i < PROCESSES; i++)
        fill_process(snapshot, i);
    snapshot->device_count = DEVICES;
    snapshot->entry_count = PROCESSES;
    snapshot->process_count = PROCESSES;
}

static int compare_costs(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static void report(const char *what, double *cost_ns, size_t rounds)
{
    qsort(cost_ns, rounds, sizeof(*cost_ns), compare_costs);
    printf("%-8s median %6.0f ns   90th percentile %6.0f ns\n", what, cost_ns[rounds / 2],
           cost_ns[rounds * 9 / 10]);
}

/* One batch of encodes and one of decodes; the decoder's measuring pass is part of what a reader pays. */
static void run_round(const struct snapshot *snapshot, struct snapshot *decoded, double *ret_encode_ns,
                      double *ret_decode_ns, size_t *ret_size)
{
    static uint8_t bytes[FRAME_BODY_MAX];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    struct instant start = clock_now(), middle, end;

    for (int i = 0; i < BATCH; i++) {
        writer = writer_over(bytes, sizeof(bytes));
        snapshot_encode(snapshot, &writer);
    }
    middle = clock_now();
    for (int i = 0; i < BATCH; i++) {
        struct reader body = reader_over(bytes, writer.pos);
        struct snapshot_need need;

        if (snapshot_measure(body, &need) < 0 || snapshot_decode(body, decoded) < 0)
            abort();
    }
    end = clock_now();
    *ret_encode_ns = (double)instant_since_ns(middle, start) / BATCH;
    *ret_decode_ns = (double)instant_since_ns(end, middle) / BATCH;
    *ret_size = writer.pos;
}

int main(int argc, char *argv[])
{
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, size = 0;
    double *encode_ns = calloc(rounds + 1, sizeof(double)), *decode_ns = calloc(rounds + 1, sizeof(double));
    struct snapshot snapshot, decoded;

    snapshot_init(&snapshot);
    snapshot_init(&decoded);
    if (!rounds || !encode_ns || !decode_ns ||
        snapshot_reserve(&snapshot, DEVICES, PROCESSES, PROCESSES) < 0 ||
        snapshot_reserve(&decoded, DEVICES, PROCESSES, PROCESSES) < 0)
        return 1;
    fill_snapshot(&snapshot);
    for (size_t i = 0; i < rounds; i++)
        run_round(&snapshot, &decoded, &encode_ns[i], &decode_ns[i], &size);
    printf("codec: %d devices, %d processes, %zu bytes, %zu rounds of %d\n", DEVICES, PROCESSES, size, rounds,
           BATCH);
    report("encode", encode_ns, rounds);
    report("decode", decode_ns, rounds);
    snapshot_deinit(&snapshot);
    snapshot_deinit(&decoded);
    free(encode_ns);
    free(decode_ns);
    return 0;
}
