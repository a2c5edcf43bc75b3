#include "model/natural_order.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static int sign(long difference)
{
    return (difference > 0) - (difference < 0);
}

/* The digits at *pos without leading zeros; *pos moves behind them. */
static struct text take_number(struct text text, size_t *pos)
{
    size_t start;

    while (*pos < text.len && text.bytes[*pos] == '0')
        (*pos)++;
    start = *pos;
    while (*pos < text.len && is_digit(text.bytes[*pos]))
        (*pos)++;
    return (struct text){text.bytes + start, *pos - start};
}

static int compare_numbers(struct text a, struct text b)
{
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return sign(memcmp(a.bytes, b.bytes, a.len));
}

static int compare_bytes(struct text a, struct text b)
{
    int order = sign(memcmp(a.bytes, b.bytes, a.len < b.len ? a.len : b.len));

    if (order || a.len == b.len)
        return order;
    return a.len < b.len ? -1 : 1;
}

int natural_compare(struct text a, struct text b)
{
    size_t i = 0, j = 0;

    if (!a.bytes || !b.bytes)
        return (b.bytes != NULL) - (a.bytes != NULL);
    while (i < a.len && j < b.len) {
        int order;

        if (is_digit(a.bytes[i]) && is_digit(b.bytes[j]))
            order = compare_numbers(take_number(a, &i), take_number(b, &j));
        else
            order = sign((long)lower(a.bytes[i++]) - (long)lower(b.bytes[j++]));
        if (order)
            return order;
    }
    if (i < a.len || j < b.len)
        return i < a.len ? 1 : -1;
    return compare_bytes(a, b);
}
