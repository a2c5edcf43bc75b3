#include "host/process_table.h"

#include "fake_proc.h"

#include <dirent.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define TICK_NS (NS_PER_S / sysconf(_SC_CLK_TCK))

static const struct instant start = {1000 * NS_PER_S};

static struct instant after_ms(int64_t ms)
{
    return instant_add_ns(start, ms * NS_PER_MS);
}

static struct process_table *new_table(const char *root, enum command_line_mode mode, uint32_t max)
{
    const struct process_table_options options = {root, mode, 4096, max};
    struct process_table *table;

    assert_int_equal(process_table_new(&options, &table), 0);
    return table;
}

/* A time of start that lies `ns` in the past, in the kernel's ticks. */
static unsigned long long ticks_ago(int64_t ns)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (unsigned long long)((ts.tv_sec * NS_PER_S + ts.tv_nsec - ns) / TICK_NS);
}

static void assert_text(struct text text, const char *bytes, size_t len)
{
    assert_true(text_is_present(text));
    assert_int_equal(text.len, len);
    assert_memory_equal(text.bytes, bytes, len);
}

static void everything_is_read_at_first_sight(void **state)
{
    struct fake_process process = {12, "python", 'S', 500, 0, 1000, 2560, NULL};
    struct fake_proc proc;
    struct process_table *table;
    const struct process *got;
    int64_t age_us;

    (void)state;
    fake_proc_init(&proc);
    process.start_ticks = ticks_ago(100 * NS_PER_S);
    process.cgroup = "0::/system.slice/slurmstepd.scope/job_123/step_batch/user/task_0\n";
    fake_proc_put(&proc, &process);
    fake_proc_write(&proc, "12/cmdline", "python\0train.py\0\xff\x1b[31m\0", 23);
    table = new_table(proc.root, COMMAND_LINE_FULL, 8);

    got = process_table_refresh(table, 12, start);
    assert_non_null(got);
    assert_ptr_equal(got, process_table_find(table, 12));
    assert_int_equal(got->state, PROCESS_RUNNING);
    assert_int_equal(got->facts, PROCESS_HAS_UID | PROCESS_HAS_START | PROCESS_HAS_CPU | PROCESS_HAS_RSS |
                                     PROCESS_HAS_COMMAND_LINE);
    assert_int_equal(got->pid, 12);
    assert_int_equal(got->uid, 1000);
    assert_int_equal(got->rss_bytes, 2560 * (uint64_t)sysconf(_SC_PAGESIZE));
    assert_int_equal(got->start_ticks, process.start_ticks);
    age_us = clock_wall_us() - got->start_unix_us;
    assert_in_range(age_us, 99900000, 101000000);
    assert_in_range(got->cpu_permille, 500 * (uint64_t)TICK_NS / 100200000,
                    500 * (uint64_t)TICK_NS / 99900000);
    assert_text(got->comm, "python", 6);
    assert_text(got->command_line, "python\0train.py\0\xff\x1b[31m", 22);
    assert_text(got->slurm_job, "123", 3);
    assert_text(got->slurm_step, "batch", 5);
    assert_false(text_is_present(got->container));
    assert_false(text_is_present(got->user));
    process_table_free(table);
    fake_proc_remove(&proc, "");
}

static void cpu_is_measured_between_refreshes(void **state)
{
    struct fake_process process = {12, "python", 'R', 0, 1, 0, 1, NULL};
    struct fake_proc proc;
    struct process_table *table;
    static const struct {
        int64_t at_ms;
        int64_t cpu_ms;
        uint32_t want_permille;
    } steps[] = {
        {200, 300, 1500},                   /* one and a half cores */
        {250, 310, 1500},                   /* too soon: the figure stays, the window goes on growing */
        {400, 400, 500},                    /* 100 ms of 200 */
        {1400, 400, 0},     {1500, 200, 0}, /* times of a dying group can run backwards */
        {3500, 8200, 4000},
    };

    (void)state;
    fake_proc_init(&proc);
    fake_proc_put(&proc, &process);
    table = new_table(proc.root, COMMAND_LINE_NONE, 8);
    process_table_refresh(table, 12, start);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const struct process *got;

        process.cpu_ticks = (unsigned long long)(steps[i].cpu_ms * NS_PER_MS / TICK_NS);
        fake_proc_put(&proc, &process);
        got = process_table_refresh(table, 12, after_ms(steps[i].at_ms));
        assert_true(got->facts & PROCESS_HAS_CPU);
        assert_int_equal(got->cpu_permille, steps[i].want_permille);
    }
    process_table_free(table);
    fake_proc_remove(&proc, "");
}

