/* This machine's sampler as a source of pictures. */
#ifndef CLI_WATCH_LOCAL_H
#define CLI_WATCH_LOCAL_H

#include "cli/local.h"
#include "cli/watch.h"

struct watch_local {
    struct local *local;
    struct show *show;
    bool names_waited;  /* a picture has waited for user names */
    uint64_t old_count; /* local->received_count when a reading was asked for */
};

/* watch: with `local` and `show` filled in; outlives the result. */
struct watch_source watch_local_source(struct watch_local *watch);

#endif
