#include "config/config.h"

#include "config/assign.h"
#include "core/cleanup.h"
#include "core/file.h"
#include "core/utf8.h"
#include "model/host_list.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define FOUND_COLUMNS 60 /* how much of a wrong text is repeated in the message */

/* What the readers of one file share. */
struct loading {
    enum config_program program;
    const char *name; /* of the file, for messages */
    struct config *config;
    struct config_report *report;
    struct text section; /* dotted path of the table being walked; empty at the top */
    int error;           /* -ENOMEM, sticky */
};

static const char *default_path(enum config_program program)
{
    return program == CONFIG_SERVER ? "/etc/clustat/server.toml" : "/etc/clustat/client.toml";
}

void config_report_deinit(struct config_report *report)
{
    buffer_deinit(&report->errors);
    buffer_deinit(&report->warnings);
}

int config_init(struct config *config, enum config_program program)
{
    *config = (struct config){0};
    config->path = strdup("");
    for (unsigned key = 0; key < CONFIG_KEY_COUNT; key++) {
        if (assign_default(config, (enum config_key)key, program) < 0)
            return -ENOMEM;
    }
    return config->path ? 0 : -ENOMEM;
}

void config_deinit(struct config *config)
{
    for (unsigned key = 0; key < CONFIG_KEY_COUNT; key++)
        assign_clear(config, (enum config_key)key);
    free(config->path);
    *config = (struct config){0};
}

bool config_is_set(const struct config *config, enum config_key key)
{
    return config->set_keys >> key & 1;
}

_Static_assert(CONFIG_KEY_COUNT <= 64, "struct config needs a second word for set_keys");

/* ---- messages ---- */

/* Begins a line of a list of problems. False when there are so many that no more are described. */
static bool begin_problem(const struct loading *loading, struct buffer *lines, uint32_t *count, unsigned line)
{
    if (++*count > CONFIG_MAX_PROBLEMS)
        return false;
    utf8_put_visible(lines, text_from_string(loading->name));
    if (line)
        buffer_printf(lines, ":%u", line);
    buffer_put_string(lines, ": ");
    return true;
}

static bool begin_error(const struct loading *loading, unsigned line)
{
    struct config_report *report = loading->report;

    return begin_problem(loading, &report->errors, &report->error_count, line);
}

static bool begin_warning(const struct loading *loading, unsigned line)
{
    struct config_report *report = loading->report;

    return begin_problem(loading, &report->warnings, &report->warning_count, line);
}

/* What was found, in words. */
static void put_found(struct buffer *out, const struct toml_value *value)
{
    switch (value->kind) {
    case TOML_KIND_STRING:
        buffer_put_string(out, "the text \"");
        utf8_put_visible_cut(out, value->string, FOUND_COLUMNS, false);
        buffer_put_char(out, '"');
        return;
    case TOML_KIND_INTEGER:
        buffer_put_signed(out, value->integer);
        return;
    case TOML_KIND_REAL:
        buffer_printf(out, "%.10g", value->real);
        return;
    case TOML_KIND_BOOLEAN:
        buffer_put_string(out, value->boolean ? "true" : "false");
        return;
    case TOML_KIND_DATE:
        buffer_put_string(out, "a date or time");
        return;
    case TOML_KIND_ARRAY:
        buffer_printf(out, "a list of %u", value->count);
        return;
    case TOML_KIND_TABLE:
        buffer_put_string(out, "a table");
        return;
    }
}

static void report_wrong_value(const struct loading *loading, const struct schema_key *key,
                               const struct toml_value *value, const struct toml_value *culprit)
{
    struct buffer *out = &loading->report->errors;

    if (!begin_error(loading, culprit->line ? culprit->line : value->line))
        return;
    buffer_printf(out, "%s %s ", key->name, culprit->node == value->node ? "is" : "holds");
    put_found(out, culprit);
    buffer_put_string(out, "; allowed is ");
    schema_put_allowed(key, out);
    buffer_put_char(out, '\n');
}

