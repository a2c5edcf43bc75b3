/*
 * What of a view is shown, whatever the output: which devices, which of their values can be trusted, how a
 * user is called, what is wrong with a node. Table and JSON both ask here, so that they cannot disagree.
 */
#ifndef RENDER_SHOWN_H
#define RENDER_SHOWN_H

#include "core/buffer.h"
#include "model/merge.h"
#include "render/render.h"

/* Readings older than this are marked (design.md section 5). */
#define SHOWN_OLD_US UINT64_C(2000000)

/* A driver call that runs longer is named. */
#define SHOWN_LONG_CALL_US UINT64_C(2000000)

/* A measured round trip older than this is left out of the header. */
#define SHOWN_DELAY_MAX_AGE_US UINT64_C(10000000)

/* The devices of one node that `options` want, in the order of display (--id: as given, also twice). */
struct device_choice {
    const struct snapshot *snapshot;
    const struct render_options *options;
    bool instances; /* MIG instances too */
    size_t id_at;
    uint32_t device_at;
};

/* gpustat knows no MIG instances: `instances` false. A snapshot of NULL has no device. */
struct device_choice device_choice_new(const struct snapshot *snapshot, const struct render_options *options,
                                       bool instances);

/* The next device, or NULL. */
const struct device *device_choice_next(struct device_choice *choice);

/* False for a snapshot that only names the node: nothing was ever read of it. */
bool shown_node_was_read(const struct view_node *node);

/* True if the node's last values may be shown as its present ones: it answers, if late (with a mark). */
bool shown_node_values(const struct view_node *node);

/*
 * The value of a field. Absent on a device that is in any trouble as a whole: what was read before is not
 * what is true now.
 */
bool shown_value(const struct device *device, enum device_field field, int64_t *ret_value);

/* Age of a group of values at the time of display; AGE_NEVER if never read. */
uint64_t shown_age_us(const struct view_node *node, const struct device *device, enum field_group group);

/* The same as gpustat would have it: the system's figures for unified memory are absent. */
bool shown_gpustat_value(const struct device *device, enum device_field field, int64_t *ret_value);

/* The name of a process's user, else the uid in decimal (written to `number`), else absent. */
struct text shown_user(const struct view *view, const struct process *process, char number[11]);

/* Rows of a device's processes; grows as needed, one for a whole rendering. */
struct row_store {
    struct process_row *rows; /* owned */
    size_t cap;
};

void row_store_deinit(struct row_store *store);

/*
 * Merges the device's entries by the rules of `style`. Returns the count of store->rows; if there is no
 * memory, 0, with the error set in `out`.
 */
size_t row_store_fill(struct row_store *store, enum render_style style, const struct snapshot *snapshot,
                      const struct device *device, struct buffer *out);

/* True if all that can be said of the device is why it is not there ("((GPU is lost))"). */
bool shown_is_lost(const struct device *device);

/* What gpustat calls such a device: "GPU is lost" and the like, without its brackets. */
const char *shown_lost_reason(const struct device *device);

/* Host name of a node, else its address, else its connection id, else "?". */
struct text shown_hostname(const struct view_node *node);

/* What is wrong with a node, for a person, in one line ("stale 3.2s; driver not answering: ..."). Writes
 * nothing if all is well. */
void shown_put_node_error(const struct view *view, const struct view_node *node, struct buffer *out);

#endif
