#include "render/shown.h"

#include "core/utf8.h"
#include "render/times.h"

/* "TEXT" or "TEXT (DETAILS)", then ": REMEDY". */
static void put_fault(struct buffer *out, const char *what, struct text details, const char *remedy)
{
    buffer_put_string(out, what);
    if (details.len) {
        buffer_put_string(out, " (");
        utf8_put_visible(out, details);
        buffer_put_char(out, ')');
    }
    if (remedy) {
        buffer_put_string(out, ": ");
        buffer_put_string(out, remedy);
    }
}

static void put_fault_with_code(struct buffer *out, const struct snapshot *snapshot, const char *what)
{
    put_fault(out, what, snapshot->fault_text, render_clustat_error(snapshot->fault_code));
    buffer_printf(out, " (NVML error %d, %s)", (int)snapshot->fault_code,
                  render_gpustat_error(snapshot->fault_code));
}

static void put_pending(struct buffer *out, const struct pending_call *pending)
{
    buffer_put_string(out, "driver not answering");
    if (!text_is_present(pending->name))
        return;
    buffer_put_string(out, ": ");
    utf8_put_visible(out, pending->name);
    if (pending->device >= 0)
        buffer_printf(out, " on device %d", (int)pending->device);
    buffer_printf(out, " for %llu s", (unsigned long long)(pending->running_us / 1000000));
}

static bool has_long_call(const struct snapshot *snapshot)
{
    return text_is_present(snapshot->pending.name) && snapshot->pending.running_us >= SHOWN_LONG_CALL_US;
}

void render_node_fault(const struct snapshot *snapshot, struct buffer *out)
{
    switch (snapshot->fault) {
    case NODE_FAULT_NONE:
        if (has_long_call(snapshot))
            put_pending(out, &snapshot->pending);
        break;
    case NODE_FAULT_LIBRARY_MISSING:
        put_fault(out, "NVIDIA driver library not found", snapshot->fault_text,
                  "install the NVIDIA driver, or name its library in runtime.nvml_lib_path");
        break;
    case NODE_FAULT_LIBRARY_STUB:
        put_fault(out, "found a CUDA toolkit stub instead of the NVIDIA driver library", snapshot->fault_text,
                  "install the NVIDIA driver, or name its library in runtime.nvml_lib_path");
        break;
    case NODE_FAULT_LIBRARY_UNUSABLE:
        put_fault(out, "NVIDIA driver library cannot be used", snapshot->fault_text,
                  "reinstall the NVIDIA driver");
        break;
    case NODE_FAULT_DRIVER_NOT_LOADED:
        put_fault(out, "NVIDIA kernel driver not loaded", snapshot->fault_text, "modprobe nvidia");
        break;
    case NODE_FAULT_VERSION_MISMATCH:
        put_fault(out, "NVIDIA kernel driver and library versions differ", snapshot->fault_text,
                  "reload the kernel driver or reboot");
        break;
    case NODE_FAULT_INIT:
        put_fault_with_code(out, snapshot, "NVIDIA driver cannot be initialised");
        break;
    case NODE_FAULT_DEVICE_COUNT:
        put_fault_with_code(out, snapshot, "NVIDIA driver does not tell its devices");
        break;
    case NODE_FAULT_HUNG:
        put_pending(out, &snapshot->pending);
        break;
    case NODE_FAULT_PAUSED:
        put_fault(out, "paused by admin", snapshot->fault_text, NULL);
        break;
    case NODE_FAULT_KINDS:
    default: /* a kind that a newer node knows */
        put_fault(out, "node fault", snapshot->fault_text, NULL);
    }
}

static void put_state(const struct view *view, const struct view_node *node, struct buffer *out)
{
    switch (node->state) {
    case NODE_UP:
        break;
    case NODE_STALE:
        buffer_put_string(out, "stale ");
        time_put_age_exact(out, node->age_us);
        break;
    case NODE_DOWN:
    case NODE_STOPPED:
        buffer_put_string(out, node->state == NODE_DOWN ? "down" : "stopped");
        if (!node->since_unix_us)
            break;
        buffer_put_string(out, " since ");
        time_put_since(out, node->since_unix_us, view->now_unix_us);
        break;
    case NODE_WARMING:
        buffer_put_string(out, "warming");
        break;
    }
}

/* Puts a separator behind a part that was just written, if something was. */
static size_t part_end(struct buffer *out, size_t start)
{
    if (out->len > start)
        buffer_put_string(out, "; ");
    return out->len;
}

void shown_put_node_error(const struct view *view, const struct view_node *node, struct buffer *out)
{
    size_t start = out->len, at;

    put_state(view, node, out);
    at = part_end(out, start);
    if (node->error.len)
        utf8_put_visible(out, node->error);
    at = part_end(out, at);
    if (node->snapshot && shown_node_values(node))
        render_node_fault(node->snapshot, out);
    /* The last separator has nothing behind it. */
    if (out->len == at && at > start && !buffer_error(out))
        out->len -= 2;
}
