#include "model/device.h"
#include "model/field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void the_table_is_complete_and_names_are_unique(void **state)
{
    (void)state;
    for (unsigned a = 0; a < FIELD_COUNT; a++) {
        const struct field_info *info = field_info((enum device_field)a);

        assert_true(info->json_name && strlen(info->json_name) > 0);
        assert_true(info->source && strlen(info->source) > 0);
        assert_true(info->group < GROUP_COUNT);
        assert_int_equal(strspn(info->json_name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
                         strlen(info->json_name));
        for (unsigned b = 0; b < a; b++)
            assert_string_not_equal(info->json_name, field_info((enum device_field)b)->json_name);
    }
}

/* Numbers on the wire must never move: a few that stand for all. */
static void numbers_stay(void **state)
{
    (void)state;
    assert_int_equal(FIELD_UTIL_GPU_PERCENT, 0);
    assert_int_equal(FIELD_THROTTLE_REASONS, 12);
    assert_int_equal(FIELD_XID_LAST_UNIX_US, 40);
    assert_int_equal(FIELD_MULTIPROCESSORS, 44);
}

static void every_field_is_in_one_group(void **state)
{
    uint64_t all = 0;

    (void)state;
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        uint64_t mask = field_group_mask((enum field_group)group);

        assert_true((all & mask) == 0);
        all |= mask;
    }
    assert_true(all == UINT64_MAX >> (64 - FIELD_COUNT));
    assert_true(field_group_mask(GROUP_PROCESSES) == 0);
    assert_true(field_group_mask(GROUP_HOT) >> FIELD_MEM_USED_BYTES & 1);
}

static void groups_have_names(void **state)
{
    (void)state;
    assert_string_equal(field_group_name(GROUP_STATIC), "static");
    assert_string_equal(field_group_name(GROUP_HOT), "hot");
    assert_string_equal(field_group_name(GROUP_WARM), "warm");
    assert_string_equal(field_group_name(GROUP_PROCESSES), "processes");
    assert_string_equal(field_group_name(GROUP_SLOW), "slow");
}

static void absent_is_not_zero(void **state)
{
    struct field_values values = {0};
    int64_t value = 77;

    (void)state;
    for (unsigned field = 0; field < FIELD_COUNT; field++)
        assert_false(field_get(&values, (enum device_field)field, &value));
    assert_true(value == 77); /* untouched */
    field_set(&values, FIELD_TEMP_C, 0);
    assert_true(field_get(&values, FIELD_TEMP_C, &value) && value == 0);
    assert_false(field_has(&values, FIELD_POWER_MW));
    field_set(&values, FIELD_MULTIPROCESSORS, -1);
    field_unset(&values, FIELD_TEMP_C);
    assert_false(field_has(&values, FIELD_TEMP_C));
    assert_true(field_get(&values, FIELD_MULTIPROCESSORS, &value) && value == -1);
}

static void a_new_device_knows_nothing(void **state)
{
    struct device device;

    (void)state;
    memset(&device, 0xaa, sizeof(device));
    device_init(&device, 3);
    assert_int_equal(device.kind, DEVICE_GPU);
    assert_int_equal(device.state, DEVICE_OK);
    assert_int_equal(device.index, 3);
    assert_false(text_is_present(device.name) || text_is_present(device.uuid));
    assert_true(device.values.present == 0);
    assert_true(device.group_age_us[GROUP_SLOW] == AGE_NEVER);
    assert_int_equal(device.list_code[LIST_MPS], LIST_CODE_UNREAD);
    assert_int_equal(device.entry_count, 0);
    assert_false(device_has_process_list(&device));
}

static void one_of_the_two_lists_is_enough(void **state)
{
    struct device device;

    (void)state;
    device_init(&device, 0);
    device.list_code[LIST_MPS] = 0;
    assert_false(device_has_process_list(&device));
    device.list_code[LIST_GRAPHICS] = 0;
    assert_true(device_has_process_list(&device));
    device.list_code[LIST_GRAPHICS] = 3; /* not supported */
    device.list_code[LIST_COMPUTE] = 0;
    assert_true(device_has_process_list(&device));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_complete_and_names_are_unique),
        cmocka_unit_test(numbers_stay),
        cmocka_unit_test(every_field_is_in_one_group),
        cmocka_unit_test(groups_have_names),
        cmocka_unit_test(absent_is_not_zero),
        cmocka_unit_test(a_new_device_knows_nothing),
        cmocka_unit_test(one_of_the_two_lists_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
