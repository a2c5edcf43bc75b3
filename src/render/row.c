/* A device's row up to its memory figures (gpustat-contract A.5, colours A.9). */
#include "render/table.h"

/* Thresholds from which a value is drawn bold. */
#define BOLD_FROM_TEMP_C        50
#define BOLD_FROM_FAN_PERCENT   30
#define BOLD_FROM_UTIL_PERCENT  30
#define BOLD_FROM_CODEC_PERCENT 50

/* A number with its unit, in the colour that its size asks for. */
struct gauge {
    enum device_field field;
    const char *unit;
    int64_t bold_from;
    enum paint low, high;
};

static const struct gauge fan_gauge = {FIELD_FAN_PERCENT, " %", BOLD_FROM_FAN_PERCENT, PAINT_CYAN,
                                       PAINT_BOLD_CYAN};
static const struct gauge util_gauge = {FIELD_UTIL_GPU_PERCENT, " %", BOLD_FROM_UTIL_PERCENT, PAINT_GREEN,
                                        PAINT_BOLD_GREEN};
static const struct gauge encoder_gauge = {FIELD_UTIL_ENCODER_PERCENT, " %", BOLD_FROM_CODEC_PERCENT,
                                           PAINT_GREEN, PAINT_BOLD_GREEN};
static const struct gauge decoder_gauge = {FIELD_UTIL_DECODER_PERCENT, " %", BOLD_FROM_CODEC_PERCENT,
                                           PAINT_GREEN, PAINT_BOLD_GREEN};

static void put_gauge(struct table *table, const struct device *device, const struct gauge *gauge)
{
    int64_t value = 0;
    bool present = shown_value(device, gauge->field, &value);
    enum paint paint = !present ? PAINT_FAINT : value >= gauge->bold_from ? gauge->high : gauge->low;

    pen_start(&table->pen, paint);
    table_put_number(table, present, value, 3);
    buffer_put_string(table->out, gauge->unit);
    pen_stop(&table->pen, paint);
}

static void put_index(struct table *table, const struct device *device)
{
    size_t start, used;

    pen_start(&table->pen, PAINT_CYAN);
    start = table->out->len;
    buffer_put_char(table->out, '[');
    buffer_put_unsigned(table->out, device->index);
    if (device->kind == DEVICE_MIG) {
        buffer_put_char(table->out, ':');
        buffer_put_unsigned(table->out, device->mig_index);
    }
    buffer_put_char(table->out, ']');
    used = table->out->len - start;
    pen_stop(&table->pen, PAINT_CYAN);
    if (table_is_clustat(table) && used < table->layout.index)
        buffer_put_repeated(table->out, ' ', table->layout.index - used);
    buffer_put_char(table->out, ' ');
}

static void put_name(struct table *table, const struct device *device)
{
    enum paint paint = shown_is_lost(device) ? PAINT_RED : PAINT_BLUE;

    if (!table->layout.name)
        return;
    pen_start(&table->pen, paint);
    cell_put_fitted(table->out, table_device_label(table, device), table->layout.name, table->rules);
    pen_stop(&table->pen, paint);
    buffer_put_string(table->out, " |");
}

static void put_temperature(struct table *table, const struct device *device)
{
    const struct gauge gauge = {FIELD_TEMP_C,
                                table->options->unicode ? "\xc2\xb0"
                                                          "C"
                                                        : "'C",
                                BOLD_FROM_TEMP_C, PAINT_RED, PAINT_BOLD_RED};

    put_gauge(table, device, &gauge);
    buffer_put_string(table->out, ", ");
}

static void put_codec(struct table *table, const struct device *device)
{
    unsigned codec = table->options->show_codec;

    if (!codec)
        return;
    buffer_put_string(table->out, " (");
    if (codec & CODEC_ENC) {
        pen_put(&table->pen, PAINT_BOLD, "E: ");
        put_gauge(table, device, &encoder_gauge);
    }
    if (codec & CODEC_DEC) {
        pen_put(&table->pen, PAINT_BOLD, codec & CODEC_ENC ? "  D: " : "D: ");
        put_gauge(table, device, &decoder_gauge);
    }
    buffer_put_char(table->out, ')');
}

/* Bold from 0.4 of the limit, and where there is no limit to compare with. */
static enum paint power_paint(bool has_draw, int64_t draw_w, bool has_limit, int64_t limit_w)
{
    if (!has_limit)
        return PAINT_BOLD_MAGENTA;
    if (!has_draw || limit_w <= 0)
        return PAINT_FAINT;
    return draw_w * 5 < limit_w * 2 ? PAINT_MAGENTA : PAINT_BOLD_MAGENTA;
}

static void put_power(struct table *table, const struct device *device)
{
    int64_t draw_mw = 0, limit_mw = 0;
    bool has_draw = shown_value(device, FIELD_POWER_MW, &draw_mw);
    bool has_limit = shown_value(device, FIELD_POWER_LIMIT_MW, &limit_mw);
    enum paint paint = power_paint(has_draw, draw_mw / 1000, has_limit, limit_mw / 1000);

    if (table->options->show_power == POWER_NONE)
        return;
    buffer_put_string(table->out, ",  ");
    pen_start(&table->pen, paint);
    table_put_number(table, has_draw, draw_mw / 1000, table->layout.draw);
    pen_stop(&table->pen, paint);
    if (table->options->show_power == POWER_DRAW)
        return;
    buffer_put_string(table->out, " / ");
    pen_start(&table->pen, PAINT_MAGENTA);
    table_put_number(table, has_limit, limit_mw / 1000, table->layout.limit);
    buffer_put_string(table->out, " W");
    pen_stop(&table->pen, PAINT_MAGENTA);
}

static void put_memory_figure(struct table *table, const struct device *device, enum device_field field,
                              size_t width, enum paint paint)
{
    int64_t bytes = 0;
    bool present = table_is_clustat(table) ? shown_value(device, field, &bytes)
                                           : shown_gpustat_value(device, field, &bytes);

    if (!present)
        paint = PAINT_FAINT;
    pen_start(&table->pen, paint);
    table_put_number(table, present, bytes >> 20, width);
    pen_stop(&table->pen, paint);
}

static void put_memory(struct table *table, const struct device *device)
{
    int64_t bytes;
    bool is_marked = device->flags & DEVICE_UNIFIED_MEMORY && table_is_clustat(table) &&
                     shown_value(device, FIELD_MEM_TOTAL_BYTES, &bytes);

    buffer_put_string(table->out, " | ");
    put_memory_figure(table, device, FIELD_MEM_USED_BYTES, table->layout.mem_used, PAINT_BOLD_YELLOW);
    buffer_put_string(table->out, " / ");
    put_memory_figure(table, device, FIELD_MEM_TOTAL_BYTES, table->layout.mem_total, PAINT_YELLOW);
    /* The mark of the system's memory takes the blank's place, so that no column moves. */
    buffer_put_string(table->out, is_marked ? "~MB" : " MB");
}

void table_put_device(struct table *table, const struct device *device)
{
    put_index(table, device);
    put_name(table, device);
    put_temperature(table, device);
    if (table->options->show_fan) {
        put_gauge(table, device, &fan_gauge);
        buffer_put_string(table->out, ", ");
    }
    put_gauge(table, device, &util_gauge);
    put_codec(table, device);
    put_power(table, device);
    put_memory(table, device);
}
