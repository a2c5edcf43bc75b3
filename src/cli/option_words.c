#include "cli/option_words.h"

#include "cli/options.h"
#include "core/utf8.h"

#include <string.h>

/* What argparse takes for one: -1, -1.5, -.5. The word begins with a dash. */
static bool is_negative_number(const char *word)
{
    size_t whole = strspn(word + 1, "0123456789");
    const char *rest = word + 1 + whole;

    if (!*rest)
        return whole > 0;
    return *rest == '.' && rest[1] && !rest[1 + strspn(rest + 1, "0123456789")];
}

const struct option_spec *option_words_find(struct text name)
{
    for (size_t id = 0; id < OPTION_COUNT; id++)
        for (size_t i = 0; option_name(&option_table[id], i); i++)
            if (text_equal_string(name, option_name(&option_table[id], i)))
                return &option_table[id];
    return NULL;
}

static bool starts_with(const char *string, struct text prefix)
{
    return strncmp(string, prefix.bytes, prefix.len) == 0;
}

/*
 * The option that `prefix` begins, among gpustat's names or among clustat's own. Returns how many names
 * match (own names of one option count once); with `list`, appends them to it, separated by commas.
 */
static size_t match_prefix(struct text prefix, bool own, const struct option_spec **ret_spec,
                           struct buffer *list)
{
    size_t found = 0;

    for (size_t id = 0; id < OPTION_COUNT; id++) {
        const struct option_spec *spec = &option_table[id];
        const char *const *names = own ? spec->own_names : spec->names;

        for (size_t i = 0; i < OPTION_NAMES_MAX && names[i]; i++) {
            if (!starts_with(names[i], prefix))
                continue;
            if (list)
                buffer_printf(list, "%s%s", found ? ", " : "", names[i]);
            *ret_spec = spec;
            found++;
            if (own)
                break;
        }
    }
    return found;
}

/* A long option that is no full name: a prefix of one, perhaps with a value behind '='. */
static int classify_prefix(const char *text, struct text name, struct option_word *word, struct buffer *error)
{
    bool own = match_prefix(name, false, &word->spec, NULL) == 0;
    size_t found = match_prefix(name, own, &word->spec, NULL);
    const struct option_spec *ignored;

    if (found <= 1)
        return 0;
    buffer_put_string(error, "ambiguous option: ");
    utf8_put_visible(error, text_from_string(text));
    buffer_put_string(error, " could match ");
    match_prefix(name, own, &ignored, error);
    return OPTIONS_USAGE;
}

/* Whether an unknown word with a dash in front is a value after all, as argparse has it. */
static bool is_value_after_all(const char *text)
{
    return is_negative_number(text) || strchr(text, ' ');
}

static int classify(const char *text, struct option_word *word, struct buffer *error)
{
    const char *equals = strchr(text, '=');
    struct text name = {text, equals ? (size_t)(equals - text) : strlen(text)};
    bool is_long = text[0] == '-' && text[1] == '-';
    int r = 0;

    *word = (struct option_word){.kind = WORD_VALUE};
    if (text[0] != '-' || !text[1])
        return 0;
    word->kind = WORD_OPTION;
    word->spec = option_words_find(text_from_string(text));
    if (!word->spec) {
        word->explicit_value = equals ? equals + 1 : NULL;
        word->has_equals = equals;
        word->spec = option_words_find(name);
    }
    word->is_short = word->spec && !is_long && name.len == 2;
    if (word->spec)
        return 0;
    if (is_long) {
        r = classify_prefix(text, name, word, error);
    } else {
        word->explicit_value = text + 2;
        word->has_equals = false;
        word->spec = option_words_find((struct text){text, 2});
        word->is_short = word->spec;
    }
    if (r == 0 && !word->spec && is_value_after_all(text))
        word->kind = WORD_VALUE;
    return r;
}

int option_words_classify(char *const texts[], size_t count, struct option_word *words, struct buffer *error)
{
    bool values_only = false;

    for (size_t i = 0; i < count; i++) {
        struct option_word *word = &words[i];
        int r;

        if (values_only) {
            *word = (struct option_word){.kind = WORD_VALUE};
        } else if (strcmp(texts[i], "--") == 0) {
            *word = (struct option_word){.kind = WORD_SEPARATOR};
            values_only = true;
        } else {
            r = classify(texts[i], word, error);
            if (r != 0)
                return r;
        }
    }
    return 0;
}
