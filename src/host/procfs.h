/*
 * The files of one process under /proc: opening, and parsers that are pure functions.
 *
 * A process is read through one descriptor of its directory, so that all files belong to the same process
 * even when the pid is used again meanwhile: file_read() then fails with -ESRCH or -ENOENT. Formats are
 * those of proc(5).
 */
#ifndef HOST_PROCFS_H
#define HOST_PROCFS_H

#include "core/text.h"

#include <stdint.h>

#define PROCFS_COMM_MAX 15 /* TASK_COMM_LEN of the kernel without its NUL */

/* What /proc/PID/stat says. Ticks are of sysconf(_SC_CLK_TCK). */
struct procfs_stat {
    char state;                 /* field 3: R S D Z T ... */
    char comm[PROCFS_COMM_MAX]; /* field 2, the kernel's escapes undone */
    uint8_t comm_len;
    uint64_t cpu_ticks;   /* fields 14 + 15, user and system time of all threads */
    uint64_t start_ticks; /* field 22, since boot */
};

/*
 * Opens the directory of a process. root_fd: directory descriptor of /proc.
 * Returns 0 and a close-on-exec descriptor, or a negative errno: -ENOENT if there is no such process or
 * hidepid=2 hides it, -EPERM if hidepid=1 hides it.
 */
int procfs_open(int root_fd, uint32_t pid, int *ret_fd);

/* Content of PID/stat. Returns 0 or -EBADMSG. */
int procfs_parse_stat(struct text content, struct procfs_stat *ret_stat);

/* Content of PID/status: the real user id. Returns 0 or -EBADMSG. */
int procfs_parse_uid(struct text content, uint32_t *ret_uid);

/* Content of PID/statm: resident pages. Returns 0 or -EBADMSG. */
int procfs_parse_statm(struct text content, uint64_t *ret_pages);

#endif