static void a_young_process_is_averaged_over_a_second(void **state)
{
    /* 70 ms of processor time within the first 100 ms of its life. */
    const uint64_t used = (uint64_t)(70 * NS_PER_MS / TICK_NS);
    struct fake_process process = {12, "python", 'S', used, ticks_ago(100 * NS_PER_MS), 1000, 9, NULL};
    struct fake_proc proc;
    struct process_table *table;

    (void)state;
    fake_proc_init(&proc);
    fake_proc_put(&proc, &process);
    table = new_table(proc.root, COMMAND_LINE_FULL, 8);
    assert_in_range(process_table_refresh(table, 12, start)->cpu_permille, 60, 70);
    process_table_free(table);
    fake_proc_remove(&proc, "");
}

static void a_recycled_pid_gets_nothing_of_the_old_process(void **state)
{
    struct fake_process process = {12, "python", 'S', 5000, 4000, 1000, 9, "0::/slurm/uid_1/job_7/step_0\n"};
    struct fake_proc proc;
    struct process_table *table;
    const struct process *got;

    (void)state;
    fake_proc_init(&proc);
    fake_proc_put(&proc, &process);
    fake_proc_write(&proc, "12/cmdline", "python\0", 7);
    table = new_table(proc.root, COMMAND_LINE_FULL, 8);
    process_table_refresh(table, 12, start);

    /* The same name on purpose: nothing but the start time tells. */
    process = (struct fake_process){12, "python", 'S', 10, ticks_ago(10 * NS_PER_S), 2000, 9, NULL};
    fake_proc_put(&proc, &process);
    fake_proc_remove(&proc, "12/cmdline");
    got = process_table_refresh(table, 12, after_ms(200));
    assert_int_equal(got->uid, 2000);
    assert_int_equal(got->start_ticks, process.start_ticks);
    assert_true(got->facts & PROCESS_HAS_CPU);
    assert_in_range(got->cpu_permille, 0, 50); /* its own life's average, not a difference to the other */
    assert_false(got->facts & PROCESS_HAS_COMMAND_LINE);
    assert_false(text_is_present(got->command_line));
    assert_false(text_is_present(got->slurm_job));
    assert_false(text_is_present(got->slurm_step));
    assert_int_equal(process_table_count(table), 1);
    process_table_free(table);
    fake_proc_remove(&proc, "");
}

static void command_line_forms(void **state)
{
    static const char longest[] =
        "/home/someone/miniconda3/envs/a-very-long-environment-name/lib/x/bin/python3.11";
    static const char title[] =
        "ray::Trainer.step(/data/with/slashes) and much more text than sixty-four bytes";
    static const struct {
        enum command_line_mode mode;
        const char *content;
        size_t len;
        const char *want;
        size_t want_len;
        bool cut;
    } forms[] = {
        {COMMAND_LINE_FULL, "a\0b\0", 4, "a\0b", 3, false},
        {COMMAND_LINE_FULL, "", 0, "", 0, false},
        {COMMAND_LINE_FULL, "\0", 1, "", 0, false},
        {COMMAND_LINE_FULL, "a\0\0", 3, "a\0", 2, false},                           /* last word is empty */
        {COMMAND_LINE_FULL, "nginx: worker   ", 16, "nginx: worker   ", 16, false}, /* setproctitle, no NUL */
        {COMMAND_LINE_FULL, "t\0\0\0\0", 5, "t\0\0\0", 4, false},                   /* setproctitle, NULs */
        {COMMAND_LINE_NAME, "/bin/a\0--key=secret\0", 20, "/bin/a", 6, true},
        {COMMAND_LINE_NAME, "/bin/a\0", 7, "/bin/a", 6, false},
        {COMMAND_LINE_NAME, "", 0, "", 0, false},
        {COMMAND_LINE_NAME, longest, sizeof(longest), "python3.11", 10, true},
        {COMMAND_LINE_NAME, title, sizeof(title), title, 64, true},
    };
    struct fake_process process = {12, "python", 'S', 1, 1, 0, 9, NULL};
    struct fake_proc proc;

    (void)state;
    fake_proc_init(&proc);
    fake_proc_put(&proc, &process);
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct process_table *table = new_table(proc.root, forms[i].mode, 8);
        const struct process *got;

        fake_proc_write(&proc, "12/cmdline", forms[i].content, forms[i].len);
        got = process_table_refresh(table, 12, start);
        assert_true(got->facts & PROCESS_HAS_COMMAND_LINE);
        assert_text(got->command_line, forms[i].want, forms[i].want_len);
        assert_int_equal(!!(got->facts & PROCESS_COMMAND_LINE_CUT), forms[i].cut);
        process_table_free(table);
    }
    fake_proc_remove(&proc, "");
}

