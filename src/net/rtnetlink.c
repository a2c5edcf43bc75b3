#include "net/rtnetlink.h"

#include "core/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define DUMP_BUFFER 32768u /* the kernel fills at most this much at once */

static int open_socket(int *ret_fd)
{
    const struct timeval limit = {.tv_sec = 1}; /* the kernel answers at once; never hang on it */
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    *ret_fd = fd;
    return 0;
}

static int send_request(int fd, uint16_t type, uint8_t family)
{
    struct {
        struct nlmsghdr header;
        struct rtgenmsg body;
    } request = {
        .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(request.body)),
                   .nlmsg_type = type,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                   .nlmsg_seq = 1},
        .body = {.rtgen_family = family},
    };

    return send(fd, &request, request.header.nlmsg_len, 0) < 0 ? -errno : 0;
}

static int error_of(const struct nlmsghdr *message)
{
    const struct nlmsgerr *error = NLMSG_DATA(message);

    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(*error)))
        return -EIO;
    return error->error < 0 ? error->error : -EIO;
}

/* One buffer of messages. *done is set at the end of the dump. */
static int visit_all(const struct nlmsghdr *message, size_t len, rtnetlink_visit *visit, void *userdata,
                     bool *changed, bool *done)
{
    for (; NLMSG_OK(message, len); message = NLMSG_NEXT(message, len)) {
        int r = 0;

        *changed |= (message->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
        if (message->nlmsg_type == NLMSG_DONE) {
            *done = true;
            return 0;
        }
        if (message->nlmsg_type == NLMSG_ERROR)
            r = error_of(message);
        else if (message->nlmsg_type >= RTM_BASE)
            r = visit(userdata, message);
        if (r < 0)
            return r;
    }
    return 0;
}

int rtnetlink_dump(uint16_t type, uint8_t family, rtnetlink_visit *visit, void *userdata)
{
    _Alignas(struct nlmsghdr) uint8_t buffer[DUMP_BUFFER];
    _cleanup_(cleanup_close) int fd = -1;
    bool changed = false, done = false;
    int r = open_socket(&fd);

    if (r == 0)
        r = send_request(fd, type, family);
    while (r == 0 && !done) {
        ssize_t len = recv(fd, buffer, sizeof(buffer), 0);

        if (len < 0 && errno == EINTR)
            continue;
        if (len <= 0)
            return len < 0 ? -errno : -EIO;
        r = visit_all((const struct nlmsghdr *)(const void *)buffer, (size_t)len, visit, userdata, &changed,
                      &done);
    }
    return r == 0 && changed ? -EAGAIN : r;
}

const void *rtnetlink_find(const void *attributes, size_t len, uint16_t type, size_t *ret_size)
{
    for (const struct rtattr *entry = attributes; RTA_OK(entry, len); entry = RTA_NEXT(entry, len)) {
        if ((entry->rta_type & NLA_TYPE_MASK) != type)
            continue;
        *ret_size = RTA_PAYLOAD(entry);
        return RTA_DATA(entry);
    }
    return NULL;
}

const void *rtnetlink_find_in(const struct nlmsghdr *message, size_t header_size, uint16_t type,
                              size_t *ret_size)
{
    size_t start = NLMSG_SPACE(header_size);

    if (message->nlmsg_len < start)
        return NULL;
    return rtnetlink_find((const uint8_t *)message + start, message->nlmsg_len - start, type, ret_size);
}

uint32_t rtnetlink_u32_in(const struct nlmsghdr *message, size_t header_size, uint16_t type)
{
    size_t size;
    const void *bytes = rtnetlink_find_in(message, header_size, type, &size);
    uint32_t value = 0;

    if (bytes && size == sizeof(value))
        memcpy(&value, bytes, sizeof(value));
    return value;
}
