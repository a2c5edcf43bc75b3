#include "host/memory.h"

#include "core/cleanup.h"
#include "core/file.h"
#include "host/fields.h"

#include <errno.h>
#include <fcntl.h>

/* A line "MemTotal:       65842972 kB"; the kernel's kB are KiB. */
static int parse_line(struct text line, uint64_t *ret_bytes)
{
    unsigned long long kib;

    while (line.len && line.bytes[0] == ' ')
        line = fields_skip(line, 1);
    if (!fields_ends_with(line, TEXT_LITERAL(" kB")))
        return -EBADMSG;
    line.len -= 3;
    if (text_parse_decimal(line, UINT64_MAX / 1024, &kib) < 0)
        return -EBADMSG;
    *ret_bytes = kib * 1024;
    return 0;
}

int host_memory_read(const char *proc_root, struct host_memory *ret_memory)
{
    _cleanup_(cleanup_close) int root_fd = open(proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct host_memory memory;
    char buf[2048]; /* both are among the first three lines */
    struct text rest = {buf, 0};
    int r, total = -EBADMSG, available = -EBADMSG;

    if (root_fd < 0)
        return -errno;
    r = file_read(root_fd, "meminfo", buf, sizeof(buf), &rest.len);
    if (r < 0)
        return r;
    while (text_is_present(rest)) {
        struct text line = fields_take(&rest, '\n'), value = line, name = fields_take(&value, ':');

        if (text_equal_string(name, "MemTotal"))
            total = parse_line(value, &memory.total_bytes);
        else if (text_equal_string(name, "MemAvailable"))
            available = parse_line(value, &memory.available_bytes);
    }
    if (total < 0 || available < 0 || memory.available_bytes > memory.total_bytes)
        return -EBADMSG;
    *ret_memory = memory;
    return 0;
}
