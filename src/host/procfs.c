#include "host/procfs.h"

#include "host/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int procfs_open(int root_fd, uint32_t pid, int *ret_fd)
{
    char name[16];
    int fd;

    snprintf(name, sizeof(name), "%u", (unsigned)pid);
    fd = openat(root_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    *ret_fd = fd;
    return 0;
}

/* The kernel writes newline and backslash of a name as \n and \\, and nothing else so. */
static void copy_comm(struct text escaped, struct procfs_stat *stat)
{
    size_t len = 0;

    for (size_t i = 0; i < escaped.len && len < sizeof(stat->comm); i++) {
        char c = escaped.bytes[i];

        if (c == '\\' && i + 1 < escaped.len && (escaped.bytes[i + 1] == 'n' || escaped.bytes[i + 1] == '\\'))
            c = escaped.bytes[++i] == 'n' ? '\n' : '\\';
        stat->comm[len++] = c;
    }
    stat->comm_len = (uint8_t)len;
}

static int take_number(struct text *rest, char separator, unsigned long long max,
                       unsigned long long *ret_value)
{
    if (!text_is_present(*rest))
        return -EBADMSG;
    return text_parse_decimal(fields_take(rest, separator), max, ret_value) < 0 ? -EBADMSG : 0;
}

int procfs_parse_stat(struct text content, struct procfs_stat *ret_stat)
{
    const char *open = content.len ? memchr(content.bytes, '(', content.len) : NULL;
    const char *close = content.len ? memrchr(content.bytes, ')', content.len) : NULL;
    struct procfs_stat stat = {0};
    struct text rest;
    unsigned long long utime, stime, start;

    /* A name may hold blanks and brackets, so the fields are counted from the last bracket on. */
    if (!open || !close || close < open)
        return -EBADMSG;
    copy_comm((struct text){open + 1, (size_t)(close - open) - 1}, &stat);
    rest = fields_skip(content, (size_t)(close + 1 - content.bytes));
    if (rest.len < 3 || rest.bytes[0] != ' ' || rest.bytes[2] != ' ')
        return -EBADMSG;
    stat.state = rest.bytes[1];
    rest = fields_skip(rest, 3);
    for (int field = 4; field < 14; field++)
        fields_take(&rest, ' ');
    if (take_number(&rest, ' ', UINT64_MAX / 2, &utime) < 0 ||
        take_number(&rest, ' ', UINT64_MAX / 2, &stime) < 0)
        return -EBADMSG;
    for (int field = 16; field < 22; field++)
        fields_take(&rest, ' ');
    if (take_number(&rest, ' ', UINT64_MAX, &start) < 0)
        return -EBADMSG;
    stat.cpu_ticks = utime + stime;
    stat.start_ticks = start;
    *ret_stat = stat;
    return 0;
}

int procfs_parse_uid(struct text content, uint32_t *ret_uid)
{
    while (text_is_present(content)) {
        struct text line = fields_take(&content, '\n');
        unsigned long long uid;

        if (!fields_starts_with(line, TEXT_LITERAL("Uid:\t")))
            continue;
        line = fields_skip(line, 5);
        if (take_number(&line, '\t', UINT32_MAX, &uid) < 0)
            return -EBADMSG;
        *ret_uid = (uint32_t)uid;
        return 0;
    }
    return -EBADMSG;
}

int procfs_parse_statm(struct text content, uint64_t *ret_pages)
{
    unsigned long long pages;

    fields_take(&content, ' ');
    if (take_number(&content, ' ', UINT64_MAX, &pages) < 0)
        return -EBADMSG;
    *ret_pages = pages;
    return 0;
}
