#include "server/options.h"

#include "core/text.h"

#include <errno.h>
#include <string.h>

enum option_id {
    OPTION_CONFIG,
    OPTION_CHECK_CONFIG,
    OPTION_CONTROL_SOCKET,
    OPTION_DEBUG,
    OPTION_GROUP,
    OPTION_HELP,
    OPTION_JSON,
    OPTION_VERSION,
    OPTION_COUNT
};

static const struct {
    const char *name;
    const char *value; /* NULL: takes none */
    const char *help;
} option_table[OPTION_COUNT] = {
    [OPTION_CONFIG] = {"--config", "PATH", "read this file instead of /etc/clustat/server.toml"},
    [OPTION_CHECK_CONFIG] = {"--check-config", NULL, "read the configuration, say what is wrong, and end"},
    [OPTION_CONTROL_SOCKET] = {"--control-socket", "PATH", "instead of /run/clustat-server/control"},
    [OPTION_DEBUG] = {"--debug", NULL, "log more"},
    [OPTION_GROUP] = {"--group", "NAME", "keygen: this group may read the file (mode 0640)"},
    [OPTION_HELP] = {"--help", NULL, "this text"},
    [OPTION_JSON] = {"--json", NULL, "status: as JSON"},
    [OPTION_VERSION] = {"--version", NULL, "the version"},
};

static const struct {
    const char *name;
    const char *operand;
    const char *help;
    enum server_action action;
} command_table[] = {
    {"status", "", "what a running server is doing", ACTION_STATUS},
    {"pause", " [SECS]", "let go of the GPUs, so that they can be reset", ACTION_PAUSE},
    {"resume", "", "end a pause", ACTION_RESUME},
    {"keygen", " PATH", "make a file for security.key_file", ACTION_KEYGEN},
};
#define COMMAND_COUNT (sizeof(command_table) / sizeof(command_table[0]))

void options_put_usage(struct buffer *out)
{
    buffer_put_string(out,
                      "usage: clustat-server [--config PATH] [--control-socket PATH] [--check-config]\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        buffer_printf(out, "       clustat-server %s%s\n", command_table[i].name, command_table[i].operand);
}

void options_put_help(struct buffer *out)
{
    options_put_usage(out);
    buffer_put_string(out,
                      "\nTells the state of this machine's GPUs to clustat-backend. Without a command it "
                      "serves until it is stopped.\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        int width = 24 - (int)strlen(command_table[i].name);

        buffer_printf(out, "  %s%-*s%s\n", command_table[i].name, width, command_table[i].operand,
                      command_table[i].help);
    }
    buffer_put_char(out, '\n');
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        int width = 23 - (int)strlen(option_table[i].name);

        buffer_printf(out, "  %s %-*s%s\n", option_table[i].name, width,
                      option_table[i].value ? option_table[i].value : "", option_table[i].help);
    }
}

/* Takes one option with its value, which may stand in the next word. Returns the words taken or -EINVAL. */
static int take_option(char *const words[], struct options *options, struct buffer *why)
{
    const char *word = words[0], *value = strchr(word, '=');
    size_t len = value ? (size_t)(value - word) : strlen(word), id = 0;
    int taken = 1;

    while (id < OPTION_COUNT &&
           (strlen(option_table[id].name) != len || strncmp(option_table[id].name, word, len)))
        id++;
    if (id == OPTION_COUNT) {
        buffer_printf(why, "unknown option %s", word);
        return -EINVAL;
    }
    if (value && !option_table[id].value) {
        buffer_printf(why, "option %s takes no value", option_table[id].name);
        return -EINVAL;
    }
    if (value) {
        value++;
    } else if (option_table[id].value) {
        value = words[1];
        taken = 2;
    }
    if (option_table[id].value && (!value || !value[0])) {
        buffer_printf(why, "option %s needs a value: %s", option_table[id].name, option_table[id].value);
        return -EINVAL;
    }
    switch ((enum option_id)id) {
    case OPTION_CONFIG:
        options->config_path = value;
        break;
    case OPTION_CONTROL_SOCKET:
        options->control_path = value;
        break;
    case OPTION_GROUP:
        options->key_group = value;
        break;
    case OPTION_CHECK_CONFIG:
        options->action = ACTION_CHECK_CONFIG;
        break;
    case OPTION_HELP:
        options->action = ACTION_HELP;
        break;
    case OPTION_VERSION:
        options->action = ACTION_VERSION;
        break;
    case OPTION_DEBUG:
        options->debug = true;
        break;
    case OPTION_JSON:
        options->json = true;
        break;
    case OPTION_COUNT:
        break;
    }
    return taken;
}

static int take_command(const char *word, struct options *options, struct buffer *why)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(word, command_table[i].name)) {
            options->action = command_table[i].action;
            return 0;
        }
    buffer_printf(why, "unknown command %s", word);
    return -EINVAL;
}

static int take_operand(const char *word, struct options *options, struct buffer *why)
{
    unsigned long long secs;

    if (options->action == ACTION_KEYGEN && !options->key_path) {
        options->key_path = word;
        return 0;
    }
    if (options->action == ACTION_PAUSE && !options->pause_secs) {
        if (text_parse_decimal(text_from_string(word), PAUSE_SECS_MAX, &secs) < 0 || !secs) {
            buffer_printf(why, "pause %s: allowed are 1 to %u seconds", word, PAUSE_SECS_MAX);
            return -EINVAL;
        }
        options->pause_secs = (uint32_t)secs;
        return 0;
    }
    buffer_printf(why, "unexpected argument %s", word);
    return -EINVAL;
}

int options_parse(int argc, char *const argv[], struct options *ret_options, struct buffer *why)
{
    struct options options = {.action = ACTION_SERVE};
    bool has_command = false;

    for (int i = 1; i < argc;) {
        int r = 1;

        if (argv[i][0] == '-') {
            r = take_option(argv + i, &options, why);
        } else if (!has_command) {
            r = take_command(argv[i], &options, why) < 0 ? -EINVAL : 1;
            has_command = true;
        } else if (take_operand(argv[i], &options, why) < 0) {
            r = -EINVAL;
        }
        if (r < 0)
            return r;
        i += r;
    }
    if (options.action == ACTION_KEYGEN && !options.key_path) {
        buffer_put_string(why, "keygen needs the path of the file to make");
        return -EINVAL;
    }
    *ret_options = options;
    return 0;
}
