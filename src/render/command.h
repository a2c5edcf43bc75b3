/*
 * A process's command line as words, and what gpustat calls its command (gpustat-contract A.6). Nothing is
 * copied: words borrow from the process.
 */
#ifndef RENDER_COMMAND_H
#define RENDER_COMMAND_H

#include "model/process.h"

/* Goes through the words of a command line. */
struct command_words {
    struct text rest;
    char separator;
    bool more;
};

/*
 * Words are separated by NUL. A line of one word with blanks in it (a process that set its title) is split
 * at the blanks. No words: the line is unknown or empty (zombie, kernel thread). process may be NULL.
 */
struct command_words command_words(const struct process *process);

/* Writes the next word and returns true, or returns false at the end. */
bool command_next_word(struct command_words *words, struct text *ret_word);

/* The last path part of the first word; absent if there are no words. */
struct text command_name(const struct process *process);

/* The first word in two parts, as -f prints them. */
struct command_path {
    struct text
        folder; /* with its slash; of several slashes before the last part one is kept; may be empty */
    struct text name;
};

struct command_path command_split_path(struct text word);

#endif
