/*
 * Every vendor call that the collector makes, with every error code that a driver can answer, on one of three
 * devices: the other two are untouched, and of the third a value is right or absent, or the row is a fault.
 */
#include "gpu_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define DEVICE(id, pid) \
    "{\"id\":\"g" id "\",\"name\":\"Toy " id "\",\"uuid\":\"GPU-" id "\",\"serial\":\"12" id "\"," \
    "\"minor\":1" id ",\"memory\":{\"total\":1000000,\"used\":200000,\"reserved\":30000}," \
    "\"temperature\":4" id ",\"fan\":3" id ",\"power_mw\":9900" id ",\"power_limit_mw\":40000" id "," \
    "\"utilization\":{\"gpu\":2" id ",\"memory\":1" id ",\"enc\":3" id ",\"dec\":4" id "}," \
    "\"clocks\":{\"graphics\":1001,\"sm\":1002,\"mem\":1003,\"video\":1004}," \
    "\"max_clocks\":{\"graphics\":2001,\"mem\":2003},\"pstate\":2,\"compute_mode\":3,\"persistence\":1," \
    "\"throttle\":4,\"ecc\":{\"mode\":[1,1],\"volatile_corrected\":1,\"volatile_uncorrected\":2," \
    "\"aggregate_corrected\":3,\"aggregate_uncorrected\":4},\"remapped_rows\":[5,6,1,7]," \
    "\"pcie\":{\"gen\":3,\"width\":8,\"max_gen\":5,\"max_width\":16},\"field_values\":{\"230\":2}," \
    "\"mig\":{\"mode\":[1,1],\"devices\":[{\"index\":2,\"gi\":7,\"ci\":1,\"uuid\":\"MIG-" id \
    "\",\"sms\":14," \
    "\"memory\":{\"total\":500000,\"used\":100000,\"reserved\":20000}}]}," \
    "\"processes\":[{\"pid\":" pid ",\"mem\":1048576,\"sm\":40,\"mem_util\":7,\"enc\":1,\"dec\":2}," \
    "{\"pid\":77,\"mem\":2097152,\"types\":[\"G\",\"M\"],\"gi\":7,\"ci\":1}]}"

#define DEVICES "\"devices\":[" DEVICE("0", "100") "," DEVICE("1", "101") "," DEVICE("2", "102") "]"

static const int codes[] = {1, 2, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16, 17, 18, 19, 20, 21, 25, 27, 28, 999};

static struct gpu_test test, healthy;

/* The values that a call's absence or error changes without being wrong. */
static bool is_right(enum device_field field, const struct device *device, const struct device *good)
{
    int64_t value = 0, right = 0, reserved = 0;

    if (!field_get(&device->values, field, &value))
        return true;
    if (!field_get(&good->values, field, &right))
        return false;
    /* The old memory call counts what the driver reserves as used. */
    field_get(&good->values, FIELD_MEM_RESERVED_BYTES, &reserved);
    return value == right || (field == FIELD_MEM_USED_BYTES && value == right + reserved &&
                              !field_has(&device->values, FIELD_MEM_RESERVED_BYTES));
}

static bool text_is_right(struct text text, struct text right)
{
    return !text_is_present(text) || text_equal(text, right);
}

static const struct process_entry *entries_of(const struct gpu_test *from, const struct device *device)
{
    return &from->snapshot.entries[device->first_entry];
}

static bool same_entry(const struct process_entry *a, const struct process_entry *b)
{
    return a->list == b->list && a->pid == b->pid && a->has_mem == b->has_mem &&
           a->mem_bytes == b->mem_bytes && a->gpu_instance_id == b->gpu_instance_id &&
           a->compute_instance_id == b->compute_instance_id && a->util_sm_percent == b->util_sm_percent &&
           a->util_memory_percent == b->util_memory_percent &&
           a->util_encoder_percent == b->util_encoder_percent &&
           a->util_decoder_percent == b->util_decoder_percent;
}

