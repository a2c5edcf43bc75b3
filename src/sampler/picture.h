/*
 * Puts together the picture that is sent: what the source knows of the devices and what the host knows of
 * their processes, with ages, flags and the call in progress.
 */
#ifndef SAMPLER_PICTURE_H
#define SAMPLER_PICTURE_H

#include "gpu/source.h"
#include "host/process_table.h"
#include "sampler/budget.h"
#include "sampler/page.h"
#include "sampler/pid_map.h"

struct picture {
    struct snapshot snapshot; /* texts borrowed from source, table and `call_name` */
    struct pid_map pids;
    uint32_t round; /* pictures made; slots of the last one have this round */
    struct instant swept_at;
    char node_name[256];
    char call_name[CALL_NAME_SIZE];
    struct share share;          /* of driver time */
    uint64_t total_memory_bytes; /* of the system; 0: not read yet */
};

/* What a picture is made from. */
struct picture_sources {
    const struct source *source;
    const struct process_table *processes;
    const struct call_page *page;
    bool first_round_done;
    int64_t stuck_call_ns; /* a call for no device that runs this long is the node's fault */
};

void picture_init(struct picture *picture, struct instant now);

/*
 * Makes the picture anew. It keeps every pid of the device's entries in `pids`; those that were never read
 * are known by !was_read. Returns 0 or -ENOMEM (the picture is then as complete as memory allowed).
 */
int picture_make(struct picture *picture, const struct picture_sources *sources, struct instant now);

/* How many of the picture's pids the host has not read yet. */
uint32_t picture_unread_pids(const struct picture *picture);

#endif
