#include "gpu_test.h"

#include "gpu/nvml_library.h"
#include "toy_nvml.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct gpu_test test;

static int set_up(void **state)
{
    (void)state;
    gpu_test_init(&test);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gpu_test_deinit(&test);
    return 0;
}

/* Starts the source, expecting a fault of this kind whose text holds `word`. */
static void expect_fault(enum node_fault fault, int code, const char *word)
{
    gpu_test_open(&test);
    assert_int_equal(test.source->ops->start(test.source, test.now), SOURCE_FAULT);
    gpu_test_fill(&test);
    assert_int_equal(test.snapshot.fault, fault);
    assert_int_equal(test.snapshot.fault_code, code);
    assert_int_equal(test.snapshot.device_count, 0);
    assert_int_equal(test.source->ops->device_count(test.source), 0);
    if (word) {
        char text[1024];

        text_copy(test.snapshot.fault_text, text, sizeof(text));
        if (!strstr(text, word))
            fail_msg("\"%s\" is not in \"%s\"", word, text);
    }
}

static void missing_library_is_named(void **state)
{
    (void)state;
    strcpy(test.library, "/nonexistent/libnvidia-ml.so.1");
    expect_fault(NODE_FAULT_LIBRARY_MISSING, 0, "tried /nonexistent/libnvidia-ml.so.1");
    assert_int_equal(test.call_count, 1); /* dlopen */
}

static void usual_places_are_all_tried(void **state)
{
    struct nvml_library library;
    struct buffer reason = BUFFER_EMPTY;
    enum node_fault fault = nvml_library_open(&library, NULL, &reason);

    (void)state;
    if (fault == NODE_FAULT_LIBRARY_MISSING) { /* else this machine has a driver */
        char text[4096];

        text_copy(buffer_text(&reason), text, sizeof(text));
        assert_non_null(strstr(text, "tried libnvidia-ml.so.1, libnvidia-ml.so, "));
        assert_non_null(strstr(text, "/usr/lib/wsl/lib/libnvidia-ml.so.1"));
        assert_non_null(strstr(text, "-linux-gnu/libnvidia-ml.so.1"));
    }
    buffer_deinit(&reason);
}

static void library_that_appears_later_is_found(void **state)
{
    (void)state;
    snprintf(test.library, sizeof(test.library), "%s/libnvidia-ml.so.1", test.folder);
    expect_fault(NODE_FAULT_LIBRARY_MISSING, 0, test.library);
    gpu_test_use_library(&test, TOY_NVML);
    assert_int_equal(test.source->ops->start(test.source, test.now), SOURCE_OK);
    gpu_test_fill(&test);
    assert_int_equal(test.snapshot.fault, NODE_FAULT_NONE);
    assert_false(text_is_present(test.snapshot.fault_text));
}

static void text_file_is_unusable(void **state)
{
    (void)state;
    gpu_test_write(&test, "libnvidia-ml.so.1", "INPUT(libother.so)\n");
    snprintf(test.library, sizeof(test.library), "%s/libnvidia-ml.so.1", test.folder);
    expect_fault(NODE_FAULT_LIBRARY_UNUSABLE, 0, "cannot load");
}

static void library_without_a_needed_symbol_is_unusable(void **state)
{
    (void)state;
    gpu_test_use_library(&test, TOY_OLD);
    expect_fault(NODE_FAULT_LIBRARY_UNUSABLE, 0, "lacks nvmlDeviceGetHandleByIndex_v2");
    assert_int_equal(test.call_count, 1); /* dlopen */
}

static void stub_is_known_by_its_sentence(void **state)
{
    (void)state;
    gpu_test_use_library(&test, TOY_STUB);
    expect_fault(NODE_FAULT_LIBRARY_STUB, 0, "stub");
    assert_int_equal(test.call_count, 1); /* dlopen */
}

