#include "codec_helpers.h"

#include "wire/snapshot_parts.h"
#include "wire/snapshot_pending.h"

#include <errno.h>
#include <stdio.h>

#define ROUNDS 300

/* Replaces the call in an encoded body and puts it together again. Returns what snapshot_put_pending() did.
 */
static int replace(struct reader body, const struct pending_call *call, struct snapshot *snapshot,
                   struct reader *ret_body)
{
    struct snapshot_parts parts;
    size_t cap = body.len + SNAPSHOT_PENDING_MAX;
    struct writer readings = writer_over(test_malloc(cap), cap), whole = writer_over(test_malloc(cap), cap);
    int r;

    assert_int_equal(snapshot_split(body, &parts), 0);
    r = snapshot_put_pending(parts.readings, call, &readings);
    assert_false(readings.failed);
    parts.readings = reader_over(readings.bytes, readings.pos);
    snapshot_join(&parts, &whole);
    *ret_body = guarded_copy(whole.bytes, whole.pos);
    test_free(readings.bytes);
    test_free(whole.bytes);
    assert_int_equal(decode_body(*ret_body, snapshot), 0);
    return r;
}

static void only_the_call_changes(void **state)
{
    static const struct pending_call calls[] = {
        {TEXT_LITERAL("nvmlDeviceGetUtilizationRates"), 3, 12345678},
        {TEXT_ABSENT, -1, 0},
        {TEXT_LITERAL(""), INT32_MAX, UINT64_MAX},
    };
    struct random random = random_from_environment();
    struct snapshot before, after;

    (void)state;
    snapshot_init(&before);
    snapshot_init(&after);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct reader body, patched;

        snapshot_clear(&before);
        random_snapshot(&random, &before, 3, 20, 10);
        body = encode_guarded(&before);
        assert_int_equal(replace(body, &calls[i % 3], &after, &patched), 0);
        before.pending = calls[i % 3];
        assert_same_snapshot(&before, &after);
        free_body(body);
        free_body(patched);
    }
    snapshot_deinit(&before);
    snapshot_deinit(&after);
}

static void a_name_too_long_is_cut(void **state)
{
    static char name[400];
    struct snapshot before, after;
    struct reader body, patched;

    (void)state;
    memset(name, 'x', sizeof(name));
    snapshot_init(&before);
    snapshot_init(&after);
    body = encode_guarded(&before);
    assert_int_equal(replace(body, &(struct pending_call){{name, sizeof(name)}, -1, 1}, &after, &patched), 0);
    assert_int_equal(after.pending.name.len, SNAPSHOT_TEXT_MAX);
    free_body(body);
    free_body(patched);
    snapshot_deinit(&after);
}

static void malformed_readings_are_refused(void **state)
{
    const struct pending_call call = {TEXT_LITERAL("nvmlInit"), -1, 1};
    struct snapshot snapshot;
    struct snapshot_parts parts;
    struct reader body;

    (void)state;
    snapshot_init(&snapshot);
    body = encode_guarded(&snapshot);
    assert_int_equal(snapshot_split(body, &parts), 0);
    for (size_t len = 0; len < 16; len++) { /* section 4 comes first and is longer than that */
        uint8_t out[600];
        struct writer writer = writer_over(out, sizeof(out));
        struct reader cut = guarded_copy(parts.readings.bytes, len);

        assert_int_equal(snapshot_put_pending(cut, &call, &writer), -EBADMSG);
        free_body(cut);
    }
    free_body(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_call_changes),
        cmocka_unit_test(a_name_too_long_is_cut),
        cmocka_unit_test(malformed_readings_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
