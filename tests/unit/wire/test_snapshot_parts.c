/* Snapshots in parts: taken apart, sent by what the receiver knows, put together again. */
#include "codec_helpers.h"

#include "wire/snapshot_fit.h"
#include "wire/snapshot_parts.h"

#include <errno.h>
#include <stdio.h>

static struct random seed;

static void parts_make_the_body_again(void **state)
{
    static uint8_t bytes[FRAME_BODY_MAX];
    struct snapshot snapshot, decoded;

    (void)state;
    snapshot_init(&snapshot);
    snapshot_init(&decoded);
    for (int i = 0; i < 100; i++) {
        struct writer writer = writer_over(bytes, sizeof(bytes));
        struct snapshot_parts parts;
        struct reader body;

        snapshot_clear(&snapshot);
        random_snapshot(&seed, &snapshot, 5, 10, 8);
        body = encode_guarded(&snapshot);
        assert_int_equal(snapshot_split(body, &parts), 0);
        assert_int_equal(parts.readings.len + parts.facts.len + parts.process_facts.len, body.len);
        snapshot_join(&parts, &writer);
        assert_int_equal(writer.pos, body.len);
        assert_memory_equal(bytes, body.bytes, body.len);
        free_body(body);
    }
    snapshot_deinit(&snapshot);
    snapshot_deinit(&decoded);
}

static void damaged_bodies_are_not_split(void **state)
{
    struct snapshot snapshot;
    struct snapshot_parts parts;
    struct reader body, turned;
    uint8_t *bytes;

    (void)state;
    snapshot_init(&snapshot);
    random_snapshot(&seed, &snapshot, 3, 3, 3);
    body = encode_guarded(&snapshot);
    for (size_t len = 0; len < body.len; len++) {
        struct reader part = guarded_copy(body.bytes, len);

        assert_int_equal(snapshot_split(part, &parts), -EBADMSG);
        free_body(part);
    }
    assert_int_equal(snapshot_split(body, &parts), 0);
    bytes = malloc(body.len);
    assert_non_null(bytes);
    turned = reader_over(bytes, body.len); /* facts first */
    memcpy(bytes, parts.facts.bytes, parts.facts.len);
    memcpy(bytes + parts.facts.len, parts.readings.bytes, parts.readings.len);
    memcpy(bytes + parts.facts.len + parts.readings.len, parts.process_facts.bytes, parts.process_facts.len);
    assert_int_equal(snapshot_split(turned, &parts), -EBADMSG);
    free_body(turned);
    free_body(body);
    snapshot_deinit(&snapshot);
}

static void summaries_tell_the_node(void **state)
{
    struct snapshot snapshot;
    struct snapshot_summary summary;
    struct snapshot_parts parts;
    struct reader body;

    (void)state;
    snapshot_init(&snapshot);
    random_snapshot(&seed, &snapshot, 3, 3, 3);
    snapshot.hostname = TEXT_LITERAL("gpu01");
    snapshot.fault_text = TEXT_LITERAL("tried this");
    snapshot.sequence = 12;
    body = encode_guarded(&snapshot);
    assert_int_equal(snapshot_summarize(body, &summary), 0);
    assert_true(summary.has_readings && summary.has_facts);
    assert_true(text_equal_string(summary.hostname, "gpu01"));
    assert_true(text_equal_string(summary.fault_text, "tried this"));
    assert_true(text_equal(summary.driver_version, snapshot.driver_version));
    assert_int_equal(summary.sequence, 12);
    assert_int_equal(summary.flags, snapshot.flags);
    assert_int_equal(summary.fault, snapshot.fault);
    assert_true(summary.taken_unix_us == snapshot.taken_unix_us);
    assert_int_equal(snapshot_split(body, &parts), 0);
    assert_int_equal(snapshot_summarize(parts.facts, &summary), 0);
    assert_true(!summary.has_readings && summary.has_facts && !summary.sequence);
    assert_int_equal(snapshot_summarize(parts.readings, &summary), 0);
    assert_true(summary.has_readings && !summary.has_facts && !text_is_present(summary.hostname));
    assert_int_equal(snapshot_summarize(reader_over("", 0), &summary), 0);
    assert_false(summary.has_readings || summary.has_facts);
    assert_int_equal(snapshot_summarize(reader_over(body.bytes, body.len - 1), &summary), -EBADMSG);
    assert_int_equal(snapshot_summarize(reader_over("\x04\0\0\0\x01\0", 6), &summary), -EBADMSG);
    free_body(body);
    snapshot_deinit(&snapshot);
}

