/* What is said, and in which words, when the driver gives nothing to show. */
#ifndef CLI_FAILURE_H
#define CLI_FAILURE_H

#include "cli/show.h"
#include "sampler/sampler.h"

/* gpustat's two lines, or one of our own, about text `message` that has no code behind it. */
void failure_report(const struct show *show, const char *message);

/* The node's fault. Under the name gpustat: its two lines with its text for the vendor's code. */
void failure_report_node(const struct show *show, const struct snapshot *snapshot);

/* An index of --id that no GPU has. */
void failure_report_id(const struct show *show, const struct snapshot *snapshot, uint32_t index);

/* An index of --id that no GPU of any node has. */
void failure_report_cluster_id(const struct show *show, uint32_t index);

/* sampler_start() failed. */
void failure_report_start(const struct show *show, int error);

/* Nothing was read: a call hangs (call), the sampler ended again and again, or nothing of either (NULL). */
void failure_report_silence(const struct show *show, const struct sampler_call *call, unsigned ended);

/* Appends the call's name and its GPU: "nvmlInit_v2", "nvmlDeviceGetName on GPU 1". */
void failure_put_call(struct buffer *out, const struct sampler_call *call);

/* One line about a call that hangs while the rest is shown. */
void failure_note_call(const struct show *show, const struct sampler_call *call);

/* For --debug: what could not be read, one line per device and list. */
void failure_debug(const struct show *show, const struct snapshot *snapshot);

#endif
