#include "gpu/nvml_library.h"

#include "core/cleanup.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "x86_64-linux-gnu"
#endif

#define LIBRARY "libnvidia-ml.so.1"

/*
 * The loader's own search first, with the name that drivers install: the one without a number is often
 * absent, or a toolkit's stub. Then folders that the loader may not know: Debian's, Red Hat's, WSL's, those
 * of containers, the GPU operator, Google's and NixOS's nodes, and Jetson's.
 */
static const char *const usual_places[] = {
    LIBRARY,
    "libnvidia-ml.so",
    "/usr/lib/" MULTIARCH "/" LIBRARY,
    "/usr/lib64/" LIBRARY,
    "/usr/lib/" LIBRARY,
    "/usr/lib/" MULTIARCH "/nvidia/current/" LIBRARY,
    "/usr/lib64/nvidia/" LIBRARY,
    "/usr/lib/nvidia/" LIBRARY,
    "/usr/lib/wsl/lib/" LIBRARY,
    "/usr/local/nvidia/lib64/" LIBRARY,
    "/usr/local/nvidia/lib/" LIBRARY,
    "/run/nvidia/driver/usr/lib/" MULTIARCH "/" LIBRARY,
    "/run/nvidia/driver/usr/lib64/" LIBRARY,
    "/home/kubernetes/bin/nvidia/lib64/" LIBRARY,
    "/run/opengl-driver/lib/" LIBRARY,
    "/usr/lib/" MULTIARCH "/nvidia/" LIBRARY,
    "/usr/lib/" MULTIARCH "/tegra/" LIBRARY,
};

/* A driver's library has more than a megabyte, a stub some ten kilobytes. */
#define STUB_MAX_BYTES (256 * 1024)

static bool holds_stub_sentence(const char *path)
{
    static const char sentence[] = "stub library";
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void *bytes;
    bool found;

    if (fd < 0 || fstat(fd, &status) < 0 || status.st_size <= 0 || status.st_size > STUB_MAX_BYTES)
        return false;
    bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return false;
    found = memmem(bytes, (size_t)status.st_size, sentence, sizeof(sentence) - 1);
    munmap(bytes, (size_t)status.st_size);
    return found;
}

bool nvml_library_is_stub(const char *path)
{
    _cleanup_(cleanup_free) char *real = realpath(path, NULL);

    return strstr(path, "/stubs/") || (real && strstr(real, "/stubs/")) || holds_stub_sentence(path);
}

static void remember_path(struct nvml_library *library)
{
    struct link_map *map;

    if (dlinfo(library->handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name)
        text_copy(text_from_string(map->l_name), library->path, sizeof(library->path));
}

/* True if the loader's complaint means that there is no such file, rather than that it cannot be used. */
static bool is_missing(const char *path, const char *complaint)
{
    if (strchr(path, '/'))
        return access(path, F_OK) < 0;
    return strncmp(complaint, path, strlen(path)) == 0 && strstr(complaint, "No such file");
}

/* Tries one place. On a fault other than MISSING, `reason` is replaced by its text. */
static enum node_fault try_place(struct nvml_library *library, const char *place, struct buffer *reason)
{
    const char *complaint, *lacks;

    library->handle = dlopen(place, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle) {
        complaint = dlerror();
        if (!complaint || is_missing(place, complaint))
            return NODE_FAULT_LIBRARY_MISSING;
        buffer_clear(reason);
        buffer_printf(reason, "cannot load %s", complaint);
        return NODE_FAULT_LIBRARY_UNUSABLE;
    }
    remember_path(library);
    if (nvml_library_is_stub(library->path[0] ? library->path : place)) {
        buffer_clear(reason);
        buffer_printf(reason, "%s is a stub of the CUDA toolkit", library->path[0] ? library->path : place);
        dlclose(library->handle); /* nothing of it was called */
        library->handle = NULL;
        return NODE_FAULT_LIBRARY_STUB;
    }
    lacks = nvml_symbols_resolve(library->handle, &library->resolved);
    if (!lacks)
        return NODE_FAULT_NONE;
    buffer_clear(reason);
    buffer_printf(reason, "%s lacks %s", library->path[0] ? library->path : place, lacks);
    dlclose(library->handle);
    library->handle = NULL;
    return NODE_FAULT_LIBRARY_UNUSABLE;
}

enum node_fault nvml_library_open(struct nvml_library *library, const char *path, struct buffer *reason)
{
    const char *const *places = path ? &path : usual_places;
    size_t count = path ? 1 : sizeof(usual_places) / sizeof(usual_places[0]);
    enum node_fault worst = NODE_FAULT_LIBRARY_MISSING;

    /* A stub or a broken file is not the end of the search, but it explains a failure best. */
    for (size_t i = 0; i < count; i++) {
        enum node_fault fault;

        *library = (struct nvml_library){0};
        fault = try_place(library, places[i], reason);
        if (fault == NODE_FAULT_NONE) {
            buffer_clear(reason);
            return fault;
        }
        if (fault != NODE_FAULT_LIBRARY_MISSING)
            worst = fault;
    }
    if (worst == NODE_FAULT_LIBRARY_MISSING) {
        buffer_clear(reason);
        buffer_put_string(reason, "tried ");
        for (size_t i = 0; i < count; i++)
            buffer_printf(reason, i ? ", %s" : "%s", places[i]);
    }
    return worst;
}
