#include "core/clock.h"

#include <time.h>

struct instant clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (struct instant){now.tv_sec * NS_PER_S + now.tv_nsec};
}

int64_t clock_wall_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

int clock_poll_timeout_ms(struct instant now, struct instant when)
{
    int64_t longest = 24 * 3600 * NS_PER_S;
    int64_t wait;

    if (when.ns <= now.ns)
        return 0;
    wait = when.ns - now.ns;
    if (wait > longest)
        wait = longest;
    return (int)((wait + NS_PER_MS - 1) / NS_PER_MS);
}
