#include "net/stream.h"

#include "core/cleanup.h"
#include "loop_support.h"
#include "net/port.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* One listener on loopback; its last accepted stream; plain blocking sockets play the peers. */
struct fixture {
    uv_loop_t loop;
    struct net_listener *listener;
    struct net_address address;
    struct net_stream *stream;
    unsigned accepted, frames, lines, ends;
    bool got_accept, got_frame, got_line, got_bad, got_input_end, got_end, got_connected, got_trouble,
        got_relief;
    bool close_on_frame, keep_half_open, answer_bad, want_bad;
    size_t frame_len;
    uint64_t request_id;
    uint8_t frame_first, frame_last;
    char line[200];
    size_t line_len;
    enum net_stream_bad_input bad;
    uint8_t bad_version;
    int end;
};

static void on_frame(void *userdata, struct net_stream *stream, const struct frame_header *header,
                     const uint8_t *frame, size_t len)
{
    struct fixture *fixture = userdata;

    fixture->frames++;
    fixture->frame_len = len;
    fixture->request_id = header->request_id;
    if (header->body_len) {
        fixture->frame_first = frame[FRAME_HEADER_SIZE];
        fixture->frame_last = frame[len - 1];
    }
    fixture->got_frame = true;
    if (fixture->close_on_frame) {
        net_stream_close(stream);
        fixture->stream = NULL;
    }
}

static void on_line(void *userdata, struct net_stream *stream, struct text line)
{
    struct fixture *fixture = userdata;

    (void)stream;
    fixture->lines++;
    fixture->line_len = line.len;
    text_copy(line, fixture->line, sizeof(fixture->line));
    fixture->got_line = true;
}

static void on_bad_input(void *userdata, struct net_stream *stream, enum net_stream_bad_input what,
                         const struct frame_header *header)
{
    struct fixture *fixture = userdata;

    fixture->bad = what;
    fixture->bad_version = header ? header->version : 0;
    fixture->got_bad = true;
    if (fixture->answer_bad) {
        assert_int_equal(net_stream_send(stream, "ERR no\n", 7, NET_STREAM_KEEP), 0);
        net_stream_finish(stream);
    }
}

static void on_input_end(void *userdata, struct net_stream *stream)
{
    struct fixture *fixture = userdata;

    (void)stream;
    fixture->got_input_end = true;
}

static void on_closed(void *userdata, struct net_stream *stream, int end)
{
    struct fixture *fixture = userdata;

    fixture->end = end;
    fixture->ends++;
    fixture->got_end = true;
    net_stream_close(stream);
    if (fixture->stream == stream)
        fixture->stream = NULL;
}

static struct net_stream_events stream_events(struct fixture *fixture)
{
    return (struct net_stream_events){
        .on_frame = on_frame,
        .on_line = on_line,
        .on_bad_input = fixture->want_bad ? on_bad_input : NULL,
        .on_input_end = fixture->keep_half_open ? on_input_end : NULL,
        .on_closed = on_closed,
        .userdata = fixture,
    };
}

static void on_accept(void *userdata, struct net_stream *stream, const struct net_stream_peer *peer)
{
    struct fixture *fixture = userdata;
    struct net_stream_events events = stream_events(fixture);

    assert_true(net_address_is_loopback(&peer->address));
    assert_true(net_address_equal(&peer->local, &fixture->address));
    net_stream_set_events(stream, &events);
    fixture->stream = stream;
    fixture->accepted++;
    fixture->got_accept = true;
}

static void on_accept_trouble(void *userdata, int error)
{
    struct fixture *fixture = userdata;

    if (error) {
        assert_false(fixture->got_trouble); /* told once */
        assert_int_equal(error, -EMFILE);
        fixture->got_trouble = true;
    } else {
        fixture->got_relief = true;
    }
}

