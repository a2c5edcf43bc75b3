#include "net/notify.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

/* Plays the manager on an abstract name ("@...") or a path. */
static int manager(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    memcpy(address.sun_path, name, strlen(name));
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    return fd;
}

static const char *heard(int fd)
{
    static char text[1024];
    ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void nobody_listens(void **state)
{
    struct net_notify notify;

    (void)state;
    unsetenv("NOTIFY_SOCKET");
    setenv("WATCHDOG_USEC", "1000000", 1);
    assert_int_equal(net_notify_open(&notify), 0);
    assert_int_equal(notify.watchdog_us, 0);
    assert_null(getenv("WATCHDOG_USEC"));
    assert_int_equal(net_notify_ready(&notify, "x"), 0);
    assert_int_equal(net_notify_watchdog(&notify), 0);
    net_notify_close(&notify);
}

static void messages_reach_the_manager(void **state)
{
    struct net_notify notify;
    char name[60];
    int fd;

    (void)state;
    snprintf(name, sizeof(name), "@clustat-test-notify-%d", getpid());
    fd = manager(name);
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", "20000000", 1);
    unsetenv("WATCHDOG_PID");
    assert_int_equal(net_notify_open(&notify), 0);
    assert_null(getenv("NOTIFY_SOCKET")); /* children cannot speak for us */
    assert_int_equal(notify.watchdog_us, 20000000);
    assert_int_equal(net_notify_ready(&notify, NULL), 0);
    assert_string_equal(heard(fd), "READY=1");
    assert_int_equal(net_notify_ready(&notify, "3 nodes\nREADY=0"), 0);
    assert_string_equal(heard(fd), "READY=1\nSTATUS=3 nodes READY=0");
    assert_int_equal(net_notify_status(&notify, "up"), 0);
    assert_string_equal(heard(fd), "STATUS=up");
    assert_int_equal(net_notify_reloading(&notify), 0);
    assert_int_equal(strncmp(heard(fd), "RELOADING=1\nMONOTONIC_USEC=", 27), 0);
    assert_int_equal(net_notify_stopping(&notify), 0);
    assert_string_equal(heard(fd), "STOPPING=1");
    assert_int_equal(net_notify_watchdog(&notify), 0);
    assert_string_equal(heard(fd), "WATCHDOG=1");
    /* A manager that reads nothing cannot stop us. */
    for (int i = 0; i < 10000; i++) {
        int r = net_notify_status(&notify, "x");

        assert_true(r == 0 || r == -EAGAIN);
    }
    close(fd);
    assert_int_equal(net_notify_status(&notify, "x"), -ECONNREFUSED);
    net_notify_close(&notify);
    net_notify_close(&notify);
}

static void a_path_works_too_and_the_watchdog_may_be_anothers(void **state)
{
    struct net_notify notify;
    char path[60];
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "/tmp/clustat-test-notify-%d", getpid());
    fd = manager(path);
    setenv("NOTIFY_SOCKET", path, 1);
    setenv("WATCHDOG_USEC", "20000000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    assert_int_equal(net_notify_open(&notify), 0);
    assert_int_equal(notify.watchdog_us, 0);
    assert_int_equal(net_notify_stopping(&notify), 0);
    assert_string_equal(heard(fd), "STOPPING=1");
    net_notify_close(&notify);
    close(fd);
    unlink(path);
}

static void unusable_sockets_are_errors_but_harmless(void **state)
{
    static const struct {
        const char *name;
        int error;
    } cases[] = {
        {"relative", -EAFNOSUPPORT}, {"/nonexistent/socket", -ENOENT}, {"@clustat-nobody", -ECONNREFUSED}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct net_notify notify;

        setenv("NOTIFY_SOCKET", cases[i].name, 1);
        assert_int_equal(net_notify_open(&notify), cases[i].error);
        assert_int_equal(net_notify_ready(&notify, NULL), 0);
        net_notify_close(&notify);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(messages_reach_the_manager),
        cmocka_unit_test(a_path_works_too_and_the_watchdog_may_be_anothers),
        cmocka_unit_test(unusable_sockets_are_errors_but_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
