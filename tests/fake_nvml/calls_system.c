/* Calls about the library and the driver: init, shutdown, versions, error texts. */
#include "call.h"
#include "delay.h"
#include "log.h"

#define NS_PER_MS        1000000
#define NVML_BEFORE_INIT "13.580.95.05" /* the format's default, when no scenario can be read */

/* The code of the first device that cannot be had, which the oldest init call passes on. */
static int first_bad_device(const struct call *call)
{
    int rc = NVML_SUCCESS;
    for (size_t i = 0; i < call->scenario->device_count && rc == NVML_SUCCESS; i++)
        rc = value_code(&call->scenario->devices[i].handle, call->t);
    return rc;
}

static int init(const char *function, bool all_devices)
{
    struct call call = call_begin(function);
    library_start_clock(call.start_ns);
    call.t = library_time(call.start_ns);
    call.rc = library_load();
    if (call.rc == NVML_SUCCESS && call_faults(&call)) {
        delay_for(delay_from(call.scenario->driver.init_ms, NS_PER_MS));
        call.rc = call.scenario->driver.init_rc;
    }
    if (call.rc == NVML_SUCCESS && all_devices)
        call.rc = first_bad_device(&call);
    if (call.rc == NVML_SUCCESS)
        library.init_count++;
    return call_end(&call);
}

NVML_CALL(nvmlInit, void)
{
    return init(__func__, true);
}

NVML_CALL(nvmlInit_v2, void)
{
    return init(__func__, false);
}

NVML_CALL(nvmlInitWithFlags, uint32_t flags)
{
    (void)flags; /* init succeeds without devices anyway, and nothing is attached */
    return init(__func__, false);
}

NVML_CALL(nvmlShutdown, void)
{
    struct call call = call_begin(__func__);
    if (call_system(&call) && --library.init_count == 0)
        library_end_generation();
    return call_end(&call);
}

static const char *error_text(int rc)
{
    static const char *const texts[] = {
        "Success",
        "Uninitialized",
        "Invalid Argument",
        "Not Supported",
        "Insufficient Permissions",
        "Already Initialized",
        "Not Found",
        "Insufficient Size",
        "Insufficient External Power",
        "Driver Not Loaded",
        "Timeout",
        "Interrupt Request Issue",
        "NVML Shared Library Not Found",
        "Function Not Found",
        "Corrupted infoROM",
        "GPU is lost",
        "GPU requires restart",
        "The operating system has blocked the request.",
        "Driver/library version mismatch",
        NULL,
        "Insufficient Memory",
    };
    const char *text = rc >= 0 && rc < (int)(sizeof(texts) / sizeof(texts[0])) ? texts[rc] : NULL;
    return text ? text : "Unknown Error";
}

/* Takes no lock: it must answer while another thread's call hangs. */
__attribute__((visibility("default"))) const char *nvmlErrorString(int rc);
const char *nvmlErrorString(int rc)
{
    int64_t start_ns = monotonic_ns();
    const char *text = error_text(rc);
    log_call(start_ns, monotonic_ns(), __func__, -1, NVML_SUCCESS);
    return text;
}

NVML_CALL(nvmlSystemGetDriverVersion, char *ret_text, uint32_t size)
{
    struct call call = call_begin(__func__);
    if (call_system(&call)) {
        const char *text = NULL;
        int rc = value_text(&call.scenario->driver.version, call.t, &text);
        call_answer_text(&call, rc, text, ret_text, size);
    }
    return call_end(&call);
}

/* Works before init, so it may be what reads the scenario; time zero stays the first init call's. */
NVML_CALL(nvmlSystemGetNVMLVersion, char *ret_text, uint32_t size)
{
    struct call call = call_begin(__func__);
    bool loaded = library_load() == NVML_SUCCESS;
    if (!loaded || call_faults(&call))
        call_answer_text(&call, NVML_SUCCESS, loaded ? call.scenario->driver.nvml : NVML_BEFORE_INIT,
                         ret_text, size);
    return call_end(&call);
}

static int cuda_version(const char *function, int32_t *ret_version)
{
    struct call call = call_begin(function);
    if (call_system(&call) && call_require(&call, ret_version))
        *ret_version = call.scenario->driver.cuda;
    return call_end(&call);
}

NVML_CALL(nvmlSystemGetCudaDriverVersion, int32_t *ret_version)
{
    return cuda_version(__func__, ret_version);
}

NVML_CALL(nvmlSystemGetCudaDriverVersion_v2, int32_t *ret_version)
{
    return cuda_version(__func__, ret_version);
}
