#include "sampler/pid_map.h"

#include <stdlib.h>

#define FIRST_SLOTS 64

static uint32_t place_of(const struct pid_map *map, uint32_t pid)
{
    /* Multiplicative hashing: neighbouring pids are the rule. */
    return (uint32_t)((uint64_t)pid * 0x9E3779B97F4A7C15u >> 32) & (map->slot_count - 1);
}

/* The slot that holds the pid, or the free one where it would go. */
static struct pid_slot *probe(const struct pid_map *map, uint32_t pid)
{
    uint32_t place = place_of(map, pid);

    while (map->slots[place].pid && map->slots[place].pid != pid)
        place = (place + 1) & (map->slot_count - 1);
    return &map->slots[place];
}

/* Moves what was named in `oldest_round` or later into a table of another size. */
static bool rebuild(struct pid_map *map, uint32_t slot_count, uint32_t oldest_round)
{
    struct pid_map fresh = {.slots = calloc(slot_count, sizeof(struct pid_slot)), .slot_count = slot_count};

    if (!fresh.slots)
        return false;
    for (uint32_t i = 0; i < map->slot_count; i++) {
        if (!map->slots[i].pid || map->slots[i].round < oldest_round)
            continue;
        *probe(&fresh, map->slots[i].pid) = map->slots[i];
        fresh.used++;
    }
    free(map->slots);
    *map = fresh;
    return true;
}

struct pid_slot *pid_map_put(struct pid_map *map, uint32_t pid)
{
    struct pid_slot *slot;

    if (map->used * 2 >= map->slot_count &&
        !rebuild(map, map->slot_count ? map->slot_count * 2 : FIRST_SLOTS, 0))
        return NULL;
    slot = probe(map, pid);
    if (!slot->pid) {
        *slot = (struct pid_slot){.pid = pid};
        map->used++;
    }
    return slot;
}

struct pid_slot *pid_map_find(const struct pid_map *map, uint32_t pid)
{
    struct pid_slot *slot;

    if (!map->slot_count || !pid)
        return NULL;
    slot = probe(map, pid);
    return slot->pid ? slot : NULL;
}

void pid_map_sweep(struct pid_map *map, uint32_t oldest_round)
{
    uint32_t kept = 0, slot_count = FIRST_SLOTS;

    for (uint32_t i = 0; i < map->slot_count; i++)
        kept += map->slots[i].pid && map->slots[i].round >= oldest_round;
    if (kept == map->used)
        return;
    while (slot_count < kept * 4)
        slot_count *= 2;
    rebuild(map, slot_count, oldest_round);
}

void pid_map_deinit(struct pid_map *map)
{
    free(map->slots);
    *map = (struct pid_map){0};
}
