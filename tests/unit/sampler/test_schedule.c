/* The schedule in virtual time: a driver with known costs, everybody's rates and the share counted. */
#include "sampler/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LIMIT_PPM 20000
#define TICK      (25 * NS_PER_MS)

/* A simulated node and what was counted since reset_counts(). */
struct simulation {
    struct schedule schedule;
    struct instant now;
    uint32_t devices;
    int64_t cost_ns[GROUP_COUNT];
    int64_t check_ns;
    int32_t slow_device; /* its hot readings take slow_ns */
    int64_t slow_ns;
    int64_t interest_ns; /* 0: nobody watches */
    int64_t next_interest_ns;
    uint32_t restless; /* so many devices' memory jumps at every tick */

    struct instant counted_since;
    int64_t spent_ns, longest_hot_gap_ns, longest_list_gap_ns, longest_warm_gap_ns, longest_push_gap_ns;
    int64_t longest_check_gap_ns;
    unsigned pushes, steps, hot_ticks;
    int64_t last[GROUP_COUNT][SNAPSHOT_MAX_DEVICES];
    int64_t last_push_ns, last_check_ns;
    bool pushed_complete;
};

static void keep_longest(int64_t *longest, int64_t gap)
{
    if (gap > *longest)
        *longest = gap;
}

static void reset_counts(struct simulation *s)
{
    s->counted_since = s->now;
    s->spent_ns = s->longest_hot_gap_ns = s->longest_list_gap_ns = s->longest_warm_gap_ns = 0;
    s->longest_push_gap_ns = s->longest_check_gap_ns = 0;
    s->pushes = s->steps = s->hot_ticks = 0;
}

static struct simulation *simulation_new(uint32_t devices)
{
    struct simulation *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->now = (struct instant){1000 * NS_PER_S};
    s->devices = devices;
    s->slow_device = -1;
    /* The issue's costs: two lists, utilisation and memory, the fan; the rest is assumed. */
    s->cost_ns[GROUP_HOT] = 14500;
    s->cost_ns[GROUP_WARM] = 40 * NS_PER_US;
    s->cost_ns[GROUP_PROCESSES] = 9 * NS_PER_MS;
    s->cost_ns[GROUP_SLOW] = 137 * NS_PER_US + 30 * NS_PER_US;
    s->check_ns = 10 * NS_PER_US;
    schedule_init(&s->schedule, TICK, LIMIT_PPM, s->now);
    schedule_start(&s->schedule, devices, s->now);
    for (int group = 0; group < GROUP_COUNT; group++)
        for (uint32_t i = 0; i < devices; i++)
            s->last[group][i] = s->now.ns;
    s->last_push_ns = s->last_check_ns = s->now.ns;
    reset_counts(s);
    return s;
}

static int64_t since(const struct simulation *s, int64_t *last)
{
    int64_t gap = s->now.ns - *last;

    *last = s->now.ns;
    return gap;
}

static int64_t cost_of(const struct simulation *s, const struct schedule_step *step)
{
    if (step->kind == STEP_CHECK)
        return s->check_ns;
    if (step->group == GROUP_HOT && (int32_t)step->position == s->slow_device)
        return s->slow_ns;
    return s->cost_ns[step->group];
}

static void count_read(struct simulation *s, const struct schedule_step *step)
{
    int64_t gap = since(s, &s->last[step->group][step->position]);

    if (step->group == GROUP_HOT) {
        keep_longest(&s->longest_hot_gap_ns, gap);
        s->hot_ticks += step->position == 0;
    }
    if (step->group == GROUP_PROCESSES)
        keep_longest(&s->longest_list_gap_ns, gap);
    if (step->group == GROUP_WARM)
        keep_longest(&s->longest_warm_gap_ns, gap);
}

