#include "host/process_table.h"

#include "core/cleanup.h"
#include "host/process_record.h"
#include "host/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define BUCKETS_FIRST 64

struct process_table {
    struct process_reader reader;
    uint32_t max_processes;
    bool sees_hidepid, in_pid_namespace;
    bool hidden_are_missing; /* hidepid=2 and 4: what is hidden looks as if it had ended */

    struct process_record **buckets; /* by pid; chained */
    uint32_t bucket_count;           /* a power of two */
    uint32_t count;
    struct process_record *oldest, *newest; /* in the order of their last refresh */
};

/*
 * Our own entry is there, but that of process 1 cannot be had: somebody hides other users' processes from us.
 * Returns 0, or how: -ENOENT, or -EPERM for hidepid=1, which shows that there is such a process.
 */
static int detect_hidepid(int root_fd)
{
    _cleanup_(cleanup_close) int fd = -1;
    struct stat st;
    int r;

    if (fstatat(root_fd, "self", &st, 0) < 0)
        return 0;
    r = procfs_open(root_fd, 1, &fd);
    return r == -ENOENT || r == -EPERM ? r : r == -EACCES ? -EPERM : 0;
}

/* The first pid namespace of a kernel has a fixed inode number (PROC_PID_INIT_INO). */
static bool detect_pid_namespace(int root_fd)
{
    char target[64];
    ssize_t len = readlinkat(root_fd, "self/ns/pid", target, sizeof(target));

    return len > 0 && !text_equal_string((struct text){target, (size_t)len}, "pid:[4026531836]");
}

int process_table_new(const struct process_table_options *options, struct process_table **ret_table)
{
    struct process_table *table = calloc(1, sizeof(*table));
    int hidepid;

    if (!table)
        return -ENOMEM;
    table->buckets = calloc(BUCKETS_FIRST, sizeof(*table->buckets));
    if (!table->buckets) {
        free(table);
        return -ENOMEM;
    }
    table->bucket_count = BUCKETS_FIRST;
    table->max_processes = options->max_processes ? options->max_processes : 1;
    process_reader_init(&table->reader, options);
    hidepid = detect_hidepid(table->reader.root_fd);
    table->sees_hidepid = hidepid < 0;
    table->hidden_are_missing = hidepid == -ENOENT;
    table->in_pid_namespace = detect_pid_namespace(table->reader.root_fd);
    *ret_table = table;
    return 0;
}

static struct process_record **bucket_of(const struct process_table *table, uint32_t pid)
{
    return &table->buckets[pid & (table->bucket_count - 1)];
}

static struct process_record *find(const struct process_table *table, uint32_t pid)
{
    struct process_record *record = *bucket_of(table, pid);

    while (record && record->process.pid != pid)
        record = record->chain;
    return record;
}

static void unlink_age(struct process_table *table, struct process_record *record)
{
    *(record->older ? &record->older->newer : &table->oldest) = record->newer;
    *(record->newer ? &record->newer->older : &table->newest) = record->older;
    record->older = record->newer = NULL;
}

static void link_newest(struct process_table *table, struct process_record *record)
{
    record->older = table->newest;
    *(table->newest ? &table->newest->newer : &table->oldest) = record;
    table->newest = record;
}

static void forget(struct process_table *table, struct process_record *record)
{
    struct process_record **link = bucket_of(table, record->process.pid);

    while (*link != record)
        link = &(*link)->chain;
    *link = record->chain;
    unlink_age(table, record);
    table->count--;
    process_record_free(record);
}

/* Twice the buckets; without memory the chains just get longer. */
static void widen(struct process_table *table)
{
    uint32_t old_count = table->bucket_count;
    struct process_record **old = table->buckets, **wide = calloc((size_t)old_count * 2, sizeof(*wide));

    if (!wide)
        return;
    table->buckets = wide;
    table->bucket_count = old_count * 2;
    for (uint32_t i = 0; i < old_count; i++) {
        while (old[i]) {
            struct process_record *record = old[i];
            struct process_record **bucket = bucket_of(table, record->process.pid);

            old[i] = record->chain;
            record->chain = *bucket;
            *bucket = record;
        }
    }
    free(old);
}

static struct process_record *add(struct process_table *table, uint32_t pid)
{
    struct process_record *record = calloc(1, sizeof(*record)), **bucket;

    if (!record)
        return NULL;
    while (table->count >= table->max_processes)
        forget(table, table->oldest);
    if (table->count >= table->bucket_count)
        widen(table);
    record->process.pid = pid;
    bucket = bucket_of(table, pid);
    record->chain = *bucket;
    *bucket = record;
    link_newest(table, record);
    table->count++;
    return record;
}

/*
 * /proc did not show the process. Under hidepid a process that we never saw may well run; one that we saw
 * has ended. Anything else than "no such process" says nothing about whether it runs.
 */
static enum process_state unseen_state(const struct process_table *table, const struct process *process,
                                       int error)
{
    bool seen_before = process->facts & PROCESS_HAS_START;

    if (error != -ENOENT && error != -ESRCH)
        return PROCESS_HIDDEN;
    return table->hidden_are_missing && !seen_before ? PROCESS_HIDDEN : PROCESS_EXITED;
}

const struct process *process_table_refresh(struct process_table *table, uint32_t pid, struct instant now)
{
    struct process_record *record = find(table, pid);
    int r;

    if (record) {
        unlink_age(table, record);
        link_newest(table, record);
    } else {
        record = add(table, pid);
        if (!record)
            return NULL;
    }
    record->refreshed = now;
    r = process_record_read(record, &table->reader, now);
    if (r < 0)
        process_record_set_unseen(record, unseen_state(table, &record->process, r));
    return &record->process;
}

const struct process *process_table_find(const struct process_table *table, uint32_t pid)
{
    struct process_record *record = find(table, pid);

    return record ? &record->process : NULL;
}

void process_table_sweep(struct process_table *table, struct instant oldest)
{
    while (table->oldest && table->oldest->refreshed.ns < oldest.ns)
        forget(table, table->oldest);
}

uint32_t process_table_count(const struct process_table *table)
{
    return table->count;
}

bool process_table_sees_hidepid(const struct process_table *table)
{
    return table->sees_hidepid;
}

bool process_table_in_pid_namespace(const struct process_table *table)
{
    return table->in_pid_namespace;
}

void process_table_free(struct process_table *table)
{
    if (!table)
        return;
    while (table->oldest)
        forget(table, table->oldest);
    process_reader_deinit(&table->reader);
    free(table->buckets);
    free(table);
}
