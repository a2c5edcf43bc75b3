/* Loading, initialising and listing, and what is said when one of them fails. */
#include "gpu/nvml_source.h"

#include "core/cleanup.h"

#include <errno.h>
#include <string.h>

/* After this many starts that failed for no reason a person could mend, only a new process is worth trying.
 */
#define FAILED_STARTS_MAX 3

void nvml_clear_fault(struct nvml_source *source)
{
    source->fault = NODE_FAULT_NONE;
    source->fault_code = 0;
    buffer_clear(&source->fault_text);
}

void nvml_set_fault(struct nvml_source *source, enum node_fault fault, int code)
{
    source->fault = fault;
    source->fault_code = code;
}

/* Both versions, as far as they can be had. */
static void describe_mismatch(struct nvml_source *source)
{
    char kernel[NVML_VERSION_SIZE];

    if (pci_driver_version(source->options.sysfs_root, kernel, sizeof(kernel)))
        buffer_printf(&source->fault_text, "kernel module %s", kernel);
    if (source->nvml_version[0])
        buffer_printf(&source->fault_text, "%slibrary %s", source->fault_text.len ? ", " : "",
                      source->nvml_version);
}

static void read_nvml_version(struct nvml_source *source)
{
    char version[NVML_VERSION_SIZE] = "";
    int code = nvml_call(source, -1, nvml_version, version, sizeof(version));

    version[sizeof(version) - 1] = '\0';
    memcpy(source->nvml_version, code == NVML_SUCCESS ? version : "",
           code == NVML_SUCCESS ? sizeof(version) : 1);
}

static void read_driver_version(struct nvml_source *source)
{
    char version[NVML_VERSION_SIZE] = "";
    int code = nvml_call(source, -1, driver_version, version, sizeof(version));

    version[sizeof(version) - 1] = '\0';
    memcpy(source->driver_version, code == NVML_SUCCESS ? version : "",
           code == NVML_SUCCESS ? sizeof(version) : 1);
}

int nvml_initialise(struct nvml_source *source)
{
    int code = nvml_call(source, -1, init);

    if (code == NVML_SUCCESS) {
        source->initialised = true;
        source->failed_starts = 0;
        source->event_set = NULL; /* sets and handles of an earlier initialisation are dead */
        source->events_refused = false;
        return SOURCE_OK;
    }
    source->initialised = false;
    if (code == NVML_ERROR_LIB_RM_VERSION_MISMATCH) {
        read_nvml_version(source); /* works without initialisation */
        describe_mismatch(source);
        nvml_set_fault(source, NODE_FAULT_VERSION_MISMATCH, code);
    } else if (code == NVML_ERROR_DRIVER_NOT_LOADED) {
        nvml_set_fault(source, NODE_FAULT_DRIVER_NOT_LOADED, code);
    } else {
        nvml_set_fault(source, NODE_FAULT_INIT, code);
        source->failed_starts++;
    }
    return SOURCE_FAULT;
}

/* Loading runs the library's constructors and reads files that may lie on a dead server: told like a call. */
static int open_library(struct nvml_source *source)
{
    const struct call_observer *observer = &source->options.observer;
    _cleanup_(buffer_deinit) struct buffer reason = BUFFER_EMPTY;
    enum node_fault fault;

    if (source->library.handle)
        return SOURCE_OK;
    observer->begin(observer->context, "dlopen", -1);
    fault = nvml_library_open(&source->library, source->options.library_path, &reason);
    observer->end(observer->context);
    buffer_put_text(&source->fault_text, buffer_text(&reason));
    nvml_set_fault(source, fault, 0);
    return fault == NODE_FAULT_NONE ? SOURCE_OK : SOURCE_FAULT;
}

int nvml_start(struct nvml_source *source, struct instant now)
{
    int code, r;

    /* The library that is mapped never fits the driver again, and another cannot take its place safely. */
    if (source->fault == NODE_FAULT_VERSION_MISMATCH || source->failed_starts >= FAILED_STARTS_MAX)
        return SOURCE_RESTART;
    nvml_clear_fault(source);
    r = open_library(source);
    if (r != SOURCE_OK)
        return r;
    if (!source->initialised) {
        r = nvml_initialise(source);
        if (r != SOURCE_OK)
            return r;
    }
    read_driver_version(source);
    read_nvml_version(source);
    code = nvml_call(source, -1, device_count, &source->driver_count);
    if (code != NVML_SUCCESS) {
        nvml_set_fault(source, NODE_FAULT_DEVICE_COUNT, code);
        return SOURCE_FAULT;
    }
    r = nvml_enumerate(source, now);
    return r < 0 ? r : SOURCE_OK;
}
