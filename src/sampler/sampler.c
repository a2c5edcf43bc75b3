#include "sampler/sampler.h"

#include "core/cleanup.h"
#include "sampler/inbox.h"
#include "sampler/launch.h"
#include "sampler/orphan.h"
#include "sampler/page.h"
#include "wire/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define LEAVING_MAX      8
#define PAUSE_AT_MOST_NS (30 * NS_PER_S) /* between two starts of a child that keeps ending ... */
#define PAUSE_WATCHED_NS (2 * NS_PER_S)  /* ... and while somebody watches */
#define GOOD_LIFE_NS     (10 * NS_PER_S) /* a child that lived this long is started again at once */
#define WATCHED_NS       (10 * NS_PER_S)
#define LOOK_AGAIN_NS    NS_PER_S
#define REAP_AGAIN_NS    (20 * NS_PER_MS)

/* One child process as we hold it. pid 0: none. */
struct child {
    pid_t pid;
    int fd; /* our end of the socketpair, -1 once it ended */
    struct call_page *page;
    struct inbox inbox;
    struct instant started;
};

#define CHILD_NONE ((struct child){.fd = -1})

struct sampler {
    struct launch launch; /* its left_out and without_host say what the stuck child hangs in */
    char *library_path;
    char **environment;

    struct child current;
    struct child stuck; /* replaced by the current one, not ended yet */
    struct instant stuck_call_began;
    pid_t leaving[LEAVING_MAX]; /* told to go (or ended), not reaped yet; 0: free */
    uint32_t orphans;           /* of earlier programs */

    struct picture_bytes newest;
    struct instant received;
    unsigned failures; /* children in a row that ended before GOOD_LIFE_NS */
    struct instant restart_at;
    int64_t interest_ns;
    struct instant interest_until;
};

/* ---- one child ---- */

