#include "support/random_snapshot.h"

/* Each returns from the calling function with the member's name if it differs. */
#define SAME(member) \
    do { \
        if (a->member != b->member) \
            return #member; \
    } while (0)
#define SAME_TEXT(member) \
    do { \
        if (!text_equal(a->member, b->member)) \
            return #member; \
    } while (0)

static const char *device_difference(const struct device *a, const struct device *b)
{
    SAME(kind);
    SAME(state);
    SAME(fault_code);
    SAME(flags);
    SAME(index);
    SAME(mig_index);
    SAME_TEXT(name);
    SAME_TEXT(uuid);
    SAME_TEXT(serial);
    SAME_TEXT(pci_bus_id);
    SAME(values.present);
    for (unsigned field = 0; field < FIELD_COUNT; field++)
        if (field_has(&a->values, (enum device_field)field) &&
            a->values.value[field] != b->values.value[field])
            return field_info((enum device_field)field)->json_name;
    for (unsigned group = 0; group < GROUP_COUNT; group++)
        SAME(group_age_us[group]);
    for (unsigned list = 0; list < LIST_COUNT; list++)
        SAME(list_code[list]);
    SAME(first_entry);
    SAME(entry_count);
    return NULL;
}

static const char *entry_difference(const struct process_entry *a, const struct process_entry *b)
{
    SAME(list);
    SAME(has_mem);
    SAME(util_sm_percent);
    SAME(util_memory_percent);
    SAME(util_encoder_percent);
    SAME(util_decoder_percent);
    SAME(pid);
    SAME(gpu_instance_id);
    SAME(compute_instance_id);
    SAME(mem_bytes);
    SAME(process);
    return NULL;
}

static const char *process_difference(const struct process *a, const struct process *b)
{
    SAME(pid);
    SAME(state);
    SAME(facts);
    SAME(uid);
    SAME(start_ticks);
    SAME(start_unix_us);
    SAME(cpu_permille);
    SAME(rss_bytes);
    SAME_TEXT(user);
    SAME_TEXT(comm);
    SAME_TEXT(command_line);
    SAME_TEXT(slurm_job);
    SAME_TEXT(slurm_step);
    SAME_TEXT(container);
    return NULL;
}

static const char *node_difference(const struct snapshot *a, const struct snapshot *b)
{
    SAME(sequence);
    SAME(taken_unix_us);
    SAME(flags);
    SAME(fault);
    SAME(fault_code);
    SAME_TEXT(fault_text);
    SAME_TEXT(hostname);
    SAME_TEXT(driver_version);
    SAME_TEXT(nvml_version);
    SAME_TEXT(pending.name);
    SAME(pending.device);
    SAME(pending.running_us);
    SAME(driver_time_ppm);
    SAME(unnamed_processes);
    SAME(commands_cut);
    SAME(entries_left_out);
    SAME(host_age_us);
    SAME(device_count);
    SAME(entry_count);
    SAME(process_count);
    return NULL;
}

const char *snapshot_difference(const struct snapshot *a, const struct snapshot *b)
{
    const char *difference = node_difference(a, b);

    for (uint32_t i = 0; !difference && i < a->device_count; i++)
        difference = device_difference(&a->devices[i], &b->devices[i]);
    for (uint32_t i = 0; !difference && i < a->entry_count; i++)
        difference = entry_difference(&a->entries[i], &b->entries[i]);
    for (uint32_t i = 0; !difference && i < a->process_count; i++)
        difference = process_difference(&a->processes[i], &b->processes[i]);
    return difference;
}
