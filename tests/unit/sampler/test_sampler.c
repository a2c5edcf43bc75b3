/*
 * The parent's handle with children that follow a script. This very program is the child: the script is the
 * "library" that the handle is told to use, and the child needs no driver for it.
 */
#include "sampler/sampler.h"

#include "sampler/launch.h"
#include "sampler/orphan.h"
#include "sampler/page.h"
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- the child ---- */

/* A frame with a body of this length, each byte `fill`. */
static void send_frame(uint8_t fill, size_t len)
{
    uint8_t *bytes = malloc(FRAME_HEADER_SIZE + len);
    struct writer writer = writer_over(bytes, FRAME_HEADER_SIZE + len);

    frame_write_header(
        &writer,
        &(struct frame_header){.version = FRAME_VERSION, .type = FRAME_SNAPSHOT, .body_len = (uint32_t)len});
    memset(bytes + FRAME_HEADER_SIZE, fill, len);
    for (size_t sent = 0; sent < FRAME_HEADER_SIZE + len;) {
        ssize_t n = send(SAMPLER_SOCKET_FD, bytes + sent, FRAME_HEADER_SIZE + len - sent, MSG_NOSIGNAL);

        if (n < 0)
            _exit(0);
        sent += (size_t)n;
    }
    free(bytes);
}

static void wait_for_the_end(void)
{
    char bytes[256];

    while (recv(SAMPLER_SOCKET_FD, bytes, sizeof(bytes), 0) > 0)
        ;
    _exit(0);
}

static void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

/* Hangs in a call for a while, but not longer than the test lasts. */
static void hang(struct call_page *page, enum call_kind kind, const char *call, int32_t device, int ms)
{
    struct pollfd socket = {.fd = SAMPLER_SOCKET_FD, .events = POLLRDHUP};

    call_page_begin(page, kind, call, device, clock_now());
    poll(&socket, 1, ms);
    call_page_end(page, clock_now());
}

static int child_main(int argc, char *argv[])
{
    struct call_page *page;
    struct launch launch;
    const char *script;

    if (launch_parse(argc, argv, &launch) < 0 || call_page_open(SAMPLER_PAGE_FD, &page) < 0)
        return SAMPLER_EXIT_USAGE;
    script = launch.options.library_path;
    if (!strcmp(script, "end"))
        return SAMPLER_EXIT_RESTART;
    if (!strcmp(script, "noise")) {
        send(SAMPLER_SOCKET_FD, "this is no frame, I am afraid", 29, MSG_NOSIGNAL);
        wait_for_the_end();
    }
    if (!strcmp(script, "echo interest")) { /* a picture as long as the interest frame's body says */
        uint8_t bytes[FRAME_HEADER_SIZE + 10];

        while (recv(SAMPLER_SOCKET_FD, bytes, sizeof(bytes), 0) > 0)
            send_frame('i', bytes[FRAME_HEADER_SIZE]);
        _exit(0);
    }
    send_frame(launch.without_host ? 'H' : launch.left_out.bits[0] ? 'L' : 'A', 10);
    if (!strcmp(script, "big"))
        for (int i = 1; i <= 20; i++)
            send_frame((uint8_t)i, FRAME_BODY_MAX);
    if (!strcmp(script, "hang in device 2") && !launch.left_out.bits[0])
        hang(page, CALL_DRIVER, "nvmlDeviceGetThing", 2, 1500);
    if (!strcmp(script, "hang in proc") && !launch.without_host)
        hang(page, CALL_HOST, "/proc/77", -1, 60000);
    if (!strcmp(script, "hang in init"))
        hang(page, CALL_DRIVER, "nvmlInit_v2", -1, 1500);
    if (!launch.without_host) /* only the newest picture is kept: that test waits for the first one */
        send_frame('Z', 11);
    wait_for_the_end();
    return 0;
}

/* ---- the tests ---- */

static struct sampler *start(const char *script)
{
    struct sampler_options options = sampler_options_default();
    struct sampler *sampler;

    options.library_path = script;
    options.stuck_call_ns = 500 * NS_PER_MS;
    assert_int_equal(sampler_start(&options, clock_now(), &sampler), 0);
    return sampler;
}

