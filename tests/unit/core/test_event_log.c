#include "core/event_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define AT(s) ((struct instant){NS_PER_S + (s)*NS_PER_S})

static void a_burst_passes_and_the_rest_is_counted(void **state)
{
    struct event_limit limit = {.lines = 0};
    uint32_t left_out = 99;

    (void)state;
    for (int i = 0; i < EVENT_LOG_BURST; i++) {
        assert_true(event_limit_take(&limit, AT(i), &left_out));
        assert_int_equal(left_out, 0);
    }
    for (int i = 0; i < 1000; i++)
        assert_false(event_limit_take(&limit, AT(20), &left_out));
    assert_true(event_limit_take(&limit, AT(60), &left_out));
    assert_int_equal(left_out, 1000);
    assert_true(event_limit_take(&limit, AT(61), &left_out));
    assert_int_equal(left_out, 0);
}

/* What the function writes to standard error. */
static void capture(char *text, size_t cap, unsigned lines)
{
    struct event_limit limit = {.lines = 0};
    int pipe_fds[2], kept = dup(STDERR_FILENO);
    ssize_t n;

    assert_int_equal(pipe(pipe_fds), 0);
    dup2(pipe_fds[1], STDERR_FILENO);
    for (unsigned i = 0; i < lines; i++)
        event_log(&limit, AT(i), LOG_LEVEL_WARNING, "refused %s", "10.0.0.1");
    event_log(&limit, AT(60), LOG_LEVEL_WARNING, "refused %s", "10.0.0.2");
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(pipe_fds[1]);
    n = read(pipe_fds[0], text, cap - 1);
    close(pipe_fds[0]);
    assert_true(n >= 0);
    text[n] = '\0';
}

static void the_next_line_says_what_was_left_out(void **state)
{
    char text[4096];

    (void)state;
    unsetenv("JOURNAL_STREAM");
    log_init("test", LOG_LEVEL_INFO);
    capture(text, sizeof(text), EVENT_LOG_BURST + 5);
    assert_non_null(strstr(text, "test: refused 10.0.0.2 (and 5 more like this before)\n"));
    capture(text, sizeof(text), 1);
    assert_string_equal(text, "test: refused 10.0.0.1\ntest: refused 10.0.0.2\n");
}

static void a_source_is_news_once_an_hour(void **state)
{
    static struct event_sources sources;

    (void)state;
    assert_true(event_source_is_news(&sources, 7, AT(0)));
    assert_false(event_source_is_news(&sources, 7, AT(1)));
    assert_true(event_source_is_news(&sources, 8, AT(2)));
    assert_false(event_source_is_news(&sources, 7, AT(3599)));
    assert_true(event_source_is_news(&sources, 7, AT(3600)));
    assert_false(event_source_is_news(&sources, 7, AT(3601)));
}

static void of_many_sources_the_oldest_is_forgotten(void **state)
{
    static struct event_sources sources;

    (void)state;
    for (uint64_t i = 0; i < EVENT_SOURCES; i++)
        assert_true(event_source_is_news(&sources, i, AT((int64_t)i)));
    assert_true(event_source_is_news(&sources, 1000, AT(100)));
    assert_false(event_source_is_news(&sources, 1, AT(101)));
    assert_true(event_source_is_news(&sources, 0, AT(102)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_passes_and_the_rest_is_counted),
        cmocka_unit_test(the_next_line_says_what_was_left_out),
        cmocka_unit_test(a_source_is_news_once_an_hour),
        cmocka_unit_test(of_many_sources_the_oldest_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
