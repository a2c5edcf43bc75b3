#include "gpu/nvml_symbols.h"

#include <dlfcn.h>
#include <string.h>

static const struct nvml_symbol table[NVML_SYMBOL_COUNT] = {
#define X(symbol, kind, prototype, ...) {#symbol, NVML_##kind, {__VA_ARGS__}},
    NVML_SYMBOLS(X)
#undef X
};

const struct nvml_symbol *nvml_symbol(size_t place)
{
    return &table[place];
}

/*
 * Drivers 535.43.02 to 535.86.05 write 32-byte entries from calls named _v3. They are the only ones that have
 * the confidential computing call without the list of process details, into which the longer entry moved.
 */
static bool writes_long_v3_entries(void *library)
{
    return dlsym(library, "nvmlDeviceGetConfComputeMemSizeInfo") &&
           !dlsym(library, "nvmlDeviceGetRunningProcessDetailList");
}

static bool is_process_list(size_t place)
{
    return place == NVML_SYMBOL(compute_processes) || place == NVML_SYMBOL(graphics_processes) ||
           place == NVML_SYMBOL(mps_processes);
}

static void resolve(void *library, size_t place, size_t first_version, struct nvml_resolved *resolved)
{
    void *address = NULL;

    for (size_t version = first_version; version < NVML_SYMBOL_VERSIONS && !address; version++) {
        if (!table[place].names[version])
            break;
        address = dlsym(library, table[place].names[version]);
        if (address)
            resolved->name[place] = table[place].names[version];
    }
    /* POSIX lets a data pointer carry a function's address; C has no cast for it. */
    memcpy((char *)&resolved->calls + place * sizeof(address), &address, sizeof(address));
}

const char *nvml_symbols_resolve(void *library, struct nvml_resolved *ret_resolved)
{
    bool skip_v3 = writes_long_v3_entries(library);

    *ret_resolved = (struct nvml_resolved){0};
    for (size_t place = 0; place < NVML_SYMBOL_COUNT; place++) {
        resolve(library, place, skip_v3 && is_process_list(place) ? 1 : 0, ret_resolved);
        if (table[place].kind == NVML_REQUIRED && !ret_resolved->name[place])
            return table[place].names[0];
    }
    return NULL;
}
