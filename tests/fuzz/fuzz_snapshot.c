/*
 * Any bytes as the body of a snapshot. What decodes must be encodable, decode again to the same, fit a frame,
 * and be fit to be shown.
 */
#include "fuzz/fuzz.h"

#include "model/merge.h"
#include "wire/snapshot_codec.h"
#include "wire/snapshot_fit.h"

#include <errno.h>
#include <string.h>

static int decode(struct reader body, struct snapshot *snapshot)
{
    struct snapshot_need need;
    int r = snapshot_measure(body, &need);

    snapshot_clear(snapshot);
    if (r < 0)
        return r;
    MUST(snapshot_reserve(snapshot, need.devices, need.entries, need.processes) == 0);
    return snapshot_decode(body, snapshot);
}

static struct reader encode(const struct snapshot *snapshot)
{
    size_t size = snapshot_encoded_max(snapshot);
    uint8_t *bytes = malloc(size);
    struct writer writer = writer_over(bytes, size);

    MUST(bytes);
    snapshot_encode(snapshot, &writer);
    MUST(!writer.failed && writer.pos == size);
    return reader_over(bytes, size);
}

static void free_body(struct reader body)
{
    free((void *)(uintptr_t)body.bytes);
}

static void merge_all(const struct snapshot *snapshot)
{
    struct process_row *rows = calloc(snapshot->entry_count + 1, sizeof(*rows));

    MUST(rows);
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        const struct device *device = &snapshot->devices[i];

        MUST(merge_gpustat(snapshot, device, rows) <= device->entry_count);
        MUST(merge_clustat(snapshot, device, rows) <= device->entry_count);
    }
    free(rows);
}

/* Fits the snapshot into half its size, or as near as it goes. */
static void fit(struct snapshot *snapshot)
{
    size_t size = snapshot_encoded_max(snapshot);
    struct snapshot again;
    struct reader body;

    snapshot_fit(snapshot, size / 2);
    body = encode(snapshot);
    MUST(body.len <= size + 10 && body.len <= FRAME_BODY_MAX); /* counters may have grown */
    snapshot_init(&again);
    MUST(decode(body, &again) == 0);
    snapshot_deinit(&again);
    free_body(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static struct snapshot first, second; /* kept: their arrays grow to what is needed */
    struct reader once, twice;
    int r = decode(reader_over(bytes, len), &first);

    MUST(r == 0 || r == -EBADMSG);
    if (r < 0)
        return 0;
    merge_all(&first);
    once = encode(&first);
    MUST(decode(once, &second) == 0);
    twice = encode(&second);
    MUST(once.len == twice.len && memcmp(once.bytes, twice.bytes, once.len) == 0);
    fit(&second);
    free_body(once);
    free_body(twice);
    return 0;
}