static void open_fixture(struct fixture *fixture, struct net_listener_options options)
{
    struct net_listener_events events = {on_accept, on_accept_trouble, fixture};
    struct net_address bind = net_address_ipv4(INADDR_LOOPBACK, 0);
    struct sockaddr_storage storage;
    socklen_t len = sizeof(storage);
    int fd;

    uv_loop_init(&fixture->loop);
    assert_int_equal(net_port_listen_tcp(&bind, &fd), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&storage, &len), 0);
    assert_int_equal(net_address_from_sockaddr((struct sockaddr *)&storage, len, &fixture->address), 0);
    assert_int_equal(net_listener_open(&fixture->loop, fd, &options, &events, &fixture->listener), 0);
}

static void close_fixture(struct fixture *fixture)
{
    net_stream_close(fixture->stream);
    net_listener_close(fixture->listener);
    assert_int_equal(net_loop_drain(&fixture->loop, 1000), 0);
}

/* A peer: a plain blocking socket. */
static int dial(const struct fixture *fixture)
{
    struct sockaddr_storage storage;
    socklen_t len = net_address_to_sockaddr(&fixture->address, &storage);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&storage, len), 0);
    return fd;
}

static size_t make_frame(uint8_t *bytes, uint64_t request_id, uint32_t body_len, uint8_t fill)
{
    struct writer writer = writer_over(bytes, FRAME_HEADER_SIZE);
    struct frame_header header = {
        .version = FRAME_VERSION, .type = FRAME_SNAPSHOT, .request_id = request_id, .body_len = body_len};

    frame_write_header(&writer, &header);
    memset(bytes + FRAME_HEADER_SIZE, fill, body_len);
    return FRAME_HEADER_SIZE + body_len;
}

static void send_all(int fd, const void *bytes, size_t len)
{
    assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
}

static void whole_frames_arrive_however_they_are_cut(void **state)
{
    struct fixture fixture = {0};
    uint8_t bytes[3 * 100];
    size_t len = 0;
    _cleanup_(cleanup_close) int fd = -1;

    (void)state;
    open_fixture(&fixture, (struct net_listener_options){0});
    fd = dial(&fixture);
    for (unsigned i = 1; i <= 3; i++)
        len += make_frame(bytes + len, i, i * 10, (uint8_t)i);
    for (size_t cut = 0; cut <= len; cut++) {
        unsigned before = fixture.frames;

        send_all(fd, bytes, cut);
        run_for(&fixture.loop, 1);
        send_all(fd, bytes + cut, len - cut);
        while (fixture.frames < before + 3) {
            fixture.got_frame = false;
            assert_happens(&fixture.loop, &fixture.got_frame);
        }
        assert_int_equal(fixture.request_id, 3);
        assert_int_equal(fixture.frame_len, FRAME_HEADER_SIZE + 30);
        assert_int_equal(fixture.frame_first, 3);
        assert_int_equal(fixture.frame_last, 3);
    }
    close_fixture(&fixture);
}

/* The largest frame arrives; its memory is not taken before its bytes come, and one byte more is refused. */
static void the_largest_frame_passes_and_no_larger_one(void **state)
{
    struct fixture fixture = {.want_bad = true};
    uint8_t *bytes = malloc(FRAME_HEADER_SIZE + FRAME_BODY_MAX);
    size_t len = make_frame(bytes, 1, FRAME_BODY_MAX, 7);
    size_t sent = 0;
    int fd;

    (void)state;
    open_fixture(&fixture, (struct net_listener_options){0});
    fd = dial(&fixture);
    while (!fixture.got_frame) {
        ssize_t n = sent < len ? send(fd, bytes + sent, len - sent, MSG_DONTWAIT) : 0;

        sent += n > 0 ? (size_t)n : 0;
        uv_run(&fixture.loop, UV_RUN_ONCE);
    }
    assert_int_equal(fixture.frame_len, len);
    assert_int_equal(fixture.frame_last, 7);
    make_frame(bytes, 1, 0, 0);
    bytes[16] = 0x00, bytes[17] = 0x10, bytes[18] = 0x00, bytes[19] = 0x01; /* body length: 1 MiB + 1 */
    send_all(fd, bytes, FRAME_HEADER_SIZE);
    assert_happens(&fixture.loop, &fixture.got_bad);
    assert_int_equal(fixture.bad, NET_STREAM_FRAME_TOO_LONG);
    close(fd);
    assert_happens(&fixture.loop, &fixture.got_end);
    free(bytes);
    close_fixture(&fixture);
}

