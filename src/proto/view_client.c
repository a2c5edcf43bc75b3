#include "proto/view_client.h"

#include "wire/snapshot_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Places grow by this many at a time. */
#define PLACES_STEP 64u

static const char unreadable[] = "its values cannot be read (a server of another version?)";

/* What a node borrows from: kept from answer to answer, so that its memory is used again. */
struct place {
    struct buffer frame; /* the node's frame, without its header */
    struct snapshot snapshot;
};

struct view_answer {
    uint64_t request_id;
    struct place *places; /* owned; moved when it grows, but nobody points into it */
    struct view_node *nodes;
    struct view_node_details *details;
    size_t count, cap;
    struct buffer last; /* the body of the frame that ended the answer */
    struct message_view_end end;
    struct message_forgotten forgotten;
    struct message_api_error error;
};

/* ---- asking ---- */

static size_t begin_frame(struct buffer *out, size_t body_max, enum frame_type type, uint64_t request_id,
                          struct writer *ret_writer)
{
    struct frame_header header = {.version = FRAME_VERSION, .type = (uint8_t)type, .request_id = request_id};

    if (buffer_reserve(out, FRAME_HEADER_SIZE + body_max) < 0) {
        *ret_writer = writer_over(NULL, 0);
        ret_writer->failed = true;
        return 0;
    }
    *ret_writer = writer_over(out->bytes + out->len, out->cap - out->len);
    return frame_begin(ret_writer, &header);
}

static void end_frame(struct buffer *out, struct writer *writer, size_t mark)
{
    frame_end(writer, mark);
    if (!writer->failed)
        out->len += writer->pos;
    else if (!out->error)
        out->error = -EFBIG;
}

void view_put_query(struct buffer *out, uint64_t request_id, const struct message_view_query *query)
{
    size_t body_max = query->filter.len + query->user_count * sizeof(uint32_t) + 32;
    struct writer writer;
    size_t mark = begin_frame(out, body_max, FRAME_VIEW_QUERY, request_id, &writer);

    if (!writer.failed)
        message_put_view_query(&writer, query);
    end_frame(out, &writer, mark);
}

void view_put_forget(struct buffer *out, uint64_t request_id, struct text filter)
{
    struct message_forget message = {.filter = filter};
    struct writer writer;
    size_t mark = begin_frame(out, filter.len + 16, FRAME_FORGET, request_id, &writer);

    if (!writer.failed)
        message_put_forget(&writer, &message);
    end_frame(out, &writer, mark);
}

/* ---- the answer ---- */

int view_answer_new(struct view_answer **ret_answer)
{
    struct view_answer *answer = calloc(1, sizeof(*answer));

    if (!answer)
        return -ENOMEM;
    *ret_answer = answer;
    return 0;
}

void view_answer_free(struct view_answer *answer)
{
    if (!answer)
        return;
    for (size_t i = 0; i < answer->cap; i++) {
        buffer_deinit(&answer->places[i].frame);
        snapshot_deinit(&answer->places[i].snapshot);
    }
    free(answer->places);
    free(answer->nodes);
    free(answer->details);
    buffer_deinit(&answer->last);
    free(answer);
}

void view_answer_begin(struct view_answer *answer, uint64_t request_id)
{
    answer->request_id = request_id;
    answer->count = 0;
    answer->end = (struct message_view_end){0};
    answer->forgotten = (struct message_forgotten){0};
    answer->error = (struct message_api_error){0};
}

static int grow_array(void **array, size_t count, size_t item_size)
{
    void *larger = reallocarray(*array, count, item_size);

    if (!larger)
        return -ENOMEM;
    *array = larger;
    return 0;
}

/* Room for one more node. The snapshots move with their places, so the nodes are pointed at them anew. */
static int make_room(struct view_answer *answer)
{
    size_t cap = answer->cap + PLACES_STEP;

    if (answer->count < answer->cap)
        return 0;
    if (grow_array((void **)&answer->nodes, cap, sizeof(*answer->nodes)) < 0 ||
        grow_array((void **)&answer->details, cap, sizeof(*answer->details)) < 0 ||
        grow_array((void **)&answer->places, cap, sizeof(*answer->places)) < 0)
        return -ENOMEM;
    for (size_t i = answer->cap; i < cap; i++) {
        answer->places[i].frame = BUFFER_EMPTY;
        snapshot_init(&answer->places[i].snapshot);
    }
    answer->cap = cap;
    for (size_t i = 0; i < answer->count; i++)
        if (answer->nodes[i].snapshot)
            answer->nodes[i].snapshot = &answer->places[i].snapshot;
    return 0;
}

