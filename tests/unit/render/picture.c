#include "picture.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

/* The rest of a line; words are taken from its front. */
struct line {
    const char *at, *end;
};

__attribute__((noreturn)) static void refuse(const struct line *line, const char *why)
{
    fprintf(stderr, "picture: %s: %.*s\n", why, (int)(line->end - line->at), line->at);
    abort();
}

static struct text next_word(struct line *line)
{
    struct text word = {line->at, 0};

    while (line->at < line->end && *line->at != ' ')
        line->at++;
    word.len = (size_t)(line->at - word.bytes);
    if (line->at < line->end)
        line->at++;
    return word;
}

static bool next_is(struct line *line, const char *word)
{
    struct line rest = *line;

    if (!text_equal_string(next_word(&rest), word))
        return false;
    *line = rest;
    return true;
}

static int64_t next_number(struct line *line)
{
    struct text word = next_word(line);
    char number[24], *end;
    long long value;

    assert(word.len > 0);
    value = strtoll(text_copy(word, number, sizeof(number)), &end, 10);
    assert(!*end);
    return value;
}

static unsigned hex_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

/* The rest of the line with its escapes undone, kept until the picture goes. */
static struct text rest_of_line(struct picture *picture, struct line *line)
{
    char *bytes = malloc((size_t)(line->end - line->at) + 1);
    size_t len = 0;

    assert(bytes);
    while (line->at < line->end) {
        char c = *line->at++;

        if (c == '\\') {
            c = *line->at++;
            if (c == 'x') {
                c = (char)(hex_digit(line->at[0]) << 4 | hex_digit(line->at[1]));
                line->at += 2;
            } else {
                c = c == 'n' ? '\n' : c == '0' ? '\0' : c;
            }
        }
        bytes[len++] = c;
    }
    picture->texts = realloc(picture->texts, (picture->text_count + 1) * sizeof(char *));
    assert(picture->texts);
    picture->texts[picture->text_count++] = bytes;
    return (struct text){bytes, len};
}

void picture_init(struct picture *picture)
{
    setenv("TZ", "UTC0", 1);
    tzset();
    *picture = (struct picture){
        .view = {.now_unix_us = PICTURE_NOW_US},
        .options = {.style = STYLE_GPUSTAT, .unicode = true, .colors = 256, .gpuname_width = -1},
    };
    picture->view.nodes = picture->nodes;
}

void picture_deinit(struct picture *picture)
{
    for (size_t i = 0; i < picture->view.node_count; i++)
        snapshot_deinit(&picture->snapshots[i]);
    for (size_t i = 0; i < picture->text_count; i++)
        free(picture->texts[i]);
    free(picture->texts);
}

static struct view_node *node_of(struct picture *picture)
{
    assert(picture->view.node_count > 0);
    return &picture->nodes[picture->view.node_count - 1];
}

static struct snapshot *snapshot_of(struct picture *picture)
{
    return &picture->snapshots[node_of(picture) - picture->nodes];
}

static struct device *device_of(struct picture *picture)
{
    struct snapshot *snapshot = snapshot_of(picture);

    assert(snapshot->device_count > 0);
    return &snapshot->devices[snapshot->device_count - 1];
}

/* Room for one more of each kind, growing by doubling. */
static void reserve(struct snapshot *snapshot)
{
    uint32_t processes = snapshot->process_cap, entries = snapshot->entry_cap;

    if (snapshot->process_count == processes)
        processes = processes ? 2 * processes : 16;
    if (snapshot->entry_count == entries)
        entries = entries ? 2 * entries : 16;
    assert(snapshot_reserve(snapshot, SNAPSHOT_MAX_DEVICES, entries, processes) == 0);
}

/* ---- lines of a node ---- */

static void read_node(struct picture *picture, struct line *line)
{
    size_t i = picture->view.node_count++;
    struct snapshot *snapshot = &picture->snapshots[i];

    assert(i < PICTURE_MAX_NODES);
    snapshot_init(snapshot);
    snapshot->taken_unix_us = PICTURE_NOW_US;
    snapshot->flags = NODE_FIRST_ROUND_DONE;
    snapshot->hostname = rest_of_line(picture, line);
    picture->nodes[i] = (struct view_node){.snapshot = snapshot};
}

