#include "proto/window.h"

#include <assert.h>

/*
 * Adaptation in epochs of at least EPOCH_NS and EPOCH_DATAGRAMS expected datagrams. Where an epoch's share of
 * lost ones exceeds LOSS_TOLERATED, the window is halved on trial; the next epoch still tells of what was
 * asked before and does not count; after the one behind it the trial has either helped (the share fell to
 * less than half of it) and the smaller window stays, or it has not, and then the loss is not of our making:
 * the old window comes back, and the pause until the next trial doubles.
 */
#define EPOCH_NS        (20 * NS_PER_MS)
#define EPOCH_DATAGRAMS 32u
#define LOSS_TOLERATED  0.02
#define PAUSE_FIRST_NS  NS_PER_S
#define PAUSE_MAX_NS    (60 * NS_PER_S)

/* Of the buffer an eighth is left free: answers to questions that were asked again also come. */
static unsigned places_of(size_t receive_buffer_bytes)
{
    size_t places = receive_buffer_bytes / 8 * 7 / WINDOW_DATAGRAM_BYTES;

    return places < WINDOW_MIN ? WINDOW_MIN : places > WINDOW_MAX ? WINDOW_MAX : (unsigned)places;
}

void window_init(struct window *window, size_t receive_buffer_bytes)
{
    *window = (struct window){.max = places_of(receive_buffer_bytes), .trial_pause_ns = PAUSE_FIRST_NS};
    window->limit = window->max;
    window->line.next = window->line.previous = &window->line;
}

static bool has_room(const struct window *window, unsigned wanted)
{
    return window->in_use == 0 ||
           (window->in_use < window->limit && wanted <= window->limit - window->in_use);
}

static void leave_line(struct window_waiter *waiter)
{
    waiter->previous->next = waiter->next;
    waiter->next->previous = waiter->previous;
    waiter->next = waiter->previous = NULL;
}

static void grant(struct window *window, struct window_waiter *waiter)
{
    waiter->held = waiter->wanted;
    window->in_use += waiter->held;
}

bool window_ask(struct window *window, struct window_waiter *waiter, unsigned places)
{
    assert(!waiter->next && !waiter->held && places);
    waiter->wanted = places < window->max ? places : window->max;
    if (window->line.next == &window->line && has_room(window, waiter->wanted)) {
        grant(window, waiter);
        return true;
    }
    waiter->next = &window->line;
    waiter->previous = window->line.previous;
    waiter->previous->next = waiter;
    window->line.previous = waiter;
    return false;
}

struct window_waiter *window_next(struct window *window)
{
    struct window_waiter *first = window->line.next;

    if (first == &window->line || !has_room(window, first->wanted))
        return NULL;
    leave_line(first);
    grant(window, first);
    return first;
}

static unsigned halved(const struct window *window)
{
    return window->limit / 2 < WINDOW_MIN ? WINDOW_MIN : window->limit / 2;
}

static void begin_trial(struct window *window, double loss)
{
    window->trying = window->settling = true;
    window->loss_before = loss;
    window->limit_before = window->limit;
    window->limit = halved(window);
}

static void end_trial(struct window *window, struct instant now, double loss)
{
    window->trying = false;
    if (loss < window->loss_before / 2) {
        window->trial_pause_ns = PAUSE_FIRST_NS;
        return;
    }
    window->limit = window->limit_before;
    window->no_trial_before = instant_add_ns(now, window->trial_pause_ns);
    window->trial_pause_ns *= 2;
    if (window->trial_pause_ns > PAUSE_MAX_NS)
        window->trial_pause_ns = PAUSE_MAX_NS;
}

static void count(struct window *window, struct instant now)
{
    unsigned total = window->answered + window->lost;
    double loss;

    if (total < EPOCH_DATAGRAMS || instant_since_ns(now, window->epoch) < EPOCH_NS)
        return;
    loss = (double)window->lost / total;
    if (window->settling)
        window->settling = false;
    else if (window->trying)
        end_trial(window, now, loss);
    else if (loss > LOSS_TOLERATED && window->limit > WINDOW_MIN && now.ns >= window->no_trial_before.ns)
        begin_trial(window, loss);
    else if (window->limit < window->max)
        window->limit += (window->answered + window->limit - 1) / window->limit;
    if (window->limit > window->max)
        window->limit = window->max;
    window->epoch = now;
    window->answered = window->lost = 0;
}

void window_came(struct window *window, struct instant now, struct window_waiter *waiter)
{
    if (!waiter->held)
        return;
    waiter->held--;
    window->in_use--;
    window->answered++;
    count(window, now);
}

void window_leave(struct window *window, struct window_waiter *waiter)
{
    if (waiter->next)
        leave_line(waiter);
    window->in_use -= waiter->held;
    waiter->held = 0;
}

void window_lost(struct window *window, struct instant now, struct window_waiter *waiter)
{
    window->lost += waiter->held;
    window_leave(window, waiter);
    count(window, now);
}

void window_overflowed(struct window *window, struct instant now)
{
    window->trying = window->settling = false;
    window->limit = halved(window);
    window->epoch = now;
    window->answered = window->lost = 0;
}
