#include "sampler/schedule.h"

#include <assert.h>

#define AT_NEXT_TICK     INT64_MAX
#define LONG_STEP_NS     NS_PER_S
#define PAUSE_AT_MOST_NS (600 * NS_PER_S)
#define CHECK_NS         NS_PER_S

/* A quarantined step is charged as this much: the others must not pay for a time-out of the driver. */
#define LONG_STEP_CHARGE_NS (20 * NS_PER_MS)

/* Beyond a tick of this length, what is read between two ticks is shown without waiting for the next. */
#define LONG_TICK_NS (100 * NS_PER_MS)

/* A device with a jump is still not read more often than this. */
#define JUMP_DISTANCE_NS (250 * NS_PER_MS)

/*
 * What we aim at, in thousandths of the permitted share: the rest covers what accounts can save up and what a
 * single step overdraws.
 */
#define AIM_PERMILLE 940

static const struct {
    enum field_group group;
    int64_t interval_ns;     /* while watched; never shorter than a tick */
    uint32_t share_permille; /* of the aim, guaranteed; together 1000 at most */
} lane_info[LANE_COUNT] = {
    [LANE_HOT] = {GROUP_HOT, 0, 450},
    [LANE_WARM] = {GROUP_WARM, 200 * NS_PER_MS, 150},
    [LANE_PROCESSES] = {GROUP_PROCESSES, NS_PER_S, 300},
    [LANE_SLOW] = {GROUP_SLOW, 2 * NS_PER_S, 100},
};

static uint32_t permille_of(uint32_t ppm, uint32_t permille)
{
    return (uint32_t)((uint64_t)ppm * permille / 1000);
}

void schedule_init(struct schedule *schedule, int64_t tick_ns, uint32_t driver_time_ppm, struct instant now)
{
    uint32_t aim = permille_of(driver_time_ppm, AIM_PERMILLE);

    *schedule = (struct schedule){
        .shortest_tick_ns = tick_ns > NS_PER_MS ? tick_ns : NS_PER_MS,
        .picture_ns = NS_PER_S,
        .watched_until = now,
        .tick_at = now,
        .tick_began = instant_add_ns(now, -SCHEDULE_IDLE_NS),
        .pushed_at = now,
    };
    account_init(&schedule->total, aim, now);
    for (int lane = 0; lane < LANE_COUNT; lane++)
        account_init(&schedule->lanes[lane], permille_of(aim, lane_info[lane].share_permille), now);
}

static int64_t interval_of(const struct schedule *schedule, enum schedule_lane lane)
{
    int64_t interval = lane_info[lane].interval_ns;

    return interval > schedule->picture_ns ? interval : schedule->picture_ns;
}

bool schedule_is_watched(const struct schedule *schedule, struct instant now)
{
    return instant_since_ns(schedule->watched_until, now) > 0;
}

void schedule_renew(struct schedule *schedule, uint32_t position, struct instant now)
{
    if (position >= SNAPSHOT_MAX_DEVICES)
        return;
    /* Due for an hour: first in every lane. */
    for (int lane = 0; lane < LANE_COUNT; lane++)
        schedule->slots[lane][position] = (struct schedule_slot){.due_ns = now.ns - 3600 * NS_PER_S};
    schedule->quarantined_until_ns[position] = 0;
    schedule->jumped[position] = false;
}

void schedule_start(struct schedule *schedule, uint32_t device_count, struct instant now)
{
    schedule->device_count = 0;
    schedule_set_devices(schedule, device_count, now);
    schedule->first_round = true;
    schedule->first_lane = LANE_HOT;
    schedule->first_position = 0;
    schedule->pushed_at = now;
    schedule->in_tick = false;
}

void schedule_stop(struct schedule *schedule)
{
    schedule->device_count = 0;
    schedule->first_round = false;
    schedule->check_due_ns = INT64_MAX;
    schedule->fresh = true;
}

