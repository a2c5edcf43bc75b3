#include "cli/help.h"

#include "cli/option_table.h"
#include "cli/output.h"
#include "core/cleanup.h"

#include <string.h>

#define HELP_COLUMN 30 /* where the explanations begin */
#define HELP_WIDTH  79

/* "-e [CODEC]" for a name of an option with its value. */
static void put_name(struct buffer *out, const struct option_spec *spec, const char *name, bool with_value)
{
    buffer_put_string(out, name);
    if (!with_value || spec->arity == ARITY_FLAG)
        return;
    buffer_printf(out, spec->arity == ARITY_OPTIONAL ? " [%s]" : " %s", spec->metavar);
}

/* Breaks the text at blanks so that it fits between HELP_COLUMN and HELP_WIDTH. */
static void put_wrapped(struct buffer *out, const char *text)
{
    size_t room = HELP_WIDTH - HELP_COLUMN;

    while (strlen(text) > room) {
        size_t cut = room;

        while (cut > 0 && text[cut] != ' ')
            cut--;
        buffer_put(out, text, cut);
        buffer_put_char(out, '\n');
        buffer_put_repeated(out, ' ', HELP_COLUMN);
        text += cut + 1;
    }
    buffer_put_string(out, text);
    buffer_put_char(out, '\n');
}

static void put_option(struct buffer *out, const struct option_spec *spec)
{
    size_t start = out->len;

    buffer_put_string(out, "  ");
    for (size_t i = 0; option_name(spec, i); i++) {
        if (i)
            buffer_put_string(out, ", ");
        put_name(out, spec, option_name(spec, i), !option_name(spec, i + 1));
    }
    if (out->len - start > HELP_COLUMN - 2) {
        buffer_put_char(out, '\n');
        start = out->len;
    }
    buffer_put_repeated(out, ' ', HELP_COLUMN - (out->len - start));
    put_wrapped(out, spec->help);
}

static void put_group(struct buffer *out, const char *title, bool own)
{
    buffer_printf(out, "\n%s:\n", title);
    for (size_t id = 0; id < OPTION_COUNT; id++)
        if (option_is_own(&option_table[id]) == own)
            put_option(out, &option_table[id]);
}

static void put_command(struct buffer *out)
{
    buffer_put_string(out, "\ncommand of clustat:\n  " OPTIONS_NODES);
    buffer_put_repeated(out, ' ', HELP_COLUMN - 2 - strlen(OPTIONS_NODES));
    put_wrapped(out, OPTIONS_NODES_HELP);
}

void help_put_usage(struct buffer *out, const char *program)
{
    buffer_printf(out, "usage: %s [-acfupF] [-e [CODEC]] [-P [POWER]] [-i [SECONDS]] [--json] [option ...]\n",
                  program);
    buffer_printf(out, "       %s --help lists all options.\n", program);
}

void help_put(struct buffer *out, const char *program)
{
    bool is_clustat = strcmp(program, "gpustat") != 0;

    buffer_printf(out, "usage: %s [option ...]%s\n\n", program, is_clustat ? " [" OPTIONS_NODES "]" : "");
    buffer_put_string(out, "Shows the GPUs: temperature, load, memory and who uses them.\n");
    put_group(out, "options (as in gpustat)", false);
    put_group(out, "options of clustat", true);
    if (is_clustat)
        put_command(out);
    buffer_put_string(out, "\nLong options may be shortened, short ones bundled (-cup). "
                           "Exit status: 0 shown,\n1 the GPUs could not be asked, 2 wrong usage. "
                           "The manual, clustat(1), tells the rest.\n");
}

int help_report_usage(const char *program, struct text message)
{
    _cleanup_(buffer_deinit) struct buffer out = BUFFER_EMPTY;

    help_put_usage(&out, program);
    buffer_printf(&out, "%s: error: ", program);
    buffer_put_text(&out, message);
    buffer_put_char(&out, '\n');
    output_write(STDERR_FILENO, buffer_text(&out));
    return EXIT_USAGE;
}