/* unheard: nothing was ever received of the node. */
static void read_unheard(struct picture *picture, struct line *line)
{
    (void)line;
    node_of(picture)->snapshot = NULL;
}

static void read_connection(struct picture *picture, struct line *line)
{
    node_of(picture)->connection_id = rest_of_line(picture, line);
}

static void read_addr(struct picture *picture, struct line *line)
{
    node_of(picture)->addr = rest_of_line(picture, line);
}

static void read_error(struct picture *picture, struct line *line)
{
    node_of(picture)->error = rest_of_line(picture, line);
}

static void read_driver(struct picture *picture, struct line *line)
{
    snapshot_of(picture)->driver_version = rest_of_line(picture, line);
}

/* taken UNIX_US */
static void read_taken(struct picture *picture, struct line *line)
{
    snapshot_of(picture)->taken_unix_us = next_number(line);
}

/* state NUMBER SINCE_US AGE_US */
static void read_state(struct picture *picture, struct line *line)
{
    struct view_node *node = node_of(picture);

    node->state = (enum node_state)next_number(line);
    node->since_unix_us = next_number(line);
    node->age_us = (uint64_t)next_number(line);
}

/* delay US AGE_US */
static void read_delay(struct picture *picture, struct line *line)
{
    struct view_node *node = node_of(picture);

    node->has_delay = true;
    node->delay_us = (uint64_t)next_number(line);
    node->delay_age_us = (uint64_t)next_number(line);
}

/* fault NUMBER CODE TEXT */
static void read_fault(struct picture *picture, struct line *line)
{
    struct snapshot *snapshot = snapshot_of(picture);

    snapshot->fault = (enum node_fault)next_number(line);
    snapshot->fault_code = (int32_t)next_number(line);
    if (line->at < line->end)
        snapshot->fault_text = rest_of_line(picture, line);
}

/* pending DEVICE RUNNING_US NAME */
static void read_pending(struct picture *picture, struct line *line)
{
    struct pending_call *pending = &snapshot_of(picture)->pending;

    pending->device = (int32_t)next_number(line);
    pending->running_us = (uint64_t)next_number(line);
    pending->name = rest_of_line(picture, line);
}

/* counts FLAGS UNNAMED CUT LEFT_OUT */
static void read_counts(struct picture *picture, struct line *line)
{
    struct snapshot *snapshot = snapshot_of(picture);

    snapshot->flags = (unsigned)next_number(line);
    snapshot->unnamed_processes = (uint32_t)next_number(line);
    snapshot->commands_cut = (uint32_t)next_number(line);
    snapshot->entries_left_out = (uint32_t)next_number(line);
}

/* ---- lines of a device ---- */

static struct device *add_device(struct picture *picture, struct line *line)
{
    struct snapshot *snapshot = snapshot_of(picture);
    struct device *device;

    reserve(snapshot);
    device = &snapshot->devices[snapshot->device_count++];
    device_init(device, (uint32_t)next_number(line));
    device->list_code[LIST_COMPUTE] = device->list_code[LIST_GRAPHICS] = 0;
    device->list_code[LIST_MPS] = LIST_CODE_ABSENT;
    device->first_entry = snapshot->entry_count;
    return device;
}

/* device INDEX NAME */
static void read_device(struct picture *picture, struct line *line)
{
    struct device *device = add_device(picture, line);

    device->name = rest_of_line(picture, line);
}

/* instance PARENT MIG_INDEX NAME */
static void read_instance(struct picture *picture, struct line *line)
{
    struct device *device = add_device(picture, line);

    device->kind = DEVICE_MIG;
    device->mig_index = (uint32_t)next_number(line);
    device->name = rest_of_line(picture, line);
}

static void read_nameless(struct picture *picture, struct line *line)
{
    (void)line;
    device_of(picture)->name = TEXT_ABSENT;
}

static void read_uuid(struct picture *picture, struct line *line)
{
    device_of(picture)->uuid = rest_of_line(picture, line);
}

/* condition STATE CODE */
static void read_condition(struct picture *picture, struct line *line)
{
    device_of(picture)->state = (enum device_state)next_number(line);
    device_of(picture)->fault_code = (int32_t)next_number(line);
}