static void facts_are_known_by_their_hash(void **state)
{
    struct snapshot snapshot;
    struct snapshot_parts parts;
    struct reader body;
    uint64_t hash;

    (void)state;
    snapshot_init(&snapshot);
    random_snapshot(&seed, &snapshot, 3, 3, 3);
    body = encode_guarded(&snapshot);
    assert_int_equal(snapshot_split(body, &parts), 0);
    hash = snapshot_facts_hash(parts.facts);
    assert_true(hash != 0 && hash == snapshot_facts_hash(parts.facts));
    free_body(body);
    snapshot.sequence++, snapshot.taken_unix_us++, snapshot.driver_time_ppm++; /* no facts */
    body = encode_guarded(&snapshot);
    assert_int_equal(snapshot_split(body, &parts), 0);
    assert_true(hash == snapshot_facts_hash(parts.facts));
    free_body(body);
    snapshot.hostname = TEXT_LITERAL("another");
    body = encode_guarded(&snapshot);
    assert_int_equal(snapshot_split(body, &parts), 0);
    assert_true(hash != snapshot_facts_hash(parts.facts));
    free_body(body);
    snapshot_deinit(&snapshot);
}

/* ---- process facts: a server and a receiver ---- */

struct sides {
    /* server */
    struct snapshot snapshot;
    struct process_facts_log log;
    struct reader body; /* of the present snapshot */
    struct snapshot_parts parts;
    /* receiver */
    uint64_t generation;
    uint8_t known[FRAME_BODY_MAX];
    size_t known_len;
};

static struct sides *sides_new(void)
{
    struct sides *sides = calloc(1, sizeof(*sides));

    assert_non_null(sides);
    snapshot_init(&sides->snapshot);
    assert_int_equal(snapshot_reserve(&sides->snapshot, 0, 0, SNAPSHOT_MAX_PROCESSES), 0);
    return sides;
}

static void sides_free(struct sides *sides)
{
    snapshot_deinit(&sides->snapshot);
    free_body(sides->body);
    free(sides);
}

static void add_process(struct sides *sides, uint32_t pid, uint64_t start_ticks, const char *command)
{
    sides->snapshot.processes[sides->snapshot.process_count++] =
        (struct process){.pid = pid,
                         .start_ticks = start_ticks,
                         .facts = PROCESS_HAS_START | PROCESS_HAS_COMMAND_LINE,
                         .command_line = text_from_string(command)};
}

static void remove_process(struct sides *sides, uint32_t place)
{
    struct snapshot *snapshot = &sides->snapshot;

    memmove(&snapshot->processes[place], &snapshot->processes[place + 1],
            (snapshot->process_count - place - 1) * sizeof(snapshot->processes[0]));
    snapshot->process_count--;
}

/* The server has a new snapshot. */
static void publish(struct sides *sides)
{
    free_body(sides->body);
    sides->body = encode_guarded(&sides->snapshot);
    assert_int_equal(snapshot_split(sides->body, &sides->parts), 0);
    assert_int_equal(process_facts_update(&sides->log, sides->parts.process_facts), 0);
}

/* The receiver asks, and puts the answer together. Returns the bytes of process facts in the reply. */
static size_t ask(struct sides *sides)
{
    static uint8_t reply[FRAME_BODY_MAX], merged[FRAME_BODY_MAX];
    struct writer writer = writer_over(reply, sizeof(reply)), into = writer_over(merged, sizeof(merged));
    struct reader known = reader_over(sides->known, sides->known_len);
    uint64_t base =
        process_facts_write_newer(&sides->log, sides->parts.process_facts, sides->generation, &writer);

    assert_false(writer.failed);
    if (writer.pos)
        assert_true(base == 0 || base == sides->generation);
    if (writer.pos && !base)
        known = reader_over("", 0);
    assert_int_equal(process_facts_merge(sides->parts.readings, known, reader_over(reply, writer.pos), &into),
                     0);
    assert_false(into.failed);
    assert_int_equal(into.pos, sides->parts.process_facts.len);
    assert_memory_equal(merged, sides->parts.process_facts.bytes, into.pos);
    memcpy(sides->known, merged, into.pos);
    sides->known_len = into.pos;
    sides->generation = sides->log.generation;
    return writer.pos;
}

