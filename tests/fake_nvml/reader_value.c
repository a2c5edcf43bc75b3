/* The forms of `V`: constant, steps, wave, return code. */
#include "reader.h"

#include <float.h>

#define RC_MAX 999

static struct value read_constant(struct reader *reader, struct json *node, enum value_type type)
{
    if (type == VALUE_TYPE_TEXT)
        return (struct value){.kind = VALUE_TEXT, .text = reader_text_of(reader, node)};
    struct value value = {.kind = VALUE_NUMBER};
    if (node->type != JSON_NUMBER) {
        reader_fail(reader, node, "must be a number");
        return value;
    }
    uint64_t max = type == VALUE_TYPE_U64      ? UINT64_MAX
                   : type == VALUE_TYPE_SIGNED ? INT32_MAX
                   : type == VALUE_TYPE_CODE   ? 0
                                               : UINT32_MAX;
    bool fits = whole_round(node->number, &value.number);
    bool becomes_zero = fits && value.number.negative && type != VALUE_TYPE_SIGNED && type != VALUE_TYPE_CODE;
    if (!fits || (value.number.magnitude > max && !becomes_zero))
        reader_fail(reader, node, "is out of range");
    return value;
}

bool reader_plain_rc(struct reader *reader, struct json *node, struct value *ret_value)
{
    if (!node || node->type != JSON_OBJECT || !json_member(node, "rc"))
        return false;
    struct json *rc = reader_member(reader, node, "rc");
    *ret_value = (struct value){.kind = VALUE_RC, .rc = (int)reader_whole_of(reader, rc, 1, RC_MAX)};
    reader_finish_object(reader, node);
    return true;
}

static double read_number(struct reader *reader, struct json *node)
{
    if (node->type != JSON_NUMBER)
        reader_fail(reader, node, "must be a number");
    return (double)node->number;
}

static struct step read_step(struct reader *reader, struct json *node, enum value_type type)
{
    struct step step = {0};
    struct json *pair = reader_list(reader, node);
    if (!pair)
        return step;
    if (pair->count != 2) {
        reader_fail(reader, pair, "a step is a list of a time and a value");
        return step;
    }
    step.from_s = read_number(reader, pair->first);
    struct json *second = pair->first->next;
    if (!reader_plain_rc(reader, second, &step.value))
        step.value = read_constant(reader, second, type);
    return step;
}

static struct value read_steps(struct reader *reader, struct json *node, enum value_type type)
{
    struct value value = {.kind = VALUE_STEPS};
    struct json *list = reader_list(reader, node);
    if (!list)
        return value;
    if (list->count == 0 || list->count > UINT32_MAX) {
        reader_fail(reader, list, "must have a step");
        return value;
    }
    struct step *steps = arena_take_array(reader->arena, list->count, sizeof(*steps));
    if (!steps)
        return value;
    for (struct json *member = list->first; member; member = member->next) {
        struct step step = read_step(reader, member, type);
        if (value.step_count && step.from_s < steps[value.step_count - 1].from_s)
            reader_fail(reader, member, "the time falls");
        steps[value.step_count++] = step;
    }
    value.steps = steps;
    return value;
}

static double read_wave_number(struct reader *reader, struct json *from, const char *key)
{
    struct json *node = reader_required(reader, from, key);
    return node ? read_number(reader, node) : 0;
}

static struct value read_wave(struct reader *reader, struct json *node, enum value_type type)
{
    struct value value = {.kind = VALUE_WAVE};
    struct json *from = reader_object(reader, node);
    struct wave *wave = arena_take(reader->arena, sizeof(*wave));
    if (!from || !wave)
        return value;
    if (type == VALUE_TYPE_TEXT || type == VALUE_TYPE_CODE)
        reader_fail(reader, node, "cannot be a wave");
    *wave = (struct wave){
        .base = read_wave_number(reader, from, "base"),
        .amp = read_wave_number(reader, from, "amp"),
        .period_s = read_wave_number(reader, from, "period_s"),
        .phase_s = reader_number(reader, from, "phase_s", -DBL_MAX, 0),
    };
    if (wave->period_s <= 0)
        reader_fail(reader, json_member(from, "period_s"), "is out of range");
    reader_finish_object(reader, from);
    value.wave = wave;
    return value;
}

struct value reader_value_of(struct reader *reader, struct json *node, enum value_type type)
{
    if (node->type != JSON_OBJECT)
        return read_constant(reader, node, type);
    struct value value = {0};
    if (reader_plain_rc(reader, node, &value))
        return value;
    struct json *steps = reader_member(reader, node, "steps");
    struct json *wave = steps ? NULL : reader_member(reader, node, "wave");
    if (steps)
        value = read_steps(reader, steps, type);
    else if (wave)
        value = read_wave(reader, wave, type);
    else
        reader_fail(reader, node, "an object that stands for a value has \"steps\", \"wave\" or \"rc\"");
    reader_finish_object(reader, node);
    return value;
}
