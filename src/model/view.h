/*
 * A view: an answer as it is shown. One node per entry, in the order of display.
 * The view borrows everything: snapshots, texts and the name source outlive it.
 */
#ifndef MODEL_VIEW_H
#define MODEL_VIEW_H

#include "model/snapshot.h"

enum node_state {
    NODE_UP,
    NODE_STALE,   /* answers late: the last values, with their age */
    NODE_DOWN,    /* since since_unix_us */
    NODE_WARMING, /* found, nothing read yet */
    NODE_STOPPED, /* said goodbye at since_unix_us */
};

struct view_node {
    struct text connection_id; /* "conn-..."; "local" in local mode */
    struct text addr;          /* "ip:port"; absent in local mode */
    struct text error;         /* what is wrong between us and the node; absent if nothing */
    enum node_state state;
    int64_t since_unix_us; /* when the state began; 0 if it does not matter (NODE_UP) */
    bool has_delay;
    uint64_t delay_us; /* last measured round trip */
    uint64_t delay_age_us;
    uint64_t age_us;                 /* of the snapshot at the time of display */
    const struct snapshot *snapshot; /* NULL: nothing was ever received */
};

/* Names users. Must answer at once (from a cache); NULL means unknown: the number is shown. */
struct name_source {
    const char *(*user)(void *context, uint32_t uid); /* result lives as long as the view */
    void *context;
};

struct view {
    const struct view_node *nodes;
    size_t node_count;
    struct name_source names;
    struct text hostname; /* of the machine that shows the view */
    int64_t now_unix_us;  /* wall clock at display */
};

#endif
