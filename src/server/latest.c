#include "server/latest.h"

#include "wire/snapshot_codec.h"
#include "wire/snapshot_pending.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Shorter calls are the daily work; the sampler itself tells longer ones as long as it can send. */
#define CALL_TOLD_NS NS_PER_S

struct bytes {
    uint8_t *bytes; /* owned */
    size_t cap;
};

struct latest {
    char *hostname;
    struct bytes body;
    struct snapshot_parts parts; /* of it */
    bool there;
    bool made_here;
    struct instant received;
    uint64_t facts_hash;
    uint64_t sequence; /* of the last one taken */
    struct process_facts_log process_log;
    struct bytes newer;   /* process facts of the last answer */
    struct bytes patched; /* readings of the last answer */
};

int latest_new(struct text hostname, struct latest **ret_latest)
{
    struct latest *latest = calloc(1, sizeof(*latest));

    if (!latest)
        return -ENOMEM;
    latest->hostname = strndup(hostname.bytes, hostname.len);
    if (!latest->hostname) {
        latest_free(latest);
        return -ENOMEM;
    }
    *ret_latest = latest;
    return 0;
}

void latest_free(struct latest *latest)
{
    if (!latest)
        return;
    free(latest->hostname);
    free(latest->body.bytes);
    free(latest->newer.bytes);
    free(latest->patched.bytes);
    free(latest);
}

/* Makes room for `len` bytes; what was there is lost. */
static int make_room(struct bytes *bytes, size_t len)
{
    uint8_t *larger;

    if (len <= bytes->cap)
        return 0;
    larger = malloc(len);
    if (!larger)
        return -ENOMEM;
    free(bytes->bytes);
    *bytes = (struct bytes){larger, len};
    return 0;
}

/* ---- taking one ---- */

/* The bytes in latest->body are a snapshot that was found good. */
static void take_own(struct latest *latest, size_t len, struct instant received, bool made_here)
{
    struct snapshot_summary summary;
    int r = snapshot_split(reader_over(latest->body.bytes, len), &latest->parts);

    assert(r == 0);
    latest->facts_hash = snapshot_facts_hash(latest->parts.facts);
    latest->received = received;
    latest->made_here = made_here;
    latest->there = true;
    if (latest_summary(latest, &summary))
        latest->sequence = summary.sequence;
}

int latest_take(struct latest *latest, struct reader body, struct instant received)
{
    struct snapshot_parts parts;
    struct snapshot_summary summary;
    int r = snapshot_split(body, &parts);

    if (r == 0)
        r = snapshot_summarize(parts.readings, &summary);
    if (r == 0)
        r = process_facts_update(&latest->process_log, parts.process_facts);
    /* Without room the log belongs to bytes that we lack: answers then carry all process facts. */
    if (r == 0)
        r = make_room(&latest->body, body.len);
    if (r < 0)
        return r;
    memcpy(latest->body.bytes, body.bytes, body.len);
    take_own(latest, body.len, received, false);
    return 0;
}

int latest_take_fault(struct latest *latest, enum node_fault fault, struct text why)
{
    struct snapshot snapshot;
    struct writer writer;
    size_t size;
    int r;

    snapshot_init(&snapshot);
    snapshot.sequence = latest->sequence + 1;
    snapshot.taken_unix_us = clock_wall_us();
    snapshot.flags = NODE_FIRST_ROUND_DONE;
    snapshot.fault = fault;
    snapshot.fault_text = why;
    snapshot.hostname = text_from_string(latest->hostname);
    snapshot.host_age_us = AGE_NEVER;
    size = snapshot_encoded_max(&snapshot);
    r = make_room(&latest->body, size);
    if (r < 0)
        return r;
    writer = writer_over(latest->body.bytes, size);
    snapshot_encode(&snapshot, &writer);
    assert(!writer.failed);
    take_own(latest, writer.pos, (struct instant){0}, true);
    process_facts_update(&latest->process_log, latest->parts.process_facts);
    return 0;
}

/* ---- what is known of it ---- */

bool latest_age_ns(const struct latest *latest, struct instant now, int64_t *ret_age_ns)
{
    int64_t age = latest->made_here ? 0 : instant_since_ns(now, latest->received);

    if (!latest->there)
        return false;
    *ret_age_ns = age > 0 ? age : 0;
    return true;
}

bool latest_summary(const struct latest *latest, struct snapshot_summary *ret_summary)
{
    struct snapshot_summary readings, facts;

    if (!latest->there || snapshot_summarize(latest->parts.readings, &readings) < 0 ||
        snapshot_summarize(latest->parts.facts, &facts) < 0)
        return false;
    readings.has_facts = facts.has_facts;
    readings.hostname = facts.hostname;
    readings.driver_version = facts.driver_version;
    *ret_summary = readings;
    return true;
}

uint64_t latest_facts(const struct latest *latest, struct reader *ret_facts)
{
    *ret_facts = latest->there ? latest->parts.facts : (struct reader){0};
    return latest->there ? latest->facts_hash : 0;
}

/* ---- answers ---- */

/* The readings, with the call in them if they are older than it. */
static struct reader readings_with_call(struct latest *latest, const struct sampler_call *call,
                                        int64_t age_ns)
{
    struct pending_call pending;
    struct writer writer;
    size_t size = latest->parts.readings.len + SNAPSHOT_PENDING_MAX;

    if (!call || latest->made_here || call->running_ns < CALL_TOLD_NS || age_ns < CALL_TOLD_NS ||
        make_room(&latest->patched, size) < 0)
        return latest->parts.readings;
    pending = (struct pending_call){
        .name = {call->name, strnlen(call->name, sizeof(call->name))},
        .device = call->device,
        .running_us = (uint64_t)(call->running_ns / NS_PER_US),
    };
    writer = writer_over(latest->patched.bytes, size);
    if (snapshot_put_pending(latest->parts.readings, &pending, &writer) < 0 || writer.failed)
        return latest->parts.readings;
    return reader_over(writer.bytes, writer.pos);
}

/* Those process facts that the asker lacks; all if they cannot be told apart. */
static void add_process_facts(struct latest *latest, uint64_t known, struct message_reply *reply)
{
    struct reader whole = latest->parts.process_facts;
    struct writer writer;

    reply->process_generation = latest->process_log.generation;
    if (make_room(&latest->newer, whole.len) < 0) {
        reply->process_facts = whole;
        return;
    }
    writer = writer_over(latest->newer.bytes, latest->newer.cap);
    reply->process_base_generation = process_facts_write_newer(&latest->process_log, whole, known, &writer);
    if (writer.failed) {
        reply->process_base_generation = 0;
        reply->process_facts = whole;
    } else {
        reply->process_facts = reader_over(writer.bytes, writer.pos);
    }
}

void latest_reply(struct latest *latest, const struct message_query *query, const struct sampler_call *call,
                  struct instant now, struct message_reply *ret_reply)
{
    struct message_reply reply = {0};
    int64_t age_ns;

    if (!latest_age_ns(latest, now, &age_ns)) {
        *ret_reply = (struct message_reply){.flags = REPLY_WARMING};
        return;
    }
    reply.age_us = (uint64_t)(age_ns / NS_PER_US);
    reply.facts_hash = latest->facts_hash;
    if (query->facts_hash != latest->facts_hash)
        reply.facts = latest->parts.facts;
    reply.readings = readings_with_call(latest, call, age_ns);
    add_process_facts(latest, query->process_generation, &reply);
    *ret_reply = reply;
}
