/*
 * Colours of the table: what each part of a row looks like, decided in this one place (gpustat-contract A.9).
 */
#ifndef RENDER_PAINT_H
#define RENDER_PAINT_H

#include "render/render.h"

enum paint {
    PAINT_PLAIN, /* no sequence at all */
    PAINT_BOLD,
    PAINT_FAINT, /* missing values, users, driver: gpustat's bold black, which dark terminals swallow */
    PAINT_BOLD_WHITE,
    PAINT_RED,
    PAINT_BOLD_RED,
    PAINT_GREEN,
    PAINT_BOLD_GREEN,
    PAINT_YELLOW,
    PAINT_BOLD_YELLOW,
    PAINT_BLUE,
    PAINT_MAGENTA,
    PAINT_BOLD_MAGENTA,
    PAINT_CYAN,
    PAINT_BOLD_CYAN,
    PAINT_COMMAND_LINE, /* colour 24 of 256 */
    PAINT_COUNT
};

#define PAINT_RESET "\033[0m"

/* Writes sequences into `out`, or nothing where colours are off. */
struct pen {
    struct buffer *out;
    bool on;
    const char *faint;
    const char *command_line;
};

struct pen pen_new(const struct render_options *options, struct buffer *out);

/* Begins a coloured span. A span inside a span is written as it is: the terminal keeps the last colour. */
void pen_start(const struct pen *pen, enum paint paint);

/* Ends the span (nothing after PAINT_PLAIN). */
void pen_stop(const struct pen *pen, enum paint paint);

/* A bare reset, where gpustat writes one without a colour before it. */
void pen_reset(const struct pen *pen);

/* A whole span. */
void pen_put(const struct pen *pen, enum paint paint, const char *string);

#endif
