#include "value.h"

#include "nvml_codes.h"

bool whole_round(long double number, struct whole *ret_whole)
{
    long double magnitude = number < 0 ? -number : number;
    if (!(magnitude < 18446744073709551616.0L))
        return false;
    uint64_t below = (uint64_t)magnitude;
    if (magnitude - (long double)below >= 0.5L) {
        if (below == UINT64_MAX)
            return false;
        below++;
    }
    *ret_whole = (struct whole){.magnitude = below, .negative = number < 0 && below > 0};
    return true;
}

struct value value_of_number(uint64_t number)
{
    return (struct value){.kind = VALUE_NUMBER, .number = {.magnitude = number}};
}

/*
 * The sine of so many turns. The series is summed here because the library must not need libm (it would add
 * to the memory of every process that is measured with it); with the angle within half a turn, 16 terms are
 * exact to the last bit of a double.
 */
static double sine_of_turns(double turns)
{
    const long double two_pi = 6.283185307179586476925286766559005768L;
    long double part = (long double)turns;
    if (!(part < 9e15L && part > -9e15L))
        return 0;
    part -= (long double)(int64_t)part;
    if (part > 0.5L)
        part -= 1;
    if (part < -0.5L)
        part += 1;
    long double angle = two_pi * part, term = angle, sum = angle;
    for (int n = 2; n < 34; n += 2) {
        term *= -angle * angle / ((long double)n * (long double)(n + 1));
        sum += term;
    }
    return (double)sum;
}

static struct value wave_at(const struct wave *wave, double t)
{
    double number = wave->base + wave->amp * sine_of_turns((t + wave->phase_s) / wave->period_s);
    struct value value = {.kind = VALUE_NUMBER};
    if (!whole_round(number, &value.number))
        value.number = (struct whole){.magnitude = UINT64_MAX, .negative = number < 0};
    return value;
}

/* The last step not in the future; the first one before its time. */
static struct value step_at(const struct value *value, double t)
{
    uint32_t last = 0;
    for (uint32_t i = 1; i < value->step_count && value->steps[i].from_s <= t; i++)
        last = i;
    return value->steps[last].value;
}

/* The value at `t` as absent, number, text or rc. */
static struct value value_at(const struct value *value, double t)
{
    switch (value->kind) {
    case VALUE_STEPS:
        return step_at(value, t);
    case VALUE_WAVE:
        return wave_at(value->wave, t);
    case VALUE_ABSENT:
    case VALUE_NUMBER:
    case VALUE_TEXT:
    case VALUE_RC:
        break;
    }
    return *value;
}

static int code_of(const struct value *now)
{
    return now->kind == VALUE_RC ? now->rc : now->kind == VALUE_ABSENT ? NVML_NOT_SUPPORTED : NVML_SUCCESS;
}

static int value_unsigned(const struct value *value, double t, uint64_t max, uint64_t *ret_number)
{
    struct value now = value_at(value, t);
    int rc = code_of(&now);
    if (rc != NVML_SUCCESS)
        return rc;
    uint64_t number = now.number.negative ? 0 : now.number.magnitude;
    *ret_number = number > max ? max : number;
    return NVML_SUCCESS;
}

int value_u64(const struct value *value, double t, uint64_t *ret_number)
{
    return value_unsigned(value, t, UINT64_MAX, ret_number);
}

int value_u32(const struct value *value, double t, uint32_t *ret_number)
{
    uint64_t number;
    int rc = value_unsigned(value, t, UINT32_MAX, &number);
    if (rc == NVML_SUCCESS)
        *ret_number = (uint32_t)number;
    return rc;
}

int value_signed(const struct value *value, double t, int32_t *ret_number)
{
    struct value now = value_at(value, t);
    int rc = code_of(&now);
    if (rc != NVML_SUCCESS)
        return rc;
    uint64_t magnitude = now.number.magnitude > INT32_MAX ? INT32_MAX : now.number.magnitude;
    *ret_number = now.number.negative ? -(int32_t)magnitude : (int32_t)magnitude;
    return NVML_SUCCESS;
}

int value_text(const struct value *value, double t, const char **ret_text)
{
    struct value now = value_at(value, t);
    int rc = code_of(&now);
    if (rc == NVML_SUCCESS)
        *ret_text = now.text;
    return rc;
}

int value_code(const struct value *value, double t)
{
    if (value->kind == VALUE_ABSENT)
        return NVML_SUCCESS;
    struct value now = value_at(value, t);
    return code_of(&now);
}
