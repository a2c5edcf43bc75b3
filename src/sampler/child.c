/* The start of the sampler process: what it inherits is checked and cut down, then it goes to work. */
#include "sampler/worker.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define FIRST_WATCH_NS (10 * NS_PER_S) /* whoever started us waits for the first picture */

static void begin_call(void *context, const char *call, int32_t device)
{
    struct worker *worker = context;

    call_page_begin(worker->page, CALL_DRIVER, call, device, clock_now());
    pthread_mutex_unlock(&worker->lock);
}

static void end_call(void *context)
{
    struct worker *worker = context;

    pthread_mutex_lock(&worker->lock);
    call_page_end(worker->page, clock_now());
    if (atomic_load_explicit(&worker->parent_gone, memory_order_relaxed))
        worker_exit(SAMPLER_EXIT_PARENT_GONE);
}

/* Closes all but the standard descriptors and our two: nothing of other programs may hang with us. */
static void close_other_descriptors(void)
{
    struct dirent *entry;
    DIR *folder;

    if (syscall(SYS_close_range, SAMPLER_PAGE_FD + 1, ~0u, 0) == 0)
        return;
    folder = opendir("/proc/self/fd"); /* kernels before 5.9 */
    if (!folder)
        return;
    while ((entry = readdir(folder))) {
        int fd = atoi(entry->d_name); /* 0 for "." and ".." */

        if (fd > SAMPLER_PAGE_FD && fd != dirfd(folder))
            close(fd);
    }
    closedir(folder);
}

static bool is_socket(int fd)
{
    int type;
    socklen_t len = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

static int open_sources(struct worker *worker)
{
    const struct sampler_options *options = &worker->launch.options;
    struct source_options source_options = {
        .library_path = options->library_path,
        .sysfs_root = "/sys",
        .observer = {begin_call, end_call, worker},
        .left_out = worker->launch.left_out,
    };
    struct process_table_options table_options = {
        .proc_root = "/proc",
        .command_line = options->command_line,
        .command_line_max = options->command_line_max,
        .max_processes = SNAPSHOT_MAX_PROCESSES,
    };

    if (process_table_new(&table_options, &worker->processes) < 0)
        return -ENOMEM;
    return nvml_source_new(&source_options, &worker->source);
}

/* The main thread has the lock from here on. */
static int set_up(struct worker *worker, struct instant now)
{
    const struct sampler_options *options = &worker->launch.options;

    pthread_mutex_init(&worker->lock, NULL);
    pthread_mutex_lock(&worker->lock);
    worker->outbox.fd = SAMPLER_SOCKET_FD;
    worker->started_at = worker->input_at = now;
    atomic_store(&worker->watched_until_ns, now.ns + FIRST_WATCH_NS);
    schedule_init(&worker->schedule, options->tick_ns, options->driver_time_ppm, now);
    schedule_stop(&worker->schedule);
    picture_init(&worker->picture, now);
    changes_init(&worker->changes);
    return open_sources(worker);
}

int sampler_main(int argc, char *argv[])
{
    struct worker *worker = calloc(1, sizeof(*worker));

    mallopt(M_ARENA_MAX, 1); /* a second arena for the second thread would only cost memory */
    prctl(PR_SET_NAME, SAMPLER_ROLE);
    close_other_descriptors();
    if (!worker)
        return SAMPLER_EXIT_NO_MEMORY;
    if (launch_parse(argc, argv, &worker->launch) < 0 || !is_socket(SAMPLER_SOCKET_FD) ||
        call_page_open(SAMPLER_PAGE_FD, &worker->page) < 0)
        return SAMPLER_EXIT_USAGE;
    if (set_up(worker, clock_now()) < 0 || pusher_start(worker) < 0)
        return SAMPLER_EXIT_NO_MEMORY;
    worker_run(worker);
}
