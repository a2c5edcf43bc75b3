#include "net/port.h"

#include "core/cleanup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define TCP_LISTEN 0x0A /* state column of /proc/net/tcp, proc(5) */

struct holder {
    unsigned uid;
    unsigned long inode;
};

/* A line of /proc/net/{udp,tcp}{,6}: "sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout
 * inode". */
static bool line_matches(const char *line, bool tcp, uint16_t port, struct holder *ret_holder)
{
    unsigned local_port, state;
    struct holder holder;

    if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %u %*u %lu",
               &local_port, &state, &holder.uid, &holder.inode) != 4)
        return false;
    if (local_port != port || (tcp && state != TCP_LISTEN))
        return false;
    *ret_holder = holder;
    return true;
}

static bool find_socket(const char *protocol, uint16_t port, struct holder *ret_holder)
{
    for (int version = 0; version < 2; version++) {
        char path[32], line[512];
        _cleanup_(cleanup_fclose) FILE *file = NULL;

        snprintf(path, sizeof(path), "/proc/net/%.3s%s", protocol, version ? "6" : "");
        file = fopen(path, "re");
        while (file && fgets(line, sizeof(line), file)) {
            if (line_matches(line, strcmp(protocol, "tcp") == 0, port, ret_holder))
                return true;
        }
    }
    return false;
}

static void close_directory(DIR **directory)
{
    if (*directory)
        closedir(*directory);
}

static bool process_has(const char *pid, unsigned long inode)
{
    char path[300], wanted[40], target[40];
    _cleanup_(close_directory) DIR *directory = NULL;
    const struct dirent *entry;

    snprintf(path, sizeof(path), "/proc/%s/fd", pid);
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    directory = opendir(path);
    while (directory && (entry = readdir(directory))) {
        ssize_t len = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);

        if (len < 0)
            continue;
        target[len] = '\0';
        if (strcmp(target, wanted) == 0)
            return true;
    }
    return false;
}

static void read_command(const char *pid, char command[static 32])
{
    char path[300];
    _cleanup_(cleanup_fclose) FILE *file = NULL;

    snprintf(path, sizeof(path), "/proc/%s/comm", pid);
    file = fopen(path, "re");
    if (!file || !fgets(command, 32, file))
        snprintf(command, 32, "?");
    command[strcspn(command, "\n")] = '\0';
}

char *net_port_holder(const char *protocol, uint16_t port, char buf[static NET_PORT_HOLDER_CAP])
{
    _cleanup_(close_directory) DIR *directory = NULL;
    const struct dirent *entry;
    struct holder holder;

    buf[0] = '\0';
    if (!find_socket(protocol, port, &holder))
        return buf;
    snprintf(buf, NET_PORT_HOLDER_CAP, "uid %u", holder.uid);
    directory = opendir("/proc");
    while (directory && (entry = readdir(directory))) {
        char command[32];

        if (!isdigit((unsigned char)entry->d_name[0]) || !process_has(entry->d_name, holder.inode))
            continue;
        read_command(entry->d_name, command);
        snprintf(buf, NET_PORT_HOLDER_CAP, "pid %.10s (%s), uid %u", entry->d_name, command, holder.uid);
        break;
    }
    return buf;
}