static int child_start(struct sampler *sampler, struct instant now, struct child *ret_child)
{
    _cleanup_(cleanup_close) int ours = -1, theirs = -1, page_fd = -1;
    struct child child = {.started = now};
    int pair[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    ours = pair[0];
    theirs = pair[1];
    r = call_page_create(&page_fd, &child.page);
    if (r < 0)
        return r;
    r = launch_spawn(&sampler->launch, theirs, page_fd, sampler->environment, &child.pid);
    if (r < 0) {
        call_page_unmap(child.page);
        return r;
    }
    child.fd = steal_fd(&ours);
    *ret_child = child;
    return 0;
}

/* Tries to reap. True if the process is gone (or never was ours). */
static bool reap(pid_t pid)
{
    pid_t r;

    do
        r = waitpid(pid, NULL, WNOHANG);
    while (r < 0 && errno == EINTR);
    return r != 0;
}

static void reap_leaving(struct sampler *sampler)
{
    for (int i = 0; i < LEAVING_MAX; i++)
        if (sampler->leaving[i] && reap(sampler->leaving[i]))
            sampler->leaving[i] = 0;
}

static unsigned leaving_count(const struct sampler *sampler)
{
    unsigned count = 0;

    for (int i = 0; i < LEAVING_MAX; i++)
        count += sampler->leaving[i] != 0;
    return count;
}

/* Lets a child go: it sees the end of its socket and leaves when it can. It is reaped later. */
static void child_leave(struct sampler *sampler, struct child *child)
{
    cleanup_close(&child->fd);
    call_page_unmap(child->page);
    inbox_deinit(&child->inbox);
    if (child->pid && !reap(child->pid))
        for (int i = 0; i < LEAVING_MAX; i++)
            if (!sampler->leaving[i]) {
                sampler->leaving[i] = child->pid;
                break;
            }
    *child = CHILD_NONE;
}

/* ---- life of the handle ---- */

int sampler_start(const struct sampler_options *options, struct instant now, struct sampler **ret_sampler)
{
    struct sampler *sampler = calloc(1, sizeof(*sampler));
    int r = -ENOMEM;

    if (!sampler)
        return r;
    sampler->current = sampler->stuck = CHILD_NONE;
    sampler->launch.options = *options;
    sampler->environment = launch_environment();
    if (options->library_path)
        sampler->launch.options.library_path = sampler->library_path = strdup(options->library_path);
    sampler->interest_until = now;
    sampler->orphans = orphan_count(getuid());
    if (sampler->environment && (sampler->library_path || !options->library_path))
        r = sampler->orphans >= ORPHANS_AT_MOST ? -EBUSY : child_start(sampler, now, &sampler->current);
    if (r < 0) {
        sampler_close(sampler);
        return r;
    }
    *ret_sampler = sampler;
    return 0;
}

void sampler_close(struct sampler *sampler)
{
    if (!sampler)
        return;
    child_leave(sampler, &sampler->current);
    child_leave(sampler, &sampler->stuck);
    reap_leaving(sampler);
    picture_bytes_deinit(&sampler->newest);
    free(sampler->environment);
    free(sampler->library_path);
    free(sampler);
}

int sampler_fd(const struct sampler *sampler)
{
    return sampler->current.fd;
}

/* ---- interest ---- */

static void send_interest(const struct sampler *sampler)
{
    uint8_t bytes[FRAME_HEADER_SIZE + 10];
    uint8_t body[10];
    struct writer body_writer = writer_over(body, sizeof(body));
    struct writer writer = writer_over(bytes, sizeof(bytes));

    if (sampler->current.fd < 0)
        return;
    write_varint(&body_writer, (uint64_t)(sampler->interest_ns / NS_PER_US));
    frame_write_header(&writer, &(struct frame_header){.version = FRAME_VERSION,
                                                       .type = FRAME_INTEREST,
                                                       .body_len = (uint32_t)body_writer.pos});
    write_bytes(&writer, body, body_writer.pos);
    /* A full socket means that the child hangs: it will not miss this one. A frame this small is never split.
     */
    send(sampler->current.fd, bytes, writer.pos, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool is_watched(const struct sampler *sampler, struct instant now)
{
    return instant_since_ns(sampler->interest_until, now) > 0;
}

void sampler_show_interest(struct sampler *sampler, int64_t interval_ns)
{
    sampler->interest_ns = interval_ns > 0 ? interval_ns : 0;
    sampler->interest_until = instant_add_ns(clock_now(), WATCHED_NS);
    send_interest(sampler);
}

/* ---- ends and restarts ---- */

static int64_t pause_before_restart(const struct sampler *sampler, struct instant now)
{
    int64_t most = is_watched(sampler, now) ? PAUSE_WATCHED_NS : PAUSE_AT_MOST_NS;
    int64_t pause;

    if (sampler->failures <= 1)
        return 0;
    pause = NS_PER_S << (sampler->failures - 2 < 5 ? sampler->failures - 2 : 5);
    return pause < most ? pause : most;
}

static void current_ended(struct sampler *sampler, struct instant now)
{
    if (instant_since_ns(now, sampler->current.started) >= GOOD_LIFE_NS)
        sampler->failures = 0;
    sampler->failures++;
    child_leave(sampler, &sampler->current);
    sampler->restart_at = instant_add_ns(now, pause_before_restart(sampler, now));
}

static void start_current(struct sampler *sampler, struct instant now)
{
    if (child_start(sampler, now, &sampler->current) < 0) {
        sampler->failures++;
        sampler->restart_at = instant_add_ns(now, NS_PER_S);
        return;
    }
    if (is_watched(sampler, now))
        send_interest(sampler);
}

int sampler_receive(struct sampler *sampler, struct instant now)
{
    struct child *current = &sampler->current;
    int r;

    if (current->fd < 0)
        return SAMPLER_NOTHING;
    r = inbox_read(&current->inbox, current->fd, &sampler->newest);
    if (r == INBOX_NOTHING)
        return SAMPLER_NOTHING;
    if (r == INBOX_SNAPSHOT) {
        sampler->received = now;
        return SAMPLER_SNAPSHOT;
    }
    /* A stream that makes no sense is that of a broken child: as good as ended. */
    current_ended(sampler, now);
    return SAMPLER_ENDED;
}

struct reader sampler_snapshot(const struct sampler *sampler)
{
    return picture_bytes_body(&sampler->newest);
}

struct instant sampler_snapshot_received(const struct sampler *sampler)
{
    return sampler->received;
}

/* ---- stuck children ---- */

/* Takes what the stuck child still sends: when it becomes current again, nothing old may be waiting. */
static void discard_frames(struct child *child)
{
    struct picture_bytes old = {0};
    int r = inbox_read(&child->inbox, child->fd, &old);

    if (r < 0 || r == INBOX_ENDED) {
        close(child->fd);
        child->fd = -1;
    }
    picture_bytes_deinit(&old);
}

static void clear_left_out(struct sampler *sampler)
{
    sampler->launch.left_out = (struct device_set){0};
    sampler->launch.without_host = false;
}

/*
 * The call returned: that child knows all devices and goes on, its replacement goes. If it ended instead, a
 * fresh one is started that leaves nothing out.
 */
static void look_after_stuck(struct sampler *sampler, struct instant now)
{
    struct call_seen seen;

    discard_frames(&sampler->stuck);
    call_page_read(sampler->stuck.page, &seen);
    if (sampler->stuck.fd >= 0 && seen.kind != CALL_NONE && seen.began.ns == sampler->stuck_call_began.ns)
        return;
    clear_left_out(sampler);
    child_leave(sampler, &sampler->current);
    if (sampler->stuck.fd < 0) {
        child_leave(sampler, &sampler->stuck);
        start_current(sampler, now);
        return;
    }
    sampler->current = sampler->stuck;
    sampler->stuck = CHILD_NONE;
    if (is_watched(sampler, now))
        send_interest(sampler);
}

/*
 * Puts another child in the place of one that hangs, which leaves out what it hangs in. Nothing to leave out
 * (the library's initialisation hangs, or a call for no device in particular): another one would hang too.
 */
static void replace_current(struct sampler *sampler, const struct call_seen *seen, struct instant now)
{
    if (seen->kind == CALL_HOST)
        sampler->launch.without_host = true;
    else if (seen->device >= 0)
        device_set_add(&sampler->launch.left_out, (uint32_t)seen->device);
    else
        return;
    sampler->stuck = sampler->current;
    sampler->stuck_call_began = seen->began;
    sampler->current = CHILD_NONE;
    start_current(sampler, now);
}

/* Returns when to look again. */
static struct instant look_after_current(struct sampler *sampler, struct instant now)
{
    struct call_seen seen;
    struct instant patience_ends;

    call_page_read(sampler->current.page, &seen);
    if (seen.kind == CALL_NONE)
        return instant_add_ns(now, LOOK_AGAIN_NS);
    patience_ends = instant_add_ns(seen.began, sampler->launch.options.stuck_call_ns);
    if (instant_since_ns(patience_ends, now) > 0)
        return instant_earlier(patience_ends, instant_add_ns(now, LOOK_AGAIN_NS));
    sampler->orphans = orphan_count(getuid());
    if (!sampler->stuck.pid && sampler->orphans < ORPHANS_AT_MOST)
        replace_current(sampler, &seen, now);
    return instant_add_ns(now, LOOK_AGAIN_NS);
}

struct instant sampler_tick(struct sampler *sampler, struct instant now)
{
    struct instant next = instant_add_ns(now, LOOK_AGAIN_NS);

    reap_leaving(sampler);
    if (sampler->orphans)
        sampler->orphans = orphan_count(getuid());
    if (sampler->stuck.pid)
        look_after_stuck(sampler, now);
    if (sampler->current.pid)
        next = instant_earlier(next, look_after_current(sampler, now));
    else if (instant_since_ns(now, sampler->restart_at) >= 0 && leaving_count(sampler) < LEAVING_MAX)
        start_current(sampler, now);
    if (!sampler->current.pid && instant_since_ns(sampler->restart_at, now) > 0)
        next = instant_earlier(next, sampler->restart_at);
    return leaving_count(sampler) ? instant_earlier(next, instant_add_ns(now, REAP_AGAIN_NS)) : next;
}

static bool call_of(const struct child *child, struct instant now, struct sampler_call *ret_call)
{
    struct call_seen seen;

    if (!child->page)
        return false;
    call_page_read(child->page, &seen);
    if (seen.kind == CALL_NONE)
        return false;
    memcpy(ret_call->name, seen.name, sizeof(ret_call->name));
    ret_call->device = seen.device;
    ret_call->running_ns = instant_since_ns(now, seen.began) > 0 ? instant_since_ns(now, seen.began) : 0;
    return true;
}

bool sampler_call_in_progress(const struct sampler *sampler, struct instant now,
                              struct sampler_call *ret_call)
{
    return call_of(&sampler->stuck, now, ret_call) || call_of(&sampler->current, now, ret_call);
}

uint32_t sampler_stuck_count(const struct sampler *sampler)
{
    return sampler->orphans + (sampler->stuck.pid ? 1 : 0);
}
