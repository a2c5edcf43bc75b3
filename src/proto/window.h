/*
 * How many answers may be on their way to one socket at a time. A thousand replies at once overflow a receive
 * buffer of the default size (212,992 bytes hold 92 datagrams, as each costs the kernel about 2,304 bytes),
 * so whoever asks takes a place for every datagram that he expects, and waits in line where there is none.
 *
 * Fair: first come, first served; nobody overtakes one who needs more places. Adapts: where answers get lost
 * and it helps, the window is halved, and grows again by one per window of answers. Loss that a smaller
 * window does not cure is the network's, not ours, and does not shrink it. docs/protocol.md, "Window".
 */
#ifndef PROTO_WINDOW_H
#define PROTO_WINDOW_H

#include "core/clock.h"

#include <stdbool.h>
#include <stddef.h>

#define WINDOW_DATAGRAM_BYTES 2304u /* of receive buffer per datagram of an Ethernet's size, as measured */
#define WINDOW_MIN            4u    /* places, however small the buffer */
#define WINDOW_MAX            4096u /* and however large */

struct window_waiter {
    void *owner;                           /* whoever asks; the window does not look at it */
    struct window_waiter *next, *previous; /* in line; NULL: not waiting */
    unsigned wanted;                       /* places asked for */
    unsigned held;                         /* places it has */
};

struct window {
    unsigned limit;            /* places at present */
    unsigned max;              /* what the buffer holds */
    unsigned in_use;           /* may pass the limit by one waiter who needs more than there are */
    struct window_waiter line; /* ring */
    /* adaptation; see window.c */
    struct instant epoch;
    unsigned answered, lost;
    unsigned limit_before;
    double loss_before;
    bool trying, settling;
    struct instant no_trial_before;
    int64_t trial_pause_ns;
};

/* receive_buffer_bytes: SO_RCVBUF as granted. */
void window_init(struct window *window, size_t receive_buffer_bytes);

/*
 * Asks for so many places (at least 1; more than there are count as all of them). True: the waiter has them
 * now. False: it stands in line, and window_next() hands it out later. It must not be in line or hold any.
 */
bool window_ask(struct window *window, struct window_waiter *waiter, unsigned places);

/* An expected datagram came: one place is free. Nothing happens if the waiter holds none. */
void window_came(struct window *window, struct instant now, struct window_waiter *waiter);

/* The rest of what was expected is not coming: gives back all places, or leaves the line. */
void window_lost(struct window *window, struct instant now, struct window_waiter *waiter);

/* The same, where nobody is to blame: the node is gone, the question is withdrawn. */
void window_leave(struct window *window, struct window_waiter *waiter);

/* The kernel says that it dropped datagrams for want of room: halves at once. */
void window_overflowed(struct window *window, struct instant now);

/*
 * The next in line that now has its places, or NULL. Call it until NULL after any of the above.
 */
struct window_waiter *window_next(struct window *window);

#endif