static void the_command_line_is_read_anew_when_it_may_have_changed(void **state)
{
    struct fake_process process = {12, "bash", 'S', 1, 1, 5, 9, NULL};
    struct fake_proc proc;
    struct process_table *table;
    const struct process *got;

    (void)state;
    fake_proc_init(&proc);
    fake_proc_put(&proc, &process);
    fake_proc_write(&proc, "12/cmdline", "bash\0", 5);
    table = new_table(proc.root, COMMAND_LINE_FULL, 8);
    process_table_refresh(table, 12, start);

    fake_proc_write(&proc, "12/cmdline", "title\0", 6); /* a title alone is seen after 5 s */
    got = process_table_refresh(table, 12, after_ms(4999));
    assert_text(got->command_line, "bash", 4);
    got = process_table_refresh(table, 12, after_ms(5000));
    assert_text(got->command_line, "title", 5);

    process.comm = "python"; /* exec: at once, and everything else with it */
    process.uid = 6;
    process.cgroup = "0::/slurm/job_1/step_2\n";
    fake_proc_put(&proc, &process);
    fake_proc_write(&proc, "12/cmdline", "python\0x\0", 9);
    got = process_table_refresh(table, 12, after_ms(5100));
    assert_text(got->comm, "python", 6);
    assert_text(got->command_line, "python\0x", 8);
    assert_int_equal(got->uid, 6);
    assert_text(got->slurm_job, "1", 1);

    process.cgroup = "0::/slurm/job_1/step_3\n"; /* moved without exec: within 30 s */
    fake_proc_put(&proc, &process);
    got = process_table_refresh(table, 12, after_ms(35000));
    assert_text(got->slurm_step, "2", 1);
    got = process_table_refresh(table, 12, after_ms(35100));
    assert_text(got->slurm_step, "3", 1);

    fake_proc_write(&proc, "12/cmdline", "", 0); /* ending: the last known line is the right one */
    got = process_table_refresh(table, 12, after_ms(60000));
    assert_text(got->command_line, "python\0x", 8);
    process_table_free(table);
    fake_proc_remove(&proc, "");
}

static void a_long_command_line_is_cut_at_the_limit(void **state)
{
    struct fake_process process = {12, "python", 'S', 1, 1, 5, 9, NULL};
    const struct process_table_options wide = {NULL, COMMAND_LINE_FULL, 131072, 8};
    struct process_table_options options = wide;
    struct fake_proc proc;
    struct process_table *table;
    const struct process *got;
    char *line = test_malloc(131073);

    (void)state;
    memset(line, 'x', 131073);
    fake_proc_init(&proc);
    fake_proc_put(&proc, &process);
    fake_proc_write(&proc, "12/cmdline", line, 131072);
    options.proc_root = proc.root;
    assert_int_equal(process_table_new(&options, &table), 0);
    got = process_table_refresh(table, 12, start);
    assert_int_equal(got->command_line.len, 131072);
    assert_false(got->facts & PROCESS_COMMAND_LINE_CUT);
    fake_proc_write(&proc, "12/cmdline", line, 131073);
    got = process_table_refresh(table, 12, after_ms(6000));
    assert_int_equal(got->command_line.len, 131072);
    assert_true(got->facts & PROCESS_COMMAND_LINE_CUT);
    process_table_free(table);
    test_free(line);
    fake_proc_remove(&proc, "");
}

