#include "cli/completion.h"

#include "cli/option_table.h"

#include <errno.h>
#include <string.h>

/* Each name of each option: what a generator is called with. */
typedef void name_writer(struct buffer *out, const struct option_spec *spec, const char *name);

static void for_each_name(struct buffer *out, name_writer *write)
{
    for (size_t id = 0; id < OPTION_COUNT; id++)
        for (size_t i = 0; option_name(&option_table[id], i); i++)
            write(out, &option_table[id], option_name(&option_table[id], i));
}

/* The choices, separated by blanks; the empty one is left out. */
static void put_choices(struct buffer *out, const struct option_spec *spec)
{
    const char *separator = "";

    for (size_t i = 0; i < OPTION_CHOICES_MAX && spec->choices[i]; i++) {
        if (!*spec->choices[i])
            continue;
        buffer_printf(out, "%s%s", separator, spec->choices[i]);
        separator = " ";
    }
}

/* The names of an option with something between them. */
static void put_names(struct buffer *out, const struct option_spec *spec, const char *separator)
{
    for (size_t i = 0; option_name(spec, i); i++)
        buffer_printf(out, "%s%s", i ? separator : "", option_name(spec, i));
}

/* Text inside single quotes of a shell, where `escaped` stands for a single quote. */
static void put_quoted(struct buffer *out, const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'')
            buffer_put_string(out, escaped);
        else
            buffer_put_char(out, *text);
    }
}

static bool is_long(const char *name)
{
    return name[1] == '-';
}

/* gpustat has no word that stands alone. */
static bool has_commands(const char *program)
{
    return strcmp(program, "gpustat") != 0;
}

/* ---- bash ---- */

static void put_bash_name(struct buffer *out, const struct option_spec *spec, const char *name)
{
    (void)spec;
    buffer_printf(out, " %s", name);
}

/* What fills COMPREPLY for a value; nothing for numbers. */
static void put_bash_value(struct buffer *out, const struct option_spec *spec)
{
    static const char *const actions[] = {
        [VALUE_NONE] = NULL, [VALUE_CHOICE] = NULL,        [VALUE_NUMBER] = NULL,
        [VALUE_USER] = "-u", [VALUE_HOST] = "-A hostname", [VALUE_FILE] = "-f",
    };

    if (spec->value == VALUE_CHOICE) {
        buffer_put_string(out, "            COMPREPLY=($(compgen -W \"");
        put_choices(out, spec);
        buffer_put_string(out, "\" -- \"$cur\"))\n");
    } else if (actions[spec->value]) {
        buffer_printf(out, "            COMPREPLY=($(compgen %s -- \"$cur\"))\n", actions[spec->value]);
    }
}

/* The case of an option whose value is the word at the cursor. */
static void put_bash_case(struct buffer *out, const struct option_spec *spec)
{
    buffer_put_string(out, "        ");
    put_names(out, spec, "|");
    buffer_put_string(out, ")\n");
    put_bash_value(out, spec);
    buffer_printf(out, "            %s\n            ;;\n",
                  spec->arity == ARITY_OPTIONAL ? "[[ $cur == -* ]] || return" : "return");
}

static void put_bash(struct buffer *out, const char *program)
{
    buffer_printf(out, "# bash completion for %s\n_%s()\n{\n", program, program);
    buffer_put_string(out, "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                           "\n"
                           "    # bash takes --id=0 for three words\n"
                           "    if [[ $cur == = ]]; then\n"
                           "        cur=\n"
                           "    elif [[ $prev == = ]]; then\n"
                           "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                           "    fi\n"
                           "    COMPREPLY=()\n"
                           "    case $prev in\n");
    for (size_t id = 0; id < OPTION_COUNT; id++)
        if (option_table[id].arity != ARITY_FLAG)
            put_bash_case(out, &option_table[id]);
    buffer_put_string(out, "    esac\n    COMPREPLY=($(compgen -W \"");
    for_each_name(out, put_bash_name);
    if (has_commands(program))
        buffer_put_string(out, " " OPTIONS_NODES);
    buffer_printf(out, "\" -- \"$cur\"))\n}\ncomplete -F _%s %s\n", program, program);
}

/* ---- zsh ---- */

static void put_zsh_value(struct buffer *out, const struct option_spec *spec)
{
    static const char *const actions[] = {
        [VALUE_NONE] = "",       [VALUE_CHOICE] = "",     [VALUE_NUMBER] = " ",
        [VALUE_USER] = "_users", [VALUE_HOST] = "_hosts", [VALUE_FILE] = "_files",
    };

    if (spec->arity == ARITY_FLAG)
        return;
    buffer_put_string(out, spec->arity == ARITY_OPTIONAL ? "::" : ":");
    for (const char *c = spec->metavar; *c && *c != '['; c++)
        buffer_put_char(out, *c);
    buffer_put_char(out, ':');
    if (spec->value == VALUE_CHOICE) {
        buffer_put_char(out, '(');
        put_choices(out, spec);
        buffer_put_char(out, ')');
    } else {
        buffer_put_string(out, actions[spec->value]);
    }
}

/* How a name takes its value: --id 0 or --id=0, -i 2 or -i2. */
static const char *zsh_joint(const struct option_spec *spec, const char *name)
{
    if (spec->arity == ARITY_FLAG)
        return "";
    return is_long(name) || strlen(name) > 2 ? "=" : "+";
}

