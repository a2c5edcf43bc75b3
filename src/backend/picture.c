#include "backend/picture.h"

#include "core/cleanup.h"
#include "wire/snapshot_codec.h"
#include "wire/snapshot_parts.h"

#include <errno.h>
#include <string.h>

void picture_deinit(struct picture *picture)
{
    free(picture->bytes);
    *picture = (struct picture){0};
}

void picture_drop(struct picture *picture)
{
    picture_deinit(picture);
}

static struct reader part_at(const struct picture *picture, size_t offset, size_t len)
{
    return reader_over(picture->bytes ? picture->bytes + offset : NULL, len);
}

struct reader picture_body(const struct picture *picture)
{
    return part_at(picture, 0, picture_has_readings(picture) ? picture_size(picture) : 0);
}

static struct reader readings_of(const struct picture *picture)
{
    return part_at(picture, 0, picture->readings_len);
}

struct reader picture_facts(const struct picture *picture)
{
    return part_at(picture, picture->readings_len, picture->facts_len);
}

static struct reader process_facts_of(const struct picture *picture)
{
    return part_at(picture, picture->readings_len + picture->facts_len, picture->process_len);
}

static void put(struct writer *writer, struct reader part)
{
    if (reader_left(&part))
        write_bytes(writer, part.bytes + part.pos, reader_left(&part));
}

int picture_take_facts(struct picture *picture, uint64_t hash, struct reader facts)
{
    size_t facts_len = reader_left(&facts);
    size_t len = picture->readings_len + facts_len + picture->process_len;
    _cleanup_(cleanup_free) uint8_t *bytes = NULL;
    struct writer writer;

    if (!facts_len || facts_len > FRAME_BODY_MAX)
        return -EBADMSG;
    bytes = malloc(len);
    if (!bytes)
        return -ENOMEM;
    writer = writer_over(bytes, len);
    put(&writer, readings_of(picture));
    put(&writer, facts);
    put(&writer, process_facts_of(picture));
    free(picture->bytes);
    picture->bytes = steal_pointer(&bytes);
    picture->facts_len = facts_len;
    picture->facts_hash = hash;
    return 0;
}

void picture_server_restarted(struct picture *picture)
{
    picture->process_generation = 0;
}

/* The next question asks for everything. */
static void forget_what_is_known(struct picture *picture)
{
    picture->facts_hash = 0;
    picture->process_generation = 0;
}

/* The process facts that this reply's readings name. Returns 0, PICTURE_ASK_AGAIN or an error. */
static int put_process_facts(const struct picture *picture, const struct message_reply *reply,
                             struct writer *writer)
{
    struct reader known = reply->process_base_generation ? process_facts_of(picture) : reader_over(NULL, 0);
    int r;

    if (!reader_left(&reply->process_facts))
        known = process_facts_of(picture);
    r = process_facts_merge(reply->readings, known, reply->process_facts, writer);
    return r == -ESTALE ? PICTURE_ASK_AGAIN : r;
}

/* True if the reply builds on other facts than those that we have. */
static bool lacks_base(const struct picture *picture, const struct message_reply *reply)
{
    if (!reader_left(&reply->facts) && (!picture->facts_len || reply->facts_hash != picture->facts_hash))
        return true;
    if (!reader_left(&reply->process_facts))
        return reply->process_generation != picture->process_generation;
    return reply->process_base_generation && reply->process_base_generation != picture->process_generation;
}

/* Puts the new body together. Returns 0, PICTURE_ASK_AGAIN or an error. */
static int join(const struct picture *picture, const struct message_reply *reply, struct picture *ret_picture)
{
    struct reader facts = reader_left(&reply->facts) ? reply->facts : picture_facts(picture);
    struct picture joined = {.readings_len = reader_left(&reply->readings), .facts_len = reader_left(&facts)};
    /* A merged section has no record that is in neither source, and a header of its own. */
    size_t cap = joined.readings_len + joined.facts_len + picture->process_len +
                 reader_left(&reply->process_facts) + 16;
    _cleanup_(cleanup_free) uint8_t *bytes = malloc(cap);
    struct snapshot_need need;
    struct writer writer;
    int r;

    if (!bytes)
        return -ENOMEM;
    writer = writer_over(bytes, cap);
    put(&writer, reply->readings);
    put(&writer, facts);
    r = put_process_facts(picture, reply, &writer);
    if (r != 0)
        return r;
    if (writer.failed || writer.pos > FRAME_BODY_MAX ||
        snapshot_measure(reader_over(bytes, writer.pos), &need) < 0)
        return -EBADMSG;
    joined.process_len = writer.pos - joined.readings_len - joined.facts_len;
    joined.bytes = steal_pointer(&bytes);
    *ret_picture = joined;
    return 0;
}

int picture_take_reply(struct picture *picture, const struct message_reply *reply, struct instant asked_at)
{
    bool whole =
        reader_left(&reply->facts) && reader_left(&reply->process_facts) && !reply->process_base_generation;
    uint64_t age_us = reply->age_us < INT64_MAX / 2000 ? reply->age_us : INT64_MAX / 2000;
    struct picture joined;
    int r;

    if (reply->flags & REPLY_WARMING)
        return PICTURE_WARMING;
    if (lacks_base(picture, reply)) {
        forget_what_is_known(picture);
        return PICTURE_ASK_AGAIN;
    }
    r = join(picture, reply, &joined);
    if (r == -ENOMEM)
        return r;
    if (r != 0) {
        forget_what_is_known(picture);
        return whole ? -EBADMSG : (int)PICTURE_ASK_AGAIN;
    }
    joined.facts_hash = reply->facts_hash;
    joined.process_generation = reply->process_generation;
    joined.taken = instant_add_ns(asked_at, -(int64_t)age_us * NS_PER_US);
    free(picture->bytes);
    *picture = joined;
    return PICTURE_TAKEN;
}
