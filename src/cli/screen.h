/*
 * What stands on the terminal, and the bytes that turn it into the next frame. Pure: no terminal, no clock.
 *
 * A frame is text of lines with colour sequences, each line complete in itself. The screen cuts it to its
 * size, compares it with the lines shown before and writes the changed ones only.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "core/buffer.h"

#define SCREEN_MAX_ROWS    1000
#define SCREEN_MAX_COLUMNS 10000

/* Lines of a frame, cut to the screen. */
struct screen_lines {
    struct buffer text;           /* one after another, without newlines */
    size_t ends[SCREEN_MAX_ROWS]; /* where each ends in `text` */
    size_t count;
};

struct screen {
    size_t rows, columns;
    bool unicode;              /* false: a cut is marked by '.' instead of '…' */
    bool valid;                /* false: what is on the terminal is not known */
    struct screen_lines shown; /* what is on the terminal */
    struct screen_lines next;  /* room for what is to come */
};

/* An empty screen of no size. */
void screen_init(struct screen *screen, bool unicode);
void screen_deinit(struct screen *screen);

/* Sets the size (limited to the maxima; 0 counts as 1). Everything is written again at the next frame. */
void screen_resize(struct screen *screen, size_t rows, size_t columns);

/* The terminal's content is unknown again (it was left and entered). */
void screen_invalidate(struct screen *screen);

/*
 * Appends to `out` what turns the screen into this frame; nothing if it looks the same. A frame with more
 * lines than rows ends in "... N more lines". Errors stick in `out`.
 */
void screen_draw(struct screen *screen, struct text frame, struct buffer *out);

/*
 * Appends a line cut to `columns` columns: colour sequences (ESC [ digits ; m) take no column, all other
 * control characters are dropped. A cut line ends in an ellipsis and, if it had a colour, in ESC[0m.
 */
void screen_put_cut(struct buffer *out, struct text line, size_t columns, bool unicode);

#endif