static void stub_is_known_by_its_folder(void **state)
{
    char path[256];

    (void)state;
    gpu_test_use_library(&test, TOY_NVML);
    gpu_test_write(&test, "stubs/empty", "");
    snprintf(path, sizeof(path), "%s/stubs/libnvidia-ml.so", test.folder);
    assert_int_equal(rename(test.library, path), 0);
    assert_int_equal(symlink(path, test.library), 0); /* the link's own path does not tell */
    expect_fault(NODE_FAULT_LIBRARY_STUB, 0, "stub");
}

static struct toy_state *toy(void)
{
    void *library = dlopen(test.library, RTLD_NOW | RTLD_NOLOAD);
    struct toy_state *(*get)(void);

    if (!library)
        library = dlopen(test.library, RTLD_NOW);
    assert_non_null(library);
    *(void **)&get = dlsym(library, "toy_nvml_state");
    return get();
}

static void driver_that_is_not_loaded_may_come(void **state)
{
    (void)state;
    gpu_test_use_library(&test, TOY_NVML);
    toy()->init_code = 9;
    expect_fault(NODE_FAULT_DRIVER_NOT_LOADED, 9, NULL);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(test.source->ops->start(test.source, test.now), SOURCE_FAULT);
    toy()->init_code = 0;
    assert_int_equal(test.source->ops->start(test.source, test.now), SOURCE_OK);
}

static void mismatch_is_said_then_wants_a_new_process(void **state)
{
    (void)state;
    gpu_test_use_library(&test, TOY_NVML);
    gpu_test_write(&test, "sys/module/nvidia/version", "580.65.06\n");
    toy()->init_code = 18;
    expect_fault(NODE_FAULT_VERSION_MISMATCH, 18, "kernel module 580.65.06");
    assert_int_equal(test.source->ops->start(test.source, test.now), SOURCE_RESTART);
    gpu_test_fill(&test);
    assert_int_equal(test.snapshot.fault, NODE_FAULT_VERSION_MISMATCH);
    assert_int_equal(toy()->init_calls, 1);
}

static void failing_init_is_tried_a_few_times(void **state)
{
    (void)state;
    gpu_test_use_library(&test, TOY_NVML);
    toy()->init_code = 999;
    expect_fault(NODE_FAULT_INIT, 999, NULL);
    assert_int_equal(test.source->ops->start(test.source, test.now), SOURCE_FAULT);
    assert_int_equal(test.source->ops->start(test.source, test.now), SOURCE_FAULT);
    assert_int_equal(test.source->ops->start(test.source, test.now), SOURCE_RESTART);
    assert_int_equal(toy()->init_calls, 3);
}

static void count_that_fails_is_said(void **state)
{
    (void)state;
    gpu_test_use_library(&test, TOY_NVML);
    toy()->count_code = 4;
    expect_fault(NODE_FAULT_DEVICE_COUNT, 4, NULL);
    toy()->count_code = 0;
    assert_int_equal(test.source->ops->start(test.source, test.now), SOURCE_OK);
    assert_int_equal(toy()->init_calls, 1);
}

static void the_table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < NVML_SYMBOL_COUNT; i++) {
        const struct nvml_symbol *symbol = nvml_symbol(i);

        assert_non_null(symbol->names[0]);
        for (size_t j = 0; j < NVML_SYMBOL_VERSIONS && symbol->names[j]; j++) {
            assert_int_equal(strncmp(symbol->names[j], "nvml", 4), 0);
            assert_null(strstr(symbol->names[j], "PcieThroughput"));
            assert_null(strstr(symbol->names[j], "Shutdown"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(missing_library_is_named, set_up, tear_down),
        cmocka_unit_test(usual_places_are_all_tried),
        cmocka_unit_test_setup_teardown(library_that_appears_later_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_file_is_unusable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(library_without_a_needed_symbol_is_unusable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stub_is_known_by_its_sentence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stub_is_known_by_its_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(driver_that_is_not_loaded_may_come, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mismatch_is_said_then_wants_a_new_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failing_init_is_tried_a_few_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(count_that_fails_is_said, set_up, tear_down),
        cmocka_unit_test(the_table_is_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
