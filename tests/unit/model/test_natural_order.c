#include "model/natural_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Each before the next. */
static const char *const in_order[] = {
    "",
    "2gpu",
    "10gpu",
    "a",
    "a1b2",
    "a1b10",
    "gpu",
    "gpu-1",
    "gpu01",
    "gpu1",
    "gpu2",
    "gpu10",
    "gpu010x",
    "gpu10y",
    "gpu0100",
    "gpu100",
    "node1.a",
    "node1.b",
    "node2.a",
    "node9999999999999999999999998",
    "node9999999999999999999999999",
    "z",
};

#define COUNT (sizeof(in_order) / sizeof(in_order[0]))

static int compare(size_t i, size_t j)
{
    return natural_compare(text_from_string(in_order[i]), text_from_string(in_order[j]));
}

static void orders_as_people_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++)
            if (compare(i, j) != (i > j) - (i < j))
                fail_msg("\"%s\" against \"%s\": %d", in_order[i], in_order[j], compare(i, j));
}

static void looks_at_case_last(void **state)
{
    (void)state;
    assert_int_equal(natural_compare(TEXT_LITERAL("GPU2"), TEXT_LITERAL("gpu10")), -1);
    assert_int_equal(natural_compare(TEXT_LITERAL("GPU2"), TEXT_LITERAL("gpu2")), -1);
    assert_int_equal(natural_compare(TEXT_LITERAL("gpu2"), TEXT_LITERAL("GPU2")), 1);
}

static void puts_the_absent_last(void **state)
{
    (void)state;
    assert_int_equal(natural_compare(TEXT_ABSENT, TEXT_ABSENT), 0);
    assert_int_equal(natural_compare(TEXT_ABSENT, TEXT_LITERAL("zzz")), 1);
    assert_int_equal(natural_compare(TEXT_LITERAL(""), TEXT_ABSENT), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_as_people_do),
        cmocka_unit_test(looks_at_case_last),
        cmocka_unit_test(puts_the_absent_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