static void run_step(struct simulation *s, const struct schedule_step *step)
{
    int64_t cost = cost_of(s, step);

    assert_true(step->kind == STEP_CHECK || step->position < s->devices);
    s->now = instant_add_ns(s->now, cost);
    s->spent_ns += cost;
    s->steps++;
    if (step->kind == STEP_CHECK)
        keep_longest(&s->longest_check_gap_ns, since(s, &s->last_check_ns));
    else
        count_read(s, step);
    schedule_done(&s->schedule, step, cost, s->now);
    if (step->kind == STEP_READ && step->group == GROUP_HOT)
        for (uint32_t i = 0; i < s->restless; i++)
            schedule_memory_jumped(&s->schedule, i);
}

static void run_until(struct simulation *s, struct instant end)
{
    while (instant_since_ns(end, s->now) > 0) {
        struct schedule_step step;

        if (s->interest_ns && s->next_interest_ns <= s->now.ns) {
            schedule_show_interest(&s->schedule, s->interest_ns, s->now);
            s->next_interest_ns = s->now.ns + s->interest_ns;
        }
        step = schedule_next(&s->schedule, s->now);
        if (step.kind == STEP_WAIT) {
            struct instant until = instant_earlier(step.until, end);

            assert_true(instant_since_ns(step.until, s->now) > 0);
            if (s->interest_ns && s->next_interest_ns < until.ns)
                until.ns = s->next_interest_ns;
            s->now = until;
        } else if (step.kind == STEP_PUSH) {
            s->pushes++;
            s->pushed_complete = schedule_first_round_done(&s->schedule);
            keep_longest(&s->longest_push_gap_ns, since(s, &s->last_push_ns));
            schedule_pushed(&s->schedule, s->now);
        } else {
            run_step(s, &step);
        }
    }
}

static void run_for(struct simulation *s, int64_t ns)
{
    run_until(s, instant_add_ns(s->now, ns));
}

/* Share of driver time since reset_counts(), in millionths. */
static int64_t spent_ppm(const struct simulation *s)
{
    return s->spent_ns * 1000 / (instant_since_ns(s->now, s->counted_since) / 1000);
}

static void test_first_round_reads_everything_and_pushes(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    for (int i = 0; i < 32; i++) {
        struct schedule_step step = schedule_next(&s->schedule, s->now);

        assert_int_equal(step.kind, STEP_READ);
        assert_int_equal(step.position, i % 8);
        assert_false(schedule_first_round_done(&s->schedule));
        schedule_done(&s->schedule, &step, 0, s->now);
    }
    assert_int_equal(schedule_next(&s->schedule, s->now).kind, STEP_PUSH);
    assert_true(schedule_first_round_done(&s->schedule));
    schedule_pushed(&s->schedule, s->now);
    assert_int_equal(schedule_next(&s->schedule, s->now).kind, STEP_WAIT);
    free(s);
}

static void test_first_round_shows_progress(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    s->cost_ns[GROUP_WARM] = 60 * NS_PER_MS;
    run_for(s, 400 * NS_PER_MS);
    assert_false(s->pushed_complete);
    assert_true(s->pushes >= 2);
    run_for(s, 400 * NS_PER_MS);
    assert_true(s->pushed_complete);
    free(s);
}

static void test_no_devices_still_gives_a_picture(void **state)
{
    struct simulation *s = simulation_new(0);

    (void)state;
    assert_int_equal(schedule_next(&s->schedule, s->now).kind, STEP_PUSH);
    free(s);
}

/* The issue's case: watched at 20 Hz, 60 s after the first 10 s. */
static void test_issue_case(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    s->interest_ns = 50 * NS_PER_MS;
    run_for(s, 10 * NS_PER_S);
    for (int window = 0; window < 5; window++) {
        reset_counts(s);
        run_for(s, 60 * NS_PER_S);
        assert_in_range(spent_ppm(s), LIMIT_PPM * 85 / 100, LIMIT_PPM);
        assert_true(s->longest_hot_gap_ns <= 100 * NS_PER_MS);
        assert_true(s->longest_list_gap_ns <= 8 * NS_PER_S);
        assert_true(s->longest_warm_gap_ns <= 250 * NS_PER_MS + 50 * NS_PER_MS);
        assert_true(s->longest_check_gap_ns <= 1200 * NS_PER_MS);
        assert_true(s->longest_push_gap_ns <= 100 * NS_PER_MS);
        assert_in_range(s->pushes, 60 * 18, 60 * 22);
    }
    free(s);
}