/* One round of a program's loop; nothing in it may block. Returns the event. */
static int turn(struct sampler *sampler)
{
    struct instant began = clock_now();
    struct pollfd fd = {.events = POLLIN};
    int event;

    sampler_tick(sampler, began);
    fd.fd = sampler_fd(sampler);
    poll(&fd, 1, 10);
    event = sampler_receive(sampler, clock_now());
    assert_true(instant_since_ns(clock_now(), began) < 2 * NS_PER_S);
    return event;
}

/* First byte of the newest picture, 0 if there is none. */
static int first_byte(struct sampler *sampler)
{
    struct reader body = sampler_snapshot(sampler);

    return body.len ? body.bytes[0] : 0;
}

static void turn_until_byte(struct sampler *sampler, int byte)
{
    struct instant end = instant_add_ns(clock_now(), 10 * NS_PER_S);

    while (first_byte(sampler) != byte) {
        turn(sampler);
        assert_true(instant_since_ns(end, clock_now()) > 0);
    }
}

static void turn_until_event(struct sampler *sampler, int wanted)
{
    struct instant end = instant_add_ns(clock_now(), 10 * NS_PER_S);

    while (turn(sampler) != wanted)
        assert_true(instant_since_ns(end, clock_now()) > 0);
}

static void turn_until_stuck(struct sampler *sampler, uint32_t count)
{
    struct instant end = instant_add_ns(clock_now(), 10 * NS_PER_S);

    while (sampler_stuck_count(sampler) != count) {
        turn(sampler);
        assert_true(instant_since_ns(end, clock_now()) > 0);
    }
}

/* The children of this test that have ended leave no zombie behind once the handle has had its turn. */
static void assert_no_children_left(struct sampler *sampler)
{
    struct instant end = instant_add_ns(clock_now(), 10 * NS_PER_S);
    siginfo_t info;

    do {
        if (sampler)
            sampler_tick(sampler, clock_now());
        pause_ms(5);
        info.si_pid = 0;
        assert_true(instant_since_ns(end, clock_now()) > 0);
    } while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0);
}

/* After a handle is closed its children are this process's to reap. */
static void reap_all(void)
{
    struct instant end = instant_add_ns(clock_now(), 5 * NS_PER_S);

    while (waitpid(-1, NULL, WNOHANG) >= 0) {
        assert_true(instant_since_ns(end, clock_now()) > 0);
        pause_ms(5);
    }
    assert_int_equal(errno, ECHILD);
}

static void test_pictures_come(void **state)
{
    struct sampler *sampler = start("normal");

    (void)state;
    assert_int_equal(first_byte(sampler), 0);
    turn_until_byte(sampler, 'Z');
    assert_int_equal(sampler_snapshot(sampler).len, 11);
    assert_true(instant_since_ns(clock_now(), sampler_snapshot_received(sampler)) < NS_PER_S);
    sampler_close(sampler);
    reap_all();
}

static void test_largest_pictures(void **state)
{
    struct sampler *sampler = start("big");

    (void)state;
    turn_until_byte(sampler, 'Z');
    sampler_close(sampler);
    reap_all();
}

static void test_interest_reaches_the_child(void **state)
{
    struct sampler *sampler = start("echo interest");

    (void)state;
    sampler_show_interest(sampler, 100 * NS_PER_US); /* a varint of one byte: 100 */
    turn_until_byte(sampler, 'i');
    assert_int_equal(sampler_snapshot(sampler).len, 100);
    sampler_close(sampler);
    reap_all();
}

/* A child that never reads: the socket fills up, and showing interest still takes no time. */
static void test_interest_never_blocks(void **state)
{
    struct sampler *sampler = start("hang in init");
    struct instant began = clock_now();

    (void)state;
    for (int i = 0; i < 20000; i++)
        sampler_show_interest(sampler, NS_PER_S);
    assert_true(instant_since_ns(clock_now(), began) < NS_PER_S);
    sampler_close(sampler);
    reap_all();
}

static void test_ended_child_is_started_again(void **state)
{
    struct sampler *sampler = start("end");
    struct instant began = clock_now();

    (void)state;
    turn_until_event(sampler, SAMPLER_ENDED);
    turn_until_event(sampler, SAMPLER_ENDED); /* the second one was started at once ... */
    assert_true(instant_since_ns(clock_now(), began) < 900 * NS_PER_MS);
    turn_until_event(sampler, SAMPLER_ENDED); /* ... the third one after a second */
    assert_true(instant_since_ns(clock_now(), began) > 900 * NS_PER_MS);
    assert_no_children_left(sampler);
    assert_int_equal(sampler_fd(sampler), -1);
    sampler_close(sampler);
}

