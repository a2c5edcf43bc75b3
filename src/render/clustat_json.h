/*
 * Inside of clustat's JSON: what its parts share. The schema is docs/clustat.schema.json; keys are only ever
 * added, behind those of their object.
 */
#ifndef RENDER_CLUSTAT_JSON_H
#define RENDER_CLUSTAT_JSON_H

#include "render/json_writer.h"
#include "render/shown.h"

struct clustat_json {
    struct json_writer json;
    const struct view *view;
    const struct render_options *options;
    struct row_store rows;
    struct buffer scratch;
};

/* One element of gres[]: a GPU or a MIG instance with its processes. */
void clustat_json_put_device(struct clustat_json *state, const struct view_node *node,
                             const struct device *device);

/* One element of processes[]. */
void clustat_json_put_process(struct clustat_json *state, const struct process_row *row);

/* One element of entries[]: what the driver's list said, unmerged. */
void clustat_json_put_entry(struct clustat_json *state, const struct process_entry *entry);

/* Number or null. */
void clustat_json_put_optional(struct json_writer *json, const char *key, bool present, uint64_t value);

/* A key and a text or null. */
void clustat_json_put_text(struct json_writer *json, const char *key, struct text text);

#endif
