/*
 * Points in time and durations as text. Local time as the process's TZ has it; month and day names in
 * English whatever the locale, since gpustat prints them so.
 */
#ifndef RENDER_TIMES_H
#define RENDER_TIMES_H

#include "core/buffer.h"

/* `Mon Nov 30 19:47:10 2026`: day of the month padded with a blank. */
void time_put_long(struct buffer *out, int64_t unix_us);

/* `2026-11-30T20:02:17.009893`, local time, no zone; the fraction is left out where it is zero. */
void time_put_iso(struct buffer *out, int64_t unix_us);

/* `14:02`, with the date (`Nov 29 14:02`) where that is a day or more before now. */
void time_put_since(struct buffer *out, int64_t unix_us, int64_t now_unix_us);

/* `5s`, `3m`, `4h`, `2d`: rounded down; the larger unit begins at two of it (`119s`, `2m`). */
void time_put_age(struct buffer *out, uint64_t age_us);

/* The same with a tenth below ten seconds: `3.2s`. */
void time_put_age_exact(struct buffer *out, uint64_t age_us);

#endif