static void foreign_bytes_are_told_apart(void **state)
{
    static const struct {
        const char *bytes;
        enum net_stream_bad_input what;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", NET_STREAM_BAD_MAGIC},
        {"CLST\x09xxxxxxxxxxxxxxxxxxxx", NET_STREAM_BAD_VERSION},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct fixture fixture = {.want_bad = true, .answer_bad = true};
        char answer[20] = {0};
        int fd;

        open_fixture(&fixture, (struct net_listener_options){0});
        fd = dial(&fixture);
        send_all(fd, cases[i].bytes, strlen(cases[i].bytes));
        assert_happens(&fixture.loop, &fixture.got_bad);
        assert_int_equal(fixture.bad, cases[i].what);
        assert_int_equal(fixture.bad_version, cases[i].what == NET_STREAM_BAD_VERSION ? 9 : 0);
        assert_int_equal(recv(fd, answer, sizeof(answer), MSG_WAITALL), 7); /* the answer, then the end */
        assert_string_equal(answer, "ERR no\n");
        close(fd);
        assert_happens(&fixture.loop, &fixture.got_end);
        assert_int_equal(fixture.end, NET_STREAM_FINISHED);
        assert_int_equal(net_listener_counters(fixture.listener)->bad_input, 1);
        close_fixture(&fixture);
    }
}

static void silence_ends_at_its_limits(void **state)
{
    struct fixture fixture = {0};
    struct net_listener_options options = {.stream = {.first_ms = 30, .idle_ms = 60}};
    uint8_t bytes[100];
    size_t len = make_frame(bytes, 1, 10, 1);
    int fd;

    (void)state;
    open_fixture(&fixture, options);
    fd = dial(&fixture);
    send_all(fd, bytes, len - 1); /* a partial frame is no frame */
    assert_happens(&fixture.loop, &fixture.got_end);
    assert_int_equal(fixture.end, NET_STREAM_FIRST_LATE);
    close(fd);

    fd = dial(&fixture);
    fixture.got_end = false;
    send_all(fd, bytes, len);
    assert_happens(&fixture.loop, &fixture.got_end);
    assert_int_equal(fixture.end, NET_STREAM_IDLE);
    assert_int_equal(fixture.frames, 1);
    assert_int_equal(net_listener_counters(fixture.listener)->late, 2);
    close(fd);
    close_fixture(&fixture);
}

static void partial_frames_are_charged_to_their_source(void **state)
{
    struct fixture fixture = {0};
    struct net_listener_options options = {.source_bytes = 100000, .max_per_source = 3};
    uint8_t *bytes = malloc(FRAME_HEADER_SIZE + 90000);
    int fds[3], one_more;

    (void)state;
    make_frame(bytes, 1, 90000, 1);
    open_fixture(&fixture, options);
    for (unsigned i = 0; i < 3; i++) {
        fixture.got_accept = false;
        fds[i] = dial(&fixture);
        assert_happens(&fixture.loop, &fixture.got_accept);
        fixture.stream = NULL;
        send_all(fds[i], bytes, 20000);
    }
    /* 3 x 32 KiB of memory for 3 x 20000 bytes: within the budget. */
    run_for(&fixture.loop, 20);
    assert_int_equal(fixture.ends, 0);
    assert_int_equal(net_listener_streams(fixture.listener), 3);
    send_all(fds[0], bytes + 20000, 20000); /* needs 64 KiB */
    assert_happens(&fixture.loop, &fixture.got_end);
    assert_int_equal(fixture.end, NET_STREAM_OVER_BUDGET);
    assert_int_equal(fixture.ends, 1);
    assert_int_equal(net_listener_counters(fixture.listener)->over_budget, 1);
    /* Its memory is given back: a new connection may take it. */
    one_more = dial(&fixture);
    fixture.got_accept = false;
    assert_happens(&fixture.loop, &fixture.got_accept);
    send_all(one_more, bytes, 20000);
    run_for(&fixture.loop, 20);
    assert_int_equal(fixture.ends, 1);
    for (unsigned i = 0; i < 3; i++)
        close(fds[i]);
    close(one_more);
    while (net_listener_streams(fixture.listener) > 0)
        uv_run(&fixture.loop, UV_RUN_ONCE);
    free(bytes);
    close_fixture(&fixture);
}

