/*
 * What stands behind QUERY on a line of the local API: nothing, or an object of JSON such as
 * {"filter": "gpu[01-08]", "users": [1000], "wait": false}. Comes from any user of the machine: strict,
 * capped by the line's length, and without any state.
 */
#ifndef BACKEND_QUERY_LINE_H
#define BACKEND_QUERY_LINE_H

#include "core/buffer.h"
#include "wire/message.h"

struct query_line {
    struct text filter; /* owned; absent: all nodes */
    uint32_t uids[MESSAGE_USERS_MAX];
    uint16_t uid_count; /* 0: of all users */
    unsigned flags;     /* enum view_query_flag */
};

/*
 * Returns 0, -EINVAL with words for a person in `why`, or -ENOMEM. *ret_query is written only on 0, and then
 * to be deinitialised.
 */
int query_line_parse(struct text operand, struct query_line *ret_query, struct buffer *why);
void query_line_deinit(struct query_line *query);

#endif