void schedule_set_devices(struct schedule *schedule, uint32_t device_count, struct instant now)
{
    assert(device_count <= SNAPSHOT_MAX_DEVICES);
    for (uint32_t i = schedule->device_count; i < device_count; i++)
        schedule_renew(schedule, i, now);
    schedule->device_count = device_count;
}

void schedule_memory_jumped(struct schedule *schedule, uint32_t position)
{
    if (position < schedule->device_count)
        schedule->jumped[position] = true;
}

void schedule_show_interest(struct schedule *schedule, int64_t interval_ns, struct instant now)
{
    bool was_watched = schedule_is_watched(schedule, now);
    int64_t since_tick = instant_since_ns(now, schedule->tick_began);
    int64_t picture_ns = interval_ns;

    if (interval_ns <= 0 || interval_ns > NS_PER_S)
        picture_ns = NS_PER_S;
    if (picture_ns < schedule->shortest_tick_ns)
        picture_ns = schedule->shortest_tick_ns;
    schedule->picture_ns = picture_ns;
    schedule->watched_until = instant_add_ns(now, SCHEDULE_WATCHED_NS);

    /* Ticks follow the askers: the picture they get was read after they asked, unless one is just over. */
    if (since_tick >= schedule->shortest_tick_ns &&
        (!was_watched || interval_ns <= 0 || since_tick >= picture_ns / 2))
        schedule->tick_at = now;
    else
        schedule->tick_at =
            instant_earlier(schedule->tick_at, instant_add_ns(schedule->tick_began, picture_ns));
    schedule->push_wanted |= interval_ns <= 0 || !was_watched;
}

/* ---- the first round ---- */

/* Spreads the devices' next readings over each lane's interval, so that no tick has them all. */
static void spread(struct schedule *schedule, struct instant now)
{
    for (int lane = 0; lane < LANE_COUNT; lane++)
        for (uint32_t i = 0; i < schedule->device_count; i++)
            schedule->slots[lane][i].due_ns =
                lane == LANE_HOT
                    ? AT_NEXT_TICK
                    : now.ns + lane_info[lane].interval_ns * (int64_t)(i + 1) / schedule->device_count;
}

static void end_first_round(struct schedule *schedule, struct instant now)
{
    schedule->first_round = false;
    spread(schedule, now);
    schedule->check_due_ns = now.ns + CHECK_NS;
    schedule->tick_began = now;
    schedule->tick_at = instant_add_ns(now, schedule->picture_ns);
    schedule->in_tick = true;
    schedule->push_wanted = true;
}

/* Group by group rather than device by device: if a call hangs, most is known of most devices. */
static bool next_of_first_round(struct schedule *schedule, struct schedule_step *step, struct instant now)
{
    if (schedule->fresh && instant_since_ns(now, schedule->pushed_at) >= LONG_TICK_NS) {
        step->kind = STEP_PUSH;
        return true;
    }
    if (schedule->first_position >= schedule->device_count) {
        schedule->first_position = 0;
        schedule->first_lane++;
    }
    if (schedule->first_lane >= LANE_COUNT || !schedule->device_count) {
        end_first_round(schedule, now);
        return false;
    }
    step->kind = STEP_READ;
    step->lane = schedule->first_lane;
    step->group = lane_info[step->lane].group;
    step->position = schedule->first_position;
    return true;
}

/* ---- later rounds ---- */

static void begin_tick(struct schedule *schedule, struct instant now)
{
    int64_t length = schedule_is_watched(schedule, now) ? schedule->picture_ns : SCHEDULE_IDLE_NS;

    for (uint32_t i = 0; i < schedule->device_count; i++)
        if (schedule->slots[LANE_HOT][i].due_ns == AT_NEXT_TICK)
            schedule->slots[LANE_HOT][i].due_ns = now.ns;
    schedule->in_tick = true;
    schedule->tick_began = now;
    schedule->tick_at = instant_add_ns(schedule->tick_at, length);
    if (instant_since_ns(schedule->tick_at, now) <= 0 || instant_since_ns(schedule->tick_at, now) > length)
        schedule->tick_at = instant_add_ns(now, length);
}

