#include "backend/options.h"

#include <errno.h>
#include <string.h>

enum option_id {
    OPTION_CONFIG,
    OPTION_UDS,
    OPTION_CHECK_CONFIG,
    OPTION_DEBUG,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_COUNT
};

static const struct {
    const char *name;
    const char *value; /* NULL: it takes none */
    const char *help;
} option_table[OPTION_COUNT] = {
    [OPTION_CONFIG] = {"--config", "PATH", "read this file, not /etc/clustat/client.toml"},
    [OPTION_UDS] = {"--uds", "PATH", "listen on this Unix socket"},
    [OPTION_CHECK_CONFIG] = {"--check-config", NULL, "say what is wrong with the configuration, and exit"},
    [OPTION_DEBUG] = {"--debug", NULL, "log more"},
    [OPTION_HELP] = {"--help", NULL, "show this text"},
    [OPTION_VERSION] = {"--version", NULL, "show the version"},
};

void options_put_usage(struct buffer *out)
{
    buffer_put_string(out, "usage: clustat-backend");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        buffer_printf(out, " [%s", option_table[i].name);
        if (option_table[i].value)
            buffer_printf(out, " %s", option_table[i].value);
        buffer_put_char(out, ']');
    }
    buffer_put_char(out, '\n');
}

void options_put_help(struct buffer *out)
{
    options_put_usage(out);
    buffer_put_string(
        out, "\nFinds the GPU nodes, keeps in touch with them, and answers clustat on a Unix socket.\n\n");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const char *value = option_table[i].value ? option_table[i].value : "";

        buffer_printf(out, "  %-16s %-5s %s\n", option_table[i].name, value, option_table[i].help);
    }
}

static size_t find_option(const char *word, size_t len)
{
    size_t id = 0;

    while (id < OPTION_COUNT &&
           (strlen(option_table[id].name) != len || strncmp(option_table[id].name, word, len) != 0))
        id++;
    return id;
}

static void apply(enum option_id id, const char *value, struct options *options)
{
    switch (id) {
    case OPTION_CONFIG:
        options->config_path = value;
        break;
    case OPTION_UDS:
        options->uds_path = value;
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
    case OPTION_COUNT:
        break;
    }
}

/* Takes one option with its value, which may stand in the next word. Returns the words taken or -EINVAL. */
static int take_option(char *const words[], struct options *options, struct buffer *why)
{
    const char *equals = strchr(words[0], '='), *value = equals ? equals + 1 : NULL;
    size_t id = find_option(words[0], equals ? (size_t)(equals - words[0]) : strlen(words[0]));
    int taken = 1;

    if (id == OPTION_COUNT) {
        buffer_printf(why, "unknown option %s", words[0]);
        return -EINVAL;
    }
    if (value && !option_table[id].value) {
        buffer_printf(why, "option %s takes no value", option_table[id].name);
        return -EINVAL;
    }
    if (!value && option_table[id].value) {
        value = words[1];
        taken = 2;
    }
    if (option_table[id].value && (!value || !value[0])) {
        buffer_printf(why, "option %s needs a value: %s", option_table[id].name, option_table[id].value);
        return -EINVAL;
    }
    apply((enum option_id)id, value, options);
    return taken;
}

int options_parse(int argc, char *const argv[], struct options *ret_options, struct buffer *why)
{
    struct options options = {.action = ACTION_SERVE};

    for (int i = 1; i < argc;) {
        int r;

        if (argv[i][0] != '-') {
            buffer_printf(why, "unexpected argument %s", argv[i]);
            return -EINVAL;
        }
        r = take_option(argv + i, &options, why);
        if (r < 0)
            return r;
        i += r;
    }
    *ret_options = options;
    return 0;
}
