#include "proto/timers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int timers_init(struct timers *timers, size_t cap)
{
    struct timer **heap = calloc(cap ? cap : 1, sizeof(*heap));

    if (!heap)
        return -ENOMEM;
    *timers = (struct timers){.heap = heap, .cap = cap};
    return 0;
}

void timers_deinit(struct timers *timers)
{
    free(timers->heap);
    *timers = (struct timers){0};
}

static void put(struct timers *timers, size_t place, struct timer *timer)
{
    timers->heap[place] = timer;
    timer->place_plus_1 = place + 1;
}

static void move_up(struct timers *timers, size_t place)
{
    struct timer *timer = timers->heap[place];

    while (place) {
        size_t parent = (place - 1) / 2;

        if (timers->heap[parent]->when.ns <= timer->when.ns)
            break;
        put(timers, place, timers->heap[parent]);
        place = parent;
    }
    put(timers, place, timer);
}

static void move_down(struct timers *timers, size_t place)
{
    struct timer *timer = timers->heap[place];

    for (;;) {
        size_t child = 2 * place + 1;

        if (child >= timers->count)
            break;
        if (child + 1 < timers->count && timers->heap[child + 1]->when.ns < timers->heap[child]->when.ns)
            child++;
        if (timer->when.ns <= timers->heap[child]->when.ns)
            break;
        put(timers, place, timers->heap[child]);
        place = child;
    }
    put(timers, place, timer);
}

void timers_set(struct timers *timers, struct timer *timer, struct instant when)
{
    timer->when = when;
    if (!timer->place_plus_1) {
        assert(timers->count < timers->cap);
        put(timers, timers->count++, timer);
    }
    move_up(timers, timer->place_plus_1 - 1);
    move_down(timers, timer->place_plus_1 - 1);
}

void timers_clear(struct timers *timers, struct timer *timer)
{
    size_t place;
    struct timer *last;

    if (!timer->place_plus_1)
        return;
    place = timer->place_plus_1 - 1;
    timer->place_plus_1 = 0;
    last = timers->heap[--timers->count];
    if (last == timer)
        return;
    put(timers, place, last);
    move_up(timers, place);
    move_down(timers, last->place_plus_1 - 1);
}

struct instant timers_next(const struct timers *timers)
{
    return timers->count ? timers->heap[0]->when : TIMERS_NEVER;
}

struct timer *timers_pop(struct timers *timers, struct instant now)
{
    struct timer *timer;

    if (!timers->count || timers->heap[0]->when.ns > now.ns)
        return NULL;
    timer = timers->heap[0];
    timers_clear(timers, timer);
    return timer;
}
