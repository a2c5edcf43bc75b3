/* Any text as a node filter and as a list of host names: what it expands to is what it matches. */
#include "fuzz/fuzz.h"

#include "model/node_filter.h"

#include <string.h>

#define NAMES_CHECKED 64

struct expansion {
    struct text pattern;
    size_t names;
};

static int check_name(void *context, struct text name)
{
    struct expansion *expansion = context;

    MUST(name.len > 0);
    if (name.len <= HOST_NAME_MAX_LEN)
        MUST(host_list_matches(expansion->pattern, name));
    return ++expansion->names == NAMES_CHECKED ? 1 : 0;
}

static int check_item(void *context, struct text item)
{
    struct host_list_error error = {0};
    struct expansion expansion = {.pattern = item};
    int r = host_list_expand(item, check_name, &expansion, &error);

    (void)context;
    MUST(r >= 0 || (error.message[0] && error.offset <= item.len && !expansion.names));
    MUST(r < 0 || expansion.names > 0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const struct node_names nodes[] = {
        {{"node1.compute", 13}, {"10.0.0.1:30000", 14}, {"conn-0123456789", 15}},
        {{"gpu01", 5}, {"[fd00::1]:30000", 15}, {NULL, 0}},
        {{NULL, 0}, {NULL, 0}, {NULL, 0}},
    };
    const size_t count = sizeof(nodes) / sizeof(nodes[0]);
    struct text expression = {(const char *)bytes, len};
    struct host_list_error error = {0};
    struct node_filter *filter;
    bool selected[3], inexact;
    size_t chosen = 0;

    host_list_split(expression, check_item, NULL, &error);
    if (node_filter_new(expression, &filter, &error) < 0) {
        MUST(error.message[0] && error.offset <= len);
        return 0;
    }
    chosen = node_filter_select(filter, nodes, count, selected, &inexact);
    MUST(chosen <= count);
    for (size_t i = 0; i < count; i++)
        chosen -= selected[i];
    MUST(chosen == 0);
    node_filter_free(filter);
    return 0;
}