static void test_noise_ends_the_child(void **state)
{
    struct sampler *sampler = start("noise");

    (void)state;
    turn_until_event(sampler, SAMPLER_ENDED);
    assert_int_equal(first_byte(sampler), 0);
    sampler_close(sampler);
    reap_all();
}

static void test_stuck_child_is_replaced_and_returns(void **state)
{
    struct sampler *sampler = start("hang in device 2");
    struct sampler_call call;

    (void)state;
    turn_until_byte(sampler, 'A');
    turn_until_stuck(sampler, 1);
    assert_true(sampler_call_in_progress(sampler, clock_now(), &call));
    assert_string_equal(call.name, "nvmlDeviceGetThing");
    assert_int_equal(call.device, 2);
    assert_true(call.running_ns >= 500 * NS_PER_MS);
    turn_until_byte(sampler, 'Z'); /* of the replacement, whose first picture was an 'L' */
    turn_until_stuck(sampler, 0);
    assert_false(sampler_call_in_progress(sampler, clock_now(), &call));
    sampler_close(sampler);
    reap_all();
}

static void test_hang_in_proc_leaves_the_host_out(void **state)
{
    struct sampler *sampler = start("hang in proc");
    struct sampler_call call;

    (void)state;
    turn_until_byte(sampler, 'H');
    assert_true(sampler_call_in_progress(sampler, clock_now(), &call));
    assert_string_equal(call.name, "/proc/77");
    assert_int_equal(sampler_stuck_count(sampler), 1);
    sampler_close(sampler);
    reap_all();
}

static void test_hang_in_init_is_not_replaced(void **state)
{
    struct sampler *sampler = start("hang in init");
    struct sampler_call call = {.name = ""};

    (void)state;
    turn_until_byte(sampler, 'A');
    for (int i = 0; i < 80; i++)
        assert_int_not_equal(turn(sampler), SAMPLER_ENDED);
    assert_true(sampler_call_in_progress(sampler, clock_now(), &call));
    assert_string_equal(call.name, "nvmlInit_v2");
    assert_int_equal(call.device, -1);
    assert_int_equal(sampler_stuck_count(sampler), 0);
    turn_until_byte(sampler, 'Z');
    sampler_close(sampler);
    reap_all();
}

static void test_orphans_are_counted(void **state)
{
    uid_t nobody = 4000000000u; /* a place of our own, whoever else hangs on this machine */
    int first, second;

    (void)state;
    assert_int_equal(orphan_count(nobody), 0);
    first = orphan_declare(nobody);
    assert_true(first >= 0);
    second = orphan_declare(nobody);
    assert_true(second >= 0);
    assert_int_equal(orphan_declare(nobody), -EBUSY);
    if (getuid() == 0) /* a listener of root counts for everybody, one of another user for nobody */
        assert_int_equal(orphan_count(nobody), 2);
    else
        assert_int_equal(orphan_count(nobody), 0);
    close(first);
    assert_int_equal(orphan_count(nobody), getuid() == 0 ? 1 : 0);
    close(second);
    assert_int_equal(orphan_count(nobody), 0);
}

/* Many lives: no descriptor and no child is left. */
static void test_nothing_leaks(void **state)
{
    int before = dup(0), after;

    (void)state;
    close(before);
    for (int i = 0; i < 30; i++) {
        struct sampler *sampler = start("normal");

        turn_until_byte(sampler, 'Z');
        sampler_close(sampler);
    }
    after = dup(0);
    close(after);
    assert_int_equal(after, before);
    reap_all();
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures_come),
        cmocka_unit_test(test_largest_pictures),
        cmocka_unit_test(test_interest_reaches_the_child),
        cmocka_unit_test(test_interest_never_blocks),
        cmocka_unit_test(test_ended_child_is_started_again),
        cmocka_unit_test(test_noise_ends_the_child),
        cmocka_unit_test(test_stuck_child_is_replaced_and_returns),
        cmocka_unit_test(test_hang_in_init_is_not_replaced),
        cmocka_unit_test(test_hang_in_proc_leaves_the_host_out),
        cmocka_unit_test(test_orphans_are_counted),
        cmocka_unit_test(test_nothing_leaks),
    };

    if (sampler_is_child(argv))
        return child_main(argc, argv);
    return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
