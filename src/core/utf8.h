/*
 * UTF-8: decoding that never trusts its input, the width of a character on a terminal, and the visible form
 * of text from outside (no control character, no bad byte reaches a terminal or a log).
 */
#ifndef CORE_UTF8_H
#define CORE_UTF8_H

#include "core/buffer.h"

/* What utf8_next() gives for a byte that is not part of a well-formed character. */
#define UTF8_BAD UINT32_MAX

/*
 * Decodes the character at *pos and moves *pos behind it (behind one byte if it is bad).
 * text: any bytes; *pos < text.len. Returns the code point, or UTF8_BAD (overlong forms, surrogates and
 * values above U+10FFFF are bad).
 */
uint32_t utf8_next(struct text text, size_t *pos);

/* Appends the character in UTF-8; code <= 0x10FFFF. */
void utf8_put(struct buffer *out, uint32_t code);

/* Number of characters as Python counts them after decoding; a bad byte counts as one. */
size_t utf8_count(struct text text);

/* Columns of one character: 0 for combining and format characters, 2 for wide ones, 1 otherwise. */
unsigned utf8_code_width(uint32_t code);

/* True for what must not reach a terminal raw: C0, DEL, C1, line separators, bidi controls, and UTF8_BAD. */
bool utf8_is_unsafe(uint32_t code);

/* Columns of the visible form that utf8_put_visible() writes. */
size_t utf8_visible_width(struct text text);

/*
 * Appends the text in a form that is safe to print: safe characters as they are, ASCII controls as ^X,
 * bad bytes as \xNN, other unsafe characters as \u{NNNN}. A backslash stays as it is.
 */
void utf8_put_visible(struct buffer *out, struct text text);

/*
 * The same, but at most `columns` columns; a cut is marked by an ellipsis (… or, if !unicode, a dot) that
 * takes the last column. Returns the columns used.
 */
size_t utf8_put_visible_cut(struct buffer *out, struct text text, size_t columns, bool unicode);

#endif
