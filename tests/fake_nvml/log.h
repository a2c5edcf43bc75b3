/*
 * The call log: one line per call, `START END PID FUNCTION DEVICE RC`, appended to the file that
 * FAKE_NVML_LOG names by one write, so that lines of several processes never mix. Without FAKE_NVML_LOG
 * nothing is written.
 */
#pragma once

#include <stdint.h>

/* Opens the file if that has not been done. Returns 0 (also without FAKE_NVML_LOG) or -errno. */
int log_open(void);

/* Appends a line. `position` is that of the device, -1 for a call that has none. */
void log_call(int64_t start_ns, int64_t end_ns, const char *function, int position, int rc);
