/*
 * Times a one-shot command from process start to exit, and the peak memory of it and of what it leaves
 * behind (clustat's sampler child, which becomes ours as we are its subreaper).
 *
 *     bench-oneshot RUNS COMMAND [ARG ...]
 *
 * Prints one line of JSON: median and 90th percentile of the wall time in microseconds, median of the summed
 * peaks in KiB. The peak is the kernel's ru_maxrss of each finished process, the same figure as VmHWM.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_RUNS 10000

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* One run: writes the wall time of the command itself and the summed peaks. Returns its exit status. */
static int run_once(char *command[], int64_t *ret_wall_us, int64_t *ret_peak_kib)
{
    int64_t start = now_us();
    pid_t child = vfork(), ended;
    struct rusage usage;
    int status, result = -1;

    if (child < 0)
        return -1;
    if (child == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    *ret_peak_kib = 0;
    while ((ended = wait4(-1, &status, 0, &usage)) > 0) {
        *ret_peak_kib += usage.ru_maxrss;
        if (ended == child) {
            *ret_wall_us = now_us() - start;
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
    return result;
}

int main(int argc, char *argv[])
{
    static int64_t wall[MAX_RUNS], peak[MAX_RUNS];
    int runs = argc > 2 ? atoi(argv[1]) : 0;
    int null, out;

    if (runs < 1 || runs > MAX_RUNS) {
        fprintf(stderr, "usage: bench-oneshot RUNS COMMAND [ARG ...], RUNS from 1 to %d\n", MAX_RUNS);
        return 2;
    }
    out = dup(STDOUT_FILENO);
    null = open("/dev/null", O_WRONLY);
    if (out < 0 || null < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return 1;
    dup2(null, STDOUT_FILENO);
    fcntl(out, F_SETFD, FD_CLOEXEC);
    for (int i = -3; i < runs; i++) { /* three to warm up */
        int64_t wall_us = 0, peak_kib = 0;
        int status = run_once(argv + 2, &wall_us, &peak_kib);

        if (status != 0) {
            fprintf(stderr, "bench-oneshot: %s ended with status %d\n", argv[2], status);
            return 1;
        }
        if (i >= 0)
            wall[i] = wall_us, peak[i] = peak_kib;
    }
    qsort(wall, (size_t)runs, sizeof(wall[0]), compare);
    qsort(peak, (size_t)runs, sizeof(peak[0]), compare);
    dprintf(out,
            "{\"runs\": %d, \"wall_us_median\": %lld, \"wall_us_p90\": %lld, \"peak_kib_median\": %lld}\n",
            runs, (long long)wall[runs / 2], (long long)wall[runs * 9 / 10], (long long)peak[runs / 2]);
    return 0;
}
