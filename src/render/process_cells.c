/* The processes of a device: on its row, and as the tree of -f (gpustat-contract A.6). */
#include "render/table.h"

#include <stdio.h>

#include "render/command.h"

/* What clustat adds to the memory figure of a process that does not run (any more). */
static const char *state_mark(const struct table *table, const struct snapshot *snapshot,
                              const struct process *process)
{
    if (!table_is_clustat(table) || !process)
        return "";
    if (process->state == PROCESS_ZOMBIE)
        return " zombie";
    /* In a pid namespace of our own every pid of the host looks as if it had ended. */
    if (process->state == PROCESS_EXITED && !(snapshot->flags & NODE_PID_NAMESPACE))
        return " exited?";
    return "";
}

static void put_user(struct table *table, const struct process *process)
{
    char number[11];
    struct text user = shown_user(table->view, process, number);

    pen_start(&table->pen, PAINT_FAINT);
    cell_put_visible(table->out, text_is_present(user) ? user : TEXT_LITERAL("?"), table->rules);
    pen_stop(&table->pen, PAINT_FAINT);
}

/* What stands for a command that has no command line: the kernel's name of it, if clustat may say so. */
static struct text command_or_substitute(const struct table *table, const struct process *process)
{
    struct text command = command_name(process);

    if (!text_is_present(command) && table_is_clustat(table) && process && process->comm.len)
        command = process->comm;
    return text_is_present(command) ? command : TEXT_LITERAL("?");
}

static void put_command(struct table *table, const struct process *process)
{
    pen_start(&table->pen, PAINT_CYAN);
    cell_put_visible(table->out, command_or_substitute(table, process), table->rules);
    pen_stop(&table->pen, PAINT_CYAN);
}

static void put_process_memory(struct table *table, const struct process_row *row)
{
    /* gpustat cannot tell 0 bytes from no figure. */
    bool known = row->has_mem && (row->mem_bytes > 0 || table_is_clustat(table));

    pen_start(&table->pen, PAINT_YELLOW);
    if (known)
        buffer_put_unsigned(table->out, row->mem_bytes >> 20);
    else
        buffer_put_char(table->out, '?');
    buffer_put_char(table->out, 'M');
    pen_stop(&table->pen, PAINT_YELLOW);
}

static void put_process(struct table *table, const struct view_node *node, const struct process_row *row)
{
    const struct render_options *options = table->options;
    const struct process *process = row->process;
    bool has_uid = process && process->facts & PROCESS_HAS_UID;

    buffer_put_char(table->out, ' ');
    if (options->show_user || !options->show_cmd)
        put_user(table, process);
    if (options->show_cmd) {
        if (options->show_user)
            buffer_put_char(table->out, ':');
        put_command(table, process);
    }
    /* A pid is all there is of a process that nothing else is known of. */
    if (options->show_pid || (table_is_clustat(table) && !has_uid)) {
        buffer_put_char(table->out, '/');
        buffer_put_unsigned(table->out, row->pid);
    }
    buffer_put_char(table->out, '(');
    put_process_memory(table, row);
    buffer_put_string(table->out, state_mark(table, node->snapshot, process));
    buffer_put_char(table->out, ')');
}

/* Why a device that is well has no list. gpustat calls all of it "Not Supported". */
static const char *no_list_reason(const struct table *table, const struct device *device)
{
    int32_t code = device->list_code[LIST_COMPUTE];

    if (!table_is_clustat(table) || code == LIST_CODE_ABSENT)
        return "Not Supported";
    return code == LIST_CODE_UNREAD ? "not read yet" : render_gpustat_error(code);
}

size_t table_put_processes(struct table *table, const struct view_node *node, const struct device *device)
{
    bool is_well = device->state == DEVICE_OK;
    size_t count;

    /* clustat's notes have said what is wrong with the device as a whole. */
    if (!is_well && table_is_clustat(table))
        return 0;
    if (!is_well || !device_has_process_list(device)) {
        buffer_put_string(table->out, " (");
        buffer_put_string(table->out, no_list_reason(table, device));
        buffer_put_char(table->out, ')');
        return 0;
    }
    count = row_store_fill(&table->rows, table->options->style, node->snapshot, device, table->out);
    for (size_t i = 0; i < count; i++)
        put_process(table, node, &table->rows.rows[i]);
    return count;
}

/* "   5%": rounded as Python rounds. gpustat has no word for unknown, and needs a number. */
static void put_cpu(struct table *table, const struct process *process)
{
    bool known = process && process->facts & PROCESS_HAS_CPU;
    char text[16];

    pen_start(&table->pen, PAINT_GREEN);
    if (known || !table_is_clustat(table)) {
        snprintf(text, sizeof(text), "%4.0f", known ? process->cpu_permille / 10.0 : 0.0);
        buffer_put_string(table->out, text);
    } else {
        buffer_put_string(table->out, "   ?");
    }
    buffer_put_char(table->out, '%');
    pen_stop(&table->pen, PAINT_GREEN);
}

/* "  40MB": shifted down while above four digits. */
static void put_resident(struct table *table, const struct process *process)
{
    static const char *const suffixes[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    bool known = process && process->facts & PROCESS_HAS_RSS;
    uint64_t value = known ? process->rss_bytes : 0;
    size_t unit = 0;

    while (value > 9999 && unit < 5) {
        value >>= 10;
        unit++;
    }
    pen_start(&table->pen, PAINT_YELLOW);
    if (known || !table_is_clustat(table)) {
        table_put_number(table, true, (int64_t)value, unit ? 4 : 5);
        buffer_put_string(table->out, suffixes[unit]);
    } else {
        buffer_put_string(table->out, "     ?");
    }
    pen_stop(&table->pen, PAINT_YELLOW);
}

static void put_command_line(struct table *table, const struct process *process)
{
    struct command_words words = command_words(process);
    struct command_path path;
    struct text word;

    if (!command_next_word(&words, &word))
        word = command_or_substitute(table, process);
    path = command_split_path(word);
    pen_start(&table->pen, PAINT_COMMAND_LINE);
    pen_start(&table->pen, PAINT_COMMAND_LINE);
    cell_put_visible(table->out, path.folder, table->rules);
    pen_start(&table->pen, PAINT_CYAN);
    cell_put_visible(table->out, path.name, table->rules);
    pen_start(&table->pen, PAINT_COMMAND_LINE);
    while (command_next_word(&words, &word)) {
        buffer_put_char(table->out, ' ');
        cell_put_visible(table->out, word, table->rules);
    }
    pen_stop(&table->pen, PAINT_COMMAND_LINE);
}

/* The sequences are gpustat's, one by one: a reset before each part, the command line's colour twice. */
void table_put_tree_line(struct table *table, const struct process_row *row, bool is_last)
{
    const char *branch = is_last ? "\xe2\x94\x94\xe2\x94\x80" : "\xe2\x94\x9c\xe2\x94\x80";

    if (!table->options->unicode)
        branch = is_last ? "`-" : "|-";
    pen_reset(&table->pen);
    buffer_put_char(table->out, ' ');
    buffer_put_string(table->out, branch);
    buffer_put_char(table->out, ' ');
    table_put_number(table, true, row->pid, 6);
    buffer_put_char(table->out, ' ');
    pen_reset(&table->pen);
    buffer_put_char(table->out, '(');
    put_cpu(table, row->process);
    buffer_put_string(table->out, ", ");
    put_resident(table, row->process);
    buffer_put_char(table->out, ')');
    pen_reset(&table->pen);
    buffer_put_string(table->out, ": ");
    put_command_line(table, row->process);
}