static void expect_same_entries(const struct device *device, const struct device *good)
{
    assert_int_equal(device->entry_count, good->entry_count);
    for (uint32_t i = 0; i < device->entry_count; i++)
        assert_true(same_entry(&entries_of(&test, device)[i], &entries_of(&healthy, good)[i]));
}

static void expect_untouched(const struct device *device, const struct device *good)
{
    assert_int_equal(device->state, DEVICE_OK);
    assert_int_equal(device->flags, good->flags);
    assert_true(device->values.present == good->values.present);
    assert_memory_equal(device->values.value, good->values.value, sizeof(good->values.value));
    assert_true(text_equal(device->name, good->name));
    assert_true(text_equal(device->uuid, good->uuid));
    assert_true(text_equal(device->serial, good->serial));
    assert_true(text_equal(device->pci_bus_id, good->pci_bus_id));
    assert_memory_equal(device->list_code, good->list_code, sizeof(good->list_code));
    expect_same_entries(device, good);
}

static void expect_honest(const struct device *device, const struct device *good, int code)
{
    assert_int_equal(device->index, 1);
    if (device->state == DEVICE_FAULT)
        assert_int_equal(device->fault_code, code);
    else
        assert_int_equal(device->state, DEVICE_OK);
    for (unsigned field = 0; field < FIELD_COUNT; field++)
        if (!is_right(field, device, good))
            fail_msg("%s is wrong", field_info(field)->json_name);
    assert_true(text_is_right(device->name, good->name));
    assert_true(text_is_right(device->uuid, good->uuid));
    assert_true(text_is_right(device->serial, good->serial));
    assert_true(text_is_right(device->pci_bus_id, good->pci_bus_id));
    for (unsigned list = 0; list < LIST_COUNT; list++)
        assert_true(device->list_code[list] == 0 || device->list_code[list] == code ||
                    (device->state == DEVICE_FAULT && device->list_code[list] == LIST_CODE_UNREAD));
    assert_true(device->entry_count <= good->entry_count);
}

/* The device's row and, where it is there, its instance's. */
static void expect_row(const struct snapshot *snapshot, uint32_t index, int code)
{
    bool seen = false;

    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        const struct device *device = &snapshot->devices[i], *good = NULL;

        if (device->index != index)
            continue;
        for (uint32_t j = 0; j < healthy.snapshot.device_count; j++)
            if (healthy.snapshot.devices[j].index == index &&
                healthy.snapshot.devices[j].kind == device->kind)
                good = &healthy.snapshot.devices[j];
        assert_non_null(good);
        seen |= device->kind == DEVICE_GPU;
        if (index == 1)
            expect_honest(device, good, code);
        else
            expect_untouched(device, good);
    }
    assert_true(seen);
}

static void run_scenario(struct gpu_test *run, const char *scenario, unsigned rounds)
{
    gpu_test_use_fake(run, "r580", scenario);
    gpu_test_start(run);
    gpu_test_read_all(run);
    for (unsigned i = 0; i < rounds; i++)
        assert_int_equal(gpu_test_second(run), SOURCE_OK);
}

static void run_fault(const char *call, int code)
{
    static const char format[] =
        "{\"version\":1," DEVICES ",\"faults\":[{\"device\":\"g1\",\"fn\":\"%s\",\"rc\":%d}]}";
    char scenario[sizeof(format) + 128];

    snprintf(scenario, sizeof(scenario), format, call, code);
    gpu_test_init(&test);
    run_scenario(&test, scenario, 2);
    for (uint32_t index = 0; index < 3; index++)
        expect_row(&test.snapshot, index, code);
    gpu_test_deinit(&test);
}

/* All names that calls of a healthy run had, each once. */
static size_t collect_calls(const char *names[static 128])
{
    size_t count = 0;

    for (size_t i = 0; i < healthy.call_count; i++) {
        bool known = strncmp(healthy.calls[i].name, "nvml", 4) != 0;

        for (size_t j = 0; j < count; j++)
            known |= strcmp(names[j], healthy.calls[i].name) == 0;
        if (!known && count < 128)
            names[count++] = healthy.calls[i].name;
    }
    return count;
}