static void test_short_windows_hold_too(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    s->interest_ns = 50 * NS_PER_MS;
    run_for(s, 5 * NS_PER_S);
    for (int window = 0; window < 20; window++) {
        reset_counts(s);
        run_for(s, 12 * NS_PER_S);
        assert_true(spent_ppm(s) <= LIMIT_PPM);
    }
    free(s);
}

static void test_forty_hertz(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    s->interest_ns = 5 * NS_PER_MS; /* more often than a tick: the tick decides */
    run_for(s, 10 * NS_PER_S);
    reset_counts(s);
    run_for(s, 60 * NS_PER_S);
    assert_true(spent_ppm(s) <= LIMIT_PPM);
    assert_true(s->longest_list_gap_ns <= 10 * NS_PER_S);
    assert_in_range(s->pushes, 60 * 30, 60 * 40);
    free(s);
}

static void test_restless_memory_starves_nobody(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    s->interest_ns = 50 * NS_PER_MS;
    s->restless = 2;
    run_for(s, 10 * NS_PER_S);
    reset_counts(s);
    run_for(s, 60 * NS_PER_S);
    assert_true(spent_ppm(s) <= LIMIT_PPM);
    assert_true(s->longest_list_gap_ns <= 10 * NS_PER_S);
    free(s);
}

static void test_jump_comes_first(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    s->interest_ns = 50 * NS_PER_MS;
    run_for(s, 20 * NS_PER_S);
    for (uint32_t position = 0; position < 8; position++) {
        struct instant jumped = s->now;

        schedule_memory_jumped(&s->schedule, position);
        run_for(s, 2 * NS_PER_S);
        assert_true(s->last[GROUP_PROCESSES][position] > jumped.ns);
    }
    free(s);
}

static void test_nobody_watching(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    run_for(s, 20 * NS_PER_S);
    reset_counts(s);
    run_for(s, 300 * NS_PER_S);
    assert_in_range(s->hot_ticks, 30, 60);
    assert_in_range(s->pushes, 30, 60);
    assert_true(spent_ppm(s) <= LIMIT_PPM);
    assert_true(s->longest_list_gap_ns <= 60 * NS_PER_S);
    free(s);
}

static void test_interest_wakes_at_once(void **state)
{
    struct simulation *s = simulation_new(8);
    struct schedule_step step;

    (void)state;
    run_for(s, 33 * NS_PER_S);
    schedule_show_interest(&s->schedule, 0, s->now);
    for (uint32_t i = 0; i < 8; i++) {
        step = schedule_next(&s->schedule, s->now);
        assert_int_equal(step.kind, STEP_READ);
        assert_int_equal(step.group, GROUP_HOT);
        run_step(s, &step);
    }
    assert_int_equal(schedule_next(&s->schedule, s->now).kind, STEP_PUSH);
    free(s);
}

static void test_interest_ends(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    schedule_show_interest(&s->schedule, 50 * NS_PER_MS, s->now);
    assert_true(schedule_is_watched(&s->schedule, s->now));
    run_for(s, 9 * NS_PER_S);
    assert_true(s->pushes > 150);
    run_for(s, 2 * NS_PER_S);
    reset_counts(s);
    run_for(s, 100 * NS_PER_S);
    assert_in_range(s->hot_ticks, 10, 20);
    free(s);
}

