/*
 * Any bytes as the body of a message; the first byte is its type. What decodes can be encoded, and decodes
 * again to the same. Parts that hold pieces of a snapshot are looked at as a backend does.
 */
#include "fuzz/fuzz.h"

#include "support/any_message.h"
#include "wire/snapshot_parts.h"

#include <errno.h>
#include <string.h>

static void look_at_parts(uint8_t type, struct reader body)
{
    struct message_view_node node;
    struct message_reply reply;
    struct snapshot_summary summary;
    struct snapshot_parts parts;

    if (type == FRAME_REPLY && message_get_reply(body, &reply) == 0) {
        int r = snapshot_summarize(reply.readings, &summary);

        MUST(r == 0 || r == -EBADMSG);
        snapshot_facts_hash(reply.facts);
    }
    if (type == FRAME_VIEW_NODE && message_get_view_node(body, &node) == 0)
        MUST(snapshot_split(node.snapshot, &parts) <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static uint8_t once[256u << 10], twice[256u << 10];
    struct writer first = writer_over(once, sizeof(once)), second = writer_over(twice, sizeof(twice));
    struct reader body;
    uint8_t type;
    int r;

    if (!len || len > sizeof(once) / 2)
        return 0;
    type = bytes[0];
    body = reader_over(bytes + 1, len - 1);
    r = recode_message(type, body, &first);
    MUST(r == 0 || r == -EBADMSG || r == -ENOENT);
    if (r < 0)
        return 0;
    MUST(!first.failed && body.len >= message_body_min(type));
    MUST(first.pos >= message_body_min(type) && first.pos <= message_body_max(type));
    MUST(recode_message(type, reader_over(once, first.pos), &second) == 0);
    MUST(first.pos == second.pos && memcmp(once, twice, first.pos) == 0);
    look_at_parts(type, body);
    return 0;
}
