/*
 * Finding and loading the driver's management library, and knowing it from the stub that CUDA toolkits bring
 * for linking.
 */
#ifndef GPU_NVML_LIBRARY_H
#define GPU_NVML_LIBRARY_H

#include "core/buffer.h"
#include "gpu/nvml_symbols.h"
#include "model/snapshot.h"

struct nvml_library {
    void *handle; /* of dlopen(); never closed, the library leaves threads and exit handlers behind */
    struct nvml_resolved resolved;
    char path[256]; /* where the loader found it; empty if it does not say */
};

/*
 * Loads the library.
 * path: the only file to try; NULL: libnvidia-ml.so.1, libnvidia-ml.so, then the usual folders.
 * reason: gets a text for a person when the result is a fault: what was tried, what is missing.
 * Returns NODE_FAULT_NONE, or NODE_FAULT_LIBRARY_MISSING, _STUB or _UNUSABLE.
 */
enum node_fault nvml_library_open(struct nvml_library *library, const char *path, struct buffer *reason);

/*
 * True if the file is a toolkit's stub: it lies in a folder named "stubs", or it is small and holds the
 * sentence with which a stub complains. Asked before anything is called, for a stub prints that complaint.
 */
bool nvml_library_is_stub(const char *path);

#endif
