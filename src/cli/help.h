/* The help and the usage line, made from the option table. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "core/buffer.h"

#include <stdbool.h>

/* The whole text of --help. program: "gpustat" or "clustat". */
void help_put(struct buffer *out, const char *program);

/* The line or two above an error message. */
void help_put_usage(struct buffer *out, const char *program);

/* Complains of wrong usage, below the usage line. Returns EXIT_USAGE (cli/output.h). */
int help_report_usage(const char *program, struct text message);

#endif
