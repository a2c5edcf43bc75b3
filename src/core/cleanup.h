/* Scope-bound release of resources: `_cleanup_(fn)` before a local calls fn(&local) when it leaves scope. */
#ifndef CORE_CLEANUP_H
#define CORE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

/* Releases for the types that everyone has. All accept the "nothing" value (NULL, -1). */
static inline void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

static inline void cleanup_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
    if (*file)
        fclose(*file);
}

/* Hands a pointer or descriptor out of a cleanup scope: `*ret_x = steal_pointer(&x);` */
#define steal_pointer(pointer) \
    ({ \
        __typeof__(pointer) slot_ = (pointer); \
        __typeof__(*slot_) value_ = *slot_; \
        *slot_ = NULL; \
        value_; \
    })

static inline int steal_fd(int *fd)
{
    int value = *fd;

    *fd = -1;
    return value;
}

#endif
