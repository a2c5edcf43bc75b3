#include "cli/cluster_view.h"

#include "wire/snapshot_codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* An answer is built as the backend would send it. */
struct fixture {
    struct view_answer *answer;
    struct options options;
    struct show show;
    struct cluster_view view;
};

static struct fixture setup(const char *users)
{
    struct fixture f = {.options = {.users = users, .gpuname_width = -1}};

    assert_int_equal(view_answer_new(&f.answer), 0);
    view_answer_begin(f.answer, 1);
    return f;
}

static void start(struct fixture *f)
{
    struct color_environment environment = {0};

    assert_int_equal(show_init(&f->show, &f->options, &environment, true), 0);
}

static void teardown(struct fixture *f)
{
    cluster_view_deinit(&f->view);
    show_deinit(&f->show);
    view_answer_free(f->answer);
}

/* One GPU of this index, with a process of this user (none: uid -1). */
static void fill(struct snapshot *snapshot, const char *hostname, uint32_t index, int uid)
{
    snapshot_init(snapshot);
    assert_int_equal(snapshot_reserve(snapshot, 1, 1, 1), 0);
    snapshot->hostname = text_from_string(hostname);
    snapshot->taken_unix_us = 1;
    snapshot->host_age_us = AGE_NEVER;
    snapshot->pending.device = -1;
    memset(&snapshot->devices[0], 0, sizeof(snapshot->devices[0]));
    snapshot->devices[0].index = index;
    snapshot->device_count = 1;
    if (uid < 0)
        return;
    memset(&snapshot->processes[0], 0, sizeof(snapshot->processes[0]));
    memset(&snapshot->entries[0], 0, sizeof(snapshot->entries[0]));
    snapshot->processes[0].pid = snapshot->entries[0].pid = 4;
    snapshot->processes[0].facts = PROCESS_HAS_UID;
    snapshot->processes[0].uid = (uint32_t)uid;
    snapshot->entries[0].process = 0;
    snapshot->process_count = snapshot->entry_count = snapshot->devices[0].entry_count = 1;
}

static void add_node(struct fixture *f, struct message_view_node message)
{
    uint8_t *bytes = malloc(1 << 16);
    struct writer writer = writer_over(bytes, 1 << 16);
    struct frame_header header = {.version = FRAME_VERSION, .type = FRAME_VIEW_NODE, .request_id = 1};
    size_t mark = frame_begin(&writer, &header);

    message_put_view_node(&writer, &message);
    frame_end(&writer, mark);
    assert_false(writer.failed);
    assert_int_equal(view_answer_take(f->answer, bytes, writer.pos), VIEW_ANSWER_MORE);
    free(bytes);
}

static void add(struct fixture *f, const char *hostname, uint32_t index, int uid, enum node_state state)
{
    struct message_view_node message = {
        .node = {.connection_id = TEXT_LITERAL("conn-1"),
                 .state = state,
                 .age_us = 100,
                 .has_delay = true,
                 .delay_us = 280,
                 .delay_age_us = 50},
        .has_last_seen = true,
        .last_seen_age_us = 7,
    };
    uint8_t body[4096];
    struct snapshot snapshot;
    struct writer writer = writer_over(body, sizeof(body));

    fill(&snapshot, hostname, index, uid);
    snapshot_encode(&snapshot, &writer);
    assert_false(writer.failed);
    message.snapshot = reader_over(body, writer.pos);
    add_node(f, message);
    snapshot_deinit(&snapshot);
}

static void add_silent(struct fixture *f, const char *addr)
{
    add_node(f, (struct message_view_node){.node = {.addr = text_from_string(addr), .state = NODE_DOWN}});
}

static void make(struct fixture *f, uint64_t late_us, bool is_late)
{
    assert_int_equal(cluster_view_make(&f->view, &f->show, f->answer, late_us, is_late), 0);
}

static void check_name(const struct fixture *f, size_t i, const char *name)
{
    assert_true(text_equal_string(cluster_view_name(&f->view.nodes[i]), name));
}