static void put_zsh_name(struct buffer *out, const struct option_spec *spec, const char *name)
{
    buffer_printf(out, " \\\n        '%s%s[", name, zsh_joint(spec, name));
    put_quoted(out, spec->help, "'\\''");
    buffer_put_char(out, ']');
    put_zsh_value(out, spec);
    buffer_put_char(out, '\'');
}

static void put_zsh(struct buffer *out, const char *program)
{
    buffer_printf(out, "#compdef %s\n_%s()\n{\n    _arguments -s", program, program);
    for_each_name(out, put_zsh_name);
    if (has_commands(program))
        buffer_put_string(out, " \\\n        '::list:((" OPTIONS_NODES "\\:\"a line per node\"))'");
    buffer_printf(out,
                  "\n}\n"
                  "# Called by the completion system when it lies in $fpath, else read by eval or source.\n"
                  "if [[ ${funcstack[1]} == _%s ]]; then\n"
                  "    _%s \"$@\"\n"
                  "else\n"
                  "    compdef _%s %s\n"
                  "fi\n",
                  program, program, program, program);
}

/* ---- fish ---- */

/* Single-letter options are -s, those of one dash and a word -o, long ones -l. */
static void put_fish_name(struct buffer *out, const struct option_spec *spec, const char *name)
{
    (void)spec;
    if (is_long(name))
        buffer_printf(out, " -l %s", name + 2);
    else
        buffer_printf(out, strlen(name) == 2 ? " -s %s" : " -o %s", name + 1);
}

static void put_fish_option(struct buffer *out, const struct option_spec *spec, const char *program)
{
    buffer_printf(out, "complete -c %s", program);
    for (size_t i = 0; option_name(spec, i); i++)
        put_fish_name(out, spec, option_name(spec, i));
    switch (spec->value) {
    case VALUE_CHOICE:
        buffer_put_string(out, " -x -a '");
        put_choices(out, spec);
        buffer_put_char(out, '\'');
        break;
    case VALUE_USER:
        buffer_put_string(out, " -x -a '(__fish_complete_users)'");
        break;
    case VALUE_HOST:
        buffer_put_string(out, " -x -a '(__fish_print_hostnames)'");
        break;
    case VALUE_FILE:
        buffer_put_string(out, " -r -F");
        break;
    case VALUE_NUMBER:
        if (spec->arity == ARITY_REQUIRED)
            buffer_put_string(out, " -x");
        break;
    case VALUE_NONE:
        break;
    }
    buffer_put_string(out, " -d '");
    put_quoted(out, spec->help, "\\'");
    buffer_put_string(out, "'\n");
}

static void put_fish(struct buffer *out, const char *program)
{
    buffer_printf(out, "# fish completion for %s\ncomplete -c %s -f\n", program, program);
    if (has_commands(program))
        buffer_printf(out, "complete -c %s -n __fish_is_first_arg -a %s -d '%s'\n", program, OPTIONS_NODES,
                      OPTIONS_NODES_HELP);
    for (size_t id = 0; id < OPTION_COUNT; id++)
        put_fish_option(out, &option_table[id], program);
}

/* ---- tcsh ---- */

static void put_tcsh_value(struct buffer *out, const struct option_spec *spec, const char *name)
{
    static const char *const actions[] = {
        [VALUE_NONE] = "",  [VALUE_CHOICE] = "",       [VALUE_NUMBER] = "x:a number",
        [VALUE_USER] = "u", [VALUE_HOST] = "x:a host", [VALUE_FILE] = "f",
    };

    if (spec->arity == ARITY_FLAG)
        return;
    buffer_printf(out, " \\\n    'n@%s@", name);
    if (spec->value == VALUE_CHOICE) {
        buffer_put_char(out, '(');
        put_choices(out, spec);
        buffer_put_char(out, ')');
    } else {
        buffer_put_string(out, actions[spec->value]);
    }
    buffer_put_string(out, "@'");
}

static void put_tcsh_long(struct buffer *out, const struct option_spec *spec, const char *name)
{
    (void)spec;
    if (is_long(name))
        buffer_printf(out, " %s", name + 2);
}

static void put_tcsh_short(struct buffer *out, const struct option_spec *spec, const char *name)
{
    (void)spec;
    if (!is_long(name))
        buffer_printf(out, " %s", name + 1);
}

static void put_tcsh(struct buffer *out, const char *program)
{
    buffer_printf(out, "# tcsh completion for %s\ncomplete %s", program, program);
    for_each_name(out, put_tcsh_value);
    buffer_put_string(out, " \\\n    'c@--@(");
    for_each_name(out, put_tcsh_long);
    buffer_put_string(out, " )@' \\\n    'c@-@(");
    for_each_name(out, put_tcsh_short);
    buffer_put_string(out, " )@'");
    if (has_commands(program))
        buffer_put_string(out, " \\\n    'p@1@(" OPTIONS_NODES ")@'");
    buffer_put_char(out, '\n');
}

int completion_put(struct buffer *out, const char *shell, const char *program)
{
    static const struct {
        const char *shell;
        void (*put)(struct buffer *out, const char *program);
    } writers[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}, {"tcsh", put_tcsh}};

    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
        if (strcmp(writers[i].shell, shell) == 0) {
            writers[i].put(out, program);
            return 0;
        }
    }
    return -EINVAL;
}
