#include "model/node_filter.h"

#include "core/cleanup.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum item_kind {
    ITEM_WORD,
    ITEM_PATTERN,
    ITEM_NETWORK,
};

struct item {
    enum item_kind kind;
    bool exclude;
    struct text text; /* within the filter's copy of the expression */
    int family;       /* of a network: AF_INET or AF_INET6 */
    unsigned prefix;
    unsigned char address[16];
};

struct node_filter {
    char *expression;
    struct item *items;
    size_t count, cap;
    struct host_list_error error;
};

/* "10.0.0.0/8", "fd00::/16": true and the item's network members if the text is one. */
static bool parse_network(struct text text, struct item *item)
{
    char address[64];
    const char *slash = memchr(text.bytes, '/', text.len);
    unsigned long long prefix;
    struct text digits;

    if (!slash || (size_t)(slash - text.bytes) >= sizeof(address))
        return false;
    text_copy((struct text){text.bytes, (size_t)(slash - text.bytes)}, address, sizeof(address));
    item->family = strchr(address, ':') ? AF_INET6 : AF_INET;
    digits = (struct text){slash + 1, text.len - (size_t)(slash + 1 - text.bytes)};
    if (inet_pton(item->family, address, item->address) != 1 ||
        text_parse_decimal(digits, item->family == AF_INET ? 32 : 128, &prefix) < 0)
        return false;
    item->prefix = (unsigned)prefix;
    return true;
}

static int add_item(void *context, struct text text)
{
    struct node_filter *filter = context;
    struct item item = {.kind = ITEM_WORD};
    int r = 0;

    if (text.bytes[0] == '!') {
        item.exclude = true;
        text = (struct text){text.bytes + 1, text.len - 1};
    }
    item.text = text;
    if (!text.len) {
        snprintf(filter->error.message, sizeof(filter->error.message), "nothing stands behind this !");
        r = -EINVAL;
    } else if (host_list_is_pattern(text)) {
        item.kind = ITEM_PATTERN;
        r = host_list_check_pattern(text, &filter->error);
    } else if (memchr(text.bytes, '/', text.len)) {
        item.kind = ITEM_NETWORK;
        if (!parse_network(text, &item)) {
            snprintf(filter->error.message, sizeof(filter->error.message),
                     "this is no network; one looks like 10.1.0.0/16 or fd00::/64");
            r = -EINVAL;
        }
    }
    if (r < 0) {
        filter->error.offset += (size_t)(text.bytes - filter->expression);
        return r;
    }
    if (filter->count == NODE_FILTER_MAX_ITEMS)
        return -E2BIG;
    if (filter->count == filter->cap) {
        size_t cap = filter->cap ? 2 * filter->cap : 8;
        struct item *items = reallocarray(filter->items, cap, sizeof(*items));

        if (!items)
            return -ENOMEM;
        filter->items = items;
        filter->cap = cap;
    }
    filter->items[filter->count++] = item;
    return 0;
}

static void cleanup_filter(struct node_filter **filter)
{
    node_filter_free(*filter);
}

int node_filter_new(struct text expression, struct node_filter **ret_filter,
                    struct host_list_error *ret_error)
{
    _cleanup_(cleanup_filter) struct node_filter *filter = NULL;
    int r;

    *ret_error = (struct host_list_error){0};
    if (expression.len > NODE_FILTER_MAX_BYTES) {
        snprintf(ret_error->message, sizeof(ret_error->message), "the filter is longer than %d bytes",
                 NODE_FILTER_MAX_BYTES);
        return -E2BIG;
    }
    filter = calloc(1, sizeof(*filter));
    if (!filter)
        return -ENOMEM;
    filter->expression = malloc(expression.len + 1);
    if (!filter->expression)
        return -ENOMEM;
    if (expression.len)
        memcpy(filter->expression, expression.bytes, expression.len);
    r = host_list_split((struct text){filter->expression, expression.len}, add_item, filter, &filter->error);
    if (r == 0 && !filter->count) {
        snprintf(filter->error.message, sizeof(filter->error.message), "the filter names nothing");
        r = -EINVAL;
    }
    if (r == -E2BIG && !filter->error.message[0])
        snprintf(filter->error.message, sizeof(filter->error.message), "the filter has more than %d items",
                 NODE_FILTER_MAX_ITEMS);
    *ret_error = filter->error;
    if (r < 0)
        return r;
    *ret_filter = steal_pointer(&filter);
    return 0;
}

