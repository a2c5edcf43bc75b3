#include "toy_test.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

struct gpu_test toy_test;
struct toy_state *toy;

int toy_test_set_up(void **state)
{
    struct toy_state *(*get)(void);
    void *library;

    (void)state;
    gpu_test_init(&toy_test);
    gpu_test_use_library(&toy_test, TOY_NVML);
    library = dlopen(toy_test.library, RTLD_NOW);
    assert_non_null(library);
    *(void **)&get = dlsym(library, "toy_nvml_state");
    toy = get();
    toy->count = 3;
    toy->stride = 24;
    toy->first_pid = 100;
    for (uint32_t i = 0; i < TOY_MAX_DEVICES; i++) {
        toy->order[i] = i;
        snprintf(toy->devices[i].uuid, sizeof(toy->devices[i].uuid), "GPU-%c", 'a' + (char)i);
        snprintf(toy->devices[i].bus_id, sizeof(toy->devices[i].bus_id), "0000:%u1:00.0", 4 + 2 * i);
    }
    return 0;
}

int toy_test_tear_down(void **state)
{
    (void)state;
    gpu_test_deinit(&toy_test);
    return 0;
}

void toy_test_expect_row(uint32_t position, uint32_t index, const char *uuid, enum device_state state,
                         int code)
{
    const struct device *device = gpu_test_device(&toy_test, position);

    assert_int_equal(device->index, index);
    if (uuid)
        assert_true(text_equal_string(device->uuid, uuid));
    else
        assert_false(text_is_present(device->uuid));
    assert_int_equal(device->state, state);
    assert_int_equal(device->fault_code, code);
}

void toy_test_expect_three(void)
{
    assert_int_equal(toy_test.snapshot.device_count, 3);
    toy_test_expect_row(0, 0, "GPU-a", DEVICE_OK, 0);
    toy_test_expect_row(1, 1, "GPU-b", DEVICE_OK, 0);
    toy_test_expect_row(2, 2, "GPU-c", DEVICE_OK, 0);
}
