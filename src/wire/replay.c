#include "wire/replay.h"

bool replay_accept(struct replay_window *window, uint64_t sequence)
{
    uint64_t behind, ahead;

    if (sequence > window->highest) {
        ahead = sequence - window->highest;
        window->seen = ahead < REPLAY_WINDOW ? window->seen << ahead | 1 : 1;
        window->highest = sequence;
        return true;
    }
    behind = window->highest - sequence;
    if (!sequence || behind >= REPLAY_WINDOW || window->seen >> behind & 1)
        return false;
    window->seen |= UINT64_C(1) << behind;
    return true;
}