/* A viewer with 2 s between pictures costs few readings, and each question is answered with fresh values. */
static void test_slow_viewer(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    s->interest_ns = 2 * NS_PER_S;
    run_for(s, 10 * NS_PER_S);
    reset_counts(s);
    run_for(s, 60 * NS_PER_S);
    assert_in_range(s->hot_ticks, 55, 65);
    assert_true(s->longest_list_gap_ns <= 10 * NS_PER_S);
    assert_true(spent_ppm(s) <= LIMIT_PPM);
    free(s);
}

static void test_cheap_driver_reaches_all_intervals(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    s->interest_ns = 25 * NS_PER_MS;
    for (int group = 0; group < GROUP_COUNT; group++)
        s->cost_ns[group] = 2 * NS_PER_US;
    run_for(s, 5 * NS_PER_S);
    reset_counts(s);
    run_for(s, 60 * NS_PER_S);
    assert_true(s->longest_hot_gap_ns <= 30 * NS_PER_MS);
    assert_true(s->longest_warm_gap_ns <= 230 * NS_PER_MS);
    assert_true(s->longest_list_gap_ns <= 1030 * NS_PER_MS);
    free(s);
}

/* 128 devices whose every reading takes 90 ms: nothing is fast, but the share holds and all get their turn.
 */
static void test_extreme_costs(void **state)
{
    struct simulation *s = simulation_new(128);

    (void)state;
    s->interest_ns = 50 * NS_PER_MS;
    for (int group = 0; group < GROUP_COUNT; group++)
        s->cost_ns[group] = 90 * NS_PER_MS;
    run_for(s, 120 * NS_PER_S);
    reset_counts(s);
    run_for(s, 4 * 3600 * NS_PER_S);
    assert_in_range(spent_ppm(s), LIMIT_PPM * 85 / 100, LIMIT_PPM);
    assert_true(s->longest_hot_gap_ns < 3600 * NS_PER_S);
    assert_true(s->longest_list_gap_ns < 3600 * NS_PER_S);
    assert_true(s->longest_warm_gap_ns < 2 * 3600 * NS_PER_S);
    free(s);
}

static void test_costs_that_change(void **state)
{
    struct simulation *s = simulation_new(16);

    (void)state;
    s->interest_ns = 50 * NS_PER_MS;
    run_for(s, 30 * NS_PER_S);
    s->cost_ns[GROUP_WARM] = 5 * NS_PER_MS; /* the driver became slow */
    s->cost_ns[GROUP_PROCESSES] = 40 * NS_PER_MS;
    run_for(s, 10 * NS_PER_S);
    reset_counts(s);
    run_for(s, 60 * NS_PER_S);
    assert_true(spent_ppm(s) <= LIMIT_PPM);
    assert_true(s->longest_hot_gap_ns <= 100 * NS_PER_MS);
    s->cost_ns[GROUP_WARM] = 10 * NS_PER_US; /* and fast again */
    s->cost_ns[GROUP_PROCESSES] = 50 * NS_PER_US;
    run_for(s, 20 * NS_PER_S);
    reset_counts(s);
    run_for(s, 30 * NS_PER_S);
    assert_true(s->longest_list_gap_ns <= 1100 * NS_PER_MS);
    assert_true(s->longest_warm_gap_ns <= 300 * NS_PER_MS);
    free(s);
}

/* A device whose calls wait for a time-out of the driver is left alone for longer and longer. */
static void test_long_calls_quarantine_their_device(void **state)
{
    struct simulation *s = simulation_new(4);
    int64_t last_of_slow;

    (void)state;
    s->interest_ns = 50 * NS_PER_MS;
    run_for(s, 5 * NS_PER_S);
    s->slow_device = 1;
    s->slow_ns = 45 * NS_PER_S;
    run_for(s, 1500 * NS_PER_S);
    run_for(s, NS_PER_S);
    last_of_slow = s->last[GROUP_HOT][1];
    reset_counts(s);
    run_for(s, 120 * NS_PER_S);
    assert_int_equal(s->last[GROUP_HOT][1], last_of_slow); /* it waits */
    assert_true(s->longest_hot_gap_ns <= 100 * NS_PER_MS); /* the others do not */
    s->slow_device = -1;
    run_for(s, 700 * NS_PER_S);
    assert_true(s->last[GROUP_HOT][1] > s->now.ns - NS_PER_S);
    free(s);
}

