#include "event_set.h"

#include <errno.h>
#include <stdlib.h>

struct registration {
    struct registration *next;
    uint32_t position;
    uint64_t types;
    double since_s;
};

struct event_set {
    struct event_set *next;
    uint64_t number; /* what the handle says */
    const struct scenario *scenario;
    struct registration *registrations;
    bool given[]; /* one per event of the scenario */
};

#define HANDLE_MARK (UINT64_C(0x4E45) << 48)

static struct event_set *event_sets;
static uint64_t event_set_count; /* ever made */

void *event_set_new(const struct scenario *scenario)
{
    struct event_set *set = calloc(1, sizeof(*set) + scenario->event_count);
    if (!set)
        return NULL;
    set->number = ++event_set_count;
    set->scenario = scenario;
    set->next = event_sets;
    event_sets = set;
    return (void *)(uintptr_t)(HANDLE_MARK | set->number);
}

struct event_set *event_set_find(const void *handle)
{
    for (struct event_set *set = event_sets; set; set = set->next)
        if ((uint64_t)(uintptr_t)handle == (HANDLE_MARK | set->number))
            return set;
    return NULL;
}

void event_set_free(struct event_set *set)
{
    for (struct event_set **link = &event_sets; *link; link = &(*link)->next)
        if (*link == set) {
            *link = set->next;
            break;
        }
    while (set->registrations) {
        struct registration *next = set->registrations->next;
        free(set->registrations);
        set->registrations = next;
    }
    free(set);
}

int event_set_register(struct event_set *set, uint32_t position, uint64_t types, double t)
{
    struct registration *registration = calloc(1, sizeof(*registration));
    if (!registration)
        return -ENOMEM;
    *registration =
        (struct registration){.next = set->registrations, .position = position, .types = types, .since_s = t};
    set->registrations = registration;
    return 0;
}

static bool is_registered(const struct event_set *set, const struct event *event)
{
    for (const struct registration *one = set->registrations; one; one = one->next)
        if (one->position == event->device && one->types & event->type && one->since_s <= event->at_s)
            return true;
    return false;
}

const struct event *event_set_take(struct event_set *set, double t, double *ret_next)
{
    for (size_t i = 0; i < set->scenario->event_count; i++) {
        const struct event *event = &set->scenario->events[i];
        if (set->given[i] || !is_registered(set, event))
            continue;
        if (event->at_s > t) {
            *ret_next = event->at_s;
            return NULL;
        }
        set->given[i] = true;
        return event;
    }
    *ret_next = SCENARIO_FOR_EVER;
    return NULL;
}

void event_sets_clear(void)
{
    while (event_sets)
        event_set_free(event_sets);
}

void event_sets_forget(void)
{
    event_sets = NULL;
}
