/*
 * One call of the NVML interface, from its entry to its return. Every exported function has this shape:
 *
 *     NVML_CALL(nvmlDeviceGetFanSpeed, void *device, uint32_t *ret_percent)
 *     {
 *         struct call call = call_begin(__func__);
 *         if (call_gpu(&call, device) && call_require(&call, ret_percent))
 *             call.rc = value_u32(&call.device->fan, call.t, ret_percent);
 *         return call_end(&call);
 *     }
 *
 * call_begin() takes the lock; one of call_system(), call_gpu(), call_any_device() checks that the library is
 * initialised and the handle valid and serves the faults, in this order; call_require() checks the arguments;
 * then comes the answer; call_end() writes the log line and gives the lock back. After a check that failed,
 * `rc` says why.
 */
#pragma once

#include "evaluate.h"
#include "library.h"
#include "nvml_codes.h"

/* Declares and defines an exported function. Which of them a library really exports, its profile says. */
#define NVML_CALL(name_, ...) \
    __attribute__((visibility("default"))) int name_(__VA_ARGS__); \
    int name_(__VA_ARGS__)

struct call {
    const char *function; /* the exported name */
    int64_t start_ns;     /* CLOCK_MONOTONIC at entry, before the lock */
    double t;             /* the same in seconds since time zero: what all values are asked at */
    int rc;
    int position; /* of the device in the scenario, -1: none */
    const struct scenario *scenario;
    const struct device *device;
    const struct mig_device *mig; /* NULL if the handle is of a whole device */
};

struct call call_begin(const char *function);

/* A call on no device. */
bool call_system(struct call *call);

/* A call on a device. call_gpu() answers 3 for a MIG device's handle, call_any_device() takes it. */
bool call_gpu(struct call *call, const void *handle);
bool call_any_device(struct call *call, const void *handle);

/*
 * Parts of the above, for look-ups, which learn their device before the faults are served, and for init and
 * version calls, which work while nothing is initialised.
 */
bool call_initialised(struct call *call);
void call_set_device(struct call *call, uint32_t position);
bool call_faults(struct call *call);

/* Checks an argument: an address that must not be NULL, or any condition. */
bool call_require(struct call *call, const void *address);
bool call_require_that(struct call *call, bool condition);

/* Answers with a text: 2 without a buffer, 7 if it does not fit with its NUL. `rc` is the code of having the
 * text. */
void call_answer_text(struct call *call, int rc, const char *text, char *ret_text, uint32_t size);

/* Writes the log line, gives the lock back and returns the call's code. */
int call_end(struct call *call);
