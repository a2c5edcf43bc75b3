#include "host/process_record.h"

#include "core/cleanup.h"
#include "core/file.h"
#include "host/cgroup.h"
#include "host/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

/* Below this the kernel's tick of 10 ms makes a CPU share too coarse. */
#define CPU_WINDOW_MIN_NS (100 * NS_PER_MS)
/* A process younger than this is averaged over it: what it did at its start says little. */
#define CPU_LIFE_MIN_NS NS_PER_S

/* A process may give itself a title at any time (setproctitle). */
#define COMMAND_INTERVAL_NS (5 * NS_PER_S)

/* setuid(2) and a move to another control group happen around exec(2), which changes the name; if not, this.
 */
#define OWNER_INTERVAL_NS (30 * NS_PER_S)

/* How much is read to find the first word. */
#define FIRST_WORD_MAX 4096

void process_reader_init(struct process_reader *reader, const struct process_table_options *options)
{
    long ticks_per_s = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);

    *reader = (struct process_reader){
        .root_fd = open(options->proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .command_line = options->command_line,
        .command_line_max = options->command_line_max,
        .tick_ns = NS_PER_S / (ticks_per_s > 0 ? ticks_per_s : 100),
        .page_bytes = page > 0 ? (uint64_t)page : 4096,
    };
}

