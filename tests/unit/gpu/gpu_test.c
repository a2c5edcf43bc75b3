#include "gpu_test.h"

#include "core/cleanup.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

static void begin(void *context, const char *call, int32_t device)
{
    struct gpu_test *test = context;

    assert_int_equal(test->depth, 0);
    test->depth++;
    if (test->call_count == test->call_cap) {
        test->call_cap = test->call_cap ? test->call_cap * 2 : 256;
        test->calls = reallocarray(test->calls, test->call_cap, sizeof(test->calls[0]));
        assert_non_null(test->calls);
    }
    test->calls[test->call_count++] = (struct call_record){call, device};
}

static void end(void *context)
{
    struct gpu_test *test = context;

    test->depth--;
    assert_int_equal(test->depth, 0);
}

void gpu_test_init(struct gpu_test *test)
{
    *test = (struct gpu_test){.now = clock_now()};
    strcpy(test->folder, "/tmp/clustat-gpu-XXXXXX");
    assert_non_null(mkdtemp(test->folder));
    snprintf(test->sysfs, sizeof(test->sysfs), "%s/sys", test->folder);
    assert_int_equal(mkdir(test->sysfs, 0755), 0);
    snapshot_init(&test->snapshot);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEP_LIBRARIES true
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define KEEP_LIBRARIES true
#endif
#ifndef KEEP_LIBRARIES
#define KEEP_LIBRARIES false
#endif

/*
 * The source never unloads a library; a test program that loads hundreds of copies has to. The fake keeps its
 * scenario until the process ends, which a leak check would take for a leak once the library is gone.
 */
static void unload_library(const struct gpu_test *test)
{
    void *library;

    if (KEEP_LIBRARIES)
        return;
    library = test->library[0] ? dlopen(test->library, RTLD_NOW | RTLD_NOLOAD) : NULL;
    for (unsigned i = 0; library && i < 2; i++)
        dlclose(library);
}

void gpu_test_deinit(struct gpu_test *test)
{
    char command[128];

    source_free(test->source);
    unload_library(test);
    snapshot_deinit(&test->snapshot);
    free(test->calls);
    snprintf(command, sizeof(command), "rm -rf %s", test->folder);
    assert_int_equal(system(command), 0);
}

static void copy_file(const char *from, const char *to)
{
    _cleanup_(cleanup_fclose) FILE *in = fopen(from, "re"), *out = fopen(to, "we");
    char bytes[65536];
    size_t len;

    assert_non_null(in);
    assert_non_null(out);
    while ((len = fread(bytes, 1, sizeof(bytes), in)) > 0)
        assert_int_equal(fwrite(bytes, 1, len, out), len);
}

void gpu_test_use_library(struct gpu_test *test, const char *library)
{
    snprintf(test->library, sizeof(test->library), "%s/libnvidia-ml.so.1", test->folder);
    copy_file(library, test->library);
}

bool gpu_test_use_fake(struct gpu_test *test, const char *profile, const char *scenario_json)
{
    const char *root = getenv("FAKE_NVML_FOLDER");
    char path[512];

    assert_non_null(root);
    snprintf(path, sizeof(path), "%s/%s/libnvidia-ml.so.1", root, profile);
    if (access(path, R_OK) < 0)
        return false;
    gpu_test_use_library(test, path);
    gpu_test_write(test, "scenario.json", scenario_json);
    snprintf(path, sizeof(path), "%s/scenario.json", test->folder);
    setenv("FAKE_NVML_SCENARIO", path, 1);
    unsetenv("FAKE_NVML_EPOCH_NS");
    return true;
}

void gpu_test_write(struct gpu_test *test, const char *path, const char *content)
{
    _cleanup_(cleanup_fclose) FILE *file = NULL;
    char full[512];

    snprintf(full, sizeof(full), "%s/%s", test->folder, path);
    for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    file = fopen(full, "we");
    assert_non_null(file);
    fputs(content, file);
}

void gpu_test_open(struct gpu_test *test)
{
    struct source_options options = {
        .library_path = test->library,
        .sysfs_root = test->sysfs,
        .observer = {begin, end, test},
        .left_out = test->left_out,
    };

    assert_int_equal(nvml_source_new(&options, &test->source), 0);
}

void gpu_test_start(struct gpu_test *test)
{
    gpu_test_open(test);
    assert_int_equal(test->source->ops->start(test->source, test->now), SOURCE_OK);
}

void gpu_test_pass(struct gpu_test *test, int64_t ms)
{
    test->now = instant_add_ns(test->now, ms * NS_PER_MS);
}

void gpu_test_fill(struct gpu_test *test)
{
    snapshot_clear(&test->snapshot);
    assert_int_equal(test->source->ops->fill(test->source, test->now, &test->snapshot), 0);
}

void gpu_test_read_all(struct gpu_test *test)
{
    const struct source_ops *ops = test->source->ops;
    static const enum field_group groups[] = {GROUP_HOT, GROUP_WARM, GROUP_PROCESSES, GROUP_SLOW};

    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        for (uint32_t position = 0; position < ops->device_count(test->source); position++)
            assert_int_equal(ops->read(test->source, position, groups[i], test->now), SOURCE_OK);
    gpu_test_fill(test);
}

int gpu_test_second(struct gpu_test *test)
{
    int r;

    gpu_test_pass(test, 1000);
    r = test->source->ops->check(test->source, test->now);
    if (r == SOURCE_OK)
        gpu_test_read_all(test);
    else
        gpu_test_fill(test);
    return r;
}

void gpu_test_forget_calls(struct gpu_test *test)
{
    test->call_count = 0;
}

size_t gpu_test_count_calls(const struct gpu_test *test, const char *name, int32_t device)
{
    size_t count = 0;

    for (size_t i = 0; i < test->call_count; i++)
        if ((!name || strcmp(test->calls[i].name, name) == 0) &&
            (device == -2 || test->calls[i].device == device))
            count++;
    return count;
}

const struct device *gpu_test_device(const struct gpu_test *test, uint32_t position)
{
    assert_true(position < test->snapshot.device_count);
    return &test->snapshot.devices[position];
}

bool gpu_test_has(const struct gpu_test *test, uint32_t position, enum device_field field)
{
    return field_has(&gpu_test_device(test, position)->values, field);
}

int64_t gpu_test_value(const struct gpu_test *test, uint32_t position, enum device_field field)
{
    int64_t value = INT64_MIN;

    if (!field_get(&gpu_test_device(test, position)->values, field, &value))
        fail_msg("device %u has no %s", position, field_info(field)->json_name);
    return value;
}
