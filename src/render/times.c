#include "render/times.h"

#include <time.h>

#define US_PER_S INT64_C(1000000)

static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/* Seconds rounded down also before 1970. A time beyond the calendar becomes 1970. */
static struct tm local_time(int64_t unix_us)
{
    time_t seconds = (time_t)(unix_us / US_PER_S - (unix_us % US_PER_S < 0));
    struct tm tm;

    if (!localtime_r(&seconds, &tm))
        tm = (struct tm){.tm_mday = 1, .tm_year = 70};
    return tm;
}

static void put_padded(struct buffer *out, int value, int digits, char pad)
{
    int limit = 1;

    for (int i = 1; i < digits; i++) {
        limit *= 10;
        if (value < limit)
            buffer_put_char(out, pad);
    }
    /* The pads are those of the missing leading digits, so their number is all that counts. */
    buffer_put_signed(out, value);
}

static void put_clock(struct buffer *out, const struct tm *tm, bool with_seconds)
{
    put_padded(out, tm->tm_hour, 2, '0');
    buffer_put_char(out, ':');
    put_padded(out, tm->tm_min, 2, '0');
    if (!with_seconds)
        return;
    buffer_put_char(out, ':');
    put_padded(out, tm->tm_sec, 2, '0');
}

void time_put_long(struct buffer *out, int64_t unix_us)
{
    struct tm tm = local_time(unix_us);

    buffer_put_string(out, days[tm.tm_wday]);
    buffer_put_char(out, ' ');
    buffer_put_string(out, months[tm.tm_mon]);
    buffer_put_char(out, ' ');
    put_padded(out, tm.tm_mday, 2, ' ');
    buffer_put_char(out, ' ');
    put_clock(out, &tm, true);
    buffer_put_char(out, ' ');
    buffer_put_signed(out, INT64_C(1900) + tm.tm_year);
}

void time_put_iso(struct buffer *out, int64_t unix_us)
{
    struct tm tm = local_time(unix_us);
    int fraction = (int)((unix_us % US_PER_S + US_PER_S) % US_PER_S);

    put_padded(out, tm.tm_year + 1900, 4, '0');
    buffer_put_char(out, '-');
    put_padded(out, tm.tm_mon + 1, 2, '0');
    buffer_put_char(out, '-');
    put_padded(out, tm.tm_mday, 2, '0');
    buffer_put_char(out, 'T');
    put_clock(out, &tm, true);
    if (!fraction)
        return;
    buffer_put_char(out, '.');
    put_padded(out, fraction, 6, '0');
}

void time_put_since(struct buffer *out, int64_t unix_us, int64_t now_unix_us)
{
    struct tm tm = local_time(unix_us);

    if (now_unix_us - unix_us >= 86400 * US_PER_S) {
        buffer_put_string(out, months[tm.tm_mon]);
        buffer_put_char(out, ' ');
        buffer_put_signed(out, tm.tm_mday);
        buffer_put_char(out, ' ');
    }
    put_clock(out, &tm, false);
}

void time_put_age(struct buffer *out, uint64_t age_us)
{
    static const struct {
        uint64_t seconds;
        char unit;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}};
    uint64_t seconds = age_us / (uint64_t)US_PER_S;

    for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (seconds < 2 * units[i].seconds)
            continue;
        buffer_put_unsigned(out, seconds / units[i].seconds);
        buffer_put_char(out, units[i].unit);
        return;
    }
    buffer_put_unsigned(out, seconds);
    buffer_put_char(out, 's');
}

void time_put_age_exact(struct buffer *out, uint64_t age_us)
{
    if (age_us >= 10 * (uint64_t)US_PER_S) {
        time_put_age(out, age_us);
        return;
    }
    buffer_put_unsigned(out, age_us / (uint64_t)US_PER_S);
    buffer_put_char(out, '.');
    buffer_put_unsigned(out, age_us / (uint64_t)(US_PER_S / 10) % 10);
    buffer_put_char(out, 's');
}
