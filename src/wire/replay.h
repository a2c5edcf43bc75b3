/*
 * Replay protection of a session: of the last 64 sequence numbers each is accepted once, older ones never.
 * docs/protocol.md, "Replay". Feed it only numbers of frames whose seal was opened.
 */
#ifndef WIRE_REPLAY_H
#define WIRE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_WINDOW 64

/* All zero: nothing seen. Sequence numbers begin at 1. */
struct replay_window {
    uint64_t highest; /* 0: none yet */
    uint64_t seen;    /* bit i: highest - i was seen */
};

/* True if the number is new; it is then marked as seen. 0 is never new. */
bool replay_accept(struct replay_window *window, uint64_t sequence);

#endif