static void connections_per_source_and_in_all_have_caps(void **state)
{
    struct fixture fixture = {0};
    struct net_listener_options options = {.max_streams = 2, .max_per_source = 8};
    int fds[3];
    char byte;

    (void)state;
    open_fixture(&fixture, options);
    for (unsigned i = 0; i < 3; i++)
        fds[i] = dial(&fixture);
    while (net_listener_counters(fixture.listener)->over_total == 0)
        uv_run(&fixture.loop, UV_RUN_ONCE);
    assert_int_equal(fixture.accepted, 2);
    assert_int_equal(recv(fds[2], &byte, 1, 0), 0); /* closed at once */
    for (unsigned i = 0; i < 3; i++)
        close(fds[i]);
    while (net_listener_streams(fixture.listener) > 0)
        uv_run(&fixture.loop, UV_RUN_ONCE);
    fixture.stream = NULL;
    close_fixture(&fixture);
}

static struct net_stream_options line_options(void)
{
    return (struct net_stream_options){.lines = true};
}

static void the_first_byte_decides_for_lines(void **state)
{
    struct fixture fixture = {0};
    int fd;

    (void)state;
    open_fixture(&fixture, (struct net_listener_options){.stream = line_options()});
    fd = dial(&fixture);
    send_all(fd, "LIST\r\nSTATUS\nQUERY", 18);
    while (fixture.lines < 2)
        uv_run(&fixture.loop, UV_RUN_ONCE);
    assert_string_equal(fixture.line, "STATUS");
    fixture.got_line = false;
    send_all(fd, " {}\n", 4);
    assert_happens(&fixture.loop, &fixture.got_line);
    assert_string_equal(fixture.line, "QUERY {}");
    close(fd);
    assert_happens(&fixture.loop, &fixture.got_end);
    close_fixture(&fixture);
}

static void frames_pass_where_lines_are_allowed(void **state)
{
    struct fixture fixture = {0};
    uint8_t bytes[100];
    size_t len = make_frame(bytes, 42, 10, '\n');
    _cleanup_(cleanup_close) int fd = -1;

    (void)state;
    open_fixture(&fixture, (struct net_listener_options){.stream = line_options()});
    fd = dial(&fixture);
    send_all(fd, bytes, len);
    assert_happens(&fixture.loop, &fixture.got_frame);
    assert_int_equal(fixture.request_id, 42);
    assert_int_equal(fixture.lines, 0);
    close_fixture(&fixture);
}

/* The longest line passes; an endless one gets its answer although its sender goes on sending. */
static void endless_lines_get_an_answer(void **state)
{
    struct fixture fixture = {.want_bad = true, .answer_bad = true};
    static char line[NET_STREAM_LINE_MAX];
    char answer[20] = {0};
    int fd;

    (void)state;
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    open_fixture(&fixture, (struct net_listener_options){.stream = line_options()});
    fd = dial(&fixture);
    send_all(fd, line, sizeof(line));
    assert_happens(&fixture.loop, &fixture.got_line);
    assert_int_equal(fixture.line_len, sizeof(line) - 1);
    line[sizeof(line) - 1] = 'x';
    while (!fixture.got_end) {
        ssize_t n = send(fd, line, sizeof(line), MSG_DONTWAIT | MSG_NOSIGNAL);

        (void)n;
        uv_run(&fixture.loop, UV_RUN_ONCE);
    }
    assert_int_equal(fixture.bad, NET_STREAM_LINE_TOO_LONG);
    assert_int_equal(fixture.end, NET_STREAM_FINISHED);
    assert_int_equal(recv(fd, answer, 7, 0), 7);
    assert_string_equal(answer, "ERR no\n");
    close(fd);
    close_fixture(&fixture);
}

