/* gpustat's JSON object (gpustat-contract A.11). */
#include <stdio.h>

#include "render/command.h"
#include "render/json_writer.h"
#include "render/shown.h"
#include "render/times.h"

struct gpustat_json {
    struct json_writer json;
    const struct view *view;
    const struct render_options *options;
    struct row_store rows;
};

/* A key with the value of a field divided by `unit` (downwards), or null. */
static void put_field(struct json_writer *json, const char *key, const struct device *device,
                      enum device_field field, int64_t unit)
{
    int64_t value;

    json_key(json, key);
    if (shown_gpustat_value(device, field, &value))
        json_signed(json, value / unit);
    else
        json_put_null(json);
}

static void put_command(struct json_writer *json, const struct process *process)
{
    struct command_words words = command_words(process);
    struct text command = command_name(process), word;

    /* gpustat has a question mark, not null, for what it does not know. */
    if (!text_is_present(command))
        command = TEXT_LITERAL("?");
    json_key(json, "command");
    json_text(json, command);
    json_key(json, "full_command");
    json_begin_list(json);
    if (!words.more)
        json_text(json, command);
    while (command_next_word(&words, &word))
        json_text(json, word);
    json_end_list(json);
}

static void put_process(struct gpustat_json *state, const struct process_row *row)
{
    const struct process *process = row->process;
    struct json_writer *json = &state->json;
    char number[11];
    struct text user = shown_user(state->view, process, number);

    json_begin_object(json);
    json_key(json, "username");
    json_text(json, text_is_present(user) ? user : TEXT_LITERAL("?"));
    put_command(json, process);
    json_key(json, "gpu_memory_usage");
    if (row->has_mem && row->mem_bytes > 0)
        json_unsigned(json, row->mem_bytes >> 20);
    else
        json_put_null(json);
    json_key(json, "cpu_percent");
    json_tenths(json, process && process->facts & PROCESS_HAS_CPU ? process->cpu_permille : 0);
    json_key(json, "cpu_memory_usage");
    json_unsigned(json, process && process->facts & PROCESS_HAS_RSS ? process->rss_bytes : 0);
    json_key(json, "pid");
    json_unsigned(json, row->pid);
    json_end_object(json);
}

static void put_processes(struct gpustat_json *state, const struct snapshot *snapshot,
                          const struct device *device)
{
    size_t count;

    json_key(&state->json, "processes");
    if (device->state != DEVICE_OK || !device_has_process_list(device)) {
        json_put_null(&state->json);
        return;
    }
    count = row_store_fill(&state->rows, STYLE_GPUSTAT, snapshot, device, state->json.out);
    json_begin_list(&state->json);
    for (size_t i = 0; i < count; i++)
        put_process(state, &state->rows.rows[i]);
    json_end_list(&state->json);
}

static void put_values(struct json_writer *json, const struct device *device)
{
    json_key(json, "uuid");
    json_text(json, device->uuid);
    put_field(json, "temperature.gpu", device, FIELD_TEMP_C, 1);
    put_field(json, "fan.speed", device, FIELD_FAN_PERCENT, 1);
    put_field(json, "memory.used", device, FIELD_MEM_USED_BYTES, 1 << 20);
    put_field(json, "memory.total", device, FIELD_MEM_TOTAL_BYTES, 1 << 20);
    put_field(json, "utilization.gpu", device, FIELD_UTIL_GPU_PERCENT, 1);
    put_field(json, "utilization.enc", device, FIELD_UTIL_ENCODER_PERCENT, 1);
    put_field(json, "utilization.dec", device, FIELD_UTIL_DECODER_PERCENT, 1);
    put_field(json, "power.draw", device, FIELD_POWER_MW, 1000);
    put_field(json, "enforced.power.limit", device, FIELD_POWER_LIMIT_MW, 1000);
}

static void put_name(struct json_writer *json, const struct device *device)
{
    char name[64];

    json_key(json, "name");
    if (!shown_is_lost(device)) {
        json_text(json, device->name);
        return;
    }
    snprintf(name, sizeof(name), "((%s))", shown_lost_reason(device));
    json_put_string(json, name);
}

static void put_device(struct gpustat_json *state, const struct view_node *node, const struct device *device)
{
    struct json_writer *json = &state->json;
    bool is_lost = shown_is_lost(device);

    json_begin_object(json);
    json_key(json, "index");
    json_unsigned(json, device->index);
    put_name(json, device);
    if (!is_lost)
        put_values(json, device);
    put_processes(state, node->snapshot, device);
    if (state->view->node_count > 1) {
        json_key(json, "hostname");
        json_text(json, shown_hostname(node));
    }
    json_end_object(json);
}

static void put_node(struct gpustat_json *state, const struct view_node *node)
{
    const struct snapshot *snapshot = shown_node_values(node) ? node->snapshot : NULL;
    struct device_choice choice = device_choice_new(snapshot, state->options, false);
    const struct device *device;

    while ((device = device_choice_next(&choice)))
        put_device(state, node, device);
}

/* The version that all nodes share, else absent. */
static struct text common_driver(const struct view *view)
{
    struct text driver = TEXT_ABSENT;

    for (size_t i = 0; i < view->node_count; i++) {
        const struct snapshot *snapshot = view->nodes[i].snapshot;

        if (!snapshot)
            continue;
        if (text_is_present(driver) && !text_equal(driver, snapshot->driver_version))
            return TEXT_ABSENT;
        driver = snapshot->driver_version;
    }
    return driver;
}

static void put_query_time(struct json_writer *json, const struct view *view)
{
    const struct snapshot *only = view->node_count == 1 ? view->nodes[0].snapshot : NULL;
    struct buffer text = BUFFER_EMPTY;

    time_put_iso(&text, only ? only->taken_unix_us : view->now_unix_us);
    json_key(json, "query_time");
    json_text(json, buffer_text(&text));
    buffer_deinit(&text);
}

void render_gpustat_json(const struct view *view, const struct render_options *options, struct buffer *out)
{
    struct gpustat_json state = {
        .json = json_writer_new(out, JSON_BAD_SURROGATE),
        .view = view,
        .options = options,
    };
    struct json_writer *json = &state.json;

    json_begin_object(json);
    json_key(json, "hostname");
    json_text(json, view->node_count == 1 ? shown_hostname(&view->nodes[0]) : TEXT_ABSENT);
    json_key(json, "driver_version");
    json_text(json, common_driver(view));
    put_query_time(json, view);
    json_key(json, "gpus");
    json_begin_list(json);
    for (size_t i = 0; i < view->node_count; i++)
        put_node(&state, &view->nodes[i]);
    json_end_list(json);
    json_end_object(json);
    json_finish(json);
    row_store_deinit(&state.rows);
}