static void nodes_are_in_natural_order(void **state)
{
    struct fixture f = setup(NULL);

    (void)state;
    add(&f, "gpu10", 0, -1, NODE_UP);
    add(&f, "gpu2", 0, -1, NODE_UP);
    add_silent(&f, "10.0.0.9:30000");
    add(&f, "gpu1", 0, -1, NODE_DOWN);
    start(&f);
    make(&f, 0, false);
    assert_int_equal(f.view.count, 4);
    check_name(&f, 0, "10.0.0.9:30000");
    check_name(&f, 1, "gpu1");
    check_name(&f, 2, "gpu2");
    check_name(&f, 3, "gpu10");
    teardown(&f);
}

static void time_passes_for_an_answer(void **state)
{
    struct fixture f = setup(NULL);

    (void)state;
    add(&f, "a", 0, -1, NODE_UP);
    add(&f, "b", 0, -1, NODE_DOWN);
    start(&f);
    make(&f, 1000, false);
    assert_int_equal(f.view.nodes[0].age_us, 1100);
    assert_int_equal(f.view.nodes[0].delay_age_us, 1050);
    assert_int_equal(f.view.details[0].last_seen_age_us, 1007);
    assert_int_equal(f.view.nodes[0].state, NODE_UP);
    make(&f, 9000000, true);
    assert_int_equal(f.view.nodes[0].age_us, 9000100);
    assert_int_equal(f.view.nodes[0].state, NODE_STALE);
    assert_int_equal(f.view.nodes[1].state, NODE_DOWN);
    teardown(&f);
}

static void user_filter_drops_what_is_known_to_be_empty(void **state)
{
    struct fixture f = setup("7");
    uint32_t uid = 7;

    (void)state;
    add(&f, "a-other", 0, 8, NODE_UP);
    add(&f, "b-theirs", 0, 7, NODE_UP);
    add(&f, "c-idle", 0, -1, NODE_STALE);
    add(&f, "d-down", 0, 8, NODE_DOWN);
    add_silent(&f, "e-silent");
    start(&f);
    f.show.uids = (struct number_list){&uid, 1};
    make(&f, 0, false);
    assert_int_equal(f.view.count, 3);
    assert_int_equal(f.view.emptied, 2);
    check_name(&f, 0, "b-theirs");
    check_name(&f, 1, "d-down");
    check_name(&f, 2, "e-silent");
    f.show.uids = (struct number_list){0};
    teardown(&f);
}

static void an_index_is_missing_if_no_node_has_it(void **state)
{
    struct fixture f = setup(NULL);
    uint32_t numbers[] = {0, 3, 5};

    (void)state;
    add(&f, "a", 0, -1, NODE_UP);
    add(&f, "b", 3, -1, NODE_UP);
    add_silent(&f, "c");
    start(&f);
    make(&f, 0, false);
    assert_int_equal(cluster_view_missing_id(&f.view, &(struct number_list){numbers, 2}), -1);
    assert_int_equal(cluster_view_missing_id(&f.view, &(struct number_list){numbers, 3}), 5);
    teardown(&f);
}

static void of_silent_nodes_no_index_is_missing(void **state)
{
    struct fixture f = setup(NULL);
    uint32_t numbers[] = {5};

    (void)state;
    add_silent(&f, "c");
    start(&f);
    make(&f, 0, false);
    assert_int_equal(cluster_view_missing_id(&f.view, &(struct number_list){numbers, 1}), -1);
    teardown(&f);
}

static void an_empty_answer_is_an_empty_view(void **state)
{
    struct fixture f = setup(NULL);

    (void)state;
    start(&f);
    make(&f, 0, false);
    assert_int_equal(f.view.count, 0);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_in_natural_order),
        cmocka_unit_test(time_passes_for_an_answer),
        cmocka_unit_test(user_filter_drops_what_is_known_to_be_empty),
        cmocka_unit_test(an_index_is_missing_if_no_node_has_it),
        cmocka_unit_test(of_silent_nodes_no_index_is_missing),
        cmocka_unit_test(an_empty_answer_is_an_empty_view),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
