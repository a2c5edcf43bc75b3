/*
 * The example bytes of docs/protocol.md: what the document shows is what the code reads and writes. Its path
 * is the argument of the test programs.
 *
 * An example is a block fenced by "```golden NAME" and "```": on each line pairs of hex digits, "00*18"
 * for many alike, then a semicolon and words for people.
 */
#ifndef UNIT_WIRE_GOLDEN_H
#define UNIT_WIRE_GOLDEN_H

#include "codec_helpers.h"

#include <stdio.h>

static const char *document; /* the path */

/* Appends the bytes of one line. */
static inline void put_hex_line(struct writer *writer, const char *line)
{
    unsigned byte, times;
    int used;

    while (sscanf(line, " %2x%n", &byte, &used) == 1) {
        line += used;
        if (sscanf(line, "*%u%n", &times, &used) == 1)
            line += used;
        else
            times = 1;
        while (times--)
            write_u8(writer, (uint8_t)byte);
    }
    line += strspn(line, " \n");
    if (*line && *line != ';')
        fail_msg("no hex digits: %s", line);
}

/* The bytes of an example, in a static buffer. */
static inline struct reader golden(const char *name)
{
    static uint8_t bytes[4096];
    struct writer writer = writer_over(bytes, sizeof(bytes));
    char line[512], fence[64];
    FILE *file = fopen(document, "r");
    bool inside = false;

    assert_non_null(file);
    snprintf(fence, sizeof(fence), "```golden %s\n", name);
    while (fgets(line, sizeof(line), file)) {
        if (inside && strncmp(line, "```", 3) == 0)
            break;
        if (inside)
            put_hex_line(&writer, line);
        else
            inside = strcmp(line, fence) == 0;
    }
    fclose(file);
    if (!inside || !writer.pos)
        fail_msg("docs/protocol.md has no example %s", name);
    assert_false(writer.failed);
    return reader_over(bytes, writer.pos);
}

static inline void assert_golden(const char *name, const uint8_t *bytes, size_t len)
{
    struct reader example = golden(name);

    if (example.len == len && memcmp(example.bytes, bytes, len) == 0)
        return;
    for (size_t i = 0; i < len; i++)
        fprintf(stderr, "%02X%s", bytes[i], i % 16 == 15 || i + 1 == len ? "\n" : " ");
    fail_msg("example %s has other bytes than these %zu", name, len);
}

static inline bool document_has_line_beginning(const char *wanted)
{
    char line[512];
    FILE *file = fopen(document, "r");
    bool found = false;

    assert_non_null(file);
    while (!found && fgets(line, sizeof(line), file))
        found = strncmp(line, wanted, strlen(wanted)) == 0;
    fclose(file);
    return found;
}

#endif
