/* The lists below a device in the dump: processes, MIG devices. */
#include "dump.h"

#include "evaluate.h"
#include "nvml_codes.h"

static void dump_process_list(struct json_writer *writer, const char *key, unsigned type,
                              const struct device *device, const struct mig_device *mig, double t)
{
    int rc = evaluate_process_code(device, type, t);
    if (rc != NVML_SUCCESS) {
        json_write_rc(writer, key, rc);
        return;
    }
    json_write_begin(writer, key, '[');
    for (size_t i = 0; i < device->process_count; i++) {
        const struct process *process = &device->processes[i];
        if (!evaluate_is_listed(process, type, mig, t))
            continue;
        uint64_t held = evaluate_process_memory(process, t);
        json_write_begin(writer, NULL, '{');
        json_write_u64(writer, "pid", process->pid);
        if (held == EVALUATE_MEMORY_UNKNOWN)
            json_write_null(writer, "mem");
        else
            json_write_u64(writer, "mem", held);
        json_write_u64(writer, "gi", process->gi);
        json_write_u64(writer, "ci", process->ci);
        json_write_end(writer, '}');
    }
    json_write_end(writer, ']');
}

void dump_processes(struct json_writer *writer, const struct device *device, const struct mig_device *mig,
                    double t)
{
    json_write_begin(writer, "processes", '{');
    dump_process_list(writer, "compute", PROCESS_COMPUTE, device, mig, t);
    dump_process_list(writer, "graphics", PROCESS_GRAPHICS, device, mig, t);
    dump_process_list(writer, "mps", PROCESS_MPS, device, mig, t);
    json_write_end(writer, '}');
}

static void dump_sample(struct json_writer *writer, const struct process *process, double t)
{
    struct process_sample sample;
    int rc = evaluate_process_sample(process, t, &sample);
    if (rc != NVML_SUCCESS) {
        json_write_rc(writer, NULL, rc); /* the whole call gives it */
        return;
    }
    json_write_begin(writer, NULL, '{');
    json_write_u64(writer, "pid", process->pid);
    json_write_u64(writer, "sm", sample.sm);
    json_write_u64(writer, "mem_util", sample.mem_util);
    json_write_u64(writer, "enc", sample.enc);
    json_write_u64(writer, "dec", sample.dec);
    json_write_end(writer, '}');
}

void dump_process_utilization(struct json_writer *writer, const struct device *device, double t)
{
    json_write_begin(writer, "process_utilization", '[');
    for (size_t i = 0; i < device->process_count; i++) {
        const struct process *process = &device->processes[i];
        if (process->sm.kind != VALUE_ABSENT && evaluate_is_listed(process, 0, NULL, t))
            dump_sample(writer, process, t);
    }
    json_write_end(writer, ']');
}

static void dump_mig_device(struct json_writer *writer, const struct device *device,
                            const struct mig_device *mig, double t)
{
    char room[EVALUATE_NAME_SIZE];
    const char *name;
    int rc = evaluate_mig_name(device, mig, t, room, &name);
    json_write_begin(writer, NULL, '{');
    json_write_u64(writer, "index", mig->index);
    json_write_u64(writer, "gi", mig->gi);
    json_write_u64(writer, "ci", mig->ci);
    if (rc == NVML_SUCCESS)
        json_write_text(writer, "name", name);
    else
        json_write_rc(writer, "name", rc);
    dump_text(writer, "uuid", &mig->uuid, t);
    dump_memory(writer, device, mig, t);
    dump_bar1(writer, &mig->bar1, t);
    json_write_u64(writer, "sms", mig->sms);
    json_write_u64(writer, "gi_slices", mig->gi_slices);
    json_write_u64(writer, "ci_slices", mig->ci_slices);
    dump_processes(writer, device, mig, t);
    json_write_end(writer, '}');
}

void dump_mig(struct json_writer *writer, const struct device *device, double t)
{
    const struct mig *mig = device->mig;
    if (!mig) {
        json_write_rc(writer, "mig", NVML_NOT_SUPPORTED);
        return;
    }
    const struct value *const mode[] = {&mig->mode_current, &mig->mode_pending};
    bool on = evaluate_mig_is_on(device, t);
    json_write_begin(writer, "mig", '{');
    dump_list(writer, "mode", mode, 2, t);
    json_write_u64(writer, "max", on ? mig->max : 0);
    json_write_begin(writer, "devices", '[');
    for (size_t i = 0; on && i < mig->device_count; i++)
        dump_mig_device(writer, device, &mig->devices[i], t);
    json_write_end(writer, ']');
    json_write_end(writer, '}');
}
