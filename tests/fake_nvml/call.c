#include "call.h"

#include <string.h>

#include "delay.h"
#include "fault.h"
#include "log.h"

#define NS_PER_US 1000

struct call call_begin(const char *function)
{
    struct call call = {.function = function, .start_ns = monotonic_ns(), .position = -1};
    pthread_mutex_lock(&library.lock);
    call.t = library_time(call.start_ns);
    call.scenario = &library.scenario;
    return call;
}

bool call_initialised(struct call *call)
{
    if (library.init_count == 0)
        call->rc = NVML_UNINITIALIZED;
    return library.init_count > 0;
}

void call_set_device(struct call *call, uint32_t position)
{
    call->position = (int)position;
    call->device = &call->scenario->devices[position];
}

/* Serves all latencies and hangs, then takes the first return code. */
bool call_faults(struct call *call)
{
    const struct scenario *scenario = call->scenario;
    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct fault *fault = &scenario->faults[i];
        if (!fault_meets(fault, call->function, call->position, call->t))
            continue;
        switch (fault->kind) {
        case FAULT_RC:
            if (call->rc == NVML_SUCCESS)
                call->rc = fault->rc;
            break;
        case FAULT_LATENCY:
            delay_for(delay_from(fault->latency_us, NS_PER_US));
            break;
        case FAULT_HANG_FOREVER:
            log_call(call->start_ns, 0, call->function, call->position, -1);
            fault_hang_forever();
        }
    }
    return call->rc == NVML_SUCCESS;
}

bool call_system(struct call *call)
{
    return call_initialised(call) && call_faults(call);
}

bool call_any_device(struct call *call, const void *handle)
{
    uint32_t position;
    if (!call_initialised(call))
        return false;
    if (!library_find_handle(handle, &position, &call->mig)) {
        call->rc = NVML_INVALID_ARGUMENT;
        return false;
    }
    call_set_device(call, position);
    return call_faults(call);
}

bool call_gpu(struct call *call, const void *handle)
{
    if (!call_any_device(call, handle))
        return false;
    if (call->mig)
        call->rc = NVML_NOT_SUPPORTED;
    return !call->mig;
}

bool call_require_that(struct call *call, bool condition)
{
    if (!condition)
        call->rc = NVML_INVALID_ARGUMENT;
    return condition;
}

bool call_require(struct call *call, const void *address)
{
    return call_require_that(call, address != NULL);
}

void call_answer_text(struct call *call, int rc, const char *text, char *ret_text, uint32_t size)
{
    if (!call_require(call, ret_text))
        return;
    call->rc = rc;
    if (rc != NVML_SUCCESS)
        return;
    size_t need = strlen(text) + 1;
    if (need > size)
        call->rc = NVML_INSUFFICIENT_SIZE;
    else
        memcpy(ret_text, text, need);
}

int call_end(struct call *call)
{
    log_call(call->start_ns, monotonic_ns(), call->function, call->position, call->rc);
    pthread_mutex_unlock(&library.lock);
    return call->rc;
}
