#include "wire/snapshot_fit.h"

#include "wire/snapshot_codec.h"

/* The commands_cut counter may grow from one byte to a longer number. */
#define COUNTER_ROOM 4

/* The bytes that the command lines take when none is longer than `longest`, with their lengths before them.
 */
static size_t command_bytes(const struct snapshot *snapshot, size_t longest)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < snapshot->process_count; i++) {
        size_t len = snapshot->processes[i].command_line.len;

        if (len > longest)
            len = longest;
        sum += len + varint_size(len + 1);
    }
    return sum;
}

/* The greatest command length with which everything fits into `target` bytes; 0 if none does. */
static size_t find_longest(const struct snapshot *snapshot, size_t size, size_t target)
{
    size_t others = size - command_bytes(snapshot, SNAPSHOT_COMMAND_LINE_MAX) + COUNTER_ROOM;
    size_t low = 0, high = SNAPSHOT_COMMAND_LINE_MAX;

    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;

        if (others + command_bytes(snapshot, middle) <= target)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* At most max bytes of a text, without half a UTF-8 character at its end. */
static size_t cut_before_character(struct text text, size_t max)
{
    size_t len = max;

    while (len && max - len < 3 && ((unsigned char)text.bytes[len] & 0xc0) == 0x80)
        len--;
    return ((unsigned char)text.bytes[len] & 0xc0) == 0x80 ? max : len;
}

static void cut_commands(struct snapshot *snapshot, size_t longest)
{
    for (uint32_t i = 0; i < snapshot->process_count; i++) {
        struct process *process = &snapshot->processes[i];

        if (process->command_line.len <= longest)
            continue;
        process->command_line.len = cut_before_character(process->command_line, longest);
        process->facts |= PROCESS_COMMAND_LINE_CUT;
        snapshot->commands_cut++;
    }
}

/* Keeps as many processes as fit a frame; entries of the others count as unnamed. */
static void drop_processes(struct snapshot *snapshot)
{
    uint32_t low = 0, high = snapshot->process_count, had = high;

    while (low < high) {
        snapshot->process_count = low + (high - low + 1) / 2;
        if (snapshot_encoded_max(snapshot) + COUNTER_ROOM <= SNAPSHOT_BODY_MAX)
            low = snapshot->process_count;
        else
            high = snapshot->process_count - 1;
    }
    snapshot->process_count = low;
    for (uint32_t i = 0; i < snapshot->entry_count; i++)
        if (snapshot->entries[i].process >= low && snapshot->entries[i].process < had)
            snapshot->unnamed_processes++;
}

void snapshot_fit(struct snapshot *snapshot, size_t target)
{
    size_t size = snapshot_encoded_max(snapshot);

    if (size > target) {
        cut_commands(snapshot, find_longest(snapshot, size, target));
        size = snapshot_encoded_max(snapshot);
    }
    if (size > SNAPSHOT_BODY_MAX)
        drop_processes(snapshot);
}