static void a_half_closed_peer_still_gets_its_answer(void **state)
{
    struct fixture fixture = {.keep_half_open = true};
    char answer[20] = {0};
    int fd;

    (void)state;
    open_fixture(&fixture, (struct net_listener_options){.stream = line_options()});
    fd = dial(&fixture);
    send_all(fd, "LIST\n", 5);
    shutdown(fd, SHUT_WR);
    assert_happens(&fixture.loop, &fixture.got_input_end);
    assert_int_equal(fixture.lines, 1);
    assert_int_equal(net_stream_send(fixture.stream, "answer\n", 7, NET_STREAM_KEEP), 0);
    net_stream_finish(fixture.stream);
    assert_false(fixture.got_end); /* never from within the call */
    assert_happens(&fixture.loop, &fixture.got_end);
    assert_int_equal(fixture.end, NET_STREAM_FINISHED);
    assert_int_equal(recv(fd, answer, sizeof(answer), MSG_WAITALL), 7);
    close(fd);
    close_fixture(&fixture);
}

/* A peer that does not read holds one message that has begun and the latest one, whatever was sent since. */
static void a_slow_reader_gets_the_latest_only(void **state)
{
    struct fixture fixture = {0};
    size_t size = 512 << 10;
    uint8_t *message = malloc(size), *got = malloc(size);
    unsigned replaced = 0, first_waiting = 0;
    uint8_t last_seen = 0;
    int fd;

    (void)state;
    open_fixture(&fixture, (struct net_listener_options){0});
    fd = dial(&fixture);
    assert_happens(&fixture.loop, &fixture.got_accept);
    for (unsigned i = 1; i <= 200; i++) {
        int r;

        memset(message, (int)i, size);
        r = net_stream_send(fixture.stream, message, size, NET_STREAM_LATEST);
        assert_true(r == 0 || r == NET_STREAM_REPLACED);
        replaced += r == NET_STREAM_REPLACED;
        if (!first_waiting && net_stream_queued(fixture.stream))
            first_waiting = i;
        assert_true(net_stream_queued(fixture.stream) <= 2 * size);
    }
    assert_true(replaced > 150);
    /* Now it reads: whole messages, in order, the last one at the end. */
    do {
        size_t have = 0;

        while (have < size) {
            ssize_t n = recv(fd, got + have, size - have, MSG_DONTWAIT);

            have += n > 0 ? (size_t)n : 0;
            uv_run(&fixture.loop, UV_RUN_NOWAIT);
        }
        assert_true(got[0] > last_seen);
        assert_int_equal(got[0], got[size - 1]);
        last_seen = got[0];
    } while (last_seen != 200);
    assert_int_equal(net_stream_queued(fixture.stream), 0);
    close(fd);
    free(message);
    free(got);
    close_fixture(&fixture);
}

static void the_queue_has_a_cap(void **state)
{
    struct fixture fixture = {0};
    struct net_listener_options options = {.stream = {.queue_max_bytes = 100000}};
    static uint8_t message[60000];
    int r = 0;
    int fd;

    (void)state;
    open_fixture(&fixture, options);
    fd = dial(&fixture);
    assert_happens(&fixture.loop, &fixture.got_accept);
    for (unsigned i = 0; i < 1000 && r == 0; i++)
        r = net_stream_send(fixture.stream, message, sizeof(message), NET_STREAM_KEEP);
    assert_int_equal(r, NET_STREAM_FULL);
    assert_true(net_stream_queued(fixture.stream) <= 100000);
    assert_int_equal(net_stream_send(fixture.stream, message, 0, NET_STREAM_KEEP), 0);
    close(fd);
    assert_happens(&fixture.loop, &fixture.got_end);
    close_fixture(&fixture);
}

