/* The key file's text. */
#include "wire/seal.h"

#include <sodium.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Takes the next line off the text, without its end and the blanks around it. */
static struct text next_line(struct text *rest)
{
    const char *end = rest->len ? memchr(rest->bytes, '\n', rest->len) : NULL;
    struct text line = {rest->bytes, end ? (size_t)(end - rest->bytes) : rest->len};
    size_t used = line.len + (end ? 1 : 0);

    rest->bytes += used;
    rest->len -= used;
    while (line.len && is_blank(line.bytes[line.len - 1]))
        line.len--;
    while (line.len && is_blank(line.bytes[0]))
        line.bytes++, line.len--;
    return line;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hex(struct text line, uint8_t bytes[SEAL_KEY_SIZE])
{
    if (line.len != 2 * SEAL_KEY_SIZE)
        return false;
    for (size_t i = 0; i < SEAL_KEY_SIZE; i++) {
        int high = hex_digit(line.bytes[2 * i]), low = hex_digit(line.bytes[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool is_weak(const uint8_t bytes[SEAL_KEY_SIZE])
{
    return memcmp(bytes, bytes + 1, SEAL_KEY_SIZE - 1) == 0;
}

static bool has_key(const struct seal_keys *keys, const uint8_t bytes[SEAL_KEY_SIZE])
{
    for (unsigned i = 0; i < keys->count; i++)
        if (sodium_memcmp(keys->keys[i].bytes, bytes, SEAL_KEY_SIZE) == 0)
            return true;
    return false;
}

/* Adds the key of a line that is neither empty nor a comment. */
static int add_key(struct seal_keys *keys, struct text line)
{
    uint8_t bytes[SEAL_KEY_SIZE];
    int r = SEAL_FILE_OK;

    if (!parse_hex(line, bytes))
        r = SEAL_FILE_BAD_LINE;
    else if (is_weak(bytes))
        r = SEAL_FILE_WEAK_KEY;
    else if (has_key(keys, bytes))
        r = SEAL_FILE_REPEATED_KEY;
    else if (keys->count == SEAL_MAX_KEYS)
        r = SEAL_FILE_TOO_MANY;
    else
        seal_key_set(&keys->keys[keys->count++], bytes);
    sodium_memzero(bytes, sizeof(bytes));
    return r;
}

static int parse_lines(struct text file, struct seal_keys *keys, unsigned *ret_line)
{
    for (unsigned number = 1; file.len; number++) {
        struct text line = next_line(&file);
        int r;

        if (!line.len || line.bytes[0] == '#')
            continue;
        r = add_key(keys, line);
        if (r != SEAL_FILE_OK) {
            *ret_line = number;
            return r;
        }
    }
    return keys->count ? SEAL_FILE_OK : SEAL_FILE_NO_KEY;
}

int seal_parse_keys(struct text file, struct seal_keys *ret_keys, unsigned *ret_line)
{
    struct seal_keys keys = {.count = 0};
    int r;

    *ret_line = 0;
    if (file.len > SEAL_FILE_MAX)
        return SEAL_FILE_TOO_LONG;
    r = parse_lines(file, &keys, ret_line);
    if (r == SEAL_FILE_OK)
        *ret_keys = keys;
    seal_keys_wipe(&keys);
    return r;
}

#define STRING_OF(number)  STRING_OF_(number)
#define STRING_OF_(number) #number

const char *seal_file_problem(int outcome)
{
    static const char *const problems[SEAL_FILE_OUTCOMES] = {
        [SEAL_FILE_OK] = "nothing is wrong",
        [SEAL_FILE_NO_KEY] = "there is no key in it: a line of 64 hex digits is wanted "
                             "('clustat-server keygen' makes one)",
        [SEAL_FILE_BAD_LINE] = "not a key: a line is 64 hex digits, or empty, or begins with '#'",
        [SEAL_FILE_REPEATED_KEY] = "an earlier line has the same key",
        [SEAL_FILE_WEAK_KEY] = "all bytes of this key are the same: that is no secret",
        [SEAL_FILE_TOO_MANY] = "more than " STRING_OF(SEAL_MAX_KEYS) " keys",
        [SEAL_FILE_TOO_LONG] = "longer than 64 KiB",
    };

    return outcome >= 0 && outcome < SEAL_FILE_OUTCOMES ? problems[outcome] : "unknown problem";
}
