/* A source over the toy library: three devices, GPU-a, GPU-b and GPU-c, at PCI buses 41, 61 and 81. */
#ifndef TESTS_TOY_TEST_H
#define TESTS_TOY_TEST_H

#include "gpu_test.h"
#include "toy_nvml.h"

extern struct gpu_test toy_test;
extern struct toy_state *toy; /* the state of the copy that toy_test uses */

int toy_test_set_up(void **state);
int toy_test_tear_down(void **state);

/* The picture's device at a position must be so. uuid: NULL if it must be absent. */
void toy_test_expect_row(uint32_t position, uint32_t index, const char *uuid, enum device_state state,
                         int code);

/* All three are well, and there is no other. */
void toy_test_expect_three(void);

#endif
