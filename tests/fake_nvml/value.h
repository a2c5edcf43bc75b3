/*
 * The values of a scenario: what stands for `V` in the scenario format. A value is a constant, a list of
 * steps, a sine wave or a return code, and is asked for at a time `t` in seconds since time zero. All that a
 * value points to belongs to the scenario's arena.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole number from -(2^64-1) to 2^64-1. */
struct whole {
    uint64_t magnitude;
    bool negative;
};

/* base + amp * sin(2 pi (t + phase_s) / period_s) */
struct wave {
    double base;
    double amp;
    double period_s;
    double phase_s;
};

enum value_kind {
    VALUE_ABSENT, /* the scenario does not have the key: not supported */
    VALUE_NUMBER,
    VALUE_TEXT,
    VALUE_RC,
    VALUE_STEPS,
    VALUE_WAVE,
};

struct step;

struct value {
    enum value_kind kind;
    uint32_t step_count;
    union {
        struct whole number;
        const char *text;
        int rc;
        const struct step *steps; /* step_count of them, `from_s` never falling */
        const struct wave *wave;
    };
};

struct step {
    double from_s;
    struct value value; /* number, text or rc */
};

/* Rounds to the nearest whole number, halves away from zero. False when the result does not fit. */
bool whole_round(long double number, struct whole *ret_whole);

/* A constant value. */
struct value value_of_number(uint64_t number);

/*
 * Ask for a value at `t`. Each returns NVML's code: 0 with the answer written, 3 for an absent value, or the
 * code that the scenario states; nothing is written then. Numbers below zero give 0, but for value_signed();
 * numbers too great for the type (only a wave can have them) give its greatest.
 */
int value_u32(const struct value *value, double t, uint32_t *ret_number);
int value_u64(const struct value *value, double t, uint64_t *ret_number);
int value_signed(const struct value *value, double t, int32_t *ret_number);
int value_text(const struct value *value, double t, const char **ret_text);

/* The code that asking for the value gives, the value itself being of no interest. An absent value gives 0.
 */
int value_code(const struct value *value, double t);
