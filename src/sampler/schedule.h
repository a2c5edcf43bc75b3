/*
 * Which group of which device is read next, and when. Pure: time and measured costs go in, steps come out.
 *
 * Time is cut into ticks. At each tick the hot group of every device is read and a picture is due; the other
 * groups are read when their interval has passed. While somebody watches, a tick is as long as they want
 * between two pictures (within tick_ns and 1 s); while nobody does, it is 5 s and nothing happens between
 * ticks.
 *
 * Driver time is limited by accounts (budget.h). All costs are charged to one account that earns the whole
 * permitted share; a step may run while that one is not in debt. Besides, each lane (the devices' groups that
 * belong together) has an account of its own for a guaranteed part of the share, so that expensive process
 * lists cannot delay utilisation and memory. What cannot be paid is read later: groups stretch by themselves.
 * The first round after a start is exempt, since a picture with holes helps nobody.
 *
 * A step that took a second or more puts its device in quarantine, for 1 s at first and twice as long each
 * time it happens again, up to ten minutes: a device whose every call waits for a driver time-out must not
 * stop the others.
 */
#ifndef SAMPLER_SCHEDULE_H
#define SAMPLER_SCHEDULE_H

#include "core/clock.h"
#include "model/snapshot.h"
#include "sampler/budget.h"

/* What is read together and paid from one account; in this order in the first round. */
enum schedule_lane {
    LANE_HOT,
    LANE_WARM,
    LANE_PROCESSES,
    LANE_SLOW, /* pays the source's check as well */
    LANE_COUNT
};

enum step_kind {
    STEP_WAIT,  /* nothing to do until `until` */
    STEP_READ,  /* read `group` of the device at `position`, then schedule_done() */
    STEP_CHECK, /* the source's check, then schedule_done() */
    STEP_PUSH,  /* send a picture, then schedule_pushed() */
};

struct schedule_step {
    enum step_kind kind;
    uint32_t position;
    enum field_group group;
    enum schedule_lane lane;
    bool jump;            /* its turn because its memory jumped */
    bool guaranteed;      /* paid from the lane's own account too */
    struct instant until; /* STEP_WAIT */
};

/* Per device and lane: due INT64_MAX means at the next tick. */
struct schedule_slot {
    int64_t due_ns;
    int64_t read_ns; /* when last read */
    uint8_t strikes; /* readings in a row that took a second or more */
};

struct schedule {
    int64_t shortest_tick_ns;
    struct account total;
    struct account lanes[LANE_COUNT];

    uint32_t device_count;
    struct schedule_slot slots[LANE_COUNT][SNAPSHOT_MAX_DEVICES];
    int64_t quarantined_until_ns[SNAPSHOT_MAX_DEVICES];
    bool jumped[SNAPSHOT_MAX_DEVICES]; /* its memory changed since its process lists were read */
    bool jump_served;                  /* the last process lists were read because of a jump */
    int64_t check_due_ns;
    uint8_t check_strikes;

    bool first_round;
    enum schedule_lane first_lane; /* where the first round stands */
    uint32_t first_position;

    struct instant watched_until;
    int64_t picture_ns; /* the length of a tick while watched */
    struct instant tick_at, tick_began;
    bool in_tick;
    bool push_wanted; /* even if nothing new was read */
    bool fresh;       /* something was read since the last picture */
    struct instant pushed_at;
};

/* How long one that showed interest counts as watching. */
#define SCHEDULE_WATCHED_NS (10 * NS_PER_S)
#define SCHEDULE_IDLE_NS    (5 * NS_PER_S)

/*
 * An empty schedule, with nobody watching. `tick_ns`: the shortest time between two pictures, and
 * `driver_time_ppm`: the permitted share of wall time.
 */
void schedule_init(struct schedule *schedule, int64_t tick_ns, uint32_t driver_time_ppm, struct instant now);

/* The source has started with these devices: everything is read once, unpaid. */
void schedule_start(struct schedule *schedule, uint32_t device_count, struct instant now);

/* The source has no devices now: nothing is read or checked, pictures are sent at ticks and on interest. */
void schedule_stop(struct schedule *schedule);

/* The number of devices changed; those at new positions are read at once, as the budget allows. */
void schedule_set_devices(struct schedule *schedule, uint32_t device_count, struct instant now);

/* The device at a position is another one, or came back: all its groups are due, before the others'. */
void schedule_renew(struct schedule *schedule, uint32_t position, struct instant now);

/* The memory in use of a device jumped: its process lists come before those of devices without a jump. */
void schedule_memory_jumped(struct schedule *schedule, uint32_t position);

/* Somebody watches and wants a picture every `interval_ns` (0: one, now). */
void schedule_show_interest(struct schedule *schedule, int64_t interval_ns, struct instant now);

bool schedule_is_watched(const struct schedule *schedule, struct instant now);

/* What to do now. The same answer until time passes or one of the functions below is called. */
struct schedule_step schedule_next(struct schedule *schedule, struct instant now);

/* A STEP_READ or STEP_CHECK was done and `cost_ns` were spent in the driver. `now` is after it. */
void schedule_done(struct schedule *schedule, const struct schedule_step *step, int64_t cost_ns,
                   struct instant now);

/* A picture was sent. */
void schedule_pushed(struct schedule *schedule, struct instant now);

/* True once every group of every device was tried. */
static inline bool schedule_first_round_done(const struct schedule *schedule)
{
    return !schedule->first_round;
}

#endif
