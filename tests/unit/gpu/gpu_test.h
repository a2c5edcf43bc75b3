/*
 * What the collector's tests share: an own copy of a library for each test (so that its state is its own), a
 * folder for scenarios and a sysfs tree, and a record of all vendor calls.
 *
 * Time is the test's: `now` moves only when the test says so, except where the fake NVML's own clock matters.
 */
#ifndef TESTS_GPU_TEST_H
#define TESTS_GPU_TEST_H

#include "gpu/source.h"

#include <stdio.h>

struct call_record {
    const char *name;
    int32_t device;
};

struct gpu_test {
    char folder[64]; /* of this test alone, removed at the end */
    char library[128];
    char sysfs[128];
    struct source *source;
    struct snapshot snapshot;
    struct instant now;
    struct device_set left_out; /* to be set before gpu_test_open() */

    struct call_record *calls; /* since the last gpu_test_forget_calls() */
    size_t call_count, call_cap;
    int depth; /* begin() without end() yet */
};

/* Makes the folder with an empty sysfs tree. Fails the test on any error, as all functions here do. */
void gpu_test_init(struct gpu_test *test);
void gpu_test_deinit(struct gpu_test *test);

/* Uses a copy of this library from now on. */
void gpu_test_use_library(struct gpu_test *test, const char *library);

/* Uses the fake NVML of a profile; false if it was not built. */
bool gpu_test_use_fake(struct gpu_test *test, const char *profile, const char *scenario_json);

/* Writes a file below the test's folder, making the folders on its way. */
void gpu_test_write(struct gpu_test *test, const char *path, const char *content);

/* Makes the source; gpu_test_start() starts it too, and expects SOURCE_OK. */
void gpu_test_open(struct gpu_test *test);
void gpu_test_start(struct gpu_test *test);

/* Lets `ms` milliseconds pass for the source. */
void gpu_test_pass(struct gpu_test *test, int64_t ms);

/* Reads all groups of all devices once, expecting SOURCE_OK, and takes a picture into test->snapshot. */
void gpu_test_read_all(struct gpu_test *test);

/* One second passes, check() is called (its outcome returned), all is read, a picture is taken. */
int gpu_test_second(struct gpu_test *test);

/* A fresh picture, without reading. */
void gpu_test_fill(struct gpu_test *test);

void gpu_test_forget_calls(struct gpu_test *test);
size_t gpu_test_count_calls(const struct gpu_test *test, const char *name,
                            int32_t device); /* NULL, -2: any */

/* The picture's device at a position. */
const struct device *gpu_test_device(const struct gpu_test *test, uint32_t position);
int64_t gpu_test_value(const struct gpu_test *test, uint32_t position, enum device_field field);
bool gpu_test_has(const struct gpu_test *test, uint32_t position, enum device_field field);

#endif
