#include "cli/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void color_environment_read(struct color_environment *ret_environment)
{
    *ret_environment = (struct color_environment){
        .is_terminal = isatty(STDOUT_FILENO) == 1,
        .term = getenv("TERM"),
        .colorterm = getenv("COLORTERM"),
        .no_color = getenv("NO_COLOR"),
        .clicolor_force = getenv("CLICOLOR_FORCE"),
        .lc_all = getenv("LC_ALL"),
        .lc_ctype = getenv("LC_CTYPE"),
        .lang = getenv("LANG"),
    };
}

static bool is_set(const char *value)
{
    return value && *value;
}

bool color_terminal_is_dumb(const struct color_environment *environment)
{
    return is_set(environment->term) && strcmp(environment->term, "dumb") == 0;
}

bool color_wanted(const struct options *options, const struct color_environment *environment)
{
    if (options->color != COLOR_AUTO)
        return options->color == COLOR_ALWAYS;
    if (options->as_gpustat)
        return environment->is_terminal;
    if (is_set(environment->no_color))
        return false;
    if (is_set(environment->clicolor_force) && strcmp(environment->clicolor_force, "0") != 0)
        return true;
    return environment->is_terminal && !color_terminal_is_dumb(environment);
}

unsigned color_count(const struct color_environment *environment)
{
    static const char *const rich[] = {"256color", "kitty", "alacritty", "foot", "ghostty", "wezterm"};

    if (color_terminal_is_dumb(environment))
        return 0;
    if (!is_set(environment->term) || is_set(environment->colorterm))
        return 256;
    for (size_t i = 0; i < sizeof(rich) / sizeof(rich[0]); i++)
        if (strstr(environment->term, rich[i]))
            return 256;
    return 8;
}

static const char *locale_name(const struct color_environment *environment)
{
    if (is_set(environment->lc_all))
        return environment->lc_all;
    if (is_set(environment->lc_ctype))
        return environment->lc_ctype;
    return is_set(environment->lang) ? environment->lang : "C";
}

bool color_charset_is_utf8(const struct color_environment *environment)
{
    const char *charset = strchr(locale_name(environment), '.');
    size_t len;

    if (!charset)
        return true;
    charset++;
    len = strcspn(charset, "@");
    return (len == 5 && strncasecmp(charset, "UTF-8", 5) == 0) ||
           (len == 4 && strncasecmp(charset, "UTF8", 4) == 0);
}
