/* Which devices and whose processes: the values of --id and -user, taken apart. */
#ifndef CLI_SELECTION_H
#define CLI_SELECTION_H

#include "core/buffer.h"
#include "core/clock.h"
#include "model/snapshot.h"

struct users;

#define SELECTION_MAX 4096 /* items of a list; longer ones are refused */

/* A list of numbers: GPU indices or uids. */
struct number_list {
    uint32_t *numbers; /* owned */
    size_t count;
};

void number_list_deinit(struct number_list *list);

/*
 * Takes --id apart as gpustat does: integers in Python's spelling between commas, in the order given,
 * doubles included. Returns 0; 1 with Python's message appended to `error` for what is no integer (numbers
 * that no GPU can have become UINT32_MAX); -E2BIG or -ENOMEM.
 */
int selection_parse_ids(const char *text, struct number_list *ret_list, struct buffer *error);

/* The first of these indices that no GPU of the snapshot has, -1 if all have one. */
int64_t selection_missing_id(const struct number_list *ids, const struct snapshot *snapshot);

/*
 * Takes -user apart: names and uids between commas, names looked up until `deadline`.
 * Returns 0; 1 with a message appended to `error` that says which name is the trouble; -E2BIG or -ENOMEM.
 */
int selection_parse_users(const char *text, struct users *users, struct instant deadline,
                          struct number_list *ret_list, struct buffer *error);

#endif
