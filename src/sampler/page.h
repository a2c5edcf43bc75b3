/*
 * The call page: one page of memory that the sampler shares with its parent, saying which driver (or /proc)
 * call the sampler is in. Written by the sampler's main thread alone, with plain atomic stores (a call of
 * 2.5 us costs no system call); read by the parent and by the sampler's second thread, who never write.
 *
 * The reader trusts nothing in it: whatever stands there, a reading ends, and the name is terminated.
 */
#ifndef SAMPLER_PAGE_H
#define SAMPLER_PAGE_H

#include "core/clock.h"

#include <stdatomic.h>
#include <stdbool.h>

#define CALL_PAGE_SIZE 4096
#define CALL_NAME_SIZE 64 /* with the terminating NUL; longer names are cut */

enum call_kind {
    CALL_NONE,
    CALL_DRIVER, /* its time counts as driver time */
    CALL_HOST,   /* a read in /proc of another process, which can hang as well */
    CALL_LOAD,   /* the library is being loaded, no call of it yet */
};

/* The shared memory itself. All zero bytes: no call, nothing counted. */
struct call_page {
    _Atomic uint32_t version; /* odd while the call is being written */
    _Atomic uint32_t kind;
    _Atomic int32_t device;
    _Atomic int64_t began_ns; /* CLOCK_MONOTONIC */
    _Atomic uint64_t name[CALL_NAME_SIZE / 8];
    _Atomic uint64_t call_count; /* driver calls that returned */
    _Atomic int64_t driver_ns;   /* time spent in them */
};

/* What a reader found. */
struct call_seen {
    enum call_kind kind;
    int32_t device; /* GPU index, -1 if the call has none */
    struct instant began;
    char name[CALL_NAME_SIZE];
    int64_t driver_ns;   /* finished calls only */
    uint64_t call_count; /* changes whenever a driver call returned */
};

/*
 * Makes the page's memory. *ret_fd is close-on-exec and sealed against resizing, so that a reader can never
 * meet a page that is not there. Returns 0 or a negative errno.
 */
int call_page_create(int *ret_fd, struct call_page **ret_page);

/* Maps the page behind an inherited descriptor, for writing. Returns 0 or a negative errno. */
int call_page_open(int fd, struct call_page **ret_page);

/* Accepts NULL. */
void call_page_unmap(struct call_page *page);

/* ---- the writer ---- */

void call_page_begin(struct call_page *page, enum call_kind kind, const char *name, int32_t device,
                     struct instant now);

/* Ends the call and adds its time to the sum if it was a driver call. */
void call_page_end(struct call_page *page, struct instant now);

/* ---- readers ---- */

/*
 * The call in progress, consistent in itself; kind is CALL_NONE if there is none (or the page is being
 * written all the time, which only a broken writer does).
 */
void call_page_read(const struct call_page *page, struct call_seen *ret_seen);

#endif
