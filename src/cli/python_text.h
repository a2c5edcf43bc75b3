/*
 * Python's idea of numbers and quoted strings, where gpustat's messages and accepted values depend on it.
 */
#ifndef CLI_PYTHON_TEXT_H
#define CLI_PYTHON_TEXT_H

#include "core/buffer.h"

/* Appends repr(string): quotes, with everything unprintable escaped. */
void python_put_repr(struct buffer *out, const char *string);

/*
 * What float() accepts: blanks around, a sign, digits with single underscores between them, an exponent,
 * inf, infinity, nan. Returns 0 and *ret_value (may be infinite or not a number), else -EINVAL.
 */
int python_parse_float(const char *string, double *ret_value);

/*
 * What int() accepts in base 10: blanks around, a sign, digits with single underscores between them.
 * Returns 0 and *ret_value, limited to what fits; else -EINVAL.
 */
int python_parse_int(struct text text, int64_t *ret_value);

#endif
