/*
 * A region of memory that is given back all at once. A scenario, and the JSON tree it is read from, are many
 * small objects of one lifetime; the fake needs no other kind of allocation for them.
 *
 * An arena that ran out of memory stays so: arena_take() then gives NULL, and `failed` can be checked once at
 * the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks; /* newest first */
    size_t used;                /* bytes taken from the newest */
    bool failed;
};

/* Takes `size` zeroed bytes, aligned for any type. NULL when memory is out. */
void *arena_take(struct arena *arena, size_t size);

/* Takes zeroed room for `count` objects of `size` bytes. NULL when memory is out or the product overflows. */
void *arena_take_array(struct arena *arena, size_t count, size_t size);

/* Copies `text` with its NUL. NULL when memory is out. */
char *arena_copy_text(struct arena *arena, const char *text);

/* Gives everything back; the arena is empty and usable afterwards. */
void arena_deinit(struct arena *arena);
