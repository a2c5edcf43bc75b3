#include "net/unix.h"

#include "core/cleanup.h"
#include "loop_support.h"
#include "net/stream.h"
#include "net/unix_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

struct place {
    char directory[40];
    char path[80];
};

static void make_place(struct place *place)
{
    snprintf(place->directory, sizeof(place->directory), "/tmp/clustat-unix-XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    snprintf(place->path, sizeof(place->path), "%s/s", place->directory);
}

static void remove_place(struct place *place)
{
    unlink(place->path);
    assert_int_equal(rmdir(place->directory), 0); /* nothing else is left in it */
}

static struct instant soon(unsigned ms)
{
    return instant_add_ns(clock_now(), ms * NS_PER_MS);
}

static void a_live_socket_is_never_stolen(void **state)
{
    struct place place;
    struct net_unix_socket first, second;
    struct net_unix_holder holder = {0};
    struct stat status;

    (void)state;
    make_place(&place);
    assert_int_equal(net_unix_listen(place.path, 0666, &first, &holder), 0);
    assert_int_equal(stat(place.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0666);
    assert_int_equal(net_unix_listen(place.path, 0666, &second, &holder), -EADDRINUSE);
    assert_int_equal(holder.pid, getpid());
    assert_int_equal(holder.uid, geteuid());
    assert_int_equal(net_unix_listen(place.path, 0666, &second, NULL), -EADDRINUSE);
    net_unix_socket_deinit(&first);
    assert_int_equal(access(place.path, F_OK), -1);
    net_unix_socket_deinit(&first);
    remove_place(&place);
}

static void a_stale_socket_is_replaced(void **state)
{
    struct place place;
    struct net_unix_socket left, next;

    (void)state;
    make_place(&place);
    assert_int_equal(net_unix_listen(place.path, 0600, &left, NULL), 0);
    close(left.fd); /* as after kill -9 */
    left.fd = -1;
    poll(NULL, 0,
         20); /* older kernels' file times have steps of up to 10 ms, and two processes live longer apart */
    assert_int_equal(net_unix_listen(place.path, 0666, &next, NULL), 0);
    /* The one that was replaced does not remove its successor's file. */
    net_unix_socket_deinit(&left);
    assert_int_equal(access(place.path, F_OK), 0);
    net_unix_socket_deinit(&next);
    remove_place(&place);
}

static void other_files_are_left_alone(void **state)
{
    struct place place;
    struct net_unix_socket made;
    char long_path[200];
    int fd;

    (void)state;
    make_place(&place);
    fd = open(place.path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    assert_int_equal(net_unix_listen(place.path, 0666, &made, NULL), -EEXIST);
    assert_int_equal(access(place.path, F_OK), 0);
    unlink(place.path);
    assert_int_equal(symlink("/nowhere", place.path), 0);
    assert_int_equal(net_unix_listen(place.path, 0666, &made, NULL), -EEXIST);
    memset(long_path, 'x', sizeof(long_path));
    long_path[0] = '/';
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(net_unix_listen(long_path, 0666, &made, NULL), -ENAMETOOLONG);
    assert_int_equal(net_unix_listen("/nonexistent-directory/s", 0666, &made, NULL), -ENOENT);
    remove_place(&place);
}

/* Somebody else's socket that nobody listens on is not ours to remove. */
static void a_foreign_stale_socket_is_left_alone(void **state)
{
    struct place place;
    struct net_unix_socket left, next;

    (void)state;
    if (geteuid() != 0)
        skip();
    make_place(&place);
    assert_int_equal(net_unix_listen(place.path, 0666, &left, NULL), 0);
    close(left.fd);
    assert_int_equal(chown(place.path, 12345, 12345), 0);
    assert_int_equal(net_unix_listen(place.path, 0666, &next, NULL), -EEXIST);
    assert_int_equal(access(place.path, F_OK), 0);
    remove_place(&place);
}

struct starter {
    const char *path;
    int result;
    struct net_unix_socket socket;
};

static void *start(void *userdata)
{
    struct starter *starter = userdata;

    starter->result = net_unix_listen(starter->path, 0666, &starter->socket, NULL);
    return NULL;
}

/* Eight instances start at once where a stale socket lies: one gets it, the others are told so. */
static void simultaneous_starts_have_one_winner(void **state)
{
    struct place place;

    (void)state;
    make_place(&place);
    for (int round = 0; round < 20; round++) {
        struct starter starters[8];
        pthread_t threads[8];
        unsigned winners = 0;
        struct net_unix_socket left;

        assert_int_equal(net_unix_listen(place.path, 0666, &left, NULL), 0);
        close(left.fd);
        for (int i = 0; i < 8; i++) {
            starters[i] = (struct starter){.path = place.path, .socket = {.fd = -1}};
            pthread_create(&threads[i], NULL, start, &starters[i]);
        }
        for (int i = 0; i < 8; i++) {
            pthread_join(threads[i], NULL);
            winners += starters[i].result == 0;
            if (starters[i].result != 0)
                assert_int_equal(starters[i].result, -EADDRINUSE);
        }
        assert_int_equal(winners, 1);
        for (int i = 0; i < 8; i++) {
            if (starters[i].result == 0)
                net_unix_socket_deinit(&starters[i].socket);
        }
    }
    remove_place(&place);
}

/* --- With the stream listener on one side and the blocking client on the other --- */

struct service {
    uv_loop_t loop;
    uv_async_t stop;
    pthread_t thread;
    struct net_unix_socket socket;
    struct net_listener *listener;
    struct net_stream_peer peer;
};

static void echo_twice(void *userdata, struct net_stream *stream, const struct frame_header *header,
                       const uint8_t *frame, size_t len)
{
    (void)userdata;
    (void)header;
    net_stream_send(stream, frame, len, NET_STREAM_KEEP);
    net_stream_send(stream, frame, len, NET_STREAM_KEEP);
}

static void stream_closed(void *userdata, struct net_stream *stream, int end)
{
    (void)userdata;
    (void)end;
    net_stream_close(stream);
}

static void accepted(void *userdata, struct net_stream *stream, const struct net_stream_peer *peer)
{
    struct service *service = userdata;
    struct net_stream_events events = {.on_frame = echo_twice, .on_closed = stream_closed};

    service->peer = *peer;
    net_stream_set_events(stream, &events);
}

static void stop_service(uv_async_t *async)
{
    struct service *service = async->data;

    net_listener_close(service->listener);
    uv_close((uv_handle_t *)async, NULL);
}

static void *run_service(void *userdata)
{
    uv_run(&((struct service *)userdata)->loop, UV_RUN_DEFAULT);
    return NULL;
}

static void start_service(struct service *service, const char *path)
{
    struct net_listener_options options = {0};
    struct net_listener_events events = {.on_accept = accepted, .userdata = service};

    *service = (struct service){0};
    uv_loop_init(&service->loop);
    assert_int_equal(net_unix_listen(path, 0666, &service->socket, NULL), 0);
    assert_int_equal(net_listener_open(&service->loop, steal_fd(&service->socket.fd), &options, &events,
                                       &service->listener),
                     0);
    uv_async_init(&service->loop, &service->stop, stop_service);
    service->stop.data = service;
    pthread_create(&service->thread, NULL, run_service, service);
}

static void end_service(struct service *service)
{
    uv_async_send(&service->stop);
    pthread_join(service->thread, NULL);
    net_unix_socket_deinit(&service->socket);
    assert_int_equal(net_loop_drain(&service->loop, 1000), 0);
}

static size_t make_frame(uint8_t *bytes, uint64_t request_id, uint32_t body_len)
{
    struct writer writer = writer_over(bytes, FRAME_HEADER_SIZE);
    struct frame_header header = {
        .version = FRAME_VERSION, .type = FRAME_SNAPSHOT, .request_id = request_id, .body_len = body_len};

    frame_write_header(&writer, &header);
    memset(bytes + FRAME_HEADER_SIZE, (int)request_id, body_len);
    return FRAME_HEADER_SIZE + body_len;
}

static void client_and_listener_exchange_frames(void **state)
{
    struct place place;
    struct service service;
    struct net_unix_client client;
    uint8_t *bytes = malloc(FRAME_HEADER_SIZE + FRAME_BODY_MAX);
    static const uint32_t sizes[] = {0, 1, 70000, FRAME_BODY_MAX};
    uid_t owner;

    (void)state;
    make_place(&place);
    start_service(&service, place.path);
    assert_int_equal(net_unix_client_open(place.path, (uid_t)-1, soon(2000), &client, &owner), 0);
    assert_int_equal(client.peer_pid, getpid());
    for (uint64_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        size_t len = make_frame(bytes, i, sizes[i]);

        assert_int_equal(net_unix_client_send(&client, bytes, len, soon(5000)), 0);
        for (int copy = 0; copy < 2; copy++) {
            struct frame_header header;
            const uint8_t *frame;
            size_t got;

            assert_int_equal(net_unix_client_receive(&client, soon(5000), &header, &frame, &got), 0);
            assert_int_equal(header.request_id, i);
            assert_int_equal(got, len);
            assert_memory_equal(frame, bytes, len);
        }
    }
    assert_int_equal(service.peer.uid, geteuid());
    assert_int_equal(service.peer.pid, getpid());
    assert_int_equal(service.peer.address.family, NET_FAMILY_NONE);
    net_unix_client_deinit(&client);
    net_unix_client_deinit(&client);
    end_service(&service);
    free(bytes);
    remove_place(&place);
}

static void the_client_tells_why_it_cannot_connect(void **state)
{
    struct place place;
    struct net_unix_socket left;
    struct net_unix_client client;
    uid_t owner = 0;
    int fd;

    (void)state;
    make_place(&place);
    assert_int_equal(net_unix_client_open(place.path, (uid_t)-1, soon(100), &client, &owner), -ENOENT);
    fd = open(place.path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    assert_int_equal(net_unix_client_open(place.path, (uid_t)-1, soon(100), &client, &owner), -ENOTSOCK);
    unlink(place.path);
    assert_int_equal(net_unix_listen(place.path, 0666, &left, NULL), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(place.path, 12345, 12345), 0);
        assert_int_equal(net_unix_client_open(place.path, (uid_t)-1, soon(100), &client, &owner),
                         NET_UNIX_CLIENT_UNTRUSTED);
        assert_int_equal(owner, 12345);
        assert_int_equal(net_unix_client_open(place.path, 12345, soon(100), &client, &owner), 0);
        net_unix_client_deinit(&client);
        assert_int_equal(chown(place.path, 0, 0), 0);
    }
    close(left.fd);
    assert_int_equal(net_unix_client_open(place.path, (uid_t)-1, soon(100), &client, &owner), -ECONNREFUSED);
    remove_place(&place);
}

static void deadlines_are_kept_and_nothing_is_lost(void **state)
{
    struct place place;
    struct net_unix_socket listening;
    struct net_unix_client client, crowd[300];
    struct frame_header header;
    const uint8_t *frame;
    uint8_t bytes[100];
    size_t len, got;
    uid_t owner;
    int peer, r = 0;
    unsigned count = 0;

    (void)state;
    make_place(&place);
    assert_int_equal(net_unix_listen(place.path, 0666, &listening, NULL), 0);
    assert_int_equal(net_unix_client_open(place.path, (uid_t)-1, soon(1000), &client, &owner), 0);
    peer = accept(listening.fd, NULL, NULL);
    len = make_frame(bytes, 5, 50);
    assert_int_equal(send(peer, bytes, 30, 0), 30);
    assert_int_equal(net_unix_client_receive(&client, soon(30), &header, &frame, &got), -ETIMEDOUT);
    assert_int_equal(send(peer, bytes + 30, len - 30, 0), len - 30);
    assert_int_equal(net_unix_client_receive(&client, soon(1000), &header, &frame, &got), 0);
    assert_int_equal(got, len);
    assert_int_equal(send(peer, "xxxxxxxxxxxxxxxxxxxxxxxxx", 25, 0), 25);
    assert_int_equal(net_unix_client_receive(&client, soon(1000), &header, &frame, &got),
                     NET_UNIX_CLIENT_BAD_FRAME);
    close(peer);
    net_unix_client_deinit(&client);
    /* A listener that accepts nothing: once its backlog is full, connecting ends at the deadline. */
    while (r == 0 && count < 300) {
        r = net_unix_client_open(place.path, (uid_t)-1, soon(40), &crowd[count], &owner);
        count += r == 0;
    }
    assert_int_equal(r, -ETIMEDOUT);
    while (count > 0)
        net_unix_client_deinit(&crowd[--count]);
    net_unix_socket_deinit(&listening);
    remove_place(&place);
}

static void the_end_of_the_other_side_is_told(void **state)
{
    struct place place;
    struct net_unix_socket listening;
    struct net_unix_client client;
    struct frame_header header;
    const uint8_t *frame;
    static uint8_t bytes[1000];
    size_t got;
    uid_t owner;
    int peer;

    (void)state;
    make_place(&place);
    assert_int_equal(net_unix_listen(place.path, 0666, &listening, NULL), 0);
    assert_int_equal(net_unix_client_open(place.path, (uid_t)-1, soon(1000), &client, &owner), 0);
    peer = accept(listening.fd, NULL, NULL);
    close(peer);
    assert_int_equal(net_unix_client_receive(&client, soon(1000), &header, &frame, &got), -ECONNRESET);
    assert_int_equal(net_unix_client_send(&client, bytes, sizeof(bytes), soon(1000)), -EPIPE);
    net_unix_client_deinit(&client);
    net_unix_socket_deinit(&listening);
    remove_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_live_socket_is_never_stolen),
        cmocka_unit_test(a_stale_socket_is_replaced),
        cmocka_unit_test(other_files_are_left_alone),
        cmocka_unit_test(a_foreign_stale_socket_is_left_alone),
        cmocka_unit_test(simultaneous_starts_have_one_winner),
        cmocka_unit_test(client_and_listener_exchange_frames),
        cmocka_unit_test(the_client_tells_why_it_cannot_connect),
        cmocka_unit_test(deadlines_are_kept_and_nothing_is_lost),
        cmocka_unit_test(the_end_of_the_other_side_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