void process_reader_deinit(struct process_reader *reader)
{
    cleanup_close(&reader->root_fd);
    reader->root_fd = -1;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec ts = {0};

    clock_gettime(clock, &ts);
    return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static int read_stat(int dir_fd, struct procfs_stat *ret_stat)
{
    char buf[1024];
    size_t len;
    int r = file_read(dir_fd, "stat", buf, sizeof(buf), &len);

    if (r < 0)
        return r;
    if (len == 0) /* what some kernels give for a process that has just gone */
        return -ESRCH;
    return procfs_parse_stat((struct text){buf, len}, ret_stat);
}

/* Time since boot at which the process started; saturates (at 73 years), so that sums cannot overflow. */
static int64_t start_ns(const struct process *process, const struct process_reader *reader)
{
    uint64_t max = (uint64_t)(INT64_MAX / 4 / reader->tick_ns);

    return (int64_t)(process->start_ticks < max ? process->start_ticks : max) * reader->tick_ns;
}

/* Turns the record into one of the process that `stat` tells of, with nothing else known yet. */
static void begin(struct process_record *record, const struct process_reader *reader,
                  const struct procfs_stat *stat)
{
    int64_t boot_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
    uint32_t pid = record->process.pid;

    free(record->command_line);
    record->command_line = NULL;
    record->process =
        (struct process){.pid = pid, .facts = PROCESS_HAS_START, .start_ticks = stat->start_ticks};
    record->process.start_unix_us = (boot_ns + start_ns(&record->process, reader)) / NS_PER_US;
}

static void set_cpu(struct process *process, const struct process_reader *reader, uint64_t ticks,
                    int64_t window_ns)
{
    uint64_t window_us = (uint64_t)(window_ns / NS_PER_US), tick_ns = (uint64_t)reader->tick_ns;
    uint64_t permille;

    if (ticks > UINT64_MAX / tick_ns)
        return;
    permille = ticks * tick_ns / window_us; /* ns per us = thousandths */
    process->cpu_permille = permille < UINT32_MAX ? (uint32_t)permille : UINT32_MAX;
    process->facts |= PROCESS_HAS_CPU;
}

static void note_cpu(struct process_record *record, const struct process_reader *reader, uint64_t ticks,
                     struct instant now, bool first)
{
    int64_t window_ns = instant_since_ns(now, record->cpu_at);
    uint64_t used = ticks > record->cpu_ticks ? ticks - record->cpu_ticks : 0;

    if (first) {
        window_ns = clock_ns(CLOCK_BOOTTIME) - start_ns(&record->process, reader);
        window_ns = window_ns > CPU_LIFE_MIN_NS ? window_ns : CPU_LIFE_MIN_NS;
        used = ticks;
    } else if (window_ns < CPU_WINDOW_MIN_NS) {
        return;
    }
    set_cpu(&record->process, reader, used, window_ns);
    record->cpu_ticks = ticks;
    record->cpu_at = now;
}

/* Copies a text into a buffer of the record; a text that does not fit is none that we know, so absent. */
static struct text keep(struct text text, char *buf, size_t cap)
{
    if (!text_is_present(text) || text.len > cap)
        return TEXT_ABSENT;
    memcpy(buf, text.bytes, text.len);
    return (struct text){buf, text.len};
}

static void read_uid(struct process *process, int dir_fd)
{
    char buf[2048]; /* "Uid:" is the ninth line or so; the long ones come later */
    size_t len;
    struct stat st;

    if (file_read(dir_fd, "status", buf, sizeof(buf), &len) == 0 &&
        procfs_parse_uid((struct text){buf, len}, &process->uid) == 0) {
        process->facts |= PROCESS_HAS_UID;
    } else if (!(process->facts & PROCESS_HAS_UID) && fstat(dir_fd, &st) == 0) {
        process->uid = st.st_uid; /* the effective one, better than none */
        process->facts |= PROCESS_HAS_UID;
    }
}

static void read_cgroup(struct process_record *record, int dir_fd)
{
    struct process *process = &record->process;
    struct cgroup_owner owner;
    char buf[8192];
    size_t len;

    if (file_read(dir_fd, "cgroup", buf, sizeof(buf), &len) < 0)
        return;
    while (len == sizeof(buf) && len && buf[len - 1] != '\n')
        len--; /* half a line could end in half a job number */
    owner = cgroup_parse((struct text){buf, len});
    process->slurm_job = keep(owner.slurm_job, record->slurm_job, sizeof(record->slurm_job));
    process->slurm_step = keep(owner.slurm_step, record->slurm_step, sizeof(record->slurm_step));
    process->container = keep(owner.container, record->container, sizeof(record->container));
}

/*
 * The first word, in at most COMMAND_NAME_MAX bytes. Of a longer path the folders are left out, but of its
 * first blank-separated part only: a title that a process gave itself may hold other paths.
 */
static struct text command_name(struct text command_line)
{
    struct text word = fields_take(&command_line, '\0'), rest = word, path;

    if (word.len > COMMAND_NAME_MAX && (word.bytes[0] == '/' || word.bytes[0] == '.')) {
        path = fields_take(&rest, ' ');
        word = fields_skip(word, path.len - text_after_last(path, '/').len);
    }
    word.len = word.len < COMMAND_NAME_MAX ? word.len : COMMAND_NAME_MAX;
    return word;
}

/* Keeps `kept`, a part of take_bytes (on the heap, may be NULL), as the record's command line. */
static void store_command_line(struct process_record *record, char *take_bytes, struct text kept)
{
    char *smaller;

    free(record->command_line);
    record->command_line = NULL;
    record->process.command_line = TEXT_LITERAL("");
    if (!kept.len) {
        free(take_bytes);
        return;
    }
    memmove(take_bytes, kept.bytes, kept.len);
    smaller = realloc(take_bytes, kept.len);
    record->command_line = smaller ? smaller : take_bytes;
    record->process.command_line = (struct text){record->command_line, kept.len};
}

static void read_command_line(struct process_record *record, const struct process_reader *reader, int dir_fd)
{
    struct process *process = &record->process;
    bool name_only = reader->command_line == COMMAND_LINE_NAME, cut;
    size_t max = name_only ? FIRST_WORD_MAX : reader->command_line_max;
    _cleanup_(cleanup_free) char *bytes = NULL;
    struct text all = TEXT_LITERAL(""), kept;

    if (file_read_long(dir_fd, "cmdline", max, &bytes, &all.len, &cut) < 0)
        return;
    if (all.len)
        all.bytes = bytes;
    if (all.len && !cut && bytes[all.len - 1] == '\0')
        all.len--;
    if (!all.len && process->command_line.len)
        return; /* it is ending: its memory is gone, what we read before is still right */
    kept = name_only ? command_name(all) : all;
    process->facts &= ~(unsigned)PROCESS_COMMAND_LINE_CUT;
    process->facts |= PROCESS_HAS_COMMAND_LINE;
    if (cut || kept.len < all.len)
        process->facts |= PROCESS_COMMAND_LINE_CUT;
    if (!text_equal(kept, process->command_line))
        store_command_line(record, steal_pointer(&bytes), kept);
}

static void read_memory(struct process *process, const struct process_reader *reader, int dir_fd)
{
    char buf[256];
    size_t len;
    uint64_t pages;

    process->facts &= ~(unsigned)PROCESS_HAS_RSS;
    if (file_read(dir_fd, "statm", buf, sizeof(buf), &len) < 0 ||
        procfs_parse_statm((struct text){buf, len}, &pages) < 0 || pages > UINT64_MAX / reader->page_bytes)
        return;
    process->rss_bytes = pages * reader->page_bytes;
    process->facts |= PROCESS_HAS_RSS;
}

/* hidepid=1 lets us see whose process it is, and nothing else. */
static void read_hidden_uid(struct process *process, const struct process_reader *reader)
{
    char name[16];
    struct stat st;

    snprintf(name, sizeof(name), "%u", (unsigned)process->pid);
    if (fstatat(reader->root_fd, name, &st, 0) < 0)
        return;
    process->uid = st.st_uid;
    process->facts |= PROCESS_HAS_UID;
}

int process_record_read(struct process_record *record, const struct process_reader *reader,
                        struct instant now)
{
    struct process *process = &record->process;
    _cleanup_(cleanup_close) int dir_fd = -1;
    struct procfs_stat stat;
    struct text comm;
    bool first, renamed;
    int r = procfs_open(reader->root_fd, process->pid, &dir_fd);

    if (r == 0)
        r = read_stat(dir_fd, &stat);
    if (r == -EPERM || r == -EACCES)
        read_hidden_uid(process, reader);
    if (r < 0)
        return r;

    first = !(process->facts & PROCESS_HAS_START) || process->start_ticks != stat.start_ticks;
    if (first)
        begin(record, reader, &stat);
    process->state = stat.state == 'Z'   ? PROCESS_ZOMBIE
                     : stat.state == 'X' ? PROCESS_EXITED
                                         : PROCESS_RUNNING;
    comm = (struct text){stat.comm, stat.comm_len};
    renamed = !text_equal(comm, process->comm);
    process->comm = keep(comm, record->comm, sizeof(record->comm));
    note_cpu(record, reader, stat.cpu_ticks, now, first);

    if (first || renamed || instant_since_ns(now, record->owner_at) >= OWNER_INTERVAL_NS) {
        read_uid(process, dir_fd);
        read_cgroup(record, dir_fd);
        record->owner_at = now;
    }
    if (reader->command_line != COMMAND_LINE_NONE &&
        (first || renamed || instant_since_ns(now, record->command_at) >= COMMAND_INTERVAL_NS)) {
        read_command_line(record, reader, dir_fd);
        record->command_at = now;
    }
    read_memory(process, reader, dir_fd);
    if (!(process->facts & PROCESS_HAS_RSS) && faccessat(dir_fd, "stat", F_OK, 0) < 0)
        return -ESRCH; /* it ended between the readings */
    return 0;
}

void process_record_set_unseen(struct process_record *record, enum process_state state)
{
    record->process.state = state;
    record->process.facts &= ~(unsigned)(PROCESS_HAS_CPU | PROCESS_HAS_RSS);
}

void process_record_free(struct process_record *record)
{
    if (!record)
        return;
    free(record->command_line);
    free(record);
}
