/*
 * What the host knows of the processes that the driver names: uid, command line, CPU, memory, job, container.
 *
 * Read from /proc, keyed by (pid, start time) so that a recycled pid never wears an old name; everything of
 * one process is read through one directory descriptor, with bounded reads. CPU and memory are read at each
 * refresh; the command line every 5 s, user and control groups every 30 s, and all of them at once when the
 * process's name changed (it has executed another program). The table owns all texts; they live until the
 * next refresh, sweep or eviction of that process. Bytes are kept as they are. `user` is left absent: names
 * are looked up elsewhere (host/users.h).
 *
 * A read can hang: the kernel takes the process's memory lock for the command line. Call it where that may
 * happen (the sampler), never in a program's main loop.
 */
#ifndef HOST_PROCESS_TABLE_H
#define HOST_PROCESS_TABLE_H

#include "core/clock.h"
#include "model/process.h"

#include <stdbool.h>

/* How much of a command line is kept (runtime.command_line). */
enum command_line_mode {
    COMMAND_LINE_NONE,
    COMMAND_LINE_NAME, /* the first word only, at most 64 bytes; of a longer path the last part */
    COMMAND_LINE_FULL, /* at most `command_line_max` bytes */
};

struct process_table_options {
    const char *proc_root; /* "/proc"; tests put a tree of their own here. Lives as long as the table */
    enum command_line_mode command_line;
    uint32_t command_line_max; /* bytes kept in FULL mode, 4096 on servers; local mode: 131072 */
    uint32_t max_processes;    /* beyond it, the least recently refreshed one makes room */
};

struct process_table;

/* Returns 0 or -ENOMEM. */
int process_table_new(const struct process_table_options *options, struct process_table **ret_table);
void process_table_free(struct process_table *table); /* accepts NULL */

/*
 * Reads a process, or reads again what can change of it. Never fails because of the process: what cannot be
 * read is absent, a pid that does not exist is PROCESS_EXITED (PROCESS_HIDDEN under hidepid=2, unless we
 * could see it before). An exited process keeps the facts that were read while it lived, without CPU and
 * memory.
 *
 * CPU is the average since the last refresh that is at least 100 ms old; at first sight, of the process's
 * whole life, as ps(1) shows it.
 *
 * Returns the table's record (valid until the next refresh or sweep), NULL only without memory.
 */
const struct process *process_table_refresh(struct process_table *table, uint32_t pid, struct instant now);

/* The record of a pid as it was last refreshed, NULL if there is none. Reads nothing. */
const struct process *process_table_find(const struct process_table *table, uint32_t pid);

/* Forgets the processes that were not refreshed since `oldest`. */
void process_table_sweep(struct process_table *table, struct instant oldest);

uint32_t process_table_count(const struct process_table *table);

/* What hides processes from us, found out when the table was made. */
bool process_table_sees_hidepid(const struct process_table *table);     /* /proc hides other users' pids */
bool process_table_in_pid_namespace(const struct process_table *table); /* not the host's pid namespace */

#endif
