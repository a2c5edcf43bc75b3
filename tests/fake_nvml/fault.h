/* Injected faults: which of a scenario's faults meet a call. */
#pragma once

#include "scenario.h"

/* True if `fault` is active at `t` for the exported name `function` called on the device at `position` (-1:
 * none). */
bool fault_meets(const struct fault *fault, const char *function, int position, double t);

/* Matches `text` with `*` (any characters, also none) and `?` (any one). */
bool fault_glob(const char *glob, const char *text);

/*
 * Never returns. With FAKE_NVML_FREEZE_FILE it first writes to that existing file, which on a frozen file
 * system is an uninterruptible sleep, as in a driver call that not even SIGKILL ends; else, and afterwards,
 * signals can end it.
 */
_Noreturn void fault_hang_forever(void);
