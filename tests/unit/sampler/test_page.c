#include "sampler/page.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct instant at(int64_t ns)
{
    return (struct instant){ns};
}

struct pages {
    int fd;
    struct call_page *readable, *writable;
};

static int setup(void **state)
{
    struct pages *pages = calloc(1, sizeof(*pages));

    assert_non_null(pages);
    assert_int_equal(call_page_create(&pages->fd, &pages->readable), 0);
    assert_int_equal(call_page_open(pages->fd, &pages->writable), 0);
    *state = pages;
    return 0;
}

static int teardown(void **state)
{
    struct pages *pages = *state;

    call_page_unmap(pages->readable);
    call_page_unmap(pages->writable);
    close(pages->fd);
    free(pages);
    return 0;
}

static void test_nothing_at_first(void **state)
{
    struct pages *pages = *state;
    struct call_seen seen;

    call_page_read(pages->readable, &seen);
    assert_int_equal(seen.kind, CALL_NONE);
    assert_int_equal(seen.driver_ns, 0);
}

static void test_call_is_seen_on_the_other_side(void **state)
{
    struct pages *pages = *state;
    struct call_seen seen;

    call_page_begin(pages->writable, CALL_DRIVER, "nvmlDeviceGetFanSpeed", 3, at(1000));
    call_page_read(pages->readable, &seen);
    assert_int_equal(seen.kind, CALL_DRIVER);
    assert_int_equal(seen.device, 3);
    assert_int_equal(seen.began.ns, 1000);
    assert_string_equal(seen.name, "nvmlDeviceGetFanSpeed");
    call_page_end(pages->writable, at(1250));
    call_page_read(pages->readable, &seen);
    assert_int_equal(seen.kind, CALL_NONE);
    assert_int_equal(seen.driver_ns, 250);
    assert_int_equal(seen.call_count, 1);
}

static void test_host_reads_are_no_driver_time(void **state)
{
    struct pages *pages = *state;
    struct call_seen seen;

    call_page_begin(pages->writable, CALL_HOST, "/proc/1", -1, at(0));
    call_page_end(pages->writable, at(5000));
    call_page_read(pages->readable, &seen);
    assert_int_equal(seen.driver_ns, 0);
    assert_int_equal(seen.call_count, 0);
}

static void test_long_and_short_names(void **state)
{
    struct pages *pages = *state;
    struct call_seen seen;
    char name[200];

    for (size_t len = 0; len < sizeof(name); len++) {
        memset(name, 'a' + (int)(len % 26), len);
        name[len] = '\0';
        call_page_begin(pages->writable, CALL_DRIVER, name, -1, at(0));
        call_page_read(pages->readable, &seen);
        name[len < CALL_NAME_SIZE ? len : CALL_NAME_SIZE - 1] = '\0';
        assert_string_equal(seen.name, name);
    }
}

static void test_page_cannot_be_shrunk(void **state)
{
    struct pages *pages = *state;

    assert_int_equal(ftruncate(pages->fd, 0), -1);
}

/* Whatever a broken writer leaves, a reading ends and the name is a string. */
static void test_garbage_is_survived(void **state)
{
    struct pages *pages = *state;
    struct call_seen seen;

    memset((void *)pages->writable, 0xFF, sizeof(struct call_page));
    call_page_read(pages->readable, &seen); /* the version stays odd */
    assert_int_equal(seen.kind, CALL_NONE);
    atomic_store(&pages->writable->version, 2);
    call_page_read(pages->readable, &seen);
    assert_int_equal(seen.kind, CALL_NONE);
    atomic_store(&pages->writable->kind, CALL_DRIVER);
    atomic_store(&pages->writable->began_ns, INT64_MAX);
    call_page_read(pages->readable, &seen);
    assert_int_equal(seen.began.ns, 0);
    assert_int_equal(strlen(seen.name), CALL_NAME_SIZE - 1);
}

struct writer_thread {
    struct call_page *page;
    _Atomic bool stop;
};

static void *write_calls(void *context)
{
    struct writer_thread *thread = context;
    static const char *const names[] = {"a", "a-much-longer-name-of-a-call-in-the-library",
                                        "middle-long-name"};

    for (int64_t i = 0; !atomic_load(&thread->stop); i++) {
        call_page_begin(thread->page, CALL_DRIVER, names[i % 3], (int32_t)(i % 3), at(i % 3 * 1000 + 1));
        call_page_end(thread->page, at(i % 3 * 1000 + 1));
    }
    return NULL;
}

/* Name, device and time of a reading always belong together. */
static void test_readings_are_consistent(void **state)
{
    struct pages *pages = *state;
    struct writer_thread thread = {.page = pages->writable};
    static const char *const names[] = {"a", "a-much-longer-name-of-a-call-in-the-library",
                                        "middle-long-name"};
    struct call_seen seen;
    unsigned in_call = 0;
    pthread_t id;

    assert_int_equal(pthread_create(&id, NULL, write_calls, &thread), 0);
    for (unsigned i = 0; i < 20000000 && in_call < 20000; i++) {
        call_page_read(pages->readable, &seen);
        if (seen.kind == CALL_NONE)
            continue;
        in_call++;
        assert_in_range(seen.device, 0, 2);
        assert_string_equal(seen.name, names[seen.device]);
        assert_int_equal(seen.began.ns, seen.device * 1000 + 1);
    }
    atomic_store(&thread.stop, true);
    pthread_join(id, NULL);
    assert_true(in_call > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_at_first, setup, teardown),
        cmocka_unit_test_setup_teardown(test_call_is_seen_on_the_other_side, setup, teardown),
        cmocka_unit_test_setup_teardown(test_host_reads_are_no_driver_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_and_short_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_page_cannot_be_shrunk, setup, teardown),
        cmocka_unit_test_setup_teardown(test_garbage_is_survived, setup, teardown),
        cmocka_unit_test_setup_teardown(test_readings_are_consistent, setup, teardown),
    };

    return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
