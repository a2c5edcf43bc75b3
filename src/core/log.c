#include "core/log.h"

#include "core/buffer.h"
#include "core/cleanup.h"
#include "core/utf8.h"

#include <stdarg.h>

static struct {
    const char *name;
    enum log_level level;
    bool journal;
} sink = {.name = "clustat", .level = LOG_LEVEL_INFO};

void log_init(const char *name, enum log_level level)
{
    sink.name = name;
    sink.level = level;
    sink.journal = getenv("JOURNAL_STREAM") != NULL;
}

void log_write(enum log_level level, const char *format, ...)
{
    _cleanup_(buffer_deinit) struct buffer line = BUFFER_EMPTY;
    _cleanup_(cleanup_free) char *message = NULL;
    va_list args;
    int len;

    if (level > sink.level)
        return;
    va_start(args, format);
    len = vasprintf(&message, format, args);
    va_end(args);
    if (len < 0) {
        message = NULL;
        return;
    }
    if (sink.journal)
        buffer_printf(&line, "<%d>", (int)level);
    else
        buffer_printf(&line, "%s: ", sink.name);
    utf8_put_visible(&line, (struct text){message, (size_t)len});
    buffer_put_char(&line, '\n');
    if (!buffer_error(&line))
        (void)!write(STDERR_FILENO, line.bytes, line.len);
}
