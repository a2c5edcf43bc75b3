/*
 * The known-nodes file: which nodes there are, so that after a restart they are asked at once and one that is
 * down is shown as down. docs/backend.md describes it. It is a help, never a need: a file that is damaged
 * or from a newer version is set aside, one that cannot be written costs a line in the log.
 */
#ifndef BACKEND_KNOWN_NODES_H
#define BACKEND_KNOWN_NODES_H

#include "core/buffer.h"
#include "net/address.h"
#include "wire/message.h"

#define KNOWN_NODES_VERSION   1
#define KNOWN_NODES_MAX       65536 /* as connecting.max_connections */
#define KNOWN_NODES_MAX_BYTES (64u << 20)
#define KNOWN_ADDRESSES_MAX   8 /* of one node */
#define KNOWN_HOSTNAME_MAX    255
#define KNOWN_SOFTWARE_MAX    64
#define KNOWN_NODES_FILE      "known-nodes.json"
#define KNOWN_NODES_ASIDE     "known-nodes.damaged.json"

struct known_node {
    uint8_t identity[IDENTITY_SIZE];
    char hostname[KNOWN_HOSTNAME_MAX + 1]; /* "" if it was never told */
    char software[KNOWN_SOFTWARE_MAX + 1];
    struct net_address addresses[KNOWN_ADDRESSES_MAX]; /* port 0; the first is the one used last */
    size_t address_count;                              /* at least 1 */
    uint16_t udp_port, tcp_port;                       /* 0: not known; never both */
    int64_t answered_unix_us;                          /* last, by the wall clock; 0: never */
    bool stopped;                                      /* it had said goodbye */
};

struct known_nodes {
    struct known_node *nodes; /* owned */
    size_t count;
};

void known_nodes_deinit(struct known_nodes *nodes);

/* Appends the file's content. Errors stick in `out`. */
void known_nodes_put(const struct known_node *nodes, size_t count, struct buffer *out);

/*
 * Reads the content of a file: all of it is right, or it is refused.
 * Returns 0, -EBADMSG with a sentence in `why` that says where and what, or -ENOMEM.
 */
int known_nodes_parse(struct text content, struct known_nodes *ret_nodes, struct buffer *why);

/* Outcomes of known_nodes_load(). */
enum known_nodes_outcome {
    KNOWN_NODES_LOADED = 0,
    KNOWN_NODES_NONE = 1,      /* there is no file */
    KNOWN_NODES_SET_ASIDE = 2, /* it was damaged, and is now called KNOWN_NODES_ASIDE; `why` has a line */
};

/* Reads the file in this folder. Returns an outcome, or -errno with a line in `why`. *ret_nodes is always
 * written (empty where nothing was loaded). */
int known_nodes_load(const char *folder, struct known_nodes *ret_nodes, struct buffer *why);

/*
 * Writes the file so that at any moment, also of a power cut, the old or the new one is whole: a temporary
 * file beside it, fsync, rename, fsync of the folder. Blocks; called in a worker thread.
 * Returns 0 or -errno (-ENOSPC: the old file is still there).
 */
int known_nodes_save(const char *folder, struct text content);

#endif
