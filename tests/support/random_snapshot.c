#include "support/random_snapshot.h"

#include "core/clock.h"

#include <stdio.h>
#include <stdlib.h>

struct random random_from_environment(void)
{
    const char *given = getenv("CLUSTAT_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)clock_wall_us();

    printf("# CLUSTAT_TEST_SEED=%llu\n", (unsigned long long)seed);
    return (struct random){seed};
}

/* splitmix64 */
uint64_t random_u64(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t random_below(struct random *random, uint64_t below)
{
    return random_u64(random) % below;
}

static uint32_t random_u32(struct random *random)
{
    return (uint32_t)(random_u64(random) >> random_below(random, 32));
}

/* Any number of bits, so that every varint length comes up. */
static uint64_t random_number(struct random *random)
{
    return random_u64(random) >> random_below(random, 64);
}

static bool random_bool(struct random *random)
{
    return random_u64(random) & 1;
}

static struct text random_text(struct random *random, size_t max)
{
    static char pool[4096];

    if (!pool[0]) {
        struct random filler = {1};

        for (size_t i = 0; i < sizeof(pool); i++)
            pool[i] = (char)random_u64(&filler);
        pool[0] = 'x';
    }
    switch (random_below(random, 8)) {
    case 0:
        return TEXT_ABSENT;
    case 1:
        return TEXT_LITERAL("");
    case 2:
        return (struct text){pool, max};
    default:
        return (struct text){pool + random_below(random, 1024), random_below(random, max < 40 ? max : 40)};
    }
}

static uint8_t random_percent(struct random *random)
{
    uint64_t percent = random_below(random, 102);

    return percent == 101 ? PERCENT_ABSENT : (uint8_t)percent;
}

static void random_device(struct random *random, struct device *device)
{
    device_init(device, random_u32(random));
    device->kind = random_bool(random) ? DEVICE_GPU : DEVICE_MIG;
    device->state = (enum device_state)random_below(random, DEVICE_STATE_COUNT);
    device->fault_code = (int32_t)random_u32(random);
    device->flags = random_bool(random) ? DEVICE_UNIFIED_MEMORY : 0;
    device->mig_index = random_u32(random);
    device->name = random_text(random, 255);
    device->uuid = random_text(random, 255);
    device->serial = random_text(random, 255);
    device->pci_bus_id = random_text(random, 255);
    for (unsigned field = 0; field < FIELD_COUNT; field++)
        if (random_below(random, 4))
            field_set(&device->values, (enum device_field)field, (int64_t)random_number(random));
    for (unsigned group = 0; group < GROUP_COUNT; group++)
        device->group_age_us[group] = random_below(random, 4) ? random_number(random) : AGE_NEVER;
    for (unsigned list = 0; list < LIST_COUNT; list++)
        device->list_code[list] = (int32_t)random_below(random, 1002) - 2;
}

static void random_process(struct random *random, struct process *process)
{
    *process = (struct process){
        .pid = random_u32(random),
        .state = (enum process_state)random_below(random, PROCESS_STATE_COUNT),
        .facts = (unsigned)random_below(random, 64),
        .user = random_text(random, 255),
        .comm = random_text(random, 255),
        .command_line = random_text(random, 3000),
        .slurm_job = random_text(random, 255),
        .slurm_step = random_text(random, 255),
        .container = random_text(random, 255),
    };
    if (process->facts & PROCESS_HAS_UID)
        process->uid = random_u32(random);
    if (process->facts & PROCESS_HAS_START) {
        process->start_ticks = random_number(random);
        process->start_unix_us = (int64_t)random_number(random);
    }
    if (process->facts & PROCESS_HAS_CPU)
        process->cpu_permille = random_u32(random);
    if (process->facts & PROCESS_HAS_RSS)
        process->rss_bytes = random_number(random);
}

static void random_entry(struct random *random, const struct snapshot *snapshot, struct process_entry *entry)
{
    uint64_t place = random_below(random, (uint64_t)snapshot->process_count + 1);
    bool in_instance = random_bool(random), has_util = random_bool(random);

    *entry = (struct process_entry){
        .list = (uint8_t)random_below(random, LIST_COUNT),
        .has_mem = random_bool(random),
        .util_sm_percent = has_util ? random_percent(random) : PERCENT_ABSENT,
        .util_memory_percent = has_util ? random_percent(random) : PERCENT_ABSENT,
        .util_encoder_percent = has_util ? random_percent(random) : PERCENT_ABSENT,
        .util_decoder_percent = has_util ? random_percent(random) : PERCENT_ABSENT,
        .pid = random_u32(random),
        .gpu_instance_id = in_instance ? random_u32(random) : INSTANCE_NONE,
        .compute_instance_id = in_instance ? random_u32(random) : INSTANCE_NONE,
        .process = place == snapshot->process_count ? PROCESS_UNKNOWN : (uint32_t)place,
    };
    if (entry->has_mem)
        entry->mem_bytes = random_number(random);
    if (entry->process != PROCESS_UNKNOWN && random_below(random, 4))
        entry->pid = snapshot->processes[entry->process].pid;
}

static void random_node(struct random *random, struct snapshot *snapshot)
{
    snapshot->sequence = random_number(random);
    snapshot->taken_unix_us = (int64_t)random_number(random);
    snapshot->flags = (unsigned)random_below(random, 8);
    snapshot->fault = (enum node_fault)random_below(random, NODE_FAULT_KINDS);
    snapshot->fault_code = (int32_t)random_u32(random);
    snapshot->fault_text = random_text(random, 1024);
    snapshot->hostname = random_text(random, 255);
    snapshot->driver_version = random_text(random, 255);
    snapshot->nvml_version = random_text(random, 255);
    snapshot->pending.name = random_text(random, 255);
    snapshot->pending.device = (int32_t)random_below(random, 130) - 1;
    snapshot->pending.running_us = random_number(random);
    snapshot->driver_time_ppm = random_u32(random);
    snapshot->unnamed_processes = random_u32(random);
    snapshot->commands_cut = random_u32(random);
    snapshot->entries_left_out = random_u32(random);
    snapshot->host_age_us = random_bool(random) ? random_number(random) : AGE_NEVER;
}

/* Hands the entries out to the devices, from the first on; what is left goes to the last one. */
static void share_entries(struct random *random, struct snapshot *snapshot)
{
    uint32_t given = 0;

    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        struct device *device = &snapshot->devices[i];
        uint32_t left = snapshot->entry_count - given;

        device->first_entry = given;
        device->entry_count =
            i + 1 == snapshot->device_count ? left : (uint32_t)random_below(random, left + 1);
        given += device->entry_count;
    }
}

void random_snapshot(struct random *random, struct snapshot *snapshot, uint32_t max_devices,
                     uint32_t max_entries, uint32_t max_processes)
{
    uint32_t devices = (uint32_t)random_below(random, max_devices + 1);
    uint32_t entries = devices ? (uint32_t)random_below(random, max_entries + 1) : 0;
    uint32_t processes = (uint32_t)random_below(random, max_processes + 1);

    if (snapshot_reserve(snapshot, devices, entries, processes) < 0)
        abort();
    random_node(random, snapshot);
    for (; snapshot->process_count < processes; snapshot->process_count++)
        random_process(random, &snapshot->processes[snapshot->process_count]);
    for (; snapshot->entry_count < entries; snapshot->entry_count++)
        random_entry(random, snapshot, &snapshot->entries[snapshot->entry_count]);
    for (; snapshot->device_count < devices; snapshot->device_count++)
        random_device(random, &snapshot->devices[snapshot->device_count]);
    share_entries(random, snapshot);
}
