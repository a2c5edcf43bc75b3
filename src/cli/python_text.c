#include "cli/python_text.h"

#include "core/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void put_escaped(struct buffer *out, uint32_t code)
{
    if (code == '\n')
        buffer_put_string(out, "\\n");
    else if (code == '\r')
        buffer_put_string(out, "\\r");
    else if (code == '\t')
        buffer_put_string(out, "\\t");
    else if (code <= 0xff)
        buffer_printf(out, "\\x%02x", code);
    else if (code <= 0xffff)
        buffer_printf(out, "\\u%04x", code);
    else
        buffer_printf(out, "\\U%08x", code);
}

void python_put_repr(struct buffer *out, const char *string)
{
    struct text text = text_from_string(string);
    char quote = strchr(string, '\'') && !strchr(string, '"') ? '"' : '\'';
    size_t pos = 0;

    buffer_put_char(out, quote);
    while (pos < text.len) {
        size_t start = pos;
        uint32_t code = utf8_next(text, &pos);

        if (code == UTF8_BAD) /* Python holds such bytes as lone surrogates */
            buffer_printf(out, "\\udc%02x", (unsigned char)text.bytes[start]);
        else if (code == '\\' || code == (uint32_t)quote)
            buffer_printf(out, "\\%c", (char)code);
        else if (utf8_is_unsafe(code))
            put_escaped(out, code);
        else
            buffer_put(out, text.bytes + start, pos - start);
    }
    buffer_put_char(out, quote);
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct text strip(struct text text)
{
    while (text.len && is_blank(text.bytes[0]))
        text = (struct text){text.bytes + 1, text.len - 1};
    while (text.len && is_blank(text.bytes[text.len - 1]))
        text.len--;
    return text;
}

/* Moves *pos over digits with single underscores between them; returns whether there was a digit. */
static bool skip_digits(struct text text, size_t *pos)
{
    size_t start = *pos;

    while (*pos < text.len) {
        bool joins = text.bytes[*pos] == '_' && *pos > start && is_digit(text.bytes[*pos - 1]) &&
                     *pos + 1 < text.len && is_digit(text.bytes[*pos + 1]);

        if (!is_digit(text.bytes[*pos]) && !joins)
            break;
        ++*pos;
    }
    return *pos > start;
}

static void skip_sign(struct text text, size_t *pos)
{
    if (*pos < text.len && (text.bytes[*pos] == '+' || text.bytes[*pos] == '-'))
        ++*pos;
}

static bool is_word(struct text text, size_t pos, const char *word)
{
    return text.len - pos == strlen(word) && strncasecmp(text.bytes + pos, word, text.len - pos) == 0;
}

static bool is_float_literal(struct text text)
{
    size_t pos = 0;
    bool digits;

    skip_sign(text, &pos);
    if (is_word(text, pos, "inf") || is_word(text, pos, "infinity") || is_word(text, pos, "nan"))
        return true;
    digits = skip_digits(text, &pos);
    if (pos < text.len && text.bytes[pos] == '.') {
        pos++;
        digits = skip_digits(text, &pos) || digits;
    }
    if (!digits)
        return false;
    if (pos < text.len && (text.bytes[pos] == 'e' || text.bytes[pos] == 'E')) {
        pos++;
        skip_sign(text, &pos);
        if (!skip_digits(text, &pos))
            return false;
    }
    return pos == text.len;
}

int python_parse_float(const char *string, double *ret_value)
{
    struct text text = strip(text_from_string(string));
    char digits[512]; /* without underscores; no sensible number is longer */
    size_t len = 0;

    if (!is_float_literal(text) || text.len >= sizeof(digits))
        return -EINVAL;
    for (size_t i = 0; i < text.len; i++)
        if (text.bytes[i] != '_')
            digits[len++] = text.bytes[i];
    digits[len] = '\0';
    *ret_value = strtod(digits, NULL); /* the program never leaves the C locale */
    return 0;
}

int python_parse_int(struct text text, int64_t *ret_value)
{
    int64_t value = 0;
    size_t pos = 0;
    bool negative;

    text = strip(text);
    negative = text.len && text.bytes[0] == '-';
    skip_sign(text, &pos);
    if (!skip_digits(text, &pos) || pos != text.len)
        return -EINVAL;
    for (pos = 0; pos < text.len; pos++) {
        if (!is_digit(text.bytes[pos]))
            continue;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text.bytes[pos] - '0', &value)) {
            value = INT64_MAX;
            break;
        }
    }
    *ret_value = negative ? -value : value;
    return 0;
}