void node_filter_free(struct node_filter *filter)
{
    if (!filter)
        return;
    free(filter->items);
    free(filter->expression);
    free(filter);
}

static struct text first_label(struct text name)
{
    const char *dot = name.len ? memchr(name.bytes, '.', name.len) : NULL;

    return dot ? (struct text){name.bytes, (size_t)(dot - name.bytes)} : name;
}

/* The address without its port and brackets. */
static struct text bare_address(struct text addr)
{
    const char *colon = addr.len ? memrchr(addr.bytes, ':', addr.len) : NULL;

    if (!colon)
        return addr;
    if (addr.bytes[0] == '[') {
        const char *end = memchr(addr.bytes, ']', addr.len);

        return end ? (struct text){addr.bytes + 1, (size_t)(end - addr.bytes) - 1} : addr;
    }
    if (memchr(addr.bytes, ':', addr.len) != colon)
        return addr; /* IPv6 without brackets has no port */
    return (struct text){addr.bytes, (size_t)(colon - addr.bytes)};
}

static bool same_name(struct text a, struct text b)
{
    return a.len == b.len && a.len && strncasecmp(a.bytes, b.bytes, a.len) == 0;
}

static bool in_network(const struct item *item, struct text addr)
{
    unsigned char address[16];
    char string[64];
    unsigned whole = item->prefix / 8, bits = item->prefix % 8;

    text_copy(bare_address(addr), string, sizeof(string));
    if (inet_pton(item->family, string, address) != 1 || memcmp(address, item->address, whole) != 0)
        return false;
    return !bits || (address[whole] ^ item->address[whole]) >> (8 - bits) == 0;
}

static bool names_exactly(const struct item *item, const struct node_names *node)
{
    switch (item->kind) {
    case ITEM_NETWORK:
        return in_network(item, node->addr);
    case ITEM_PATTERN:
        return host_list_matches(item->text, node->hostname) ||
               host_list_matches(item->text, first_label(node->hostname)) ||
               host_list_matches(item->text, bare_address(node->addr));
    case ITEM_WORD:
        break;
    }
    return same_name(item->text, node->hostname) || same_name(item->text, first_label(node->hostname)) ||
           same_name(item->text, bare_address(node->addr)) || same_name(item->text, node->addr) ||
           same_name(item->text, node->connection_id);
}

/* The word stands in the name, and where it begins or ends with a digit no further digit follows there. */
static bool is_part_of(struct text word, struct text name)
{
    for (size_t i = 0; i + word.len <= name.len; i++) {
        size_t end = i + word.len;

        if (strncasecmp(name.bytes + i, word.bytes, word.len) != 0)
            continue;
        if (i && isdigit((unsigned char)word.bytes[0]) && isdigit((unsigned char)name.bytes[i - 1]))
            continue;
        if (end < name.len && isdigit((unsigned char)word.bytes[word.len - 1]) &&
            isdigit((unsigned char)name.bytes[end]))
            continue;
        return true;
    }
    return false;
}

static bool any_exact(const struct item *item, const struct node_names *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (names_exactly(item, &nodes[i]))
            return true;
    return false;
}

static void apply(const struct item *item, const struct node_names *nodes, size_t count, bool *selected,
                  bool *inexact)
{
    bool exact = item->kind != ITEM_WORD || any_exact(item, nodes, count);

    for (size_t i = 0; i < count; i++) {
        if (!(exact ? names_exactly(item, &nodes[i]) : is_part_of(item->text, nodes[i].hostname)))
            continue;
        selected[i] = !item->exclude;
        *inexact = *inexact || !exact;
    }
}

size_t node_filter_select(const struct node_filter *filter, const struct node_names *nodes, size_t count,
                          bool *selected, bool *ret_inexact)
{
    bool only_exclusions = true, inexact = false;
    size_t chosen = 0;

    for (size_t i = 0; i < filter->count; i++)
        only_exclusions = only_exclusions && filter->items[i].exclude;
    for (size_t i = 0; i < count; i++)
        selected[i] = only_exclusions;
    for (int exclusions = 0; exclusions <= 1;
         exclusions++) /* what is excluded stays so, whatever the order */
        for (size_t i = 0; i < filter->count; i++)
            if (filter->items[i].exclude == (exclusions == 1))
                apply(&filter->items[i], nodes, count, selected, &inexact);
    for (size_t i = 0; i < count; i++)
        chosen += selected[i];
    if (ret_inexact)
        *ret_inexact = inexact;
    return chosen;
}
