/* The part of reading a scenario that deals with one device. */
#pragma once

#include "reader.h"

/* Reads the device `node`, the one at `position`. */
void scenario_read_device(struct reader *reader, struct json *node, uint32_t position, struct device *device);

/* Reads a list of processes (NULL: none) into the device. */
void scenario_read_processes(struct reader *reader, struct json *list, struct device *device);

/* Reads the object `mig` (NULL: none) into the device. */
void scenario_read_mig(struct reader *reader, struct json *node, struct device *device);

/* Reads `memory` and `bar1`, which a device and its MIG devices state in the same way. */
void scenario_read_memory(struct reader *reader, struct json *node, struct memory *memory);
void scenario_read_bar1(struct reader *reader, struct json *node, struct bar1 *bar1);