static void read_unified(struct picture *picture, struct line *line)
{
    (void)line;
    device_of(picture)->flags |= DEVICE_UNIFIED_MEMORY;
}

/* age GROUP US */
static void read_age(struct picture *picture, struct line *line)
{
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        if (next_is(line, field_group_name(group))) {
            device_of(picture)->group_age_us[group] = (uint64_t)next_number(line);
            return;
        }
    }
    refuse(line, "no such group");
}

static uint8_t next_list(struct line *line)
{
    static const char *const names[LIST_COUNT] = {"compute", "graphics", "mps"};

    for (uint8_t list = 0; list < LIST_COUNT; list++)
        if (next_is(line, names[list]))
            return list;
    refuse(line, "no such list");
}

/* list NAME CODE */
static void read_list(struct picture *picture, struct line *line)
{
    uint8_t list = next_list(line);

    device_of(picture)->list_code[list] = (int32_t)next_number(line);
}

static void set_fact(struct process *process, unsigned fact, int64_t value, void *member, size_t size)
{
    if (value < 0)
        return;
    process->facts |= fact;
    memcpy(member, &value, size); /* little-endian machines only, as all that have such devices */
}

/* process PID UID CPU_PERMILLE RSS COMMAND_LINE: -1 is unknown; no command line: neither */
static void read_process(struct picture *picture, struct line *line)
{
    struct snapshot *snapshot = snapshot_of(picture);
    struct process *process;

    reserve(snapshot);
    process = &snapshot->processes[snapshot->process_count++];
    *process = (struct process){.pid = (uint32_t)next_number(line)};
    set_fact(process, PROCESS_HAS_UID, next_number(line), &process->uid, sizeof(process->uid));
    set_fact(process, PROCESS_HAS_CPU, next_number(line), &process->cpu_permille, sizeof(uint32_t));
    set_fact(process, PROCESS_HAS_RSS, next_number(line), &process->rss_bytes, sizeof(uint64_t));
    if (line->at < line->end) {
        process->command_line = rest_of_line(picture, line);
        process->facts |= PROCESS_HAS_COMMAND_LINE;
    }
}

static struct process *last_process(struct picture *picture)
{
    struct snapshot *snapshot = snapshot_of(picture);

    assert(snapshot->process_count > 0);
    return &snapshot->processes[snapshot->process_count - 1];
}

/* alive STATE COMM */
static void read_alive(struct picture *picture, struct line *line)
{
    struct process *process = last_process(picture);

    process->state = (enum process_state)next_number(line);
    if (line->at < line->end)
        process->comm = rest_of_line(picture, line);
}

static void read_user(struct picture *picture, struct line *line)
{
    last_process(picture)->user = rest_of_line(picture, line);
}

static uint32_t find_process(const struct snapshot *snapshot, uint32_t pid)
{
    for (uint32_t i = 0; i < snapshot->process_count; i++)
        if (snapshot->processes[i].pid == pid)
            return i;
    return PROCESS_UNKNOWN;
}

/* entry LIST PID BYTES|-1 [GPU_INSTANCE COMPUTE_INSTANCE] */
static void read_entry(struct picture *picture, struct line *line)
{
    struct snapshot *snapshot = snapshot_of(picture);
    struct process_entry *entry;
    int64_t bytes;

    reserve(snapshot);
    entry = &snapshot->entries[snapshot->entry_count++];
    *entry = (struct process_entry){
        .list = next_list(line),
        .util_sm_percent = PERCENT_ABSENT,
        .util_memory_percent = PERCENT_ABSENT,
        .util_encoder_percent = PERCENT_ABSENT,
        .util_decoder_percent = PERCENT_ABSENT,
        .gpu_instance_id = INSTANCE_NONE,
        .compute_instance_id = INSTANCE_NONE,
    };
    entry->pid = (uint32_t)next_number(line);
    entry->process = find_process(snapshot, entry->pid);
    bytes = next_number(line);
    entry->has_mem = bytes >= 0;
    entry->mem_bytes = bytes < 0 ? 0 : (uint64_t)bytes;
    if (line->at < line->end) {
        entry->gpu_instance_id = (uint32_t)next_number(line);
        entry->compute_instance_id = (uint32_t)next_number(line);
    }
    device_of(picture)->entry_count++;
}