static void every_call_with_every_code(void **state)
{
    const char *names[128];
    size_t count;

    (void)state;
    gpu_test_init(&healthy);
    run_scenario(&healthy, "{\"version\":1," DEVICES "}", 2);
    assert_int_equal(healthy.snapshot.device_count, 6);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(gpu_test_device(&healthy, i)->state, DEVICE_OK);
    count = collect_calls(names);
    assert_true(count > 40);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < sizeof(codes) / sizeof(codes[0]); j++)
            run_fault(names[i], codes[j]);
    printf("# %zu calls, %zu codes each\n", count, sizeof(codes) / sizeof(codes[0]));
    gpu_test_deinit(&healthy);
}

/* Which errors of which calls take the whole row (gpustat's rule), and which only a value. */
static void identity_and_memory_decide_about_the_row(void **state)
{
    static const struct {
        const char *call;
        int code;
        enum device_state state;
    } cases[] = {
        {"nvmlDeviceGetHandleByIndex_v2", 4, DEVICE_FAULT},
        {"nvmlDeviceGetHandleByIndex_v2", 15, DEVICE_FAULT},
        {"nvmlDeviceGetHandleByIndex_v2", 999, DEVICE_FAULT},
        {"nvmlDeviceGetName", 15, DEVICE_FAULT},
        {"nvmlDeviceGetName", 999, DEVICE_FAULT},
        {"nvmlDeviceGetName", 4, DEVICE_OK},
        {"nvmlDeviceGetUUID", 15, DEVICE_FAULT},
        {"nvmlDeviceGetUUID", 999, DEVICE_FAULT},
        {"nvmlDeviceGetUUID", 3, DEVICE_OK},
        {"nvmlDeviceGetUUID", 2, DEVICE_OK},
        {"nvmlDeviceGetIndex", 15, DEVICE_FAULT},
        {"nvmlDeviceGetIndex", 3, DEVICE_OK},
        {"nvmlDeviceGetMemoryInfo*", 15, DEVICE_FAULT},
        {"nvmlDeviceGetMemoryInfo*", 999, DEVICE_FAULT},
        {"nvmlDeviceGetMemoryInfo*", 4, DEVICE_OK},
        {"nvmlDeviceGetMemoryInfo_v2", 999, DEVICE_OK},
        {"nvmlDeviceGetMemoryInfo_v2", 13, DEVICE_OK},
        {"nvmlDeviceGetUtilizationRates", 15, DEVICE_OK},
        {"nvmlDeviceGetTemperature*", 15, DEVICE_OK},
        {"nvmlDeviceGetComputeRunningProcesses_v3", 15, DEVICE_OK},
        {"nvmlDeviceGetPciInfo*", 999, DEVICE_OK},
    };
    static const char format[] =
        "{\"version\":1,\"devices\":[{\"id\":\"g1\",\"name\":\"Toy\",\"uuid\":\"GPU-0\",\"temperature\":40,"
        "\"memory\":{\"total\":1000000,\"used\":200000},\"utilization\":{\"gpu\":5}}],"
        "\"faults\":[{\"fn\":\"%s\",\"rc\":%d,\"device\":\"g1\"}]}";

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char scenario[sizeof(format) + 128];

        snprintf(scenario, sizeof(scenario), format, cases[i].call, cases[i].code);
        gpu_test_init(&test);
        run_scenario(&test, scenario, 2);
        if (gpu_test_device(&test, 0)->state != cases[i].state)
            fail_msg("%s answering %d: state %d", cases[i].call, cases[i].code,
                     gpu_test_device(&test, 0)->state);
        gpu_test_deinit(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_with_every_code),
        cmocka_unit_test(identity_and_memory_decide_about_the_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
