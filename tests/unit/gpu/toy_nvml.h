/*
 * A toy library of the vendor: just enough functions for what the fake NVML (tests/fake_nvml) cannot do, such
 * as devices that come and go, and with everything else missing. Its state is a plain struct that the test
 * gets through toy_nvml_state() of the loaded copy.
 */
#ifndef TESTS_TOY_NVML_H
#define TESTS_TOY_NVML_H

#include <stdbool.h>
#include <stdint.h>

#define TOY_MAX_DEVICES 8
#define TOY_MAX_SAMPLES 300

struct toy_device {
    char uuid[40];
    char bus_id[20]; /* legacy form, "0000:41:00.0" */
    int code;        /* what every call on it, look-ups included, returns; 0: it works */
    bool touched;    /* a look-up by index went past it, or any call was made on it */
};

struct toy_state {
    int init_code;
    int count_code;
    unsigned init_calls, lookups;
    unsigned generation; /* handles of another generation are stale */
    uint32_t count;
    uint32_t order[TOY_MAX_DEVICES]; /* device at each index */
    struct toy_device devices[TOY_MAX_DEVICES];

    /* The compute list of every device. */
    unsigned stride;  /* bytes per entry */
    unsigned grow_by; /* the list grows by so many with each refused call */
    uint32_t pid_count;
    uint32_t first_pid;
    unsigned list_calls;

    /* What every device's ring of utilisation samples holds, old ones included, whoever asks. */
    struct toy_sample {
        uint32_t pid;
        uint64_t time_stamp_us;
        uint32_t sm, memory, encoder, decoder;
    } samples[TOY_MAX_SAMPLES];
    uint32_t sample_count;
};

#endif