/* ---- options ---- */

/* id N: one more of --id */
static void read_id(struct picture *picture, struct line *line)
{
    struct render_options *options = &picture->options;

    assert(options->id_count < ELEMENTS(picture->ids));
    picture->ids[options->id_count++] = (uint32_t)next_number(line);
    options->ids = picture->ids;
}

/* Words that turn an option on. */
static bool *find_switch(struct render_options *options, struct line *line)
{
    const struct {
        const char *word;
        bool *option;
    } switches[] = {
        {"color", &options->color},
        {"cmd", &options->show_cmd},
        {"full-cmd", &options->show_full_cmd},
        {"user", &options->show_user},
        {"pid", &options->show_pid},
        {"fan", &options->show_fan},
        {"no-header", &options->no_header},
        {"no-processes", &options->no_processes},
        {"delay", &options->show_delay},
    };

    for (size_t i = 0; i < ELEMENTS(switches); i++)
        if (next_is(line, switches[i].word))
            return switches[i].option;
    return NULL;
}

/* option WORD [NUMBER] */
static void read_option(struct picture *picture, struct line *line)
{
    struct render_options *options = &picture->options;
    bool *on = find_switch(options, line);

    if (on)
        *on = true;
    else if (next_is(line, "clustat"))
        options->style = STYLE_CLUSTAT;
    else if (next_is(line, "ascii"))
        options->unicode = false;
    else if (next_is(line, "colors"))
        options->colors = (unsigned)next_number(line);
    else if (next_is(line, "codec"))
        options->show_codec = (unsigned)next_number(line);
    else if (next_is(line, "power"))
        options->show_power = (enum render_power)next_number(line);
    else if (next_is(line, "width"))
        options->gpuname_width = (int)next_number(line);
    else if (next_is(line, "columns"))
        options->columns = (size_t)next_number(line);
    else
        refuse(line, "no such option");
}

static const struct {
    const char *word;
    void (*read)(struct picture *picture, struct line *line);
} readers[] = {
    {"node", read_node},     {"unheard", read_unheard},     {"connection", read_connection},
    {"addr", read_addr},     {"error", read_error},         {"driver", read_driver},
    {"taken", read_taken},   {"state", read_state},         {"delay", read_delay},
    {"fault", read_fault},   {"pending", read_pending},     {"counts", read_counts},
    {"device", read_device}, {"instance", read_instance},   {"nameless", read_nameless},
    {"uuid", read_uuid},     {"condition", read_condition}, {"unified", read_unified},
    {"age", read_age},       {"list", read_list},           {"process", read_process},
    {"alive", read_alive},   {"user", read_user},           {"entry", read_entry},
    {"id", read_id},         {"option", read_option},
};

static bool read_field(struct picture *picture, struct line *line)
{
    for (unsigned field = 0; field < FIELD_COUNT; field++) {
        if (next_is(line, field_info(field)->json_name)) {
            field_set(&device_of(picture)->values, field, next_number(line));
            return true;
        }
    }
    return false;
}

static void read_line(struct picture *picture, struct line *line)
{
    for (size_t i = 0; i < ELEMENTS(readers); i++) {
        if (next_is(line, readers[i].word)) {
            readers[i].read(picture, line);
            return;
        }
    }
    if (!read_field(picture, line))
        refuse(line, "no such line");
}

void picture_draw(struct picture *picture, const char *lines)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        struct line line = {lines, lines + len};

        if (len)
            read_line(picture, &line);
        lines += len + (lines[len] == '\n');
    }
}

typedef void render_function(const struct view *, const struct render_options *, struct buffer *);

static char *render(const struct picture *picture, render_function *function)
{
    struct buffer out = BUFFER_EMPTY;

    function(&picture->view, &picture->options, &out);
    assert(buffer_error(&out) == 0);
    assert(!out.len || !memchr(out.bytes, '\0', out.len));
    buffer_put_char(&out, '\0');
    return out.bytes;
}

char *picture_table(const struct picture *picture)
{
    return render(picture, render_table);
}

char *picture_gpustat_json(const struct picture *picture)
{
    return render(picture, render_gpustat_json);
}

char *picture_clustat_json(const struct picture *picture)
{
    return render(picture, render_clustat_json);
}