static void strings_travel_once(void **state)
{
    struct sides *sides = sides_new();
    size_t all, one;

    (void)state;
    for (uint32_t pid = 1; pid <= 16; pid++)
        add_process(sides, pid * 100, 5, "python train.py --some --options");
    publish(sides);
    all = ask(sides);
    assert_true(all > 16 * 32);
    publish(sides); /* nothing changed */
    assert_int_equal(ask(sides), 0);
    assert_int_equal(ask(sides), 0);
    remove_process(sides, 3); /* one ends */
    publish(sides);
    assert_int_equal(ask(sides), 0);
    add_process(sides, 5000, 9, "a.out"); /* one begins */
    publish(sides);
    one = ask(sides);
    assert_true(one > 5 && one < 40);
    sides->snapshot.processes[0].start_ticks++; /* the pid is another process now */
    publish(sides);
    assert_true(ask(sides) < 80);
    sides->snapshot.processes[1].user = TEXT_LITERAL("alice"); /* a name becomes known */
    publish(sides);
    assert_true(ask(sides) < 80);
    sides->generation = 0; /* the receiver lost everything */
    assert_int_equal(ask(sides), sides->parts.process_facts.len);
    sides->generation = sides->log.generation + 5; /* or knows another server */
    sides->known_len = 0;
    assert_int_equal(ask(sides), sides->parts.process_facts.len);
    sides_free(sides);
}

/* Any changes, and replies that get lost, so that a receiver may be several generations behind. */
static void any_history_gives_the_whole(void **state)
{
    static char commands[64][16];
    struct sides *sides = sides_new();

    (void)state;
    for (int i = 0; i < 64; i++)
        snprintf(commands[i], sizeof(commands[i]), "command %d", i);
    for (int round = 0; round < 2000; round++) {
        struct snapshot *snapshot = &sides->snapshot;
        unsigned changes = (unsigned)random_below(&seed, 4);

        while (changes--) {
            uint32_t count = snapshot->process_count;

            if (count && random_below(&seed, 2))
                remove_process(sides, (uint32_t)random_below(&seed, count));
            else if (count < 40)
                add_process(sides, (uint32_t)random_below(&seed, 50) + 1, random_below(&seed, 3),
                            commands[random_below(&seed, 64)]);
            if (snapshot->process_count > 1 && !random_below(&seed, 8)) { /* one moves */
                struct process moved = snapshot->processes[0];

                remove_process(sides, 0);
                snapshot->processes[snapshot->process_count++] = moved;
            }
        }
        /* Keys are unique on a real node. */
        for (uint32_t i = 0; i < snapshot->process_count; i++)
            for (uint32_t k = snapshot->process_count; k-- > i + 1;)
                if (snapshot->processes[i].pid == snapshot->processes[k].pid &&
                    snapshot->processes[i].start_ticks == snapshot->processes[k].start_ticks)
                    remove_process(sides, k);
        publish(sides);
        if (random_below(&seed, 3))
            ask(sides);
    }
    sides_free(sides);
}

/* The largest node, all of it replaced at once: still right, and done at once. */
static void large_nodes_are_merged(void **state)
{
    struct sides *sides = sides_new();

    (void)state;
    for (uint32_t pid = 0; pid < SNAPSHOT_MAX_PROCESSES; pid++)
        add_process(sides, pid + 1, 1, "x");
    publish(sides);
    ask(sides);
    assert_int_equal(ask(sides), 0);
    for (uint32_t i = 0; i < SNAPSHOT_MAX_PROCESSES; i++)
        sides->snapshot.processes[i].start_ticks = 2;
    publish(sides);
    assert_int_equal(ask(sides), sides->parts.process_facts.len);
    sides_free(sides);
}

/* In the opposite order each search goes nearly all the way around: given up, and asked for anew. */
static void a_turned_order_is_given_up(void **state)
{
    static uint8_t bytes[FRAME_BODY_MAX];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    struct sides *sides = sides_new();

    (void)state;
    for (uint32_t pid = 0; pid < 4096; pid++)
        add_process(sides, pid + 1, 1, "x");
    publish(sides);
    ask(sides);
    for (uint32_t i = 0; i < 4096; i++)
        sides->snapshot.processes[i].pid = 4096 - i;
    free_body(sides->body);
    sides->body = encode_guarded(&sides->snapshot);
    assert_int_equal(snapshot_split(sides->body, &sides->parts), 0);
    assert_int_equal(process_facts_merge(sides->parts.readings, reader_over(sides->known, sides->known_len),
                                         reader_over("", 0), &writer),
                     -ESTALE);
    /* The server's own search gives up too, and so sends everything again. */
    assert_int_equal(process_facts_update(&sides->log, sides->parts.process_facts), 0);
    sides->generation = 0;
    ask(sides);
    sides_free(sides);
}

