#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Below malloc's mmap threshold and small enough that a scenario of one device wastes little. */
#define ARENA_CHUNK_SIZE 4096

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    _Alignas(max_align_t) unsigned char bytes[];
};

static bool arena_grow(struct arena *arena, size_t need)
{
    size_t size = need > ARENA_CHUNK_SIZE ? need : ARENA_CHUNK_SIZE;
    struct arena_chunk *chunk = calloc(1, sizeof(*chunk) + size);
    if (!chunk)
        return false;
    chunk->size = size;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->used = 0;
    return true;
}

void *arena_take(struct arena *arena, size_t size)
{
    const size_t unit = _Alignof(max_align_t);
    if (arena->failed || size > SIZE_MAX / 2) {
        arena->failed = true;
        return NULL;
    }
    size_t need = (size + unit - 1) / unit * unit;
    bool fits = arena->chunks && arena->chunks->size - arena->used >= need;
    if (!fits && !arena_grow(arena, need)) {
        arena->failed = true;
        return NULL;
    }
    void *taken = arena->chunks->bytes + arena->used;
    arena->used += need;
    return taken;
}

void *arena_take_array(struct arena *arena, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        arena->failed = true;
        return NULL;
    }
    return arena_take(arena, total);
}

char *arena_copy_text(struct arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_take(arena, size);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

void arena_deinit(struct arena *arena)
{
    while (arena->chunks) {
        struct arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    *arena = (struct arena){0};
}
