#include "cli/options.h"

#include "cli/option_words.h"
#include "cli/python_text.h"
#include "core/cleanup.h"
#include "core/utf8.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct parser {
    char *const *texts;
    size_t count;
    struct option_word *words;
    struct options *options;
    struct buffer *error;
    struct buffer stray; /* words nobody took, each with a blank before it */
    bool saw[OPTION_COUNT];
    bool done; /* an option such as --help ended the run */
};

bool options_called_as_gpustat(const char *argv0)
{
    return text_equal_string(text_after_last(text_from_string(argv0 ? argv0 : ""), '/'), "gpustat");
}

/* ---- messages ---- */

/* "-i/--interval/--watch": the names that gpustat knows, or all of an own option. */
static void put_names(struct buffer *out, const struct option_spec *spec)
{
    const char *const *names = option_is_own(spec) ? spec->own_names : spec->names;

    for (size_t i = 0; i < OPTION_NAMES_MAX && names[i]; i++)
        buffer_printf(out, "%s%s", i ? "/" : "", names[i]);
}

static int complain(struct parser *parser, const struct option_spec *spec, const char *what,
                    const char *value)
{
    buffer_put_string(parser->error, "argument ");
    put_names(parser->error, spec);
    buffer_printf(parser->error, ": %s", what);
    if (value)
        python_put_repr(parser->error, value);
    return OPTIONS_USAGE;
}

static int complain_choice(struct parser *parser, const struct option_spec *spec, const char *value)
{
    complain(parser, spec, "invalid choice: ", value);
    for (size_t i = 0; i < OPTION_CHOICES_MAX && spec->choices[i]; i++) {
        buffer_put_string(parser->error, i ? ", " : " (choose from ");
        python_put_repr(parser->error, spec->choices[i]);
    }
    buffer_put_char(parser->error, ')');
    return OPTIONS_USAGE;
}

/* ---- second pass: do what they say ---- */

#define INTERVAL_MAX_S 1e9 /* thirty years are as good as any longer time, and fit nanoseconds */

static int set_interval(struct parser *parser, const struct option_spec *spec, const char *value)
{
    struct options *options = parser->options;
    double seconds = options->as_gpustat ? 1.0 : 2.0;

    if (value && (python_parse_float(value, &seconds) < 0 || isinf(seconds)))
        return complain(parser, spec, "invalid float value: ", value);
    if (!(seconds > 0)) { /* 0, negative and nan: once */
        options->interval_ns = 0;
        return 0;
    }
    options->interval_ns = (int64_t)((seconds < INTERVAL_MAX_S ? seconds : INTERVAL_MAX_S) * 1e9);
    if (options->interval_ns < INTERVAL_FLOOR_NS)
        options->interval_ns = INTERVAL_FLOOR_NS;
    return 0;
}

static int set_width(struct parser *parser, const struct option_spec *spec, const char *value)
{
    int64_t width;

    if (python_parse_int(text_from_string(value), &width) < 0)
        return complain(parser, spec, "invalid nonnegative_int value: ", value);
    if (width < 0)
        return complain(parser, spec, "Only non-negative integers are allowed.", NULL);
    parser->options->gpuname_width = (int)(width < GPUNAME_WIDTH_MAX ? width : GPUNAME_WIDTH_MAX);
    return 0;
}

static void set_codec(struct options *options, const char *value)
{
    options->show_codec = CODEC_NONE;
    if (!value || strstr(value, "enc"))
        options->show_codec |= CODEC_ENC;
    if (!value || strstr(value, "dec"))
        options->show_codec |= CODEC_DEC;
}

static void set_power(struct options *options, const char *value)
{
    if (!value || strstr(value, "limit"))
        options->show_power = POWER_DRAW_LIMIT;
    else
        options->show_power = *value ? POWER_DRAW : POWER_NONE;
}

static int set_color(struct parser *parser, const struct option_spec *spec)
{
    enum option_id other = spec->id == OPTION_COLOR ? OPTION_NO_COLOR : OPTION_COLOR;

    if (parser->saw[other]) {
        complain(parser, spec, "not allowed with argument ", NULL);
        put_names(parser->error, &option_table[other]);
        return OPTIONS_USAGE;
    }
    parser->options->color = spec->id == OPTION_COLOR ? COLOR_ALWAYS : COLOR_NEVER;
    return 0;
}

