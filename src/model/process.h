/*
 * Processes: what the driver lists on a device (an entry), and what the host knows of a pid (a process).
 * A process that uses several devices, or stands on several lists of one, has many entries and is one
 * process.
 */
#ifndef MODEL_PROCESS_H
#define MODEL_PROCESS_H

#include "core/text.h"

#include <stdint.h>

#define PERCENT_ABSENT  UINT8_MAX
#define PROCESS_UNKNOWN UINT32_MAX /* process_entry.process: nothing was read of the host side yet */

/* One entry of one of the driver's lists, kept as it came. */
struct process_entry {
    uint8_t list;            /* enum process_list */
    bool has_mem;            /* false: the driver gave no figure (all ones) */
    uint8_t util_sm_percent; /* PERCENT_ABSENT or 0..100, over the last reading's window */
    uint8_t util_memory_percent;
    uint8_t util_encoder_percent;
    uint8_t util_decoder_percent;
    uint32_t pid;
    uint32_t gpu_instance_id;     /* INSTANCE_NONE if not MIG */
    uint32_t compute_instance_id; /* INSTANCE_NONE if not MIG */
    uint64_t mem_bytes;
    uint32_t process; /* place in snapshot->processes, or PROCESS_UNKNOWN */
};

/* Numbers on the wire: append only. */
enum process_state {
    PROCESS_RUNNING,
    PROCESS_ZOMBIE, /* ended, not reaped; its memory may still be held */
    PROCESS_EXITED, /* /proc does not know the pid (any more) */
    PROCESS_HIDDEN, /* /proc does not show it to us (hidepid); it may well run */
    PROCESS_STATE_COUNT
};

/* Which of the members below are known. */
enum process_fact {
    PROCESS_HAS_UID = 1 << 0,
    PROCESS_HAS_START = 1 << 1,
    PROCESS_HAS_CPU = 1 << 2,
    PROCESS_HAS_RSS = 1 << 3,
    PROCESS_HAS_COMMAND_LINE = 1 << 4, /* could be read; it may be empty (zombie, kernel thread) */
    PROCESS_COMMAND_LINE_CUT = 1 << 5, /* is longer than what is kept */
};

/* What the host knows of a process, keyed by (pid, start_ticks). */
struct process {
    uint32_t pid;
    enum process_state state;
    unsigned facts;        /* enum process_fact */
    uint32_t uid;          /* real user id */
    uint64_t start_ticks;  /* since boot, field 22 of /proc/PID/stat; with the pid the process's identity */
    int64_t start_unix_us; /* the same as wall-clock time */
    uint32_t cpu_permille; /* 1000 = one core fully used */
    uint64_t rss_bytes;

    struct text user;         /* name as the node knew it; absent if it did not */
    struct text comm;         /* the kernel's name of the process, at most 15 bytes; absent if unknown */
    struct text command_line; /* words separated by NUL, as in /proc/PID/cmdline, the last NUL dropped */
    struct text slurm_job;    /* "123"; absent if not in a job */
    struct text slurm_step;   /* "0", "batch", "extern" ... */
    struct text container;    /* 64 hex digits; absent if none */
};

#endif