static void a_reset_is_told_as_such(void **state)
{
    const struct linger hard = {.l_onoff = 1, .l_linger = 0};
    struct fixture fixture = {0};
    int fd;

    (void)state;
    open_fixture(&fixture, (struct net_listener_options){0});
    fd = dial(&fixture);
    assert_happens(&fixture.loop, &fixture.got_accept);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(fd);
    assert_happens(&fixture.loop, &fixture.got_end);
    assert_int_equal(fixture.end, -ECONNRESET);
    close_fixture(&fixture);
}

static void a_stream_may_be_closed_from_its_own_callback(void **state)
{
    struct fixture fixture = {.close_on_frame = true};
    uint8_t bytes[200];
    size_t len = make_frame(bytes, 1, 10, 1);
    _cleanup_(cleanup_close) int fd = -1;

    (void)state;
    len += make_frame(bytes + len, 2, 10, 2);
    open_fixture(&fixture, (struct net_listener_options){0});
    fd = dial(&fixture);
    send_all(fd, bytes, len);
    assert_happens(&fixture.loop, &fixture.got_frame);
    run_for(&fixture.loop, 5);
    assert_int_equal(fixture.frames, 1); /* the second one was in the same read */
    assert_int_equal(net_listener_streams(fixture.listener), 0);
    close_fixture(&fixture);
}

/* Streams outlive their listener. */
static void a_listener_may_go_before_its_streams(void **state)
{
    struct fixture fixture = {0};
    uint8_t bytes[100];
    size_t len = make_frame(bytes, 1, 10, 1);
    _cleanup_(cleanup_close) int fd = -1;

    (void)state;
    open_fixture(&fixture, (struct net_listener_options){0});
    fd = dial(&fixture);
    assert_happens(&fixture.loop, &fixture.got_accept);
    net_listener_close(fixture.listener);
    fixture.listener = NULL;
    run_for(&fixture.loop, 5);
    send_all(fd, bytes, len);
    assert_happens(&fixture.loop, &fixture.got_frame);
    close_fixture(&fixture);
}

/* --- The connecting side --- */

static void on_connected(void *userdata, struct net_stream *stream)
{
    struct fixture *fixture = userdata;
    uint8_t bytes[100];
    size_t len = make_frame(bytes, 77, 10, 1);

    fixture->got_connected = true;
    assert_int_equal(net_stream_send(stream, bytes, len, NET_STREAM_KEEP), 0);
}

static void connecting_works_and_sets_the_options(void **state)
{
    struct fixture fixture = {0};
    struct net_stream_options options = {.idle_ms = 5000};
    struct net_stream_events events;
    struct net_stream *client;
    struct net_address local;

    (void)state;
    open_fixture(&fixture, (struct net_listener_options){0});
    events = stream_events(&fixture);
    events.on_connected = on_connected;
    assert_int_equal(net_stream_connect(&fixture.loop, &fixture.address, &options, &events, &client), 0);
    assert_int_equal(net_stream_send(client, "x", 1, NET_STREAM_KEEP), -ENOTCONN);
    assert_happens(&fixture.loop, &fixture.got_frame);
    assert_true(fixture.got_connected);
    assert_int_equal(fixture.request_id, 77);
    local = net_stream_peer(fixture.stream)->address;
    assert_true(net_address_equal(&net_stream_peer(client)->local, &local));
    net_stream_close(client);
    assert_happens(&fixture.loop, &fixture.got_end);
    assert_int_equal(fixture.end, NET_STREAM_PEER_CLOSED);
    close_fixture(&fixture);
}

static void a_refused_connection_is_told(void **state)
{
    struct fixture fixture = {0};
    struct net_stream_options options = {0};
    struct net_stream_events events;
    struct net_stream *client;
    int r;

    (void)state;
    open_fixture(&fixture, (struct net_listener_options){0});
    events = stream_events(&fixture);
    net_listener_close(fixture.listener);
    fixture.listener = NULL;
    r = net_stream_connect(&fixture.loop, &fixture.address, &options, &events, &client);
    if (r == 0) {
        assert_happens(&fixture.loop, &fixture.got_end);
        r = fixture.end;
    }
    assert_int_equal(r, -ECONNREFUSED);
    close_fixture(&fixture);
}