/* When the device's reading in this lane is due: INT64_MAX if at the next tick. */
static int64_t due_of(const struct schedule *schedule, enum schedule_lane lane, uint32_t position)
{
    const struct schedule_slot *slot = &schedule->slots[lane][position];
    int64_t due = slot->due_ns;

    if (lane == LANE_PROCESSES && schedule->jumped[position] && due > slot->read_ns + JUMP_DISTANCE_NS)
        due = slot->read_ns + JUMP_DISTANCE_NS;
    if (due < schedule->quarantined_until_ns[position])
        due = schedule->quarantined_until_ns[position];
    return due;
}

/*
 * The device whose turn it is in this lane: the one that has been due for longest. Every second turn of the
 * process lists goes to a device whose memory jumped, so that restless ones do not starve the others.
 */
static int64_t earliest_due(const struct schedule *schedule, enum schedule_lane lane, struct instant now,
                            uint32_t *ret_position, bool *ret_jump)
{
    bool jumps_first = lane == LANE_PROCESSES && !schedule->jump_served;
    bool found_jump = false;
    int64_t earliest = INT64_MAX;

    for (uint32_t i = 0; i < schedule->device_count; i++) {
        int64_t due = due_of(schedule, lane, i);
        bool jump = jumps_first && schedule->jumped[i] && due <= now.ns;

        if ((jump && !found_jump) || (jump == found_jump && due < earliest)) {
            earliest = due;
            found_jump = jump;
            *ret_position = i;
        }
    }
    *ret_jump = found_jump;
    return earliest;
}

static bool may_run(const struct schedule *schedule, enum schedule_lane lane)
{
    return account_may_spend(&schedule->total) || account_may_spend(&schedule->lanes[lane]);
}

/* The next step of a lane if one is due and can be paid; else when that will be, in *wake. */
static bool next_of_lane(const struct schedule *schedule, enum schedule_lane lane, struct schedule_step *step,
                         struct instant now, struct instant *wake)
{
    uint32_t position = 0;
    bool jump;
    int64_t due = earliest_due(schedule, lane, now, &position, &jump);
    bool check = lane == LANE_SLOW && schedule->check_due_ns <= due;
    struct instant ready, payable;

    if (check)
        due = schedule->check_due_ns;
    if (due <= now.ns && may_run(schedule, lane)) {
        step->kind = check ? STEP_CHECK : STEP_READ;
        step->lane = lane;
        step->group = lane_info[lane].group;
        step->position = check ? 0 : position;
        step->jump = jump;
        step->guaranteed = account_may_spend(&schedule->lanes[lane]);
        return true;
    }
    payable = instant_earlier(account_ready_at(&schedule->total), account_ready_at(&schedule->lanes[lane]));
    ready = due > payable.ns ? (struct instant){due} : payable;
    *wake = instant_earlier(*wake, ready);
    return false;
}

static bool wants_picture(const struct schedule *schedule)
{
    return schedule->in_tick && (schedule->fresh || schedule->push_wanted);
}

static struct schedule_step next_while_watched(struct schedule *schedule, struct instant now)
{
    static const enum schedule_lane order[] = {LANE_WARM, LANE_SLOW, LANE_PROCESSES};
    struct schedule_step step = {.until = schedule->tick_at};

    if (next_of_lane(schedule, LANE_HOT, &step, now, &step.until))
        return step;
    if (wants_picture(schedule)) {
        step.kind = STEP_PUSH;
        return step;
    }
    schedule->in_tick = false;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (next_of_lane(schedule, order[i], &step, now, &step.until))
            return step;
    if (schedule->fresh && schedule->picture_ns > LONG_TICK_NS) {
        struct instant at = instant_add_ns(schedule->pushed_at, LONG_TICK_NS);

        if (instant_since_ns(now, at) >= 0)
            step.kind = STEP_PUSH;
        else
            step.until = instant_earlier(step.until, at);
    }
    return step;
}

