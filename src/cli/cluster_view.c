#include "cli/cluster_view.h"

#include "model/natural_order.h"
#include "model/user_filter.h"

#include <errno.h>
#include <stdlib.h>

/* A node of the answer and what it is sorted by. */
struct cluster_view_item {
    const struct view_node *node;
    const struct view_node_details *details;
};

void cluster_view_deinit(struct cluster_view *view)
{
    for (size_t i = 0; view->filtered && i < view->cap; i++)
        snapshot_deinit(&view->filtered[i]);
    free(view->nodes);
    free(view->details);
    free(view->ends);
    free(view->items);
    free(view->filtered);
    *view = (struct cluster_view){0};
}

/* Room for `count` nodes; what was in it is lost. Returns 0 or -ENOMEM. */
static int reserve(struct cluster_view *view, size_t count)
{
    if (count <= view->cap)
        return 0;
    cluster_view_deinit(view);
    view->nodes = calloc(count, sizeof(*view->nodes));
    view->details = calloc(count, sizeof(*view->details));
    view->ends = calloc(count, sizeof(*view->ends));
    view->items = calloc(count, sizeof(*view->items));
    view->filtered = calloc(count, sizeof(*view->filtered));
    if (!view->nodes || !view->details || !view->ends || !view->items || !view->filtered) {
        cluster_view_deinit(view);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        snapshot_init(&view->filtered[i]);
    view->cap = count;
    return 0;
}

struct text cluster_view_name(const struct view_node *node)
{
    if (node->snapshot && node->snapshot->hostname.len)
        return node->snapshot->hostname;
    return node->addr.len ? node->addr : node->connection_id;
}

/* Equal names are told apart by address, then by connection id, so that rows never change places. */
static int compare(const void *left, const void *right)
{
    const struct view_node *a = ((const struct cluster_view_item *)left)->node;
    const struct view_node *b = ((const struct cluster_view_item *)right)->node;
    int order = natural_compare(cluster_view_name(a), cluster_view_name(b));

    if (order == 0)
        order = natural_compare(a->addr, b->addr);
    return order ? order : natural_compare(a->connection_id, b->connection_id);
}

static void sort(struct cluster_view *view, const struct view_answer *answer)
{
    const struct view_node_details *details = view_answer_details(answer);
    size_t count;
    const struct view_node *nodes = view_answer_nodes(answer, &count);

    for (size_t i = 0; i < count; i++)
        view->items[i] = (struct cluster_view_item){&nodes[i], &details[i]};
    if (count)
        qsort(view->items, count, sizeof(*view->items), compare);
}

static void age(struct view_node *node, struct view_node_details *details, uint64_t late_us, bool is_late)
{
    node->age_us += late_us;
    node->delay_age_us += late_us;
    details->last_seen_age_us += late_us;
    if (is_late && node->state == NODE_UP)
        node->state = NODE_STALE;
}

static bool tells_values(const struct view_node *node)
{
    return node->snapshot && (node->state == NODE_UP || node->state == NODE_STALE);
}

/*
 * Applies -user to a node. *ret_is_empty: nobody of them is on it, which is known. A node of which nothing is
 * known stays: they may be on it.
 */
static int filter(struct cluster_view *view, const struct show *show, struct view_node *node,
                  bool *ret_is_empty)
{
    struct snapshot *filtered = &view->filtered[view->count];
    uint32_t unowned;
    int r;

    *ret_is_empty = false;
    if (!tells_values(node))
        return 0;
    r = user_filter_apply(node->snapshot, show->uids.numbers, show->uids.count, filtered, &unowned);
    if (r < 0)
        return r;
    view->unowned += unowned;
    *ret_is_empty = !filtered->device_count && node->snapshot->fault == NODE_FAULT_NONE;
    node->snapshot = filtered;
    return 0;
}

/* gpustat's JSON is an object about the one node that was asked for, whatever is left of it. */
static bool keeps_empty(const struct show *show, size_t count)
{
    return count == 1 && show->options->as_gpustat && show->options->json;
}

int cluster_view_make(struct cluster_view *view, struct show *show, const struct view_answer *answer,
                      uint64_t late_us, bool is_late)
{
    struct instant now = clock_now();
    size_t count;
    int r;

    view_answer_nodes(answer, &count);
    r = reserve(view, count);
    view->count = view->emptied = view->silent = 0;
    view->unowned = view->process_max = 0;
    if (r < 0)
        return r;
    sort(view, answer);
    for (size_t i = 0; i < count; i++) {
        struct view_node *node = &view->nodes[view->count];
        bool is_empty = false;

        *node = *view->items[i].node;
        view->details[view->count] = *view->items[i].details;
        age(node, &view->details[view->count], late_us, is_late);
        if (show->options->users)
            r = filter(view, show, node, &is_empty);
        if (r < 0)
            return r;
        if (is_empty && !keeps_empty(show, count)) {
            view->emptied++;
            continue;
        }
        if (tells_values(node)) {
            show_want_names(show, node->snapshot, now);
            if (node->snapshot->process_count > view->process_max)
                view->process_max = node->snapshot->process_count;
        } else {
            view->silent++;
        }
        view->count++;
    }
    return 0;
}

int64_t cluster_view_missing_id(const struct cluster_view *view, const struct number_list *ids)
{
    for (size_t i = 0; i < ids->count; i++) {
        bool is_known = false, is_missing = true;

        for (size_t n = 0; n < view->count && is_missing; n++) {
            struct number_list one = {.numbers = &ids->numbers[i], .count = 1};

            if (!tells_values(&view->nodes[n]))
                continue;
            is_known = true;
            is_missing = selection_missing_id(&one, view->nodes[n].snapshot) >= 0;
        }
        if (is_known && is_missing)
            return ids->numbers[i];
    }
    return -1;
}
