/* The program's two streams: what was asked for goes to standard output at once, complaints to standard
 * error. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "core/buffer.h"

enum exit_status {
    EXIT_SHOWN = 0,
    EXIT_FAILED = 1, /* not shown: nobody to ask, nothing that matches, no way to write it */
    EXIT_USAGE = 2,
};

/*
 * Makes sure that descriptors 0 to 2 are open, so that nothing opened later becomes somebody's output by
 * accident. Writing to one that was closed fails with EBADF, as it should.
 */
void output_init(void);

/* Writes all of it. Returns 0 or a negative errno (-EPIPE only if SIGPIPE is ignored). */
int output_write(int fd, struct text text);

/* Writes "PROGRAM: message" as one line to standard error; control characters are made visible. */
void output_complain(const char *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes the buffer to standard output, if nothing went wrong in it. Returns an exit status. */
int output_print(const char *program, const struct buffer *out);

/* Says that there is no memory. Returns EXIT_FAILED. */
int output_out_of_memory(const char *program);

#endif