/* ---- what a hostile server may send ---- */

#define READINGS_7 "\x07\0\0\0\x06\x01\x04\x07\0\0\0" /* one process, pid 7 */
#define FACTS_7    "\x03\0\0\0\x04\x01\x02\x07\0"     /* its facts: the key alone */
#define FACTS_8    "\x03\0\0\0\x04\x01\x02\x08\0"

#define AS_READER(literal) reader_over(literal, sizeof(literal) - 1)

static int merge(struct reader readings, struct reader known, struct reader newer, size_t *ret_len)
{
    uint8_t bytes[256];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    int r = process_facts_merge(readings, known, newer, &writer);

    *ret_len = writer.pos;
    return r;
}

static void malformed_facts_are_refused(void **state)
{
    const struct reader none = AS_READER("");
    size_t len;

    (void)state;
    assert_int_equal(merge(AS_READER(READINGS_7), AS_READER(FACTS_7), none, &len), 0);
    assert_int_equal(len, sizeof(FACTS_7) - 1);
    assert_int_equal(merge(AS_READER(READINGS_7), none, AS_READER(FACTS_7), &len), 0);
    assert_int_equal(len, sizeof(FACTS_7) - 1);
    assert_int_equal(merge(AS_READER(READINGS_7), AS_READER(FACTS_8), none, &len), 0); /* 8 has ended */
    assert_int_equal(len, 6);
    assert_int_equal(merge(none, none, none, &len), 0);
    assert_int_equal(merge(AS_READER(READINGS_7), none, AS_READER(FACTS_8), &len), -EBADMSG);
    assert_int_equal(merge(AS_READER(READINGS_7 "\x07"), AS_READER(FACTS_7), none, &len), -EBADMSG);
    assert_int_equal(merge(AS_READER("\x07\0\0\0\x06\x02\x04\x07\0\0\0"), AS_READER(FACTS_7), none, &len),
                     -EBADMSG);
    assert_int_equal(merge(AS_READER(READINGS_7), none, AS_READER("\x03\0\0\0\x04\x01\x03\x07\0"), &len),
                     -EBADMSG);
    assert_int_equal(merge(AS_READER(READINGS_7), none, AS_READER("\x03\0\0\0\x05\x01\x02\x07\0\0"), &len),
                     -EBADMSG);
    assert_int_equal(merge(AS_READER(READINGS_7), none, AS_READER("\x03\0\0\1\x04\x01\x02\x07\0"), &len),
                     -EBADMSG);
}

static void malformed_updates_leave_the_log_alone(void **state)
{
    struct sides *sides = sides_new();
    uint64_t generation;

    (void)state;
    add_process(sides, 7, 1, "x");
    publish(sides);
    generation = sides->log.generation;
    assert_int_equal(process_facts_update(&sides->log, AS_READER("\x03\0\0\0\x04\x01\x03\x07\0")), -EBADMSG);
    assert_int_equal(process_facts_update(&sides->log, AS_READER("\x03\0\0\0\x03\xc1\x80\x01")), -EBADMSG);
    assert_true(sides->log.generation == generation && sides->log.count == 1);
    assert_true(ask(sides) > 0);
    assert_int_equal(ask(sides), 0);
    sides_free(sides);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_make_the_body_again),
        cmocka_unit_test(damaged_bodies_are_not_split),
        cmocka_unit_test(summaries_tell_the_node),
        cmocka_unit_test(facts_are_known_by_their_hash),
        cmocka_unit_test(strings_travel_once),
        cmocka_unit_test(any_history_gives_the_whole),
        cmocka_unit_test(large_nodes_are_merged),
        cmocka_unit_test(a_turned_order_is_given_up),
        cmocka_unit_test(malformed_facts_are_refused),
        cmocka_unit_test(malformed_updates_leave_the_log_alone),
    };

    seed = random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
