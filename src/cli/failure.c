#include "cli/failure.h"

#include "cli/output.h"
#include "core/cleanup.h"
#include "core/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Codes of the vendor's library that gpustat's texts are looked up by. */
#define CODE_DRIVER_NOT_LOADED 9
#define CODE_TIMEOUT           10
#define CODE_LIBRARY_NOT_FOUND 12
#define CODE_VERSION_MISMATCH  18
#define CODE_INVALID_ARGUMENT  2

static void report_as_gpustat(const struct show *show, const char *message)
{
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;
    bool red = isatty(STDERR_FILENO) == 1 && show->render.colors && show->options->color != COLOR_NEVER;

    buffer_put_string(&out, "Error on querying NVIDIA devices. Use --debug flag to see more details.\n");
    buffer_put_string(&out, red ? "\033[31m" : "");
    utf8_put_visible(&out, text_from_string(message));
    buffer_put_string(&out, red ? "\033[0m\n" : "\n");
    output_write(STDERR_FILENO, buffer_text(&out));
}

void failure_report(const struct show *show, const char *message)
{
    if (show->options->as_gpustat)
        report_as_gpustat(show, message);
    else
        output_complain(show->program, "%s", message);
}

static int32_t code_for_gpustat(const struct snapshot *snapshot)
{
    switch (snapshot->fault) {
    case NODE_FAULT_LIBRARY_MISSING:
    case NODE_FAULT_LIBRARY_STUB:
    case NODE_FAULT_LIBRARY_UNUSABLE:
        return CODE_LIBRARY_NOT_FOUND;
    case NODE_FAULT_DRIVER_NOT_LOADED:
        return CODE_DRIVER_NOT_LOADED;
    case NODE_FAULT_VERSION_MISMATCH:
        return CODE_VERSION_MISMATCH;
    case NODE_FAULT_HUNG:
    case NODE_FAULT_PAUSED:
        return CODE_TIMEOUT;
    case NODE_FAULT_INIT:
    case NODE_FAULT_DEVICE_COUNT:
    case NODE_FAULT_NONE:
    case NODE_FAULT_KINDS:
        break;
    }
    return snapshot->fault_code;
}

/* Our own line about the node. */
static void complain_of_node(const struct show *show, const struct snapshot *snapshot)
{
    _cleanup_(buffer_deinit) struct buffer text = BUFFER_EMPTY;

    render_node_fault(snapshot, &text);
    output_complain(show->program, "%.*s", (int)text.len, buffer_text(&text).bytes);
}

void failure_report_node(const struct show *show, const struct snapshot *snapshot)
{
    if (!show->options->as_gpustat) {
        complain_of_node(show, snapshot);
        return;
    }
    if (show->options->debug)
        complain_of_node(show, snapshot);
    report_as_gpustat(show, render_gpustat_error(code_for_gpustat(snapshot)));
}

static unsigned gpu_count(const struct snapshot *snapshot)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < snapshot->device_count; i++)
        count += snapshot->devices[i].kind == DEVICE_GPU;
    return count;
}

void failure_report_id(const struct show *show, const struct snapshot *snapshot, uint32_t index)
{
    if (show->options->as_gpustat)
        report_as_gpustat(show, render_gpustat_error(CODE_INVALID_ARGUMENT));
    else if (index == UINT32_MAX)
        output_complain(show->program, "--id %s: no such GPU; this machine has %u", show->options->ids,
                        gpu_count(snapshot));
    else
        output_complain(show->program, "--id %s: no GPU %u; this machine has %u", show->options->ids, index,
                        gpu_count(snapshot));
}

void failure_report_cluster_id(const struct show *show, uint32_t index)
{
    if (show->options->as_gpustat)
        report_as_gpustat(show, render_gpustat_error(CODE_INVALID_ARGUMENT));
    else if (index == UINT32_MAX)
        output_complain(show->program, "--id %s: no node has such a GPU", show->options->ids);
    else
        output_complain(show->program, "--id %s: no node has a GPU %u", show->options->ids, index);
}

void failure_report_start(const struct show *show, int error)
{
    char message[256];

    if (error == -EBUSY)
        snprintf(message, sizeof(message),
                 "two earlier readers of the driver still hang in it, so it is not asked again; "
                 "`ps -C " SAMPLER_ROLE "` shows them, a reset of the GPU or a reboot ends them");
    else
        snprintf(message, sizeof(message), "cannot start the process that reads the driver: %s",
                 strerror(-error));
    failure_report(show, message);
}

void failure_put_call(struct buffer *out, const struct sampler_call *call)
{
    buffer_put_string(out, call->name);
    if (call->device >= 0)
        buffer_printf(out, " on GPU %d", call->device);
}

void failure_report_silence(const struct show *show, const struct sampler_call *call, unsigned ended)
{
    _cleanup_(buffer_deinit) struct buffer message = BUFFER_EMPTY;

    if (ended) {
        buffer_printf(&message, "the process that reads the driver ended %u times; dmesg may tell why",
                      ended);
    } else if (call) {
        buffer_put_string(&message, "the driver does not answer: ");
        failure_put_call(&message, call);
        buffer_printf(&message, " has been running for %lld s; dmesg may tell why",
                      (long long)(call->running_ns / NS_PER_S));
    } else {
        buffer_put_string(&message, "the driver gave no answer in time; dmesg may tell why");
    }
    buffer_put_char(&message, '\0');
    failure_report(show, buffer_text(&message).bytes);
}

void failure_note_call(const struct show *show, const struct sampler_call *call)
{
    _cleanup_(buffer_deinit) struct buffer what = BUFFER_EMPTY;

    failure_put_call(&what, call);
    output_complain(show->program, "%.*s has not returned for %lld s; shown is what was read before",
                    (int)what.len, buffer_text(&what).bytes, (long long)(call->running_ns / NS_PER_S));
}

static void debug_device(const struct show *show, const struct device *device)
{
    static const char *const lists[LIST_COUNT] = {"compute", "graphics", "MPS"};
    const char *kind = device->kind == DEVICE_MIG ? " MIG" : "";

    if (device->state == DEVICE_FAULT)
        output_complain(show->program, "debug: GPU %u%s: code %d: %s", device->index, kind,
                        device->fault_code, render_clustat_error(device->fault_code));
    for (int list = 0; list < LIST_COUNT; list++)
        if (device->list_code[list] > 0)
            output_complain(show->program, "debug: GPU %u%s: %s process list: code %d: %s", device->index,
                            kind, lists[list], device->list_code[list],
                            render_clustat_error(device->list_code[list]));
    for (int field = 0; field < FIELD_COUNT; field++) {
        const struct field_info *info = field_info((enum device_field)field);

        if (device->group_age_us[info->group] != AGE_NEVER && device->kind == DEVICE_GPU &&
            !field_has(&device->values, (enum device_field)field))
            output_complain(show->program, "debug: GPU %u: no %s (%s)", device->index, info->json_name,
                            info->source);
    }
}

void failure_debug(const struct show *show, const struct snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->device_count; i++)
        debug_device(show, &snapshot->devices[i]);
    output_complain(show->program, "debug: %u devices, %u process entries, %.2f %% of the time in the driver",
                    snapshot->device_count, snapshot->entry_count, snapshot->driver_time_ppm / 1e4);
}