static void finish(struct parser *parser, enum options_action action)
{
    parser->options->action = action;
    parser->done = true;
}

static bool is_choice(const struct option_spec *spec, const char *value)
{
    for (size_t i = 0; i < OPTION_CHOICES_MAX && spec->choices[i]; i++)
        if (strcmp(spec->choices[i], value) == 0)
            return true;
    return !spec->choices[0];
}

/* Of the choices of --latency-display. */
static bool is_yes(const char *value)
{
    return strcmp(value, "true") == 0 || strcmp(value, "yes") == 0 || strcmp(value, "on") == 0 ||
           strcmp(value, "1") == 0;
}

/* Options with a value. value: NULL where an optional one was left out. */
static int take_value(struct parser *parser, const struct option_spec *spec, const char *value)
{
    struct options *options = parser->options;

    if (value && !is_choice(spec, value))
        return complain_choice(parser, spec, value);
    switch ((int)spec->id) {
    case OPTION_PRINT_COMPLETION:
        options->completion = value;
        finish(parser, ACTION_PRINT_COMPLETION);
        return 0;
    case OPTION_ID:
        options->ids = value;
        return 0;
    case OPTION_SHOW_CODEC:
        set_codec(options, value);
        return 0;
    case OPTION_SHOW_POWER:
        set_power(options, value);
        return 0;
    case OPTION_INTERVAL:
    case OPTION_WATCH:
        return set_interval(parser, spec, value);
    case OPTION_GPUNAME_WIDTH:
        return set_width(parser, spec, value);
    case OPTION_USER:
        options->users = value;
        return 0;
    case OPTION_NODE:
        options->nodes = value;
        return 0;
    case OPTION_LATENCY_DISPLAY:
        options->latency = is_yes(value) ? LATENCY_SHOWN : LATENCY_HIDDEN;
        return 0;
    case OPTION_BACKEND_SOCKET:
        options->socket = value;
        return 0;
    case OPTION_FORGET:
        options->forget = value;
        return 0;
    default:
        return 0;
    }
}

static int take_flag(struct parser *parser, const struct option_spec *spec)
{
    struct options *options = parser->options;

    switch ((int)spec->id) {
    case OPTION_HELP:
        finish(parser, ACTION_HELP);
        return 0;
    case OPTION_VERSION:
        finish(parser, ACTION_VERSION);
        return 0;
    case OPTION_COLOR:
    case OPTION_NO_COLOR:
        return set_color(parser, spec);
    case OPTION_SHOW_CMD:
        options->show_cmd = true;
        return 0;
    case OPTION_SHOW_FULL_CMD:
        options->show_full_cmd = true;
        return 0;
    case OPTION_SHOW_USER:
        options->show_user = true;
        return 0;
    case OPTION_SHOW_PID:
        options->show_pid = true;
        return 0;
    case OPTION_SHOW_FAN:
        options->show_fan = true;
        return 0;
    case OPTION_JSON:
        options->json = true;
        return 0;
    case OPTION_NO_HEADER:
        options->no_header = true;
        return 0;
    case OPTION_DEBUG:
        options->debug = true;
        return 0;
    case OPTION_NO_PROCESSES:
        options->no_processes = true;
        return 0;
    case OPTION_LOCAL:
        options->local = true;
        return 0;
    case OPTION_NO_LATENCY:
        options->latency = LATENCY_HIDDEN;
        return 0;
    default: /* OPTION_SHOW_ALL is applied when all words are read */
        return 0;
    }
}

static int take(struct parser *parser, const struct option_spec *spec, const char *value)
{
    int r = spec->arity == ARITY_FLAG ? take_flag(parser, spec) : take_value(parser, spec, value);

    parser->saw[spec->id] = true;
    return r;
}

/*
 * Walks through the letters of a bundle such as -cupFPdraw; `check_only` reports what is wrong with its
 * letters without doing anything, since argparse looks at the whole word first. Returns the option that ends
 * the word and may want the next word as value (*ret_value: the value inside the word, or NULL).
 */
