#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "render/times.h"

#include <stdlib.h>
#include <time.h>

static void expect(struct buffer *out, const char *expected)
{
    buffer_put_char(out, '\0');
    assert_string_equal(out->bytes, expected);
    buffer_deinit(out);
}

static void points(void **state)
{
    static const struct {
        int64_t unix_us;
        const char *iso, *longer;
    } cases[] = {
        {1796068037009893, "2026-11-30T19:47:17.009893", "Mon Nov 30 19:47:17 2026"},
        {1796068037000000, "2026-11-30T19:47:17", "Mon Nov 30 19:47:17 2026"},
        {1772323200000001, "2026-03-01T00:00:00.000001", "Sun Mar  1 00:00:00 2026"},
        {0, "1970-01-01T00:00:00", "Thu Jan  1 00:00:00 1970"},
        {-1, "1969-12-31T23:59:59.999999", "Wed Dec 31 23:59:59 1969"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buffer out = BUFFER_EMPTY;

        time_put_iso(&out, cases[i].unix_us);
        expect(&out, cases[i].iso);
        time_put_long(&out, cases[i].unix_us);
        expect(&out, cases[i].longer);
    }
}

static void impossible_points_do_no_harm(void **state)
{
    struct buffer out = BUFFER_EMPTY;

    (void)state;
    time_put_iso(&out, INT64_MAX);
    time_put_long(&out, INT64_MIN);
    assert_int_equal(buffer_error(&out), 0);
    buffer_deinit(&out);
}

static void since(void **state)
{
    const int64_t when = 1796047320000000, day = 86400000000;
    struct buffer out = BUFFER_EMPTY;

    (void)state;
    time_put_since(&out, when, when + day - 1);
    expect(&out, "14:02");
    time_put_since(&out, when, when + day);
    expect(&out, "Nov 30 14:02");
}

static void ages(void **state)
{
    static const struct {
        uint64_t seconds;
        const char *age;
    } cases[] = {
        {0, "0s"},      {9, "9s"},    {119, "119s"},   {120, "2m"},
        {7199, "119m"}, {7200, "2h"}, {172799, "47h"}, {172800, "2d"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buffer out = BUFFER_EMPTY;

        time_put_age(&out, cases[i].seconds * 1000000 + 999999);
        expect(&out, cases[i].age);
    }
}

static void exact_ages(void **state)
{
    struct buffer out = BUFFER_EMPTY;

    (void)state;
    time_put_age_exact(&out, 3299999);
    expect(&out, "3.2s");
    time_put_age_exact(&out, 9999999);
    expect(&out, "9.9s");
    time_put_age_exact(&out, 10000000);
    expect(&out, "10s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points),     cmocka_unit_test(impossible_points_do_no_harm),
        cmocka_unit_test(since),      cmocka_unit_test(ages),
        cmocka_unit_test(exact_ages),
    };

    setenv("TZ", "UTC0", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