static void report_unknown(const struct loading *loading, struct text path, unsigned line)
{
    struct buffer *out = &loading->report->warnings;
    const char *nearest = schema_nearest(path);

    if (!begin_warning(loading, line))
        return;
    buffer_put_string(out, "unknown key ");
    utf8_put_visible_cut(out, path, FOUND_COLUMNS, false);
    if (nearest && text_equal_string(path, nearest))
        buffer_put_string(out, " in quotes, which make it one name; write it without");
    else if (nearest)
        buffer_printf(out, "; did you mean %s?", nearest);
    buffer_put_char(out, '\n');
}

/* ---- walking the file ---- */

static void note_key(struct loading *loading, enum config_key key, const struct toml_value *value)
{
    const struct schema_key *info = &schema_keys[key];
    unsigned readers = loading->program == CONFIG_SERVER ? CONFIG_SERVER : CONFIG_BACKEND | CONFIG_CLI;
    struct toml_value culprit;
    int r = assign_value(loading->config, key, value, &culprit);

    if (r == -ENOMEM)
        loading->error = r;
    else if (r < 0)
        report_wrong_value(loading, info, value, &culprit);
    else
        loading->config->set_keys |= UINT64_C(1) << key;
    if (!(info->programs & readers) && begin_warning(loading, value->line))
        buffer_printf(&loading->report->warnings, "%s has no effect here: only the %s reads it\n", info->name,
                      loading->program == CONFIG_SERVER ? "backend or the CLI" : "server");
}

static void walk_member(void *context, struct text key, const struct toml_value *value)
{
    struct loading *loading = context;
    _cleanup_(buffer_deinit) struct buffer path = BUFFER_EMPTY;
    struct text outer = loading->section, full;
    enum config_key known;

    buffer_put_text(&path, outer);
    if (outer.len)
        buffer_put_char(&path, '.');
    buffer_put_text(&path, key);
    if (buffer_error(&path) < 0) {
        loading->error = buffer_error(&path);
        return;
    }
    full = buffer_text(&path);
    known = memchr(key.bytes, '.', key.len) ? CONFIG_KEY_COUNT
                                            : schema_find(full); /* "a.b" in quotes is not a.b */

    if (!outer.len && text_equal_string(key, "log"))
        return; /* the first clustat had such a section; ours logs to standard error */
    if (known != CONFIG_KEY_COUNT) {
        note_key(loading, known, value);
    } else if (value->kind == TOML_KIND_TABLE && value->count) {
        loading->section = full;
        toml_each_member(value, walk_member, loading);
        loading->section = outer;
    } else if (!outer.len && schema_is_section(key)) {
        if (value->kind != TOML_KIND_TABLE && begin_error(loading, value->line)) {
            buffer_printf(&loading->report->errors, "%.*s is ", (int)key.len, key.bytes);
            put_found(&loading->report->errors, value);
            buffer_put_string(&loading->report->errors, "; allowed is a table\n");
        }
    } else {
        report_unknown(loading, full, value->line);
    }
}

static void put_rest(struct buffer *lines, uint32_t count)
{
    if (count > CONFIG_MAX_PROBLEMS)
        buffer_printf(lines, "... and %u more\n", count - CONFIG_MAX_PROBLEMS);
}

/* Reads the content into the configuration, which holds the defaults. */
static int parse_content(struct loading *loading, struct text content)
{
    struct toml_document *document;
    struct toml_error error;
    struct toml_value root;
    int r;

    r = toml_parse(content, &document, &error);
    if (r == -EBADMSG) {
        if (begin_error(loading, error.line)) {
            utf8_put_visible(&loading->report->errors, text_from_string(error.message));
            buffer_printf(&loading->report->errors, " (column %u)\n", error.column);
        }
        return 0;
    }
    if (r < 0)
        return r;
    root = toml_root(document);
    toml_each_member(&root, walk_member, loading);
    toml_free(document);
    return loading->error;
}