static void what_cannot_be_read_is_absent(void **state)
{
    struct fake_proc proc;
    struct process_table *table;
    const struct process *got;

    (void)state;
    fake_proc_init(&proc);
    fake_proc_write_string(&proc, "12/stat",
                           "12 (x) S 1 1 1 0 -1 4194304 9 0 0 0 7 0 0 0 20 0 1 0 42 99 9\n");
    fake_proc_write_string(&proc, "13/stat", "13 (nonsense");
    fake_proc_write_string(&proc, "14/stat", "");
    table = new_table(proc.root, COMMAND_LINE_FULL, 8);

    got = process_table_refresh(table, 12, start); /* stat only: the uid is that of the folder */
    assert_int_equal(got->state, PROCESS_RUNNING);
    assert_int_equal(got->facts, PROCESS_HAS_START | PROCESS_HAS_CPU | PROCESS_HAS_UID);
    assert_int_equal(got->uid, geteuid());
    got = process_table_refresh(table, 13, start);
    assert_int_equal(got->state, PROCESS_HIDDEN);
    assert_int_equal(got->facts, 0);
    assert_false(text_is_present(got->comm));
    got = process_table_refresh(table, 14, start);
    assert_int_equal(got->state, PROCESS_EXITED);
    process_table_free(table);
    fake_proc_remove(&proc, "");
}

static void an_exited_process_keeps_its_name(void **state)
{
    struct fake_process process = {12, "python", 'S', 1, 1, 5, 9, NULL};
    struct fake_proc proc;
    struct process_table *table;
    const struct process *got;

    (void)state;
    fake_proc_init(&proc);
    table = new_table(proc.root, COMMAND_LINE_FULL, 8);
    got = process_table_refresh(table, 12, start);
    assert_int_equal(got->state, PROCESS_EXITED);
    assert_int_equal(got->facts, 0);

    fake_proc_put(&proc, &process);
    fake_proc_write(&proc, "12/cmdline", "python\0", 7);
    got = process_table_refresh(table, 12, after_ms(100));
    assert_int_equal(got->state, PROCESS_RUNNING);
    process.state = 'Z';
    fake_proc_put(&proc, &process);
    got = process_table_refresh(table, 12, after_ms(200));
    assert_int_equal(got->state, PROCESS_ZOMBIE);
    fake_proc_remove(&proc, "12");
    got = process_table_refresh(table, 12, after_ms(300));
    assert_int_equal(got->state, PROCESS_EXITED);
    assert_int_equal(got->facts, PROCESS_HAS_START | PROCESS_HAS_UID | PROCESS_HAS_COMMAND_LINE);
    assert_text(got->comm, "python", 6);
    assert_text(got->command_line, "python", 6);
    process_table_free(table);
    fake_proc_remove(&proc, "");
}

static void hidepid_is_recognised(void **state)
{
    struct fake_process process = {12, "python", 'S', 1, 1, 5, 9, NULL};
    struct fake_proc proc;
    struct process_table *table;

    (void)state;
    fake_proc_init(&proc);
    fake_proc_put(&proc, &process);
    fake_proc_write_string(&proc, "self/stat", "");
    table = new_table(proc.root, COMMAND_LINE_FULL, 8); /* our own entry, but no process 1 */
    assert_true(process_table_sees_hidepid(table));
    assert_int_equal(process_table_refresh(table, 99, start)->state, PROCESS_HIDDEN);
    assert_int_equal(process_table_refresh(table, 12, start)->state, PROCESS_RUNNING);
    fake_proc_remove(&proc, "12"); /* we could see it: it has gone */
    assert_int_equal(process_table_refresh(table, 12, after_ms(1))->state, PROCESS_EXITED);
    process_table_free(table);

    fake_proc_write_string(&proc, "1/stat", "");
    table = new_table(proc.root, COMMAND_LINE_FULL, 8);
    assert_false(process_table_sees_hidepid(table));
    assert_int_equal(process_table_refresh(table, 99, start)->state, PROCESS_EXITED);
    process_table_free(table);
    fake_proc_remove(&proc, "");
}

static void a_foreign_pid_namespace_is_recognised(void **state)
{
    static const struct {
        const char *target;
        bool foreign;
    } links[] = {{"pid:[4026531836]", false}, {"pid:[4026532198]", true}, {NULL, false}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct fake_proc proc;
        struct process_table *table;
        char path[128];

        fake_proc_init(&proc);
        fake_proc_write_string(&proc, "self/stat", "");
        snprintf(path, sizeof(path), "%s/self/ns", proc.root);
        assert_int_equal(mkdir(path, 0755), 0);
        snprintf(path, sizeof(path), "%s/self/ns/pid", proc.root);
        if (links[i].target)
            assert_int_equal(symlink(links[i].target, path), 0);
        table = new_table(proc.root, COMMAND_LINE_FULL, 8);
        assert_int_equal(process_table_in_pid_namespace(table), links[i].foreign);
        process_table_free(table);
        fake_proc_remove(&proc, "");
    }
}

