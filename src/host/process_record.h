/*
 * One process of the table: what was read of it, when, and how it is read. Internal to src/host/.
 *
 * A record belongs to a pid; it starts anew when the pid's start time changes. Its texts point into the
 * record itself, except for the command line, which is on the heap.
 */
#ifndef HOST_PROCESS_RECORD_H
#define HOST_PROCESS_RECORD_H

#include "host/process_table.h"
#include "host/procfs.h"

#define COMMAND_NAME_MAX 64 /* bytes kept in COMMAND_LINE_NAME mode */

/* What all readings share. */
struct process_reader {
    int root_fd; /* of /proc; -1 if it cannot be opened */
    enum command_line_mode command_line;
    uint32_t command_line_max;
    int64_t tick_ns; /* length of the kernel's clock tick */
    uint64_t page_bytes;
};

struct process_record {
    struct process process;
    struct process_record *chain;         /* the next one in the bucket */
    struct process_record *older, *newer; /* by last refresh */
    struct instant refreshed;

    struct instant cpu_at; /* when cpu_ticks were read */
    uint64_t cpu_ticks;
    struct instant command_at, owner_at; /* last reading of the command line; of uid and control groups */

    char comm[PROCFS_COMM_MAX];
    char slurm_job[24];
    char slurm_step[32];
    char container[64];
    char *command_line;
};

/* Opens options->proc_root; a missing /proc is not an error here, all processes are hidden then. */
void process_reader_init(struct process_reader *reader, const struct process_table_options *options);
void process_reader_deinit(struct process_reader *reader);

/*
 * Reads the record's process: all of it at first sight, else what can have changed.
 * Returns 0, or a negative errno if /proc does not show the process (then nothing was read, except that the
 * uid is known where hidepid=1 refuses everything else).
 */
int process_record_read(struct process_record *record, const struct process_reader *reader,
                        struct instant now);

/* Notes that /proc does not show it: keeps its facts, except for those that only a living process has. */
void process_record_set_unseen(struct process_record *record, enum process_state state);

void process_record_free(struct process_record *record); /* accepts NULL */

#endif
