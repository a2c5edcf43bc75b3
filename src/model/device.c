#include "model/device.h"

void device_init(struct device *device, uint32_t index)
{
    *device = (struct device){.kind = DEVICE_GPU, .index = index};
    for (unsigned group = 0; group < GROUP_COUNT; group++)
        device->group_age_us[group] = AGE_NEVER;
    for (unsigned list = 0; list < LIST_COUNT; list++)
        device->list_code[list] = LIST_CODE_UNREAD;
}

bool device_has_process_list(const struct device *device)
{
    return device->list_code[LIST_COMPUTE] == 0 || device->list_code[LIST_GRAPHICS] == 0;
}
