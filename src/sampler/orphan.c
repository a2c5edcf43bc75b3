#include "sampler/orphan.h"

#include "core/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Writes the address of a place; returns its length. */
static socklen_t address_of(uid_t uid, unsigned place, struct sockaddr_un *address)
{
    int len;

    *address = (struct sockaddr_un){.sun_family = AF_UNIX}; /* sun_path[0] stays NUL: abstract */
    len = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "clustat-stuck-sampler-%u-%u",
                   (unsigned)uid, place);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Anybody may bind a name, so only a listener of the user's own or of root counts. */
static bool is_taken(uid_t uid, unsigned place)
{
    _cleanup_(cleanup_close) int fd = new_socket();
    struct sockaddr_un address;
    socklen_t len = address_of(uid, place, &address);
    struct ucred peer;
    socklen_t peer_len = sizeof(peer);

    if (fd < 0)
        return false;
    if (connect(fd, (struct sockaddr *)&address, len) < 0)
        return errno == EAGAIN; /* its queue is full of those who asked before us */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_len) < 0)
        return false;
    return peer.uid == uid || peer.uid == 0;
}

uint32_t orphan_count(uid_t uid)
{
    uint32_t count = 0;

    for (unsigned place = 0; place < ORPHANS_AT_MOST; place++)
        count += is_taken(uid, place);
    return count;
}

bool orphan_is_held(void)
{
    _cleanup_(cleanup_close) int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    char line[256];
    ssize_t len = fd >= 0 ? read(fd, line, sizeof(line) - 1) : 0;
    const char *end;

    if (len <= 0)
        return false;
    line[len] = '\0';
    end = strrchr(line, ')'); /* the name before it can hold anything */
    return end && end[1] == ' ' && (end[2] == 'D' || end[2] == 'R');
}

int orphan_declare(uid_t uid)
{
    _cleanup_(cleanup_close) int fd = new_socket();

    if (fd < 0)
        return -errno;
    for (unsigned place = 0; place < ORPHANS_AT_MOST; place++) {
        struct sockaddr_un address;
        socklen_t len = address_of(uid, place, &address);

        if (bind(fd, (struct sockaddr *)&address, len) == 0)
            return listen(fd, SOMAXCONN) < 0 ? -errno : steal_fd(&fd);
        if (errno != EADDRINUSE)
            return -errno;
    }
    return -EBUSY;
}