/* A listener whose backlog is full swallows the connection attempt. */
static void a_connection_that_never_comes_ends_in_time(void **state)
{
    struct fixture fixture = {0};
    struct net_stream_options options = {.connect_ms = 50};
    struct net_stream_events events = stream_events(&fixture);
    struct sockaddr_in full = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(full);
    struct net_address target;
    struct net_stream *client;
    int listener = socket(AF_INET, SOCK_STREAM, 0), filler[2];

    (void)state;
    open_fixture(&fixture, (struct net_listener_options){0});
    bind(listener, (struct sockaddr *)&full, len);
    listen(listener, 0);
    getsockname(listener, (struct sockaddr *)&full, &len);
    for (int i = 0; i < 2; i++) {
        filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(filler[i], (struct sockaddr *)&full, len) < 0)
            assert_int_equal(errno, EINPROGRESS);
    }
    net_address_from_sockaddr((struct sockaddr *)&full, len, &target);
    assert_int_equal(net_stream_connect(&fixture.loop, &target, &options, &events, &client), 0);
    assert_happens(&fixture.loop, &fixture.got_end);
    assert_int_equal(fixture.end, NET_STREAM_CONNECT_LATE);
    close(filler[0]);
    close(filler[1]);
    close(listener);
    close_fixture(&fixture);
}

/* Without free descriptors accepting pauses and says so once; the waiting connection comes when there are
 * some. */
static void running_out_of_descriptors_does_not_spin(void **state)
{
    struct fixture fixture = {0};
    struct rlimit before, tight;
    uint64_t tries;
    int fd, probe;

    (void)state;
    open_fixture(&fixture, (struct net_listener_options){0});
    fd = dial(&fixture);
    run_for(&fixture.loop, 1); /* the loop's own descriptors are there now */
    net_stream_close(fixture.stream);
    fixture.stream = NULL;
    close(fd);
    run_for(&fixture.loop, 1);
    fixture.got_accept = false;

    fd = dial(&fixture);
    probe = dup(fd);
    close(probe);
    getrlimit(RLIMIT_NOFILE, &before);
    tight = before;
    tight.rlim_cur = (rlim_t)probe;
    setrlimit(RLIMIT_NOFILE, &tight);
    assert_happens(&fixture.loop, &fixture.got_trouble);
    run_for(&fixture.loop, 350);
    tries = net_listener_counters(fixture.listener)->accept_failed;
    assert_true(tries >= 2 && tries <= 6);
    assert_false(fixture.got_accept);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_happens(&fixture.loop, &fixture.got_accept);
    assert_true(fixture.got_relief);
    close(fd);
    assert_happens(&fixture.loop, &fixture.got_end);
    close_fixture(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_frames_arrive_however_they_are_cut),
        cmocka_unit_test(the_largest_frame_passes_and_no_larger_one),
        cmocka_unit_test(foreign_bytes_are_told_apart),
        cmocka_unit_test(silence_ends_at_its_limits),
        cmocka_unit_test(partial_frames_are_charged_to_their_source),
        cmocka_unit_test(connections_per_source_and_in_all_have_caps),
        cmocka_unit_test(the_first_byte_decides_for_lines),
        cmocka_unit_test(frames_pass_where_lines_are_allowed),
        cmocka_unit_test(endless_lines_get_an_answer),
        cmocka_unit_test(a_half_closed_peer_still_gets_its_answer),
        cmocka_unit_test(a_slow_reader_gets_the_latest_only),
        cmocka_unit_test(the_queue_has_a_cap),
        cmocka_unit_test(a_reset_is_told_as_such),
        cmocka_unit_test(a_stream_may_be_closed_from_its_own_callback),
        cmocka_unit_test(a_listener_may_go_before_its_streams),
        cmocka_unit_test(connecting_works_and_sets_the_options),
        cmocka_unit_test(a_refused_connection_is_told),
        cmocka_unit_test(a_connection_that_never_comes_ends_in_time),
        cmocka_unit_test(running_out_of_descriptors_does_not_spin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
