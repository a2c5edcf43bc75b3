/*
 * Text from outside, made fit for a table: visible, of a wanted width, cut to the terminal.
 *
 * Widths are counted in characters (as gpustat does, whatever the terminal makes of them) or in columns of
 * the terminal (as clustat does).
 */
#ifndef RENDER_TEXT_CELLS_H
#define RENDER_TEXT_CELLS_H

#include "core/buffer.h"

/* How a table shows text. */
struct text_rules {
    bool unicode;    /* false: nothing but ASCII is written */
    bool by_columns; /* false: widths count characters */
};

/* The visible form (core/utf8.h); without Unicode every character beyond ASCII is shown as \u{NNNN}. */
void cell_put_visible(struct buffer *out, struct text text, struct text_rules rules);

/* Width of text that is already visible. */
size_t cell_width(struct text visible, struct text_rules rules);

/*
 * Writes visible text into exactly `width` units: padded with blanks on the right, or, if too long, an
 * ellipsis and its end. width 0 writes nothing. (Wide characters can leave one blank before the end.)
 */
void cell_put_fitted(struct buffer *out, struct text visible, size_t width, struct text_rules rules);

/* True if the line (visible text and colour sequences) takes at most `columns` columns. */
bool cell_line_fits(struct text line, size_t columns);

/*
 * Cuts the line out->bytes[start..] (visible text and colour sequences, no newline) to `columns` columns. A
 * cut is marked by an ellipsis in the last column, and an open colour is closed.
 */
void cell_cut_line(struct buffer *out, size_t start, size_t columns, bool unicode);

#endif
