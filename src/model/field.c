#include "model/field.h"

static const struct field_info fields[FIELD_COUNT] = {
#define X(name, json, group, source) [FIELD_##name] = {json, GROUP_##group, source},
    DEVICE_FIELDS(X)
#undef X
};

const struct field_info *field_info(enum device_field field)
{
    return &fields[field];
}

const char *field_group_name(enum field_group group)
{
    static const char *const names[GROUP_COUNT] = {
        [GROUP_STATIC] = "static",       [GROUP_HOT] = "hot",   [GROUP_WARM] = "warm",
        [GROUP_PROCESSES] = "processes", [GROUP_SLOW] = "slow",
    };

    return names[group];
}

uint64_t field_group_mask(enum field_group group)
{
    uint64_t mask = 0;

    for (unsigned field = 0; field < FIELD_COUNT; field++)
        if (fields[field].group == group)
            mask |= UINT64_C(1) << field;
    return mask;
}
