#include "net/notify.h"

#include "core/clock.h"
#include "core/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define STATUS_CAP 256 /* of one status line; longer ones are cut */

static uint64_t read_number(const char *name)
{
    const char *value = getenv(name);
    unsigned long long number;

    return value && text_parse_decimal(text_from_string(value), UINT64_MAX, &number) == 0 ? number : 0;
}

/* A path, or "@name" for the abstract namespace (sd_notify(3)). */
static int connect_to(const char *name, int *ret_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    int fd;

    if ((name[0] != '/' && name[0] != '@') || len < 2)
        return -EAFNOSUPPORT;
    if (len >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, name, len);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    else
        size++; /* its NUL */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&address, size) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

int net_notify_open(struct net_notify *ret_notify)
{
    struct net_notify notify = {.fd = -1};
    const char *name = getenv("NOTIFY_SOCKET");
    uint64_t watchdog_pid = read_number("WATCHDOG_PID");
    int r = 0;

    if (name && name[0])
        r = connect_to(name, &notify.fd);
    if (notify.fd >= 0 && (watchdog_pid == 0 || watchdog_pid == (uint64_t)getpid()))
        notify.watchdog_us = read_number("WATCHDOG_USEC");
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    *ret_notify = notify;
    return r;
}

void net_notify_close(struct net_notify *notify)
{
    if (notify->fd >= 0)
        close(notify->fd);
    *notify = (struct net_notify){.fd = -1};
}

static int send_text(const struct net_notify *notify, const char *text)
{
    if (notify->fd < 0)
        return 0;
    /* Never waits: a manager too busy to read misses one line, and the next watchdog line tells it more. */
    return send(notify->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* A newline would begin another variable. */
static void copy_line(const char *status, char line[static STATUS_CAP])
{
    text_copy(text_from_string(status), line, STATUS_CAP);
    for (char *c = line; *c; c++) {
        if (*c == '\n')
            *c = ' ';
    }
}

int net_notify_ready(const struct net_notify *notify, const char *status)
{
    char text[STATUS_CAP + 32], line[STATUS_CAP];

    if (!status)
        return send_text(notify, "READY=1");
    copy_line(status, line);
    snprintf(text, sizeof(text), "READY=1\nSTATUS=%s", line);
    return send_text(notify, text);
}

int net_notify_status(const struct net_notify *notify, const char *status)
{
    char text[STATUS_CAP + 32], line[STATUS_CAP];

    copy_line(status, line);
    snprintf(text, sizeof(text), "STATUS=%s", line);
    return send_text(notify, text);
}

int net_notify_reloading(const struct net_notify *notify)
{
    char text[64];

    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_now().ns / NS_PER_US);
    return send_text(notify, text);
}

int net_notify_stopping(const struct net_notify *notify)
{
    return send_text(notify, "STOPPING=1");
}

int net_notify_watchdog(const struct net_notify *notify)
{
    return send_text(notify, "WATCHDOG=1");
}
