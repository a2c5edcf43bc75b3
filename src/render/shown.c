#include "render/shown.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define ERROR_GPU_IS_LOST 15 /* NVML_ERROR_GPU_IS_LOST */

struct device_choice device_choice_new(const struct snapshot *snapshot, const struct render_options *options,
                                       bool instances)
{
    return (struct device_choice){.snapshot = snapshot, .options = options, .instances = instances};
}

static bool is_wanted(const struct device_choice *choice, const struct device *device)
{
    const struct render_options *options = choice->options;

    if (device->kind == DEVICE_MIG && !choice->instances)
        return false;
    return !options->ids || device->index == options->ids[choice->id_at];
}

const struct device *device_choice_next(struct device_choice *choice)
{
    size_t rounds = choice->options->ids ? choice->options->id_count : 1;

    for (; choice->snapshot && choice->id_at < rounds; choice->id_at++, choice->device_at = 0) {
        while (choice->device_at < choice->snapshot->device_count) {
            const struct device *device = &choice->snapshot->devices[choice->device_at++];

            if (is_wanted(choice, device))
                return device;
        }
    }
    return NULL;
}

bool shown_node_was_read(const struct view_node *node)
{
    return node->snapshot && node->snapshot->taken_unix_us;
}

bool shown_node_values(const struct view_node *node)
{
    return node->snapshot && (node->state == NODE_UP || node->state == NODE_STALE);
}

bool shown_value(const struct device *device, enum device_field field, int64_t *ret_value)
{
    return device->state == DEVICE_OK && field_get(&device->values, field, ret_value);
}

uint64_t shown_age_us(const struct view_node *node, const struct device *device, enum field_group group)
{
    uint64_t age = device->group_age_us[group], sum;

    if (age == AGE_NEVER || __builtin_add_overflow(age, node->age_us, &sum))
        return AGE_NEVER;
    return sum;
}

static bool is_memory(enum device_field field)
{
    return field == FIELD_MEM_TOTAL_BYTES || field == FIELD_MEM_USED_BYTES ||
           field == FIELD_MEM_RESERVED_BYTES;
}

bool shown_gpustat_value(const struct device *device, enum device_field field, int64_t *ret_value)
{
    if (device->flags & DEVICE_UNIFIED_MEMORY && is_memory(field))
        return false;
    return shown_value(device, field, ret_value);
}

struct text shown_user(const struct view *view, const struct process *process, char number[11])
{
    const char *name = NULL;

    if (!process || !(process->facts & PROCESS_HAS_UID))
        return TEXT_ABSENT;
    if (view->names.user)
        name = view->names.user(view->names.context, process->uid);
    if (name)
        return text_from_string(name);
    if (text_is_present(process->user))
        return process->user;
    snprintf(number, 11, "%u", process->uid);
    return text_from_string(number);
}

void row_store_deinit(struct row_store *store)
{
    free(store->rows);
    *store = (struct row_store){0};
}

size_t row_store_fill(struct row_store *store, enum render_style style, const struct snapshot *snapshot,
                      const struct device *device, struct buffer *out)
{
    if (!device->entry_count)
        return 0;
    if (device->entry_count > store->cap) {
        struct process_row *rows = reallocarray(store->rows, device->entry_count, sizeof(*rows));

        if (!rows) {
            out->error = -ENOMEM;
            return 0;
        }
        store->rows = rows;
        store->cap = device->entry_count;
    }
    return style == STYLE_GPUSTAT ? merge_gpustat(snapshot, device, store->rows)
                                  : merge_clustat(snapshot, device, store->rows);
}

bool shown_is_lost(const struct device *device)
{
    return device->state == DEVICE_FAULT || device->state == DEVICE_REMOVED;
}

const char *shown_lost_reason(const struct device *device)
{
    /* gpustat, asking by index, would find nothing where a device was removed. */
    return render_gpustat_error(device->state == DEVICE_REMOVED ? ERROR_GPU_IS_LOST : device->fault_code);
}

struct text shown_hostname(const struct view_node *node)
{
    if (node->snapshot && node->snapshot->hostname.len)
        return node->snapshot->hostname;
    if (node->addr.len)
        return node->addr;
    if (node->connection_id.len)
        return node->connection_id;
    return TEXT_LITERAL("?");
}