static void without_proc_everything_is_hidden(void **state)
{
    struct process_table *table = new_table("/nonexistent", COMMAND_LINE_FULL, 8);

    (void)state;
    assert_int_equal(process_table_refresh(table, 1, start)->state, PROCESS_HIDDEN);
    assert_false(process_table_sees_hidepid(table));
    assert_false(process_table_in_pid_namespace(table));
    process_table_free(table);
}

static void the_least_recently_refreshed_makes_room(void **state)
{
    struct process_table *table = new_table("/nonexistent", COMMAND_LINE_NONE, 3);

    (void)state;
    for (uint32_t pid = 1; pid <= 3; pid++)
        process_table_refresh(table, pid, after_ms(pid));
    process_table_refresh(table, 1, after_ms(4));
    process_table_refresh(table, 65, after_ms(5)); /* the bucket of 1 */
    assert_int_equal(process_table_count(table), 3);
    assert_non_null(process_table_find(table, 1));
    assert_null(process_table_find(table, 2));
    assert_non_null(process_table_find(table, 3));
    assert_non_null(process_table_find(table, 65));
    process_table_sweep(table, after_ms(4));
    assert_null(process_table_find(table, 3));
    assert_int_equal(process_table_count(table), 2);
    process_table_sweep(table, after_ms(100));
    assert_int_equal(process_table_count(table), 0);
    process_table_refresh(table, 7, after_ms(101));
    assert_int_equal(process_table_count(table), 1);
    process_table_free(table);
    process_table_free(NULL);
}

static void many_processes_are_found_again(void **state)
{
    struct process_table *table = new_table("/nonexistent", COMMAND_LINE_NONE, 8192);

    (void)state;
    for (uint32_t i = 0; i < 8192; i++)
        process_table_refresh(table, i * 64 + 1, after_ms(i));
    assert_int_equal(process_table_count(table), 8192);
    for (uint32_t i = 0; i < 8192; i++)
        assert_int_equal(process_table_find(table, i * 64 + 1)->pid, i * 64 + 1);
    assert_null(process_table_find(table, 2));
    process_table_free(table);
}

/* ---- the real /proc ---- */

static pid_t start_child(int *ret_release_fd)
{
    int ready[2], release[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(release, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_NAME, "a) S (\n\\b");
        close(release[1]);
        if (write(ready[1], "x", 1) != 1 || read(release[0], &byte, 1) < 0)
            _exit(1);
        _exit(0);
    }
    close(ready[1]);
    close(release[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    *ret_release_fd = release[1];
    return pid;
}

static void a_real_child_lives_ends_and_goes(void **state)
{
    struct process_table *table = new_table("/proc", COMMAND_LINE_FULL, 8);
    int release_fd;
    pid_t pid = start_child(&release_fd);
    const struct process *got = process_table_refresh(table, (uint32_t)pid, clock_now());
    siginfo_t info;

    (void)state;
    assert_int_equal(got->state, PROCESS_RUNNING);
    assert_int_equal(got->uid, getuid());
    assert_text(got->comm, "a) S (\n\\b", 9);
    assert_true(got->command_line.len > 0); /* that of this test program */
    assert_true(got->rss_bytes > 0);
    assert_in_range(clock_wall_us() - got->start_unix_us, 0, 60000000);

    close(release_fd);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    got = process_table_refresh(table, (uint32_t)pid, clock_now());
    assert_int_equal(got->state, PROCESS_ZOMBIE);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    got = process_table_refresh(table, (uint32_t)pid, clock_now());
    assert_int_equal(got->state, PROCESS_EXITED);
    assert_text(got->comm, "a) S (\n\\b", 9);
    process_table_free(table);
}

#define NOBODY 65534

/*
 * What user nobody sees of a /proc that is mounted with `option`: exits with 0 if the state of process 1, of
 * itself and of a pid that does not exist are as given; with 77 if such a mount is not permitted here.
 */
static void look_through_hidepid(const char *root, const char *option, const enum process_state want[3])
{
    struct process_table *table;
    const uint32_t pids[] = {1, (uint32_t)getpid(), 4194304}; /* the last one is above PID_MAX_LIMIT - 1 */
    int status = 0;

    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, "") < 0 ||
        mount("proc", root, "proc", 0, option) < 0 || chmod(root, 0755) < 0 || setgroups(0, NULL) < 0 ||
        setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
        _exit(77);
    prctl(PR_SET_DUMPABLE, 1);
    table = new_table(root, COMMAND_LINE_FULL, 8);
    for (int i = 0; i < 3; i++) {
        if (process_table_refresh(table, pids[i], start)->state != want[i])
            status = i + 1;
    }
    if (!process_table_sees_hidepid(table))
        status = 4;
    _exit(status);
}

static void the_kernel_s_hidepid_is_recognised(void **state)
{
    static const struct {
        const char *option;
        enum process_state want[3];
    } mounts[] = {
        {"hidepid=1", {PROCESS_HIDDEN, PROCESS_RUNNING, PROCESS_EXITED}},
        {"hidepid=2", {PROCESS_HIDDEN, PROCESS_RUNNING, PROCESS_HIDDEN}},
    };

    struct fake_proc mount_point;
    int status = 0;

    (void)state;
    fake_proc_init(&mount_point);
    for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]) && status == 0; i++) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
            look_through_hidepid(mount_point.root, mounts[i].option, mounts[i].want);
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    fake_proc_remove(&mount_point, "");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip(); /* needs root */
    assert_int_equal(status, 0);
}

