#include "render/json_writer.h"

#include <assert.h>

#include "core/utf8.h"

#define INDENT 4

struct json_writer json_writer_new(struct buffer *out, enum json_bad_bytes bad_bytes)
{
    return (struct json_writer){.out = out, .bad_bytes = bad_bytes};
}

static void put_line_start(struct json_writer *json)
{
    if (json->one_line)
        return;
    buffer_put_char(json->out, '\n');
    buffer_put_repeated(json->out, ' ', (size_t)json->depth * INDENT);
}

/* What stands before an item: nothing after its key, else a comma and a new line. */
static void begin_item(struct json_writer *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->has_items)
        buffer_put_string(json->out, json->one_line ? ", " : ",");
    if (json->depth)
        put_line_start(json);
    json->has_items = true;
}

static void begin_group(struct json_writer *json, char bracket)
{
    begin_item(json);
    buffer_put_char(json->out, bracket);
    json->depth++;
    json->has_items = false;
}

static void end_group(struct json_writer *json, char bracket)
{
    assert(json->depth > 0 && !json->after_key);
    json->depth--;
    if (json->has_items)
        put_line_start(json);
    buffer_put_char(json->out, bracket);
    /* The group itself is an item of what surrounds it. */
    json->has_items = true;
}

void json_begin_object(struct json_writer *json)
{
    begin_group(json, '{');
}

void json_end_object(struct json_writer *json)
{
    end_group(json, '}');
}

void json_begin_list(struct json_writer *json)
{
    begin_group(json, '[');
}

void json_end_list(struct json_writer *json)
{
    end_group(json, ']');
}

void json_key(struct json_writer *json, const char *key)
{
    assert(!json->after_key);
    begin_item(json);
    buffer_put_char(json->out, '"');
    buffer_put_string(json->out, key);
    buffer_put(json->out, "\": ", 3);
    json->after_key = true;
}

void json_put_null(struct json_writer *json)
{
    begin_item(json);
    buffer_put(json->out, "null", 4);
}

void json_bool(struct json_writer *json, bool value)
{
    begin_item(json);
    buffer_put_string(json->out, value ? "true" : "false");
}

void json_signed(struct json_writer *json, int64_t value)
{
    begin_item(json);
    buffer_put_signed(json->out, value);
}

void json_unsigned(struct json_writer *json, uint64_t value)
{
    begin_item(json);
    buffer_put_unsigned(json->out, value);
}

void json_tenths(struct json_writer *json, uint64_t tenths)
{
    begin_item(json);
    buffer_put_unsigned(json->out, tenths / 10);
    buffer_put_char(json->out, '.');
    buffer_put_unsigned(json->out, tenths % 10);
}

static void put_escape(struct buffer *out, uint32_t unit)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = {'\\',          'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15],
                    hex[unit & 15]};

    buffer_put(out, text, sizeof(text));
}

static void put_ascii(struct buffer *out, char c)
{
    static const char letters[][2] = {{'"', '"'},  {'\\', '\\'}, {'\n', 'n'}, {'\r', 'r'},
                                      {'\t', 't'}, {'\b', 'b'},  {'\f', 'f'}};

    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
        if (letters[i][0] == c) {
            buffer_put_char(out, '\\');
            buffer_put_char(out, letters[i][1]);
            return;
        }
    }
    put_escape(out, (unsigned char)c);
}

static void put_code(struct json_writer *json, uint32_t code, unsigned char byte)
{
    if (code == UTF8_BAD) {
        put_escape(json->out, json->bad_bytes == JSON_BAD_SURROGATE ? 0xdc00u + byte : 0xfffdu);
    } else if (code >= 0x10000) {
        put_escape(json->out, 0xd800 + ((code - 0x10000) >> 10));
        put_escape(json->out, 0xdc00 + ((code - 0x10000) & 0x3ff));
    } else if (code >= 0x80) {
        put_escape(json->out, code);
    } else {
        put_ascii(json->out, (char)code);
    }
}

static bool is_plain(char c)
{
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

void json_text(struct json_writer *json, struct text text)
{
    size_t pos = 0;

    if (!text_is_present(text)) {
        json_put_null(json);
        return;
    }
    begin_item(json);
    buffer_put_char(json->out, '"');
    while (pos < text.len) {
        size_t start = pos;

        while (pos < text.len && is_plain(text.bytes[pos]))
            pos++;
        buffer_put(json->out, text.bytes + start, pos - start);
        if (pos < text.len) {
            unsigned char byte = (unsigned char)text.bytes[pos];

            put_code(json, utf8_next(text, &pos), byte);
        }
    }
    buffer_put_char(json->out, '"');
}

void json_put_string(struct json_writer *json, const char *string)
{
    json_text(json, text_from_string(string));
}

void json_finish(struct json_writer *json)
{
    assert(json->depth == 0);
    buffer_put_char(json->out, '\n');
}
