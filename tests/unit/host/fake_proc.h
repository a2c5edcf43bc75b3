/* A /proc of files in a temporary folder, for tests that need processes which cannot be had for real. */
#ifndef TESTS_FAKE_PROC_H
#define TESTS_FAKE_PROC_H

#include "core/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

struct fake_proc {
    char root[64];
};

static inline void fake_proc_init(struct fake_proc *proc)
{
    strcpy(proc->root, "/tmp/clustat-proc-XXXXXX");
    assert_non_null(mkdtemp(proc->root));
}

static inline int fake_proc_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

/* Removes a path below the root ("" for all of it) and what is in it. */
static inline void fake_proc_remove(const struct fake_proc *proc, const char *below)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", proc->root, below);
    assert_int_equal(nftw(path, fake_proc_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Writes a file `name` of a process ("12/stat"), making the folder where it is missing. */
static inline void fake_proc_write(const struct fake_proc *proc, const char *name, const void *bytes,
                                   size_t len)
{
    char path[256];
    _cleanup_(cleanup_close) int fd = -1;

    snprintf(path, sizeof(path), "%s/%s", proc->root, name);
    if (strchr(name, '/')) {
        *strrchr(path, '/') = '\0';
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        snprintf(path, sizeof(path), "%s/%s", proc->root, name);
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
}

static inline void fake_proc_write_string(const struct fake_proc *proc, const char *name, const char *string)
{
    fake_proc_write(proc, name, string, strlen(string));
}

struct fake_process {
    unsigned pid;
    const char *comm;
    char state;
    unsigned long long cpu_ticks, start_ticks;
    unsigned uid;
    unsigned long long resident_pages;
    const char *cgroup;
};

/* Writes stat, status, statm and cgroup of a process. */
static inline void fake_proc_put(const struct fake_proc *proc, const struct fake_process *process)
{
    char name[32], content[512];

    snprintf(name, sizeof(name), "%u/stat", process->pid);
    snprintf(content, sizeof(content),
             "%u (%s) %c 1 1 1 0 -1 4194304 9 0 0 0 %llu 0 0 0 20 0 1 0 %llu 99 9 0 0\n", process->pid,
             process->comm, process->state, process->cpu_ticks, process->start_ticks);
    fake_proc_write_string(proc, name, content);
    snprintf(name, sizeof(name), "%u/status", process->pid);
    snprintf(content, sizeof(content), "Name:\t%s\nState:\t%c\nUid:\t%u\t0\t0\t0\nGid:\t0\t0\t0\t0\n",
             process->comm, process->state, process->uid);
    fake_proc_write_string(proc, name, content);
    snprintf(name, sizeof(name), "%u/statm", process->pid);
    snprintf(content, sizeof(content), "99 %llu 1 1 0 9 0\n", process->resident_pages);
    fake_proc_write_string(proc, name, content);
    snprintf(name, sizeof(name), "%u/cgroup", process->pid);
    fake_proc_write_string(proc, name, process->cgroup ? process->cgroup : "0::/\n");
}

#endif
