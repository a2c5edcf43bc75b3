#include "server/control_client.h"

#include "core/cleanup.h"
#include "core/utf8.h"
#include "net/unix_client.h"
#include "server/control.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>

#define SERVICE_USER "clustat"
#define ANSWER_NS    (5 * NS_PER_S)
#define ANSWER_MAX   (1u << 20)

static void put_request(const struct options *options, struct buffer *out)
{
    if (options->action == ACTION_STATUS)
        buffer_put_string(out, options->json ? "STATUS json\n" : "STATUS\n");
    else if (options->action == ACTION_RESUME)
        buffer_put_string(out, "RESUME\n");
    else if (options->pause_secs)
        buffer_printf(out, "PAUSE %u\n", options->pause_secs);
    else
        buffer_put_string(out, "PAUSE\n");
}

/* Reads to the end of the connection. */
static int read_answer(int fd, struct instant deadline, struct buffer *out)
{
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        char bytes[4096];
        ssize_t n;
        int r = poll(&wait, 1, clock_poll_timeout_ms(clock_now(), deadline));

        if (r == 0)
            return -ETIMEDOUT;
        if (r < 0 && errno != EINTR)
            return -errno;
        n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n == 0)
            return buffer_error(out);
        if (n > 0)
            buffer_put(out, bytes, (size_t)n);
        else if (errno != EAGAIN && errno != EINTR)
            return -errno;
    }
}

static uid_t service_uid(void)
{
    const struct passwd *entry = getpwnam(SERVICE_USER);

    return entry ? entry->pw_uid : (uid_t)-1;
}

static int complain(const char *path, int r, uid_t owner)
{
    if (r == NET_UNIX_CLIENT_UNTRUSTED)
        fprintf(stderr, "clustat-server: %s belongs to uid %u, who is neither root, you, nor user %s\n", path,
                (unsigned)owner, SERVICE_USER);
    else if (r == -ENOENT || r == -ECONNREFUSED)
        fprintf(stderr, "clustat-server: no server listens at %s: systemctl status clustat-server\n", path);
    else if (r == -EACCES)
        fprintf(stderr, "clustat-server: %s is for root and the user of the service only\n", path);
    else if (r == -ETIMEDOUT)
        fprintf(stderr, "clustat-server: the server at %s does not answer\n", path);
    else
        fprintf(stderr, "clustat-server: %s: %s\n", path, strerror(-r));
    return 1;
}

static int print_answer(const char *path, struct text answer)
{
    if (!answer.len)
        return complain(path, -ECONNRESET, 0);
    if (answer.len >= 4 && !memcmp(answer.bytes, "ERR ", 4)) {
        fprintf(stderr, "clustat-server: %.*s", (int)answer.len - 4, answer.bytes + 4);
        return 1;
    }
    if (answer.len >= 3 && !memcmp(answer.bytes, "OK ", 3)) {
        answer.bytes += 3;
        answer.len -= 3;
    }
    if (fwrite(answer.bytes, 1, answer.len, stdout) != answer.len || fflush(stdout) != 0)
        return complain("standard output", -errno, 0);
    return 0;
}

int control_client_run(const struct options *options)
{
    _cleanup_(buffer_deinit) struct buffer request = BUFFER_EMPTY, answer = {.max = ANSWER_MAX};
    _cleanup_(net_unix_client_deinit) struct net_unix_client client = NET_UNIX_CLIENT_CLOSED;
    char usual[CONTROL_PATH_CAP];
    const char *path = options->control_path ? options->control_path : control_default_path(false, usual);
    struct instant deadline = instant_add_ns(clock_now(), ANSWER_NS);
    uid_t owner = 0;
    int r = net_unix_client_open(path, service_uid(), deadline, &client, &owner);

    put_request(options, &request);
    if (r == 0)
        r = net_unix_client_send(&client, request.bytes, request.len, deadline);
    if (r == 0)
        r = read_answer(client.fd, deadline, &answer);
    if (r != 0)
        return complain(path, r, owner);
    return print_answer(path, buffer_text(&answer));
}
