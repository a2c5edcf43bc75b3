/* Completion scripts for shells, made from the option table. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "core/buffer.h"

/*
 * Appends the script of a shell ("bash", "zsh", "fish" or "tcsh") that completes the words of `program`.
 * Returns 0, or -EINVAL for another shell.
 */
int completion_put(struct buffer *out, const char *shell, const char *program);

#endif
