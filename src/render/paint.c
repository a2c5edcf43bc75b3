#include "render/paint.h"

/* Bold is a sequence of its own, before the colour, as gpustat sends it. */
#define BOLD "\033[1m"

static const char *const sequences[PAINT_COUNT] = {
    [PAINT_PLAIN] = "",
    [PAINT_BOLD] = BOLD,
    [PAINT_BOLD_WHITE] = BOLD "\033[37m",
    [PAINT_RED] = "\033[31m",
    [PAINT_BOLD_RED] = BOLD "\033[31m",
    [PAINT_GREEN] = "\033[32m",
    [PAINT_BOLD_GREEN] = BOLD "\033[32m",
    [PAINT_YELLOW] = "\033[33m",
    [PAINT_BOLD_YELLOW] = BOLD "\033[33m",
    [PAINT_BLUE] = "\033[34m",
    [PAINT_MAGENTA] = "\033[35m",
    [PAINT_BOLD_MAGENTA] = BOLD "\033[35m",
    [PAINT_CYAN] = "\033[36m",
    [PAINT_BOLD_CYAN] = BOLD "\033[36m",
};

struct pen pen_new(const struct render_options *options, struct buffer *out)
{
    bool has_bright = options->colors >= 16;

    return (struct pen){
        .out = out,
        .on = options->color && options->colors > 0,
        /* Bold black cannot be read on many themes; clustat takes bright black where there is one. */
        .faint = options->style == STYLE_CLUSTAT && has_bright ? "\033[90m" : BOLD "\033[30m",
        /* The nearest of eight to the dark blue no. 24. */
        .command_line = options->colors >= 256 ? "\033[38;5;24m" : "\033[34m",
    };
}

void pen_start(const struct pen *pen, enum paint paint)
{
    if (!pen->on || paint == PAINT_PLAIN)
        return;
    if (paint == PAINT_FAINT)
        buffer_put_string(pen->out, pen->faint);
    else if (paint == PAINT_COMMAND_LINE)
        buffer_put_string(pen->out, pen->command_line);
    else
        buffer_put_string(pen->out, sequences[paint]);
}

void pen_stop(const struct pen *pen, enum paint paint)
{
    if (paint != PAINT_PLAIN)
        pen_reset(pen);
}

void pen_reset(const struct pen *pen)
{
    if (pen->on)
        buffer_put(pen->out, PAINT_RESET, sizeof(PAINT_RESET) - 1);
}

void pen_put(const struct pen *pen, enum paint paint, const char *string)
{
    pen_start(pen, paint);
    buffer_put_string(pen->out, string);
    pen_stop(pen, paint);
}
