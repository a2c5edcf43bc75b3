#include "render/command.h"

#include <string.h>

static bool has_char(struct text text, char c)
{
    return text.len && memchr(text.bytes, c, text.len);
}

struct command_words command_words(const struct process *process)
{
    struct text line = TEXT_ABSENT;

    if (process && process->facts & PROCESS_HAS_COMMAND_LINE)
        line = process->command_line;
    return (struct command_words){
        .rest = line,
        .separator = has_char(line, '\0') ? '\0' : ' ',
        .more = line.len > 0,
    };
}

bool command_next_word(struct command_words *words, struct text *ret_word)
{
    const char *end;
    size_t len;

    if (!words->more)
        return false;
    end = words->rest.len ? memchr(words->rest.bytes, words->separator, words->rest.len) : NULL;
    len = end ? (size_t)(end - words->rest.bytes) : words->rest.len;
    *ret_word = (struct text){words->rest.bytes, len};
    words->more = end != NULL;
    if (end)
        words->rest = (struct text){end + 1, words->rest.len - len - 1};
    return true;
}

struct text command_name(const struct process *process)
{
    struct command_words words = command_words(process);
    struct text word;

    return command_next_word(&words, &word) ? text_after_last(word, '/') : TEXT_ABSENT;
}

struct command_path command_split_path(struct text word)
{
    struct text name = text_after_last(word, '/');
    size_t folder = word.len - name.len, len = folder;

    while (len && word.bytes[len - 1] == '/')
        len--;
    /* Nothing but slashes is the root and stays as it is. */
    return (struct command_path){{word.bytes, len ? len + 1 : folder}, name};
}
