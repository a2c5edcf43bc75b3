/*
 * The log: lines on standard error, one per event. Where standard error is the journal, each line carries
 * its priority as <N> in front (sd-daemon(3)); on a terminal or pipe the program's name is put before it.
 * Only the programs' own folders log above debug. The log sink is the one global of the program.
 */
#ifndef CORE_LOG_H
#define CORE_LOG_H

enum log_level {
    LOG_LEVEL_ERROR = 3, /* numbers of syslog(3) */
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7,
};

/* Names the program and the least important level that is still written. `name` must live for ever. */
void log_init(const char *name, enum log_level level);

/* Writes one line (a newline is added; control characters in it are made visible). */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
