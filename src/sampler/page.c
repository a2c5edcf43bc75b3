#include "sampler/page.h"

#include "core/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define READ_ATTEMPTS 64 /* a writer needs some nanoseconds; more means that it died in between */

_Static_assert(sizeof(struct call_page) <= CALL_PAGE_SIZE, "the call page is one page");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock would not be shared between processes");

static int map_page(int fd, int protection, struct call_page **ret_page)
{
    void *page = mmap(NULL, CALL_PAGE_SIZE, protection, MAP_SHARED, fd, 0);

    if (page == MAP_FAILED)
        return -errno;
    *ret_page = page;
    return 0;
}

int call_page_create(int *ret_fd, struct call_page **ret_page)
{
    _cleanup_(cleanup_close) int fd = memfd_create("clustat-call", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int r;

    if (fd < 0)
        return -errno;
    if (ftruncate(fd, CALL_PAGE_SIZE) < 0)
        return -errno;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return -errno;
    r = map_page(fd, PROT_READ, ret_page);
    if (r < 0)
        return r;
    *ret_fd = steal_fd(&fd);
    return 0;
}

int call_page_open(int fd, struct call_page **ret_page)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || status.st_size != CALL_PAGE_SIZE)
        return -EINVAL;
    return map_page(fd, PROT_READ | PROT_WRITE, ret_page);
}

void call_page_unmap(struct call_page *page)
{
    if (page)
        munmap(page, CALL_PAGE_SIZE);
}

#define put(member, value) atomic_store_explicit(&(member), (value), memory_order_relaxed)
#define get(member)        atomic_load_explicit(&(member), memory_order_relaxed)

/* The version goes odd before the first store of a change and even after the last one. */
static uint32_t begin_change(struct call_page *page)
{
    uint32_t version = get(page->version);

    put(page->version, version + 1);
    atomic_thread_fence(memory_order_release);
    return version + 2;
}

static void end_change(struct call_page *page, uint32_t version)
{
    atomic_store_explicit(&page->version, version, memory_order_release);
}

void call_page_begin(struct call_page *page, enum call_kind kind, const char *name, int32_t device,
                     struct instant now)
{
    uint64_t words[CALL_NAME_SIZE / 8] = {0};
    size_t len = strnlen(name, CALL_NAME_SIZE - 1);
    uint32_t version;

    memcpy(words, name, len);
    version = begin_change(page);
    for (size_t i = 0; i <= len / 8; i++)
        put(page->name[i], words[i]);
    put(page->device, device);
    put(page->began_ns, now.ns);
    put(page->kind, kind);
    end_change(page, version);
}

void call_page_end(struct call_page *page, struct instant now)
{
    bool driver = get(page->kind) == CALL_DRIVER;
    int64_t took = now.ns - get(page->began_ns);
    uint32_t version = begin_change(page);

    put(page->kind, CALL_NONE);
    if (driver) {
        put(page->driver_ns, get(page->driver_ns) + (took > 0 ? took : 0));
        put(page->call_count, get(page->call_count) + 1);
    }
    end_change(page, version);
}

/* One attempt; false if the writer was at work meanwhile. */
static bool read_once(const struct call_page *page, struct call_seen *ret_seen)
{
    uint64_t words[CALL_NAME_SIZE / 8];
    uint32_t version = atomic_load_explicit(&page->version, memory_order_acquire);
    uint32_t kind = get(page->kind);

    ret_seen->device = get(page->device);
    ret_seen->began.ns = get(page->began_ns);
    ret_seen->driver_ns = get(page->driver_ns);
    ret_seen->call_count = get(page->call_count);
    for (size_t i = 0; i < CALL_NAME_SIZE / 8; i++)
        words[i] = get(page->name[i]);
    atomic_thread_fence(memory_order_acquire);
    if ((version & 1) || get(page->version) != version)
        return false;
    if (ret_seen->began.ns < 0 || ret_seen->began.ns > INT64_MAX / 4)
        ret_seen->began.ns = 0; /* no time of this machine: callers may calculate with it all the same */
    ret_seen->kind = kind <= CALL_LOAD ? (enum call_kind)kind : CALL_NONE;
    memcpy(ret_seen->name, words, CALL_NAME_SIZE);
    ret_seen->name[CALL_NAME_SIZE - 1] = '\0';
    return true;
}

void call_page_read(const struct call_page *page, struct call_seen *ret_seen)
{
    for (int i = 0; i < READ_ATTEMPTS; i++)
        if (read_once(page, ret_seen))
            return;
    *ret_seen = (struct call_seen){.kind = CALL_NONE, .device = -1};
}