/* Returns 0, -EBADMSG or -ENOMEM. */
static int decode(struct reader body, struct snapshot *snapshot)
{
    struct snapshot_need need;
    int r = snapshot_measure(body, &need);

    snapshot_clear(snapshot);
    if (r == 0)
        r = snapshot_reserve(snapshot, need.devices, need.entries, need.processes);
    return r == 0 ? snapshot_decode(body, snapshot) : r;
}

static int take_node(struct view_answer *answer, struct reader body)
{
    struct message_view_node message;
    struct place *place;
    int r;

    if (answer->count == VIEW_ANSWER_NODES_MAX)
        return VIEW_ANSWER_BAD;
    r = make_room(answer);
    if (r < 0)
        return r;
    place = &answer->places[answer->count];
    buffer_clear(&place->frame);
    buffer_put(&place->frame, body.bytes + body.pos, reader_left(&body));
    if (buffer_error(&place->frame))
        return -ENOMEM;
    if (message_get_view_node(reader_over(place->frame.bytes, place->frame.len), &message) < 0)
        return VIEW_ANSWER_BAD;
    if (reader_left(&message.snapshot)) {
        r = decode(message.snapshot, &place->snapshot);
        if (r == -ENOMEM)
            return r;
        if (r == 0)
            message.node.snapshot = &place->snapshot;
        else if (!message.node.error.len)
            message.node.error = text_from_string(unreadable);
    }
    answer->nodes[answer->count] = message.node;
    answer->details[answer->count] =
        (struct view_node_details){message.software, message.has_last_seen, message.last_seen_age_us};
    answer->count++;
    return VIEW_ANSWER_MORE;
}

/* The last frame of an answer; its texts are borrowed from a copy. */
static int take_last(struct view_answer *answer, uint8_t type, struct reader body)
{
    int r;

    buffer_clear(&answer->last);
    buffer_put(&answer->last, body.bytes + body.pos, reader_left(&body));
    if (buffer_error(&answer->last))
        return -ENOMEM;
    body = reader_over(answer->last.bytes, answer->last.len);
    switch (type) {
    case FRAME_VIEW_END:
        r = message_get_view_end(body, &answer->end);
        return r == 0 ? VIEW_ANSWER_COMPLETE : VIEW_ANSWER_BAD;
    case FRAME_FORGOTTEN:
        r = message_get_forgotten(body, &answer->forgotten);
        return r == 0 ? VIEW_ANSWER_FORGOTTEN : VIEW_ANSWER_BAD;
    default:
        r = message_get_api_error(body, &answer->error);
        return r == 0 ? VIEW_ANSWER_ERROR : VIEW_ANSWER_BAD;
    }
}

int view_answer_take(struct view_answer *answer, const uint8_t *frame, size_t len)
{
    struct reader reader = reader_over(frame, len);
    struct frame_header header;

    if (frame_read_header(&reader, &header) != FRAME_OK || header.body_len != reader_left(&reader))
        return VIEW_ANSWER_BAD;
    /* An error may answer a request that the backend could not even read. */
    if (header.request_id != answer->request_id &&
        !(header.type == FRAME_API_ERROR && header.request_id == 0))
        return VIEW_ANSWER_OTHER;
    switch (header.type) {
    case FRAME_VIEW_NODE:
        return take_node(answer, reader);
    case FRAME_VIEW_END:
    case FRAME_FORGOTTEN:
    case FRAME_API_ERROR:
        return take_last(answer, header.type, reader);
    default:
        return VIEW_ANSWER_OTHER;
    }
}

const struct view_node *view_answer_nodes(const struct view_answer *answer, size_t *ret_count)
{
    *ret_count = answer->count;
    return answer->nodes;
}

const struct view_node_details *view_answer_details(const struct view_answer *answer)
{
    return answer->details;
}

const struct message_view_end *view_answer_end(const struct view_answer *answer)
{
    return &answer->end;
}

const struct message_forgotten *view_answer_forgotten(const struct view_answer *answer)
{
    return &answer->forgotten;
}

const struct message_api_error *view_answer_error(const struct view_answer *answer)
{
    return &answer->error;
}
