/* The machine's main memory, which devices with unified memory share. */
#ifndef HOST_MEMORY_H
#define HOST_MEMORY_H

#include <stdint.h>

struct host_memory {
    uint64_t total_bytes;     /* MemTotal of /proc/meminfo */
    uint64_t available_bytes; /* MemAvailable: what could be had without swapping */
};

/*
 * proc_root: "/proc", or a test's folder.
 * Returns 0; -EBADMSG if either figure is missing or makes no sense, or the errno of reading.
 */
int host_memory_read(const char *proc_root, struct host_memory *ret_memory);

#endif
