#include "cli/output.h"

#include "core/cleanup.h"
#include "core/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>

void output_init(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        /* The lowest free descriptor is this one. Opened for the wrong direction, so that using it fails. */
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
    }
}

int output_write(int fd, struct text text)
{
    while (text.len) {
        ssize_t n = write(fd, text.bytes, text.len);

        if (n >= 0) {
            text = (struct text){text.bytes + n, text.len - (size_t)n};
        } else if (errno == EAGAIN) { /* somebody else made the pipe or terminal non-blocking */
            struct pollfd wait = {.fd = fd, .events = POLLOUT};

            poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

void output_complain(const char *program, const char *format, ...)
{
    _cleanup_(buffer_deinit) struct buffer line = BUFFER_EMPTY;
    _cleanup_(cleanup_free) char *message = NULL;
    va_list args;
    int len;

    va_start(args, format);
    len = vasprintf(&message, format, args);
    va_end(args);
    if (len < 0) {
        message = NULL;
        return;
    }
    buffer_printf(&line, "%s: ", program);
    utf8_put_visible(&line, (struct text){message, (size_t)len});
    buffer_put_char(&line, '\n');
    if (!buffer_error(&line))
        output_write(STDERR_FILENO, buffer_text(&line));
}

int output_print(const char *program, const struct buffer *out)
{
    int r = buffer_error(out);

    if (r == 0)
        r = output_write(STDOUT_FILENO, buffer_text(out));
    if (r == 0)
        return EXIT_SHOWN;
    output_complain(program, "cannot write to standard output: %s", strerror(-r));
    return EXIT_FAILED;
}

int output_out_of_memory(const char *program)
{
    output_complain(program, "out of memory");
    return EXIT_FAILED;
}
