/*
 * The first look at a command line, as argparse takes it: which words are options, which are values. What is
 * wrong here is told before any option acts, --help included.
 */
#ifndef CLI_OPTION_WORDS_H
#define CLI_OPTION_WORDS_H

#include "cli/option_table.h"
#include "core/buffer.h"

enum word_kind {
    WORD_VALUE,     /* a value, or a stray word */
    WORD_OPTION,    /* an option, known or not */
    WORD_SEPARATOR, /* "--": only values from here on */
};

struct option_word {
    enum word_kind kind;
    const struct option_spec *spec; /* NULL: looks like an option but is none */
    const char *explicit_value;     /* behind '=', or behind the letter of a short option; NULL: none */
    bool is_short;                  /* a one-letter option, so that letters behind it may be options too */
    bool has_equals;                /* as in -c=u, which argparse takes for -cu; only for gpustat's letters */
};

/* The option that has exactly this name, NULL if none has. */
const struct option_spec *option_words_find(struct text name);

/*
 * Classifies `count` words. Returns 0, or OPTIONS_USAGE (cli/options.h) with the message appended to `error`
 * for an ambiguous prefix.
 */
int option_words_classify(char *const texts[], size_t count, struct option_word *words, struct buffer *error);

#endif
