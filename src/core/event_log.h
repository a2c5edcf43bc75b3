/*
 * Lines of the log that others could cause at will, kept in bounds: of each kind a few at once and then so
 * many a minute; what is left out is counted and told with the next line of that kind.
 */
#ifndef CORE_EVENT_LOG_H
#define CORE_EVENT_LOG_H

#include "core/clock.h"
#include "core/log.h"

#include <stdbool.h>
#include <stdint.h>

#define EVENT_LOG_BURST     10
#define EVENT_LOG_PERIOD_NS (60 * NS_PER_S) /* a burst each */

/* One kind of line. All zero: none was written yet. */
struct event_limit {
    struct instant began; /* of the present period */
    uint32_t lines;       /* written in it */
    uint32_t left_out;    /* since the last one that was written */
};

/* May a line be written now? Then *ret_left_out is how many were not, before it. */
bool event_limit_take(struct event_limit *limit, struct instant now, uint32_t *ret_left_out);

void event_log(struct event_limit *limit, struct instant now, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define EVENT_SOURCES 64

/* The sources that a line was written about lately: one line per source and hour. */
struct event_sources {
    struct {
        uint64_t source;
        struct instant at;
        bool used;
    } known[EVENT_SOURCES];
};

/* True the first time in an hour. Of more than EVENT_SOURCES the one longest ago is forgotten. */
bool event_source_is_news(struct event_sources *sources, uint64_t source, struct instant now);

#endif
