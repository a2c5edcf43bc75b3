/* The two halves of fake-nvml-dump. */
#pragma once

#include "json_writer.h"
#include "scenario.h"

/* Writes what all calls on the device answer at `t`, faults aside, as an object. */
void dump_device(struct json_writer *writer, const struct device *device, double t);

/* Writes "processes": the three lists of the device, or of its MIG device if `mig` is not NULL. */
void dump_processes(struct json_writer *writer, const struct device *device, const struct mig_device *mig,
                    double t);

/* Writes "process_utilization": the rows of GetProcessUtilization. */
void dump_process_utilization(struct json_writer *writer, const struct device *device, double t);

/* Writes "mig". */
void dump_mig(struct json_writer *writer, const struct device *device, double t);

/* Write "memory" and "bar1". */
void dump_memory(struct json_writer *writer, const struct device *device, const struct mig_device *mig,
                 double t);
void dump_bar1(struct json_writer *writer, const struct bar1 *bar1, double t);

/* Write one value under `key`: its number or text, or {"rc":N}. */
void dump_u64(struct json_writer *writer, const char *key, const struct value *value, double t);
void dump_signed(struct json_writer *writer, const char *key, const struct value *value, double t);
void dump_text(struct json_writer *writer, const char *key, const struct value *value, double t);

/* Writes `count` values that one call answers together: a list, or {"rc":N} of the first that has one. */
void dump_list(struct json_writer *writer, const char *key, const struct value *const values[], size_t count,
               double t);
