/* The program's two streams: what was asked for goes to standard output at once, complaints to standard
 * error. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "core/buffer.h"

/*
 * Makes sure that descriptors 0 to 2 are open, so that nothing opened later becomes somebody's output by
 * accident. Writing to one that was closed fails with EBADF, as it should.
 */
void output_init(void);

/* Writes all of it. Returns 0 or a negative errno (-EPIPE only if SIGPIPE is ignored). */
int output_write(int fd, struct text text);

/* Writes "PROGRAM: message" as one line to standard error; control characters are made visible. */
void output_complain(const char *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
