/*
 * Any bytes as readings, known and newer process facts, each behind a length of two bytes. What can be merged
 * merges again from itself to the same, and what a server makes of it comes out at the receiver as it was.
 */
#include "fuzz/fuzz.h"

#include "wire/snapshot_parts.h"

#include <errno.h>
#include <string.h>

static struct reader next_part(struct reader *in)
{
    size_t len = read_u16(in), left = reader_left(in);

    return read_nested(in, len < left ? len : left);
}

/* As a server: two histories one after the other; the receiver knows the first. */
static void serve(struct reader first, struct reader second)
{
    static struct process_facts_log log;
    static uint8_t bytes[1u << 18];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    uint64_t known;

    memset(&log, 0, sizeof(log));
    if (process_facts_update(&log, first) < 0)
        return;
    known = log.generation;
    MUST(known == 1);
    if (process_facts_update(&log, second) < 0) {
        MUST(log.generation == known);
        return;
    }
    MUST(log.generation >= known && log.generation <= known + 1);
    MUST(process_facts_write_newer(&log, second, log.generation, &writer) == log.generation && !writer.pos);
    process_facts_write_newer(&log, second, known, &writer);
    MUST(!writer.failed); /* it is no longer than the input */
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static uint8_t once[1u << 18], twice[1u << 18];
    struct writer first = writer_over(once, sizeof(once)), second = writer_over(twice, sizeof(twice));
    struct reader in = reader_over(bytes, len), readings, known, newer;
    int r;

    if (len > sizeof(once) / 4)
        return 0;
    readings = next_part(&in);
    known = next_part(&in);
    newer = next_part(&in);
    serve(known, newer);
    r = process_facts_merge(readings, known, newer, &first);
    MUST(r == 0 || r == -EBADMSG || r == -ESTALE);
    if (r < 0 ||
        first.failed) /* one record may serve many processes with one key: too long for this buffer */
        return 0;
    r = process_facts_merge(readings, reader_over(once, first.pos), reader_over("", 0), &second);
    MUST(r == -ESTALE || (r == 0 && first.pos == second.pos && memcmp(once, twice, first.pos) == 0));
    return 0;
}
