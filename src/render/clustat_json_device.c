#include "render/clustat_json.h"

/* Keys of the driver's lists. */
static const char *const list_names[LIST_COUNT] = {
    [LIST_COMPUTE] = "compute",
    [LIST_GRAPHICS] = "graphics",
    [LIST_MPS] = "mps",
};

static const char *device_state_name(enum device_state state)
{
    static const char *const names[DEVICE_STATE_COUNT] = {
        [DEVICE_OK] = "ok",           [DEVICE_FAULT] = "fault",
        [DEVICE_ASLEEP] = "asleep",   [DEVICE_LEFT_OUT] = "left_out",
        [DEVICE_REMOVED] = "removed",
    };

    return state < DEVICE_STATE_COUNT ? names[state] : "unknown";
}

/* Values of a node that does not answer are not true any more: null. */
static bool get_value(const struct view_node *node, const struct device *device, enum device_field field,
                      int64_t *ret_value)
{
    return shown_node_values(node) && shown_value(device, field, ret_value);
}

static void put_value(struct json_writer *json, const char *key, const struct view_node *node,
                      const struct device *device, enum device_field field, int64_t unit)
{
    int64_t value;

    json_key(json, key);
    if (get_value(node, device, field, &value))
        json_signed(json, value / unit);
    else
        json_put_null(json);
}

static bool has_processes(const struct view_node *node, const struct device *device)
{
    return shown_node_values(node) && device->state == DEVICE_OK && device_has_process_list(device);
}

static void put_processes(struct clustat_json *state, const struct view_node *node,
                          const struct device *device)
{
    size_t count;

    json_key(&state->json, "processes");
    if (!has_processes(node, device)) {
        json_put_null(&state->json);
        return;
    }
    count = row_store_fill(&state->rows, STYLE_CLUSTAT, node->snapshot, device, state->json.out);
    json_begin_list(&state->json);
    for (size_t i = 0; i < count; i++)
        clustat_json_put_process(state, &state->rows.rows[i]);
    json_end_list(&state->json);
}

/* What the device is, and how it is. */
static void put_identity(struct json_writer *json, const struct device *device)
{
    bool is_instance = device->kind == DEVICE_MIG, has_code = device->state == DEVICE_FAULT;

    json_key(json, "kind");
    json_put_string(json, is_instance ? "mig" : "gpu");
    clustat_json_put_optional(json, "mig_index", is_instance, device->mig_index);
    json_key(json, "state");
    json_put_string(json, device_state_name(device->state));
    json_key(json, "fault_code");
    if (has_code)
        json_signed(json, device->fault_code);
    else
        json_put_null(json);
    json_key(json, "fault_text");
    json_put_string(json, has_code ? render_clustat_error(device->fault_code) : NULL);
    clustat_json_put_text(json, "serial", device->serial);
    clustat_json_put_text(json, "pci_bus_id", device->pci_bus_id);
    json_key(json, "unified_memory");
    json_bool(json, device->flags & DEVICE_UNIFIED_MEMORY);
}

/* The field table, but for the temperature: the first clustat's key is the same word. */
static void put_fields(struct json_writer *json, const struct view_node *node, const struct device *device)
{
    for (unsigned field = 0; field < FIELD_COUNT; field++)
        if (field != FIELD_TEMP_C)
            put_value(json, field_info(field)->json_name, node, device, field, 1);
}

static void put_ages(struct json_writer *json, const struct view_node *node, const struct device *device)
{
    json_key(json, "age_us");
    json_begin_object(json);
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        uint64_t age = shown_age_us(node, device, group);

        clustat_json_put_optional(json, field_group_name(group), age != AGE_NEVER, age);
    }
    json_end_object(json);
}

/* How the last reading of each list went: "read", "unread", "absent", or "failed" and the vendor's code. */
static void put_lists(struct json_writer *json, const struct device *device)
{
    json_key(json, "lists");
    json_begin_object(json);
    for (unsigned list = 0; list < LIST_COUNT; list++) {
        int32_t code = device->list_code[list];

        json_key(json, list_names[list]);
        json_begin_object(json);
        json_key(json, "state");
        json_put_string(json, code == 0                  ? "read"
                              : code == LIST_CODE_UNREAD ? "unread"
                              : code == LIST_CODE_ABSENT ? "absent"
                                                         : "failed");
        clustat_json_put_optional(json, "code", code > 0, (uint64_t)code);
        json_end_object(json);
    }
    json_end_object(json);
}

static void put_entries(struct clustat_json *state, const struct view_node *node, const struct device *device)
{
    json_key(&state->json, "entries");
    if (!has_processes(node, device)) {
        json_put_null(&state->json);
        return;
    }
    json_begin_list(&state->json);
    for (uint32_t i = 0; i < device->entry_count; i++)
        clustat_json_put_entry(state, &node->snapshot->entries[device->first_entry + i]);
    json_end_list(&state->json);
}

void clustat_json_put_device(struct clustat_json *state, const struct view_node *node,
                             const struct device *device)
{
    struct json_writer *json = &state->json;

    json_begin_object(json);
    clustat_json_put_optional(json, "index", true, device->index);
    clustat_json_put_text(json, "name", device->name);
    clustat_json_put_text(json, "uuid", device->uuid);
    put_value(json, "temperature_c", node, device, FIELD_TEMP_C, 1);
    put_value(json, "util", node, device, FIELD_UTIL_GPU_PERCENT, 1);
    put_value(json, "mem_used_mb", node, device, FIELD_MEM_USED_BYTES, 1 << 20);
    put_value(json, "mem_total_mb", node, device, FIELD_MEM_TOTAL_BYTES, 1 << 20);
    put_processes(state, node, device);
    put_identity(json, device);
    put_fields(json, node, device);
    put_ages(json, node, device);
    put_lists(json, device);
    put_entries(state, node, device);
    json_end_object(json);
}
