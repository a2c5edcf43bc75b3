#include "core/event_log.h"

#include "core/cleanup.h"

#include <stdarg.h>

#define SOURCE_QUIET_NS (3600 * NS_PER_S)

bool event_limit_take(struct event_limit *limit, struct instant now, uint32_t *ret_left_out)
{
    if (!limit->began.ns || instant_since_ns(now, limit->began) >= EVENT_LOG_PERIOD_NS) {
        limit->began = now;
        limit->lines = 0;
    }
    if (limit->lines >= EVENT_LOG_BURST) {
        if (limit->left_out < UINT32_MAX)
            limit->left_out++;
        return false;
    }
    limit->lines++;
    *ret_left_out = limit->left_out;
    limit->left_out = 0;
    return true;
}

void event_log(struct event_limit *limit, struct instant now, enum log_level level, const char *format, ...)
{
    _cleanup_(cleanup_free) char *message = NULL;
    uint32_t left_out;
    va_list args;
    int len;

    if (!event_limit_take(limit, now, &left_out))
        return;
    va_start(args, format);
    len = vasprintf(&message, format, args);
    va_end(args);
    if (len < 0) {
        message = NULL;
        return;
    }
    if (left_out)
        log_write(level, "%s (and %u more like this before)", message, left_out);
    else
        log_write(level, "%s", message);
}

bool event_source_is_news(struct event_sources *sources, uint64_t source, struct instant now)
{
    size_t oldest = 0;

    for (size_t i = 0; i < EVENT_SOURCES; i++) {
        if (sources->known[i].used && sources->known[i].source == source) {
            if (instant_since_ns(now, sources->known[i].at) < SOURCE_QUIET_NS)
                return false;
            oldest = i;
            break;
        }
        if (!sources->known[i].used ||
            (sources->known[oldest].used && sources->known[i].at.ns < sources->known[oldest].at.ns))
            oldest = i;
    }
    sources->known[oldest].source = source;
    sources->known[oldest].at = now;
    sources->known[oldest].used = true;
    return true;
}