static void test_one_long_call_is_forgiven_soon(void **state)
{
    struct simulation *s = simulation_new(4);

    (void)state;
    s->interest_ns = 50 * NS_PER_MS;
    run_for(s, 5 * NS_PER_S);
    s->slow_device = 1;
    s->slow_ns = 3 * NS_PER_S;
    run_for(s, 3 * NS_PER_S);
    s->slow_device = -1;
    run_for(s, 2 * NS_PER_S);
    assert_true(s->last[GROUP_HOT][1] > s->now.ns - 100 * NS_PER_MS);
    free(s);
}

static void test_new_devices_come_first(void **state)
{
    struct simulation *s = simulation_new(8);
    struct instant added;

    (void)state;
    s->interest_ns = 50 * NS_PER_MS;
    run_for(s, 20 * NS_PER_S);
    added = s->now;
    s->devices = 9;
    schedule_set_devices(&s->schedule, 9, s->now);
    run_for(s, 1500 * NS_PER_MS);
    assert_true(s->last[GROUP_HOT][8] > added.ns);
    assert_true(s->last[GROUP_WARM][8] > added.ns);
    assert_true(s->last[GROUP_SLOW][8] > added.ns);
    assert_true(s->last[GROUP_PROCESSES][8] > added.ns);
    s->devices = 2; /* and most go */
    schedule_set_devices(&s->schedule, 2, s->now);
    run_for(s, 5 * NS_PER_S);
    free(s);
}

static void test_stopped_source_is_left_alone(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    s->interest_ns = 50 * NS_PER_MS;
    run_for(s, 5 * NS_PER_S);
    schedule_stop(&s->schedule);
    reset_counts(s);
    run_for(s, 60 * NS_PER_S);
    assert_int_equal(s->steps, 0);
    assert_int_equal(s->pushes, 1);
    schedule_show_interest(&s->schedule, 0, s->now);
    run_for(s, 100 * NS_PER_MS);
    assert_int_equal(s->pushes, 2);
    free(s);
}

static void test_without_any_share(void **state)
{
    struct simulation *s = simulation_new(8);

    (void)state;
    schedule_init(&s->schedule, TICK, 0, s->now);
    schedule_start(&s->schedule, 8, s->now);
    s->interest_ns = 50 * NS_PER_MS;
    run_for(s, 60 * NS_PER_S);
    assert_true(s->pushes >= 1);
    assert_true(s->steps < 60);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_round_reads_everything_and_pushes),
        cmocka_unit_test(test_first_round_shows_progress),
        cmocka_unit_test(test_no_devices_still_gives_a_picture),
        cmocka_unit_test(test_issue_case),
        cmocka_unit_test(test_short_windows_hold_too),
        cmocka_unit_test(test_forty_hertz),
        cmocka_unit_test(test_restless_memory_starves_nobody),
        cmocka_unit_test(test_jump_comes_first),
        cmocka_unit_test(test_nobody_watching),
        cmocka_unit_test(test_interest_wakes_at_once),
        cmocka_unit_test(test_interest_ends),
        cmocka_unit_test(test_slow_viewer),
        cmocka_unit_test(test_cheap_driver_reaches_all_intervals),
        cmocka_unit_test(test_extreme_costs),
        cmocka_unit_test(test_costs_that_change),
        cmocka_unit_test(test_long_calls_quarantine_their_device),
        cmocka_unit_test(test_one_long_call_is_forgiven_soon),
        cmocka_unit_test(test_new_devices_come_first),
        cmocka_unit_test(test_stopped_source_is_left_alone),
        cmocka_unit_test(test_without_any_share),
    };

    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
