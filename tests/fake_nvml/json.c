#include "json.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "json_text.h"

struct parser {
    char *at;
    char *end;
    size_t line; /* counted in the blanks: nowhere else can a raw newline stand */
    struct arena *arena;
    const char *reason; /* sticky: the first error; NULL while all is well */
    int depth;
};

static bool parser_fail(struct parser *parser, const char *reason)
{
    if (!parser->reason)
        parser->reason = reason;
    return false;
}

static void skip_blanks(struct parser *parser)
{
    for (; parser->at < parser->end && *parser->at && strchr(" \t\r\n", *parser->at); parser->at++)
        parser->line += *parser->at == '\n';
}

/* The next byte that is not blank; 0 at the end (a NUL byte in the text is an error anyway). */
static char peek(struct parser *parser)
{
    skip_blanks(parser);
    return parser->at < parser->end ? *parser->at : '\0';
}

static bool accept(struct parser *parser, char wanted)
{
    if (peek(parser) != wanted)
        return false;
    parser->at++;
    return true;
}

static bool is_digit(const struct parser *parser)
{
    return parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9';
}

/* Reads digits into *mantissa, as far as they matter, and returns how many there were. */
static int read_digits(struct parser *parser, long double *mantissa)
{
    int count = 0;
    for (; is_digit(parser) && count < 4000; count++)
        *mantissa = *mantissa * 10 + (*parser->at++ - '0');
    return count;
}

static bool read_exponent(struct parser *parser, int *ret_exponent)
{
    bool negative = parser->at < parser->end && *parser->at == '-';
    if (parser->at < parser->end && (*parser->at == '-' || *parser->at == '+'))
        parser->at++;
    long double exponent = 0;
    if (read_digits(parser, &exponent) == 0)
        return parser_fail(parser, "a digit is missing in an exponent");
    if (exponent > 4000)
        return parser_fail(parser, "a number is out of range");
    *ret_exponent = negative ? -(int)exponent : (int)exponent;
    return true;
}

/* One multiplication or division by an exact power of ten, so that 100.5 and 1.005e2 are the same number. */
static long double scale(long double mantissa, int exponent)
{
    long double power = 1;
    for (int i = 0; i < (exponent < 0 ? -exponent : exponent); i++)
        power *= 10;
    return exponent < 0 ? mantissa / power : mantissa * power;
}

static bool parse_number(struct parser *parser, struct json *node)
{
    bool negative = *parser->at == '-';
    parser->at += negative;
    char *start = parser->at;
    long double mantissa = 0;
    int exponent = 0;
    if (read_digits(parser, &mantissa) == 0)
        return parser_fail(parser, "this is not a JSON value");
    if (*start == '0' && parser->at - start > 1)
        return parser_fail(parser, "a number starts with 0");
    if (parser->at < parser->end && *parser->at == '.') {
        parser->at++;
        int fraction = read_digits(parser, &mantissa);
        if (fraction == 0)
            return parser_fail(parser, "a digit is missing after the point");
        exponent = -fraction;
    }
    if (parser->at < parser->end && (*parser->at == 'e' || *parser->at == 'E')) {
        int shift = 0;
        parser->at++;
        if (!read_exponent(parser, &shift))
            return false;
        exponent += shift;
    }
    node->type = JSON_NUMBER;
    node->number = scale(negative ? -mantissa : mantissa, exponent);
    if (!(node->number <= 1e300L && node->number >= -1e300L))
        return parser_fail(parser, "a number is out of range");
    return true;
}

static bool parse_word(struct parser *parser, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, word, length) != 0)
        return parser_fail(parser, "this is not a JSON value");
    parser->at += length;
    return true;
}

static bool parse_text(struct parser *parser, const char **ret_text)
{
    const char *reason = json_decode_text(&parser->at, parser->end, ret_text);
    return reason ? parser_fail(parser, reason) : true;
}

static bool parse_value(struct parser *parser, struct json *node);

/* Takes a node and hangs it at *link, the end of the chain of the parent's members. */
static struct json *add_member(struct parser *parser, struct json *parent, struct json **link)
{
    struct json *node = arena_take(parser->arena, sizeof(*node));
    if (!node)
        return NULL;
    node->parent = parent;
    parent->count++;
    *link = node;
    return node;
}

static bool parse_list(struct parser *parser, struct json *list)
{
    list->type = JSON_LIST;
    if (accept(parser, ']'))
        return true;
    struct json **link = &list->first;
    do {
        struct json *node = add_member(parser, list, link);
        if (!node || !parse_value(parser, node))
            return false;
        link = &node->next;
    } while (accept(parser, ','));
    return accept(parser, ']') || parser_fail(parser, "expected , or ] here");
}

static bool parse_key(struct parser *parser, const struct json *object, const char **ret_key)
{
    if (!accept(parser, '"'))
        return parser_fail(parser, "expected a key in quotes here");
    if (!parse_text(parser, ret_key))
        return false;
    if (json_member(object, *ret_key))
        return parser_fail(parser, "a key is repeated");
    return accept(parser, ':') || parser_fail(parser, "expected : here");
}

static bool parse_object(struct parser *parser, struct json *object)
{
    object->type = JSON_OBJECT;
    if (accept(parser, '}'))
        return true;
    struct json **link = &object->first;
    do {
        const char *key = NULL;
        if (!parse_key(parser, object, &key))
            return false;
        struct json *node = add_member(parser, object, link);
        if (!node)
            return false;
        node->key = key;
        if (!parse_value(parser, node))
            return false;
        link = &node->next;
    } while (accept(parser, ','));
    return accept(parser, '}') || parser_fail(parser, "expected , or } here");
}

static bool parse_nested(struct parser *parser, struct json *node,
                         bool (*parse)(struct parser *, struct json *))
{
    if (++parser->depth > JSON_DEPTH_MAX)
        return parser_fail(parser, "the nesting is too deep");
    bool ok = parse(parser, node);
    parser->depth--;
    return ok;
}

static bool parse_value(struct parser *parser, struct json *node)
{
    if (accept(parser, '{'))
        return parse_nested(parser, node, parse_object);
    if (accept(parser, '['))
        return parse_nested(parser, node, parse_list);
    if (accept(parser, '"')) {
        node->type = JSON_TEXT;
        return parse_text(parser, &node->text);
    }
    switch (peek(parser)) {
    case '\0':
        return parser_fail(parser, "a value is missing");
    case 't':
        node->type = JSON_BOOLEAN;
        node->boolean = true;
        return parse_word(parser, "true");
    case 'f':
        node->type = JSON_BOOLEAN;
        return parse_word(parser, "false");
    case 'n':
        return parse_word(parser, "null");
    default:
        return parse_number(parser, node);
    }
}

int json_parse(char *bytes, size_t size, struct arena *arena, struct json **ret_root,
               struct json_error *ret_error)
{
    struct parser parser = {.at = bytes, .end = bytes + size, .line = 1, .arena = arena};
    struct json *root = arena_take(arena, sizeof(*root));
    bool ok = root && parse_value(&parser, root);
    if (ok && (peek(&parser) != '\0' || parser.at != parser.end))
        ok = parser_fail(&parser, "something follows the end of the value");
    if (ok) {
        *ret_root = root;
        return 0;
    }
    if (!parser.reason)
        return -ENOMEM;
    *ret_error = (struct json_error){.line = parser.line, .reason = parser.reason};
    return -EBADMSG;
}

struct json *json_member(const struct json *object, const char *key)
{
    for (struct json *member = object->first; member; member = member->next)
        if (member->key && strcmp(member->key, key) == 0)
            return member;
    return NULL;
}
