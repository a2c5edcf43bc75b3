#include "sampler/worker.h"

#include <stdio.h>

#define REFRESH_NS      NS_PER_S /* while watched */
#define REFRESH_IDLE_NS (5 * NS_PER_S)
#define SLICE           32 /* pids between two looks at the socket */

/* Reads one process. It can hang (a process's memory lock), so it is done like a vendor call. */
static void read_process(struct worker *worker, struct pid_slot *slot)
{
    struct instant now = clock_now();
    char name[CALL_NAME_SIZE];

    /* Before the lock is given away: the second thread leaves the map alone while we are in /proc. */
    slot->was_read = true;
    slot->read_at = now;
    snprintf(name, sizeof(name), "/proc/%u", (unsigned)slot->pid);
    call_page_begin(worker->page, CALL_HOST, name, -1, now);
    pthread_mutex_unlock(&worker->lock);
    process_table_refresh(worker->processes, slot->pid, now);
    pthread_mutex_lock(&worker->lock);
    call_page_end(worker->page, clock_now());
    if (atomic_load(&worker->parent_gone))
        worker_exit(SAMPLER_EXIT_PARENT_GONE);
}

static bool is_shown(const struct worker *worker, const struct pid_slot *slot)
{
    return slot->pid && slot->round == worker->picture.round;
}

void worker_read_new_processes(struct worker *worker, int64_t limit_ns)
{
    struct pid_map *pids = &worker->picture.pids;
    struct instant end = instant_add_ns(clock_now(), limit_ns);

    if (!outbox_is_busy(&worker->outbox))
        outbox_encode(&worker->outbox, &worker->picture.snapshot, worker_body_target(worker));
    for (uint32_t i = 0; i < pids->slot_count; i++) {
        if (!is_shown(worker, &pids->slots[i]) || pids->slots[i].was_read)
            continue;
        read_process(worker, &pids->slots[i]);
        if (instant_since_ns(clock_now(), end) > 0)
            return;
    }
}

static void begin_round(struct worker *worker, struct instant now)
{
    bool watched = schedule_is_watched(&worker->schedule, now);

    worker->in_host_round = true;
    worker->host_cursor = 0;
    worker->host_round_began = now;
    worker->host_due = instant_add_ns(now, watched ? REFRESH_NS : REFRESH_IDLE_NS);
}

static void end_round(struct worker *worker)
{
    worker->in_host_round = false;
    process_table_sweep(worker->processes, instant_add_ns(worker->host_round_began, -60 * NS_PER_S));
}

/* One that was read after the last round had begun is not due in this one. */
static bool is_due(const struct worker *worker, const struct pid_slot *slot)
{
    return is_shown(worker, slot) &&
           (!slot->was_read ||
            instant_since_ns(worker->host_round_began, slot->read_at) >= REFRESH_NS * 3 / 4);
}

bool worker_refresh_some(struct worker *worker, struct instant now)
{
    struct pid_map *pids = &worker->picture.pids;
    unsigned done = 0;

    if (worker->launch.without_host)
        return false;
    if (!worker->in_host_round) {
        if (instant_since_ns(worker->host_due, now) > 0)
            return false;
        begin_round(worker, now);
    }
    for (; worker->host_cursor < pids->slot_count && done < SLICE; worker->host_cursor++)
        if (is_due(worker, &pids->slots[worker->host_cursor])) {
            read_process(worker, &pids->slots[worker->host_cursor]);
            done++;
        }
    if (worker->host_cursor >= pids->slot_count)
        end_round(worker);
    return true;
}