/* The outcome of loading: no memory before wrong content before none of both. */
static int finish(const struct loading *loading, int r)
{
    struct config_report *report = loading->report;

    put_rest(&report->errors, report->error_count);
    put_rest(&report->warnings, report->warning_count);
    if (r == 0)
        r = buffer_error(&report->errors);
    if (r == 0)
        r = buffer_error(&report->warnings);
    return r == 0 && report->error_count ? -EINVAL : r;
}

int config_parse(enum config_program program, const char *name, struct text content,
                 struct config *ret_config, struct config_report *report)
{
    struct loading loading = {.program = program,
                              .name = name,
                              .config = ret_config,
                              .report = report,
                              .section = TEXT_LITERAL("")};
    int r = config_init(ret_config, program);

    *report = (struct config_report){0};
    if (r == 0)
        r = parse_content(&loading, content);
    return finish(&loading, r);
}

/* ---- the file and the environment ---- */

static int add_static_node(void *context, struct text item)
{
    struct loading *loading = context;
    struct buffer *out = &loading->report->errors;
    struct toml_value found = {.kind = TOML_KIND_STRING, .string = item};
    int r = assign_append(loading->config, CONFIG_KEY_STATIC_NODES, item);

    if (r != -EINVAL && r != -E2BIG)
        return r;
    if (!begin_error(loading, 0))
        return 0;
    put_found(out, &found);
    if (r == -E2BIG) {
        buffer_put_string(out, " is one node too many\n");
        return 0;
    }
    buffer_put_string(out, "; allowed is ");
    schema_put_allowed(&schema_keys[CONFIG_KEY_STATIC_NODES], out);
    buffer_put_char(out, '\n');
    return 0;
}

static int add_environment(struct loading *loading)
{
    const char *nodes = getenv("CLUSTAT_STATIC_NODES");
    struct host_list_error error;
    int r;

    if (loading->program != CONFIG_BACKEND || !nodes || !*nodes)
        return 0;
    loading->name = "CLUSTAT_STATIC_NODES";
    loading->config->set_keys |= UINT64_C(1) << CONFIG_KEY_STATIC_NODES;
    r = host_list_split(text_from_string(nodes), add_static_node, loading, &error);
    if (r != -EINVAL)
        return r;
    if (begin_error(loading, 0))
        buffer_printf(&loading->report->errors, "%s\n", error.message);
    return 0;
}

/* Parses the file, if it is there. Returns 0 or a negative errno, which has then been reported. */
static int parse_file(struct loading *loading, bool named)
{
    _cleanup_(cleanup_free) char *bytes = NULL;
    size_t len = 0;
    bool cut = false;
    int r = file_read_long(AT_FDCWD, loading->name, CONFIG_MAX_BYTES, &bytes, &len, &cut);

    if (r == 0 && cut)
        r = -EFBIG;
    if (r == -ENOENT) {
        if (named && begin_warning(loading, 0))
            buffer_put_string(&loading->report->warnings, "there is no such file; the defaults are used\n");
        return 0;
    }
    loading->config->file_found = true;
    if (r == 0)
        return parse_content(loading, (struct text){bytes, len});
    if (begin_error(loading, 0))
        buffer_printf(&loading->report->errors, "cannot be read: %s\n",
                      r == -EFBIG ? "it is larger than 1 MiB" : strerror(-r));
    return r;
}

int config_load(enum config_program program, const char *path, struct config *ret_config,
                struct config_report *report)
{
    struct loading loading = {
        .program = program, .config = ret_config, .report = report, .section = TEXT_LITERAL("")};
    const char *variable = getenv("CLUSTAT_CONFIG");
    bool named = path || (variable && *variable);
    int r, r2;

    *report = (struct config_report){0};
    r = config_init(ret_config, program);
    if (r < 0)
        return r;
    loading.name = path ? path : named ? variable : default_path(program);
    free(ret_config->path);
    ret_config->path = strdup(loading.name);
    if (!ret_config->path)
        return -ENOMEM;
    r = parse_file(&loading, named);
    r2 = add_environment(&loading);
    return finish(&loading, r < 0 ? r : r2);
}