static int walk_bundle(struct parser *parser, const struct option_word *word, bool check_only,
                       const struct option_spec **ret_last, const char **ret_value)
{
    const struct option_spec *spec = word->spec;
    const char *rest = word->explicit_value;
    bool is_short = word->is_short;
    int r;

    while (rest && spec->arity == ARITY_FLAG) {
        char name[] = {'-', rest[0], '\0'};
        const struct option_spec *next =
            is_short && rest[0] ? option_words_find(text_from_string(name)) : NULL;

        if (!next || (word->has_equals && option_is_own(next)))
            return complain(parser, spec, "ignored explicit argument ", rest);
        if (!check_only) {
            r = take(parser, spec, NULL);
            if (r != 0 || parser->done)
                return r;
        }
        spec = next;
        rest = rest[1] ? rest + 1 : NULL;
    }
    *ret_last = spec;
    *ret_value = rest;
    return 0;
}

/* Handles the option at *at and moves *at behind it and its value. */
static int take_option(struct parser *parser, size_t *at)
{
    const struct option_word *word = &parser->words[*at];
    const struct option_spec *last = NULL;
    const char *value = NULL, *ignored;
    int r;

    ++*at;
    r = walk_bundle(parser, word, true, &last, &value);
    if (r != 0)
        return r;
    if (!value && last->arity != ARITY_FLAG) {
        if (*at < parser->count && parser->words[*at].kind == WORD_VALUE)
            value = parser->texts[(*at)++];
        else if (last->arity == ARITY_REQUIRED)
            return complain(parser, last, "expected one argument", NULL);
    }
    r = walk_bundle(parser, word, false, &last, &ignored);
    if (r != 0 || parser->done)
        return r;
    return take(parser, last, value);
}

static void add_stray(struct parser *parser, const char *text)
{
    buffer_put_char(&parser->stray, ' ');
    utf8_put_visible(&parser->stray, text_from_string(text));
}

/* The one word that means something. gpustat has none. */
static bool take_command(struct parser *parser, const char *text)
{
    if (parser->options->as_gpustat || parser->options->list_nodes || strcmp(text, OPTIONS_NODES) != 0)
        return false;
    parser->options->list_nodes = true;
    return true;
}

static int take_all(struct parser *parser)
{
    size_t at = 0;

    while (at < parser->count && !parser->done) {
        const struct option_word *word = &parser->words[at];
        int r;

        if (word->kind == WORD_OPTION && word->spec) {
            r = take_option(parser, &at);
            if (r != 0)
                return r;
        } else if (!take_command(parser, parser->texts[at])) {
            add_stray(parser, parser->texts[at++]);
        } else {
            at++;
        }
    }
    if (parser->done || !parser->stray.len)
        return 0;
    buffer_put_string(parser->error, "unrecognized arguments:");
    buffer_put_text(parser->error, buffer_text(&parser->stray));
    return OPTIONS_USAGE;
}

/* -a wins over what -e and -P say, wherever it stands. */
static void apply_show_all(struct options *options)
{
    options->show_cmd = options->show_user = options->show_pid = options->show_fan = true;
    options->show_codec = CODEC_ENC | CODEC_DEC;
    options->show_power = POWER_DRAW_LIMIT;
}

int options_parse(bool as_gpustat, char *const words[], size_t count, struct options *ret_options,
                  struct buffer *error)
{
    _cleanup_(cleanup_free) struct option_word *kinds = calloc(count + 1, sizeof(*kinds));
    _cleanup_(buffer_deinit) struct buffer stray = BUFFER_EMPTY;
    struct options options = {.as_gpustat = as_gpustat, .gpuname_width = -1};
    struct parser parser = {
        .texts = words, .count = count, .words = kinds, .options = &options, .error = error};
    int r;

    if (!kinds)
        return -ENOMEM;
    r = option_words_classify(words, count, kinds, error);
    if (r == 0)
        r = take_all(&parser);
    stray = parser.stray; /* handed over for its release */
    if (r == 0 && (buffer_error(&stray) || buffer_error(error)))
        return -ENOMEM;
    if (r != 0)
        return r;
    if (parser.saw[OPTION_SHOW_ALL])
        apply_show_all(&options);
    *ret_options = options;
    return 0;
}
