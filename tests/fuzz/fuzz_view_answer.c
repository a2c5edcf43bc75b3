/* Any frames as the backend's answer: they are taken or refused, and what was taken can be walked through. */
#include "fuzz/fuzz.h"

#include "proto/view_client.h"

#include <errno.h>

static uint64_t sum_of(struct text text)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < text.len; i++)
        sum += (unsigned char)text.bytes[i];
    return sum;
}

/* Touches all that a renderer would. */
static void walk(const struct view_answer *answer)
{
    volatile uint64_t sum = 0;
    size_t count;
    const struct view_node *nodes = view_answer_nodes(answer, &count);

    for (size_t i = 0; i < count; i++) {
        const struct snapshot *snapshot = nodes[i].snapshot;

        sum += sum_of(nodes[i].connection_id) + sum_of(nodes[i].addr) + sum_of(nodes[i].error);
        sum += sum_of(view_answer_details(answer)[i].software);
        for (uint32_t j = 0; snapshot && j < snapshot->device_count; j++)
            MUST(snapshot->devices[j].first_entry + snapshot->devices[j].entry_count <=
                 snapshot->entry_count);
    }
    sum += sum_of(view_answer_error(answer)->text);
    (void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct reader reader = reader_over(bytes, len);
    struct view_answer *answer;
    struct frame_header header;
    int r = VIEW_ANSWER_MORE;

    MUST(view_answer_new(&answer) == 0);
    view_answer_begin(answer, 1);
    while ((r == VIEW_ANSWER_MORE || r == VIEW_ANSWER_OTHER) &&
           frame_read_header(&reader, &header) == FRAME_OK && header.body_len <= reader_left(&reader)) {
        const uint8_t *frame = reader.bytes + reader.pos - FRAME_HEADER_SIZE;

        read_bytes(&reader, header.body_len);
        r = view_answer_take(answer, frame, FRAME_HEADER_SIZE + header.body_len);
        MUST(r >= VIEW_ANSWER_MORE && r <= VIEW_ANSWER_BAD);
    }
    walk(answer);
    view_answer_free(answer);
    return 0;
}