static unsigned count_open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static uint64_t own_resident_bytes(void)
{
    struct process_table *table = new_table("/proc", COMMAND_LINE_NONE, 1);
    uint64_t bytes = process_table_refresh(table, (uint32_t)getpid(), clock_now())->rss_bytes;

    process_table_free(table);
    return bytes;
}

void __asan_init(void) __attribute__((weak));

/* Not under AddressSanitizer and valgrind, which keep freed memory; they find leaks themselves. */
static bool memory_is_measurable(void)
{
    const char *preload = getenv("LD_PRELOAD");

    return !__asan_init && !(preload && strstr(preload, "valgrind"));
}

/* A thousand processes come and go while the table is refreshed and swept 10,000 times. */
static void nothing_leaks(void **state)
{
    struct process_table *table = new_table("/proc", COMMAND_LINE_FULL, 64);
    unsigned open_files = count_open_files();
    uint64_t resident_bytes = 0;
    uint32_t pid = (uint32_t)getpid();

    (void)state;
    for (int i = 0; i < 10000; i++) {
        struct instant now = after_ms(i * 100);

        if (i % 10 == 0) {
            pid_t child = fork();

            assert_true(child >= 0);
            if (child == 0)
                _exit(0);
            process_table_refresh(table, (uint32_t)child, now);
            assert_int_equal(waitpid(child, NULL, 0), child);
            pid = (uint32_t)child;
        }
        process_table_refresh(table, pid, now);
        process_table_refresh(table, (uint32_t)getpid(), now);
        process_table_sweep(table, after_ms(i * 100 - 2000));
        assert_in_range(process_table_count(table), 1, 64);
        if (i == 1000)
            resident_bytes = own_resident_bytes();
    }
    assert_int_equal(count_open_files(), open_files);
    if (memory_is_measurable())
        assert_true(own_resident_bytes() <= resident_bytes + 128 * 1024);
    process_table_free(table);
    assert_int_equal(count_open_files(), open_files - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read_at_first_sight),
        cmocka_unit_test(cpu_is_measured_between_refreshes),
        cmocka_unit_test(a_young_process_is_averaged_over_a_second),
        cmocka_unit_test(a_recycled_pid_gets_nothing_of_the_old_process),
        cmocka_unit_test(command_line_forms),
        cmocka_unit_test(the_command_line_is_read_anew_when_it_may_have_changed),
        cmocka_unit_test(a_long_command_line_is_cut_at_the_limit),
        cmocka_unit_test(what_cannot_be_read_is_absent),
        cmocka_unit_test(an_exited_process_keeps_its_name),
        cmocka_unit_test(hidepid_is_recognised),
        cmocka_unit_test(a_foreign_pid_namespace_is_recognised),
        cmocka_unit_test(without_proc_everything_is_hidden),
        cmocka_unit_test(the_least_recently_refreshed_makes_room),
        cmocka_unit_test(many_processes_are_found_again),
        cmocka_unit_test(a_real_child_lives_ends_and_goes),
        cmocka_unit_test(the_kernel_s_hidepid_is_recognised),
        cmocka_unit_test(nothing_leaks),
    };

    return cmocka_run_group_tests_name("host/process_table", tests, NULL, NULL);
}