/* All that is due and can be paid now, then one picture, then nothing until the next tick. */
static struct schedule_step next_while_idle(struct schedule *schedule, struct instant now)
{
    struct schedule_step step = {.until = schedule->tick_at};
    struct instant ignored = now;

    if (!schedule->in_tick)
        return step;
    for (int lane = 0; lane < LANE_COUNT; lane++)
        if (next_of_lane(schedule, (enum schedule_lane)lane, &step, now, &ignored))
            return step;
    if (wants_picture(schedule))
        step.kind = STEP_PUSH;
    schedule->in_tick = false;
    return step;
}

struct schedule_step schedule_next(struct schedule *schedule, struct instant now)
{
    struct schedule_step step = {.kind = STEP_WAIT};

    if (schedule->first_round && next_of_first_round(schedule, &step, now))
        return step;
    account_fill(&schedule->total, now);
    for (int lane = 0; lane < LANE_COUNT; lane++)
        account_fill(&schedule->lanes[lane], now);
    if (instant_since_ns(now, schedule->tick_at) >= 0)
        begin_tick(schedule, now);
    return schedule_is_watched(schedule, now) ? next_while_watched(schedule, now)
                                              : next_while_idle(schedule, now);
}

/* ---- after a step ---- */

/* How long whatever took `cost_ns` has to wait: 0 unless that was long, then twice as long each time. */
static int64_t pause_after(uint8_t *strikes, int64_t cost_ns)
{
    int64_t pause;

    if (cost_ns < LONG_STEP_NS) {
        *strikes = 0;
        return 0;
    }
    pause = NS_PER_S << (*strikes < 10 ? *strikes : 10);
    if (*strikes < UINT8_MAX)
        ++*strikes;
    return pause < PAUSE_AT_MOST_NS ? pause : PAUSE_AT_MOST_NS;
}

/* Keeps the spread as long as readings are in time; a late one is counted from now. */
static int64_t due_after(const struct schedule *schedule, enum schedule_lane lane, int64_t due,
                         struct instant now)
{
    int64_t interval = interval_of(schedule, lane);

    if (lane == LANE_HOT)
        return AT_NEXT_TICK;
    return now.ns - due < interval && due <= now.ns ? due + interval : now.ns + interval;
}

static void done_reading(struct schedule *schedule, const struct schedule_step *step, int64_t cost_ns,
                         struct instant now)
{
    struct schedule_slot *slot = &schedule->slots[step->lane][step->position];
    int64_t pause;

    if (step->lane == LANE_PROCESSES) {
        schedule->jump_served = step->jump;
        schedule->jumped[step->position] = false;
    }
    slot->due_ns = due_after(schedule, step->lane, slot->due_ns, now);
    slot->read_ns = now.ns;
    pause = pause_after(&slot->strikes, cost_ns);
    if (pause)
        schedule->quarantined_until_ns[step->position] = now.ns + pause;
}

void schedule_done(struct schedule *schedule, const struct schedule_step *step, int64_t cost_ns,
                   struct instant now)
{
    int64_t charge = cost_ns < LONG_STEP_NS ? cost_ns : LONG_STEP_CHARGE_NS;

    schedule->fresh = true;
    if (step->kind == STEP_CHECK)
        schedule->check_due_ns = now.ns + CHECK_NS + pause_after(&schedule->check_strikes, cost_ns);
    else if (step->position < SNAPSHOT_MAX_DEVICES)
        done_reading(schedule, step, cost_ns, now);
    if (schedule->first_round) {
        schedule->first_position++;
        return;
    }
    account_charge(&schedule->total, charge);
    if (step->guaranteed)
        account_charge(&schedule->lanes[step->lane], charge);
}

void schedule_pushed(struct schedule *schedule, struct instant now)
{
    schedule->fresh = false;
    schedule->push_wanted = false;
    schedule->pushed_at = now;
}
