#include "json_writer.h"

#include <inttypes.h>

static void write_quoted(struct json_writer *writer, const char *text)
{
    putc('"', writer->out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(writer->out, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(writer->out, "\\u%04x", *c);
        else
            putc(*c, writer->out);
    }
    putc('"', writer->out);
}

static void write_start(struct json_writer *writer, const char *key)
{
    if (writer->needs_comma)
        fputs(", ", writer->out);
    writer->needs_comma = true;
    if (!key)
        return;
    write_quoted(writer, key);
    fputs(": ", writer->out);
}

void json_write_begin(struct json_writer *writer, const char *key, char bracket)
{
    write_start(writer, key);
    putc(bracket, writer->out);
    writer->needs_comma = false;
}

void json_write_end(struct json_writer *writer, char bracket)
{
    putc(bracket, writer->out);
    writer->needs_comma = true;
}

void json_write_u64(struct json_writer *writer, const char *key, uint64_t number)
{
    write_start(writer, key);
    fprintf(writer->out, "%" PRIu64, number);
}

void json_write_i64(struct json_writer *writer, const char *key, int64_t number)
{
    write_start(writer, key);
    fprintf(writer->out, "%" PRId64, number);
}

void json_write_double(struct json_writer *writer, const char *key, double number)
{
    write_start(writer, key);
    fprintf(writer->out, "%.17g", number);
}

void json_write_text(struct json_writer *writer, const char *key, const char *text)
{
    write_start(writer, key);
    write_quoted(writer, text);
}

void json_write_null(struct json_writer *writer, const char *key)
{
    write_start(writer, key);
    fputs("null", writer->out);
}

void json_write_rc(struct json_writer *writer, const char *key, int rc)
{
    json_write_begin(writer, key, '{');
    json_write_i64(writer, "rc", rc);
    json_write_end(writer, '}');
}
