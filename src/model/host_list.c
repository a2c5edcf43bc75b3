#include "model/host_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct range {
    uint64_t first, last;
    size_t digits; /* 0: no leading zeros, else exactly that many digits */
};

struct bracket {
    struct range ranges[HOST_LIST_MAX_RANGES];
    size_t count;
};

static int refuse(struct host_list_error *ret_error, int error, size_t offset, const char *message)
{
    ret_error->offset = offset;
    snprintf(ret_error->message, sizeof(ret_error->message), "%s", message);
    return error;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads decimal digits at *pos; *ret_digits is how many there were (at most 9 are allowed). */
static int read_number(struct text item, size_t *pos, uint64_t *ret_value, size_t *ret_digits,
                       struct host_list_error *ret_error)
{
    size_t start = *pos;
    uint64_t value = 0;

    while (*pos < item.len && is_digit(item.bytes[*pos])) {
        if (*pos - start == 10)
            return refuse(ret_error, -E2BIG, start, "a number in brackets has more than 10 digits");
        value = value * 10 + (uint64_t)(item.bytes[(*pos)++] - '0');
    }
    if (*pos == start)
        return refuse(ret_error, -EINVAL, start, "a number is expected here, as in [01-08,12]");
    *ret_value = value;
    *ret_digits = *pos - start;
    return 0;
}

static int read_range(struct text item, size_t *pos, struct range *ret_range,
                      struct host_list_error *ret_error)
{
    size_t start = *pos, first_digits, last_digits;
    struct range range;
    int r;

    r = read_number(item, pos, &range.first, &first_digits, ret_error);
    if (r < 0)
        return r;
    range.last = range.first;
    last_digits = first_digits;
    if (*pos < item.len && item.bytes[*pos] == '-') {
        ++*pos;
        r = read_number(item, pos, &range.last, &last_digits, ret_error);
        if (r < 0)
            return r;
    }
    if (range.last < range.first)
        return refuse(ret_error, -EINVAL, start, "a range in brackets runs backwards");
    if (range.last - range.first >= HOST_LIST_MAX_RANGE)
        return refuse(ret_error, -E2BIG, start, "a range in brackets names more than 65536 hosts");
    range.digits = item.bytes[start] == '0' && first_digits > 1 ? first_digits : 0;
    if (range.digits && last_digits < range.digits)
        return refuse(ret_error, -EINVAL, start, "the end of a range has fewer digits than its beginning");
    *ret_range = range;
    return 0;
}

/* Reads a bracket; *pos is at its '[' and moves behind its ']'. */
static int read_bracket(struct text item, size_t *pos, struct bracket *ret_bracket,
                        struct host_list_error *ret_error)
{
    size_t start = (*pos)++;

    ret_bracket->count = 0;
    for (;;) {
        int r;

        if (ret_bracket->count == HOST_LIST_MAX_RANGES)
            return refuse(ret_error, -E2BIG, start, "a bracket has more than 64 ranges");
        r = read_range(item, pos, &ret_bracket->ranges[ret_bracket->count], ret_error);
        if (r < 0)
            return r;
        ret_bracket->count++;
        if (*pos >= item.len)
            return refuse(ret_error, -EINVAL, start, "this bracket is never closed");
        if (item.bytes[*pos] == ']')
            break;
        if (item.bytes[*pos] != ',')
            return refuse(ret_error, -EINVAL, *pos, "a comma, a dash or ] is expected here");
        ++*pos;
    }
    ++*pos;
    return 0;
}

static uint64_t bracket_size(const struct bracket *bracket)
{
    uint64_t size = 0;

    for (size_t i = 0; i < bracket->count; i++)
        size += bracket->ranges[i].last - bracket->ranges[i].first + 1;
    return size;
}

int host_list_split(struct text list, host_list_visit *visit, void *context,
                    struct host_list_error *ret_error)
{
    size_t start = 0, open_at = 0;
    bool inside = false;

    for (size_t pos = 0; pos <= list.len; pos++) {
        char c = pos < list.len ? list.bytes[pos] : ',';
        size_t first = start, end = pos;
        int r;

        if (pos == list.len && inside)
            return refuse(ret_error, -EINVAL, open_at, "this bracket is never closed");
        if (c == '[' && !inside) {
            inside = true;
            open_at = pos;
        } else if (c == ']') {
            if (!inside)
                return refuse(ret_error, -EINVAL, pos, "this bracket was never opened");
            inside = false;
        }
        if (c != ',' || inside)
            continue;
        while (first < end && isspace((unsigned char)list.bytes[first]))
            first++;
        while (end > first && isspace((unsigned char)list.bytes[end - 1]))
            end--;
        start = pos + 1;
        if (first == end)
            continue;
        r = visit(context, (struct text){list.bytes + first, end - first});
        if (r != 0)
            return r;
    }
    return 0;
}

static int check(struct text item, bool pattern, uint64_t *ret_hosts, struct host_list_error *ret_error)
{
    size_t brackets = 0;
    uint64_t hosts = 1;

    if (!item.len || item.len > 4 * HOST_NAME_MAX_LEN)
        return refuse(ret_error, -EINVAL, 0, item.len ? "a host name is too long" : "a host name is empty");
    for (size_t pos = 0; pos < item.len;) {
        char c = item.bytes[pos];
        struct bracket bracket;
        int r;

        if (c != '[') {
            if (c == ']')
                return refuse(ret_error, -EINVAL, pos, "this bracket was never opened");
            if (c == '*' && !pattern)
                return refuse(ret_error, -EINVAL, pos, "a * cannot stand in a list of host names");
            pos++;
            continue;
        }
        if (++brackets > HOST_LIST_MAX_BRACKETS)
            return refuse(ret_error, -E2BIG, pos, "a host name has more than 4 brackets");
        r = read_bracket(item, &pos, &bracket, ret_error);
        if (r < 0)
            return r;
        hosts *= bracket_size(&bracket); /* at most 4 x 22 bits */
        if (!pattern && hosts > HOST_LIST_MAX_HOSTS)
            return refuse(ret_error, -E2BIG, pos - 1, "the list names more than 4096 hosts");
    }
    *ret_hosts = hosts;
    return 0;
}

int host_list_check_pattern(struct text item, struct host_list_error *ret_error)
{
    uint64_t hosts;

    return check(item, true, &hosts, ret_error);
}

bool host_list_is_pattern(struct text item)
{
    return item.len && (memchr(item.bytes, '[', item.len) || memchr(item.bytes, '*', item.len));
}

/* The number at place `index` of a bracket, as digits. Returns how many bytes were written. */
static size_t print_number(const struct bracket *bracket, uint64_t index, char *out, size_t room)
{
    for (size_t i = 0; i < bracket->count; i++) {
        const struct range *range = &bracket->ranges[i];
        uint64_t size = range->last - range->first + 1;

        if (index < size)
            return (size_t)snprintf(out, room, "%0*llu", (int)range->digits,
                                    (unsigned long long)(range->first + index));
        index -= size;
    }
    return 0;
}

/* Writes the name of host number `index` of the item, the last bracket running fastest. */
static size_t print_host(struct text item, uint64_t index, uint64_t hosts, char *out, size_t room)
{
    struct host_list_error unused;
    size_t len = 0;

    for (size_t pos = 0; pos < item.len && len < room;) {
        struct bracket bracket;
        uint64_t size;

        if (item.bytes[pos] != '[') {
            out[len++] = item.bytes[pos++];
            continue;
        }
        read_bracket(item, &pos, &bracket, &unused);
        size = bracket_size(&bracket);
        hosts /= size;
        len += print_number(&bracket, index / hosts % size, out + len, room - len);
    }
    return len;
}

int host_list_expand(struct text item, host_list_name *name, void *context, struct host_list_error *ret_error)
{
    char host[5 * HOST_NAME_MAX_LEN];
    uint64_t hosts;
    int r;

    r = check(item, false, &hosts, ret_error);
    for (uint64_t i = 0; r == 0 && i < hosts; i++) {
        size_t len = print_host(item, i, hosts, host, sizeof(host) - 1);

        r = name(context, (struct text){host, len < sizeof(host) ? len : sizeof(host) - 1});
    }
    return r;
}

static bool bracket_has(const struct bracket *bracket, struct text digits)
{
    uint64_t value = 0;

    for (size_t i = 0; i < digits.len; i++)
        value = value * 10 + (uint64_t)(digits.bytes[i] - '0');
    for (size_t i = 0; i < bracket->count; i++) {
        const struct range *range = &bracket->ranges[i];
        bool padded = digits.len > 1 && digits.bytes[0] == '0';
        bool fits =
            range->digits ? digits.len == range->digits || (digits.len > range->digits && !padded) : !padded;

        if (fits && value >= range->first && value <= range->last)
            return true;
    }
    return false;
}

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/*
 * One step over all places in the name at once (as an automaton does), so that no pattern can make the match
 * take exponential time: `at[i]` says that the pattern so far can have taken name[0..i).
 */
bool host_list_matches(struct text pattern, struct text name)
{
    bool at[HOST_NAME_MAX_LEN + 1] = {true}, next[HOST_NAME_MAX_LEN + 1];
    struct host_list_error unused;

    if (name.len > HOST_NAME_MAX_LEN)
        return false;
    for (size_t pos = 0; pos < pattern.len;) {
        struct bracket bracket;
        bool any = false;

        memset(next, 0, sizeof(next));
        if (pattern.bytes[pos] == '[') {
            if (read_bracket(pattern, &pos, &bracket, &unused) < 0)
                return false;
            for (size_t i = 0; i < name.len; i++)
                for (size_t end = i; at[i] && end < name.len && end - i < 10 && is_digit(name.bytes[end]);
                     end++)
                    if (bracket_has(&bracket, (struct text){name.bytes + i, end + 1 - i}))
                        next[end + 1] = true;
        } else if (pattern.bytes[pos] == '*') {
            pos++;
            for (size_t i = 0; i <= name.len; i++)
                next[i] = any = any || at[i];
        } else {
            for (size_t i = 0; i < name.len; i++)
                next[i + 1] = at[i] && same_letter(pattern.bytes[pos], name.bytes[i]);
            pos++;
        }
        memcpy(at, next, sizeof(at));
    }
    return at[name.len];
}
