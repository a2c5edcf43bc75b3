/* Any text behind QUERY: it is refused with a reason, or it is a question within its bounds. */
#include "fuzz/fuzz.h"

#include "backend/query_line.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct buffer why = BUFFER_EMPTY;
    struct query_line query;
    int r = query_line_parse((struct text){(const char *)bytes, len}, &query, &why);

    MUST(r == 0 || r == -EINVAL);
    MUST((r == -EINVAL) == (why.len > 0));
    MUST(why.len < 1000);
    if (r == 0) {
        MUST(query.uid_count <= MESSAGE_USERS_MAX && query.filter.len <= len);
        MUST((query.flags & ~(unsigned)VIEW_NO_WAIT) == 0);
        query_line_deinit(&query);
    }
    buffer_deinit(&why);
    return 0;
}
