#include "render/clustat_json.h"

#include "render/command.h"

static void put_instance_ids(struct json_writer *json, uint32_t gpu_instance, uint32_t compute_instance)
{
    clustat_json_put_optional(json, "gpu_instance_id", gpu_instance != INSTANCE_NONE, gpu_instance);
    clustat_json_put_optional(json, "compute_instance_id", compute_instance != INSTANCE_NONE,
                              compute_instance);
}

static void put_percent(struct json_writer *json, const char *key, uint8_t percent)
{
    clustat_json_put_optional(json, key, percent != PERCENT_ABSENT, percent);
}

static const char *list_name(unsigned list)
{
    return list == LIST_COMPUTE ? "compute" : list == LIST_GRAPHICS ? "graphics" : "mps";
}

static void put_types(struct json_writer *json, unsigned lists)
{
    json_key(json, "types");
    json_begin_list(json);
    for (unsigned list = 0; list < LIST_COUNT; list++)
        if (lists >> list & 1)
            json_put_string(json, list_name(list));
    json_end_list(json);
}

static const char *process_state_name(const struct process *process)
{
    static const char *const names[PROCESS_STATE_COUNT] = {
        [PROCESS_RUNNING] = "running",
        [PROCESS_ZOMBIE] = "zombie",
        [PROCESS_EXITED] = "exited",
        [PROCESS_HIDDEN] = "hidden",
    };

    return process && process->state < PROCESS_STATE_COUNT ? names[process->state] : "unknown";
}

static void put_full_command(struct json_writer *json, const struct process *process)
{
    struct command_words words = command_words(process);
    struct text word;

    json_key(json, "full_command");
    if (!(process->facts & PROCESS_HAS_COMMAND_LINE)) {
        json_put_null(json);
        return;
    }
    json_begin_list(json);
    while (command_next_word(&words, &word))
        json_text(json, word);
    json_end_list(json);
}

/* What the host knows of the process. */
static void put_host_side(struct json_writer *json, const struct process *process)
{
    static const struct process nothing = {0};

    json_key(json, "state");
    json_put_string(json, process_state_name(process));
    if (!process)
        process = &nothing;
    clustat_json_put_optional(json, "start_ticks", process->facts & PROCESS_HAS_START, process->start_ticks);
    json_key(json, "start_unix_us");
    if (process->facts & PROCESS_HAS_START)
        json_signed(json, process->start_unix_us);
    else
        json_put_null(json);
    json_key(json, "cpu_percent");
    if (process->facts & PROCESS_HAS_CPU)
        json_tenths(json, process->cpu_permille);
    else
        json_put_null(json);
    clustat_json_put_optional(json, "rss_bytes", process->facts & PROCESS_HAS_RSS, process->rss_bytes);
    clustat_json_put_text(json, "comm", process->comm);
    put_full_command(json, process);
    json_key(json, "command_line_cut");
    json_bool(json, process->facts & PROCESS_COMMAND_LINE_CUT);
    clustat_json_put_text(json, "slurm_job", process->slurm_job);
    clustat_json_put_text(json, "slurm_step", process->slurm_step);
    clustat_json_put_text(json, "container", process->container);
}

/* gpustat's command; the kernel's name where there is no command line. */
static struct text command_of(const struct process *process)
{
    struct text command = command_name(process);

    if (!text_is_present(command) && process && process->comm.len)
        return process->comm;
    return command;
}

void clustat_json_put_process(struct clustat_json *state, const struct process_row *row)
{
    struct json_writer *json = &state->json;
    const struct process *process = row->process;
    bool has_uid = process && process->facts & PROCESS_HAS_UID;
    char number[11];

    json_begin_object(json);
    clustat_json_put_optional(json, "uid", has_uid, has_uid ? process->uid : 0);
    clustat_json_put_text(json, "username", shown_user(state->view, process, number));
    clustat_json_put_optional(json, "pid", true, row->pid);
    clustat_json_put_text(json, "command", command_of(process));
    clustat_json_put_optional(json, "used_memory_mb", row->has_mem, row->mem_bytes >> 20);
    clustat_json_put_optional(json, "used_memory_bytes", row->has_mem, row->mem_bytes);
    put_types(json, row->lists);
    put_percent(json, "utilization_sm_percent", row->util_sm_percent);
    put_instance_ids(json, row->gpu_instance_id, row->compute_instance_id);
    put_host_side(json, process);
    json_end_object(json);
}

void clustat_json_put_entry(struct clustat_json *state, const struct process_entry *entry)
{
    struct json_writer *json = &state->json;

    json_begin_object(json);
    json_key(json, "list");
    json_put_string(json, list_name(entry->list));
    clustat_json_put_optional(json, "pid", true, entry->pid);
    clustat_json_put_optional(json, "used_memory_bytes", entry->has_mem, entry->mem_bytes);
    put_percent(json, "utilization_sm_percent", entry->util_sm_percent);
    put_percent(json, "utilization_memory_percent", entry->util_memory_percent);
    put_percent(json, "utilization_encoder_percent", entry->util_encoder_percent);
    put_percent(json, "utilization_decoder_percent", entry->util_decoder_percent);
    put_instance_ids(json, entry->gpu_instance_id, entry->compute_instance_id);
    json_end_object(json);
}
