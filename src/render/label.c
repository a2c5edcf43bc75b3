/* The name column: what a device is called there, and how wide the columns must be. */
#include "render/table.h"

/* A longer name does not widen the column under clustat's name (real ones have at most 50 characters). */
#define NAME_WIDTH_MAX 64

/* gpustat's width for the header where no name sets it. */
#define NAME_WIDTH_NO_NAME 16

/* "NVIDIA A100-SXM4-40GB MIG 1g.5gb" -> "MIG 1g.5gb"; other names stay whole. */
static struct text instance_profile(struct text name)
{
    for (size_t i = name.len; i-- > 4;)
        if (name.bytes[i] == ' ' && name.bytes[i - 1] == 'G' && name.bytes[i - 2] == 'I' &&
            name.bytes[i - 3] == 'M' && name.bytes[i - 4] == ' ')
            return (struct text){name.bytes + i - 3, name.len - i + 3};
    return name;
}

static void put_error_label(struct buffer *out, const char *text)
{
    buffer_put_string(out, "((");
    buffer_put_string(out, text);
    buffer_put_string(out, "))");
}

struct text table_device_label(struct table *table, const struct device *device)
{
    struct buffer *scratch = &table->scratch;

    buffer_clear(scratch);
    if (device->kind == DEVICE_MIG)
        buffer_put_string(scratch, "  ");
    if (device->state == DEVICE_REMOVED && table_is_clustat(table))
        put_error_label(scratch, "removed");
    else if (shown_is_lost(device))
        put_error_label(scratch, shown_lost_reason(device));
    else if (!text_is_present(device->name))
        buffer_put_string(scratch, "??");
    else if (device->kind == DEVICE_MIG)
        cell_put_visible(scratch, instance_profile(device->name), table->rules);
    else
        cell_put_visible(scratch, device->name, table->rules);
    return buffer_text(scratch);
}

static size_t digits(int64_t value)
{
    size_t count = value < 0 ? 2 : 1;

    while (value > 9 || value < -9) {
        value /= 10;
        count++;
    }
    return count;
}

static void widen(size_t *width, size_t need)
{
    if (*width < need)
        *width = need;
}

static void widen_number(size_t *width, const struct device *device, enum device_field field, int64_t unit)
{
    int64_t value;

    if (shown_value(device, field, &value))
        widen(width, digits(value / unit));
}

/* clustat's columns stay aligned whatever the numbers; gpustat's longer numbers shift the row. */
static void fit_numbers(struct table_layout *layout, const struct device *device)
{
    size_t index = 2 + digits(device->index);

    if (device->kind == DEVICE_MIG)
        index += 1 + digits(device->mig_index);
    widen(&layout->index, index);
    widen_number(&layout->draw, device, FIELD_POWER_MW, 1000);
    widen_number(&layout->limit, device, FIELD_POWER_LIMIT_MW, 1000);
    widen_number(&layout->mem_used, device, FIELD_MEM_USED_BYTES, 1 << 20);
    widen_number(&layout->mem_total, device, FIELD_MEM_TOTAL_BYTES, 1 << 20);
}

static void fit_name(struct table *table, const struct device *device)
{
    size_t width = cell_width(table_device_label(table, device), table->rules);

    if (table_is_clustat(table) && width > NAME_WIDTH_MAX)
        width = NAME_WIDTH_MAX;
    widen(&table->layout.name, width);
}

static void fit_host(struct table *table, const struct view_node *node)
{
    buffer_clear(&table->scratch);
    cell_put_visible(&table->scratch, shown_hostname(node), table->rules);
    widen(&table->layout.host, cell_width(buffer_text(&table->scratch), table->rules));
}

void table_fit_layout(struct table *table, const struct view_node *node)
{
    struct table_layout *layout = &table->layout;
    const struct render_options *options = table->options;
    const struct snapshot *snapshot = shown_node_values(node) ? node->snapshot : NULL;
    struct device_choice choice = device_choice_new(snapshot, options, table_is_clustat(table));
    const struct device *device;

    if (!layout->index || !table_is_clustat(table))
        *layout = (struct table_layout){.index = 3, .draw = 3, .limit = 3, .mem_used = 5, .mem_total = 5};
    if (options->gpuname_width >= 0)
        layout->name = (size_t)options->gpuname_width;
    while ((device = device_choice_next(&choice))) {
        if (options->gpuname_width < 0)
            fit_name(table, device);
        if (table_is_clustat(table))
            fit_numbers(layout, device);
    }
    widen(&layout->host, layout->index + (layout->name ? layout->name : NAME_WIDTH_NO_NAME));
    if (table_is_clustat(table))
        fit_host(table, node);
}
