#include "picture.h"

#include "core/clock.h"
#include "wire/snapshot_codec.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define GIB            (INT64_C(1) << 30)
#define MIB            (INT64_C(1) << 20)
#define DEVICE_CAP     SNAPSHOT_MAX_DEVICES
#define UUID_CAP       48
#define FIRST_PID      1000
#define FIRST_UID      60000 /* nobody's */
#define READ_BEFORE_US 1000

struct picture {
    struct snapshot snapshot;
    char uuids[DEVICE_CAP][UUID_CAP];
    uint8_t *bytes; /* owned */
    size_t cap;
};

int picture_new(uint32_t devices, uint32_t processes, struct picture **ret_picture)
{
    struct picture *picture = calloc(1, sizeof(*picture));
    int r;

    if (!picture)
        return -ENOMEM;
    snapshot_init(&picture->snapshot);
    r = snapshot_reserve(&picture->snapshot, devices, devices * processes, devices * processes);
    if (r < 0) {
        picture_free(picture);
        return r;
    }
    *ret_picture = picture;
    return 0;
}

void picture_free(struct picture *picture)
{
    if (!picture)
        return;
    snapshot_deinit(&picture->snapshot);
    free(picture->bytes);
    free(picture);
}

static void set_values(struct field_values *values, const struct picture_options *options, uint32_t index)
{
    int64_t seed = (int64_t)options->node * 7 + (int64_t)index * 13;

    field_set(values, FIELD_UTIL_GPU_PERCENT, seed % 101);
    field_set(values, FIELD_UTIL_MEMORY_PERCENT, seed % 53);
    field_set(values, FIELD_MEM_TOTAL_BYTES, 80 * GIB);
    field_set(values, FIELD_MEM_USED_BYTES, (int64_t)options->processes * (seed % 1000 + 1) * MIB);
    field_set(values, FIELD_TEMP_C, 40 + (int64_t)(options->sequence % 20));
    field_set(values, FIELD_POWER_MW, 100000 + seed * 100);
    field_set(values, FIELD_POWER_LIMIT_MW, 700000);
    field_set(values, FIELD_FAN_PERCENT, seed % 100);
    field_set(values, FIELD_MINOR, index);
}

static void add_process(struct snapshot *snapshot, const struct picture_options *options,
                        struct device *device)
{
    uint32_t number = snapshot->process_count;
    int64_t seed = (int64_t)options->node * 7 + (int64_t)device->index * 13;

    snapshot->processes[snapshot->process_count++] = (struct process){
        .pid = FIRST_PID + number,
        .facts = PROCESS_HAS_UID | PROCESS_HAS_START | PROCESS_HAS_CPU | PROCESS_HAS_RSS |
                 PROCESS_HAS_COMMAND_LINE,
        .uid = FIRST_UID + number % 5,
        .start_ticks = 1000 + number,
        .start_unix_us = INT64_C(1700000000) * 1000000 + number,
        .cpu_permille = 1000,
        .rss_bytes = (uint64_t)GIB,
        .comm = TEXT_LITERAL("python"),
        .command_line = TEXT_LITERAL("python\0train.py"),
    };
    snapshot->entries[snapshot->entry_count++] = (struct process_entry){
        .list = LIST_COMPUTE,
        .has_mem = true,
        .util_sm_percent = PERCENT_ABSENT,
        .util_memory_percent = PERCENT_ABSENT,
        .util_encoder_percent = PERCENT_ABSENT,
        .util_decoder_percent = PERCENT_ABSENT,
        .pid = FIRST_PID + number,
        .gpu_instance_id = INSTANCE_NONE,
        .compute_instance_id = INSTANCE_NONE,
        .mem_bytes = (uint64_t)((seed % 1000 + 1) * MIB),
        .process = number,
    };
    device->entry_count++;
}

static void add_device(struct picture *picture, const struct picture_options *options)
{
    struct snapshot *snapshot = &picture->snapshot;
    uint32_t index = snapshot->device_count;
    struct device *device = &snapshot->devices[snapshot->device_count++];

    device_init(device, index);
    snprintf(picture->uuids[index], UUID_CAP, "GPU-%08x-0000-4000-8000-%012x", options->node, index);
    device->name = TEXT_LITERAL("Simulated GPU 80GB");
    device->uuid = text_from_string(picture->uuids[index]);
    set_values(&device->values, options, index);
    for (int group = 0; group < GROUP_COUNT; group++)
        device->group_age_us[group] = READ_BEFORE_US;
    device->list_code[LIST_COMPUTE] = 0;
    device->list_code[LIST_GRAPHICS] = 0;
    device->first_entry = snapshot->entry_count;
    for (uint32_t i = 0; i < options->processes; i++)
        add_process(snapshot, options, device);
}

struct reader picture_make(struct picture *picture, const struct picture_options *options)
{
    struct snapshot *snapshot = &picture->snapshot;
    struct writer writer;
    size_t size;

    snapshot_clear(snapshot);
    snapshot->sequence = options->sequence;
    snapshot->taken_unix_us = clock_wall_us();
    snapshot->flags = NODE_FIRST_ROUND_DONE;
    snapshot->hostname = options->hostname;
    snapshot->driver_version = TEXT_LITERAL("580.00.simulated");
    snapshot->host_age_us = READ_BEFORE_US;
    for (uint32_t i = 0; i < options->devices; i++)
        add_device(picture, options);
    size = snapshot_encoded_max(snapshot);
    if (size > picture->cap) {
        free(picture->bytes);
        picture->bytes = malloc(size);
        picture->cap = picture->bytes ? size : 0;
    }
    writer = writer_over(picture->bytes, picture->cap);
    snapshot_encode(snapshot, &writer);
    assert(!writer.failed);
    return reader_over(picture->bytes, writer.pos);
}
