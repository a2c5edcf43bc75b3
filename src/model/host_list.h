/*
 * Host lists: `gpu[01-08,12]`, several brackets, names without any. Used to name nodes in the configuration
 * (expanded) and in filters (matched, never expanded).
 *
 * A bracket holds numbers and ranges. `[01-08]` has numbers of two digits, `[1-10]` numbers without leading
 * zeros, as in Slurm. What a list may cost is capped, so that `x[0-4294967295]` is an error, not a loop.
 */
#ifndef MODEL_HOST_LIST_H
#define MODEL_HOST_LIST_H

#include "core/text.h"

#include <stdint.h>

#define HOST_LIST_MAX_HOSTS    4096  /* an expansion's length: as many nodes as a cluster may have */
#define HOST_LIST_MAX_RANGE    65536 /* numbers in one range */
#define HOST_LIST_MAX_BRACKETS 4     /* in one name */
#define HOST_LIST_MAX_RANGES   64    /* in one bracket */
#define HOST_NAME_MAX_LEN      255   /* RFC 1035 */

/* Where and why a list was refused. */
struct host_list_error {
    size_t offset; /* in the text given, in bytes */
    char message[160];
};

/* Called for each item of a comma list (commas inside brackets do not split). Stops at a non-zero result. */
typedef int host_list_visit(void *context, struct text item);

/*
 * Splits at the commas outside brackets; items are stripped of blanks, empty ones are left out.
 * Returns 0, what `visit` returned, or -EINVAL with *ret_error (a bracket without its other half).
 */
int host_list_split(struct text list, host_list_visit *visit, void *context,
                    struct host_list_error *ret_error);

/* Called for each host name of an expansion; the name lives during the call. */
typedef int host_list_name(void *context, struct text name);

/*
 * Expands one item (no comma outside brackets) in order.
 * Returns 0, what `name` returned, -EINVAL (malformed) or -E2BIG (more than HOST_LIST_MAX_*), the last two
 * with *ret_error written and before any name was given.
 */
int host_list_expand(struct text item, host_list_name *name, void *context,
                     struct host_list_error *ret_error);

/* Checks an item without expanding it. Returns as host_list_expand(). `*` is allowed here (a pattern). */
int host_list_check_pattern(struct text item, struct host_list_error *ret_error);

/*
 * True if the host name is one that the pattern names: brackets as above, `*` for any characters, letters
 * without regard to case. The pattern must have passed host_list_check_pattern(); matching takes at most
 * time proportional to both lengths and the pattern's ranges, whatever the pattern is.
 */
bool host_list_matches(struct text pattern, struct text name);

/* True if the item has a bracket or a `*`. */
bool host_list_is_pattern(struct text item);

#endif
