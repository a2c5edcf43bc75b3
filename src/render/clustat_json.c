#include "render/clustat_json.h"

void clustat_json_put_optional(struct json_writer *json, const char *key, bool present, uint64_t value)
{
    json_key(json, key);
    if (present)
        json_unsigned(json, value);
    else
        json_put_null(json);
}

void clustat_json_put_text(struct json_writer *json, const char *key, struct text text)
{
    json_key(json, key);
    json_text(json, text);
}

static const char *state_name(enum node_state state)
{
    static const char *const names[] = {
        [NODE_UP] = "up",           [NODE_STALE] = "stale",     [NODE_DOWN] = "down",
        [NODE_WARMING] = "warming", [NODE_STOPPED] = "stopped",
    };

    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

/* NULL if there is no fault. */
static const char *fault_name(enum node_fault fault)
{
    static const char *const names[NODE_FAULT_KINDS] = {
        [NODE_FAULT_LIBRARY_MISSING] = "library_missing",
        [NODE_FAULT_LIBRARY_STUB] = "library_stub",
        [NODE_FAULT_LIBRARY_UNUSABLE] = "library_unusable",
        [NODE_FAULT_DRIVER_NOT_LOADED] = "driver_not_loaded",
        [NODE_FAULT_VERSION_MISMATCH] = "version_mismatch",
        [NODE_FAULT_INIT] = "init_failed",
        [NODE_FAULT_DEVICE_COUNT] = "device_count_failed",
        [NODE_FAULT_HUNG] = "hung",
        [NODE_FAULT_PAUSED] = "paused",
    };

    return fault < NODE_FAULT_KINDS ? names[fault] : "unknown";
}

/* What is wrong, in state->scratch; absent if nothing is. */
static struct text node_error(struct clustat_json *state, const struct view_node *node)
{
    buffer_clear(&state->scratch);
    shown_put_node_error(state->view, node, &state->scratch);
    return state->scratch.len ? buffer_text(&state->scratch) : TEXT_ABSENT;
}

static struct text hostname_or_absent(const struct view_node *node)
{
    return node->snapshot && node->snapshot->hostname.len ? node->snapshot->hostname : TEXT_ABSENT;
}

/* True if any of the node's values is older than a person would take for granted. */
static bool is_stale(const struct view_node *node)
{
    uint64_t age;

    if (!shown_node_values(node) || node->state == NODE_STALE || node->snapshot->fault == NODE_FAULT_HUNG)
        return true;
    age = snapshot_group_age_us(node->snapshot, GROUP_HOT);
    return age != AGE_NEVER && (__builtin_add_overflow(age, node->age_us, &age) || age > SHOWN_OLD_US);
}

static void put_error_item(struct clustat_json *state, const struct view_node *node)
{
    struct json_writer *json = &state->json;
    struct text error = node_error(state, node);

    if (!text_is_present(error))
        return;
    json_begin_object(json);
    clustat_json_put_text(json, "connection_id", node->connection_id);
    clustat_json_put_text(json, "hostname", hostname_or_absent(node));
    clustat_json_put_text(json, "text", error);
    json_end_object(json);
}

static void put_meta(struct clustat_json *state)
{
    struct json_writer *json = &state->json;
    const struct view *view = state->view;

    json_key(json, "meta");
    json_begin_object(json);
    json_key(json, "status");
    json_put_string(json, view->node_count ? "ok" : "empty");
    json_key(json, "timestamp_ms");
    json_signed(json, view->now_unix_us / 1000);
    json_key(json, "node_count");
    json_unsigned(json, view->node_count);
    json_key(json, "errors");
    json_begin_list(json);
    for (size_t i = 0; i < view->node_count; i++)
        put_error_item(state, &view->nodes[i]);
    json_end_list(json);
    clustat_json_put_text(json, "viewer_hostname", view->hostname);
    json_end_object(json);
}

static uint64_t count_devices(const struct clustat_json *state, const struct snapshot *snapshot)
{
    struct device_choice choice = device_choice_new(snapshot, state->options, true);
    uint64_t count = 0;

    while (device_choice_next(&choice))
        count++;
    return count;
}

static void put_devices(struct clustat_json *state, const struct view_node *node)
{
    struct device_choice choice = device_choice_new(node->snapshot, state->options, true);
    const struct device *device;

    json_key(&state->json, "gres");
    json_begin_list(&state->json);
    while ((device = device_choice_next(&choice)))
        clustat_json_put_device(state, node, device);
    json_end_list(&state->json);
}

static void put_pending(struct json_writer *json, const struct pending_call *pending)
{
    json_key(json, "pending_call");
    if (!pending || !text_is_present(pending->name)) {
        json_put_null(json);
        return;
    }
    json_begin_object(json);
    clustat_json_put_text(json, "name", pending->name);
    clustat_json_put_optional(json, "device", pending->device >= 0, (uint64_t)pending->device);
    clustat_json_put_optional(json, "running_us", true, pending->running_us);
    json_end_object(json);
}

static void put_flag(struct json_writer *json, const char *key, const struct snapshot *snapshot,
                     unsigned flag)
{
    json_key(json, key);
    if (snapshot)
        json_bool(json, snapshot->flags & flag);
    else
        json_put_null(json);
}

/* Everything of the node that the first clustat had no key for. */
static void put_node_details(struct json_writer *json, const struct view_node *node)
{
    static const struct snapshot nothing = {.host_age_us = AGE_NEVER};
    const struct snapshot *known = shown_node_was_read(node) ? node->snapshot : NULL;
    const struct snapshot *snapshot = known ? known : &nothing;
    bool has_code = snapshot->fault_code != 0;

    json_key(json, "state");
    json_put_string(json, state_name(node->state));
    json_key(json, "since_unix_us");
    if (node->since_unix_us)
        json_signed(json, node->since_unix_us);
    else
        json_put_null(json);
    clustat_json_put_optional(json, "age_us", known, node->age_us);
    clustat_json_put_optional(json, "delay_age_us", node->has_delay, node->delay_age_us);
    clustat_json_put_optional(json, "sequence", known, snapshot->sequence);
    clustat_json_put_text(json, "nvml_version", snapshot->nvml_version);
    put_flag(json, "first_round_done", known, NODE_FIRST_ROUND_DONE);
    put_flag(json, "proc_hidden", known, NODE_PROC_HIDDEN);
    put_flag(json, "pid_namespace", known, NODE_PID_NAMESPACE);
    json_key(json, "fault");
    json_put_string(json, fault_name(snapshot->fault));
    json_key(json, "fault_code");
    if (has_code)
        json_signed(json, snapshot->fault_code);
    else
        json_put_null(json);
    clustat_json_put_text(json, "fault_text", snapshot->fault_text);
    put_pending(json, known ? &known->pending : NULL);
    clustat_json_put_optional(json, "driver_time_ppm", known, snapshot->driver_time_ppm);
    clustat_json_put_optional(json, "unnamed_processes", known, snapshot->unnamed_processes);
    clustat_json_put_optional(json, "commands_cut", known, snapshot->commands_cut);
    clustat_json_put_optional(json, "entries_left_out", known, snapshot->entries_left_out);
    clustat_json_put_optional(json, "host_age_us", snapshot->host_age_us != AGE_NEVER, snapshot->host_age_us);
}

static void put_node(struct clustat_json *state, const struct view_node *node)
{
    struct json_writer *json = &state->json;
    const struct snapshot *snapshot = shown_node_was_read(node) ? node->snapshot : NULL;

    json_begin_object(json);
    clustat_json_put_text(json, "connection_id", node->connection_id);
    clustat_json_put_text(json, "hostname", hostname_or_absent(node));
    clustat_json_put_text(json, "addr", node->addr);
    json_key(json, "timestamp_ms");
    if (snapshot)
        json_signed(json, snapshot->taken_unix_us / 1000);
    else
        json_put_null(json);
    clustat_json_put_text(json, "driver_version", snapshot ? snapshot->driver_version : TEXT_ABSENT);
    clustat_json_put_optional(json, "num", snapshot, count_devices(state, snapshot));
    json_key(json, "stale");
    json_bool(json, is_stale(node));
    clustat_json_put_text(json, "error", node_error(state, node));
    clustat_json_put_optional(json, "delay_us", node->has_delay, node->delay_us);
    put_devices(state, node);
    put_node_details(json, node);
    json_end_object(json);
}

void render_clustat_json(const struct view *view, const struct render_options *options, struct buffer *out)
{
    struct clustat_json state = {
        .json = json_writer_new(out, JSON_BAD_REPLACED),
        .view = view,
        .options = options,
    };
    struct json_writer *json = &state.json;

    json->one_line = options->one_line;
    json_begin_object(json);
    put_meta(&state);
    json_key(json, "nodes");
    json_begin_list(json);
    for (size_t i = 0; i < view->node_count; i++)
        put_node(&state, &view->nodes[i]);
    json_end_list(json);
    json_end_object(json);
    json_finish(json);
    if (buffer_error(&state.scratch) && !buffer_error(out))
        out->error = state.scratch.error;
    row_store_deinit(&state.rows);
    buffer_deinit(&state.scratch);
}
