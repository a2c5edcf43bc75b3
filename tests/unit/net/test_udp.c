#include "net/udp.h"

#include "loop_support.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fixture {
    uv_loop_t loop;
    struct net_udp *server;
    struct net_udp *client;
    unsigned server_got, client_got, batches;
    unsigned wanted;
    bool done;
    struct net_address seen_local;
    uint32_t seen_interface;
    size_t seen_len;
};

static struct net_address address(const char *text, uint16_t port)
{
    struct net_address address;

    assert_int_equal(net_address_parse(text_from_string(text), port, &address), 0);
    address.port = port;
    return address;
}

static void echo(void *userdata, const struct net_datagram *datagram)
{
    struct fixture *fixture = userdata;
    struct net_datagram answer = *datagram;

    fixture->server_got++;
    answer.interface = 0;
    net_udp_send(fixture->server, &answer);
}

static void count_batch(void *userdata)
{
    ((struct fixture *)userdata)->batches++;
}

static void take_answer(void *userdata, const struct net_datagram *datagram)
{
    struct fixture *fixture = userdata;

    fixture->seen_local = datagram->peer; /* the server's address as we see it */
    fixture->seen_len = datagram->len;
    fixture->done = ++fixture->client_got >= fixture->wanted;
}

static void open_pair(struct fixture *fixture, struct net_address server, struct net_address client)
{
    struct net_udp_options server_options = {.fd = -1, .bind = server};
    struct net_udp_options client_options = {.fd = -1, .bind = client, .receive_buffer_bytes = 4 << 20};
    struct net_udp_events server_events = {
        .on_datagram = echo, .on_batch_end = count_batch, .userdata = fixture};
    struct net_udp_events client_events = {.on_datagram = take_answer, .userdata = fixture};

    *fixture = (struct fixture){.wanted = 1};
    uv_loop_init(&fixture->loop);
    assert_int_equal(net_udp_open(&fixture->loop, &server_options, &server_events, &fixture->server), 0);
    assert_int_equal(net_udp_open(&fixture->loop, &client_options, &client_events, &fixture->client), 0);
}

static void close_pair(struct fixture *fixture)
{
    net_udp_close(fixture->server);
    net_udp_close(fixture->client);
    assert_int_equal(net_loop_drain(&fixture->loop, 1000), 0);
}

static void ask(struct fixture *fixture, struct net_address to, const void *bytes, size_t len)
{
    struct net_datagram datagram = {.peer = to, .bytes = bytes, .len = len};

    assert_int_equal(net_udp_send(fixture->client, &datagram), 0);
}

/* The server listens on every address; each answer must come from the address that was asked. */
static void answers_leave_from_the_address_that_was_asked(void **state)
{
    static const char *const targets[] = {"127.0.0.1", "127.0.0.2", "127.9.9.9"};
    struct fixture fixture;

    (void)state;
    open_pair(&fixture, NET_ADDRESS_NONE, net_address_ipv4(0, 0));
    for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
        struct net_address target = address(targets[i], net_udp_local(fixture.server).port);

        fixture.done = false;
        fixture.client_got = 0;
        ask(&fixture, target, "ping", 4);
        assert_happens(&fixture.loop, &fixture.done);
        assert_true(net_address_equal(&fixture.seen_local, &target));
        assert_int_equal(fixture.seen_len, 4);
    }
    close_pair(&fixture);
}

static void ipv6_is_served_by_the_same_socket(void **state)
{
    struct net_address loopback6 = address("::1", 0);
    struct fixture fixture;
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    struct sockaddr_storage storage;
    socklen_t len = net_address_to_sockaddr(&loopback6, &storage);

    (void)state;
    if (fd < 0 || bind(fd, (struct sockaddr *)&storage, len) < 0)
        skip();
    close(fd);
    open_pair(&fixture, NET_ADDRESS_NONE, loopback6);
    ask(&fixture, address("::1", net_udp_local(fixture.server).port), "ping", 4);
    assert_happens(&fixture.loop, &fixture.done);
    assert_int_equal(fixture.seen_local.family, NET_FAMILY_IPV6);
    close_pair(&fixture);
}

static void large_and_empty_datagrams_pass(void **state)
{
    static uint8_t large[NET_UDP_PAYLOAD_MAX + 1];
    struct fixture fixture;
    struct net_datagram too_long;

    (void)state;
    open_pair(&fixture, address("127.0.0.1", 0), address("127.0.0.1", 0));
    ask(&fixture, net_udp_local(fixture.server), large, NET_UDP_PAYLOAD_MAX);
    assert_happens(&fixture.loop, &fixture.done);
    assert_int_equal(fixture.seen_len, NET_UDP_PAYLOAD_MAX);
    fixture.done = false;
    ask(&fixture, net_udp_local(fixture.server), NULL, 0);
    assert_happens(&fixture.loop, &fixture.done);
    assert_int_equal(fixture.seen_len, 0);
    too_long =
        (struct net_datagram){net_udp_local(fixture.server), NET_ADDRESS_NONE, 0, large, sizeof(large)};
    assert_int_equal(net_udp_send(fixture.client, &too_long), -EMSGSIZE);
    too_long.peer.port = 0;
    too_long.len = 1;
    assert_int_equal(net_udp_send(fixture.client, &too_long), -EINVAL);
    close_pair(&fixture);
}

/* A thousand datagrams queued in one turn: all echoed, and the receiver did not take more than its share at
 * once. */
static void many_at_once_arrive_in_shares(void **state)
{
    struct fixture fixture;
    uint8_t bytes[100] = {0};

    (void)state;
    open_pair(&fixture, address("127.0.0.1", 0), address("127.0.0.1", 0));
    fixture.wanted = 200;
    for (int round = 0; round < 5; round++) {
        fixture.done = false;
        fixture.client_got = 0;
        for (unsigned i = 0; i < fixture.wanted; i++)
            ask(&fixture, net_udp_local(fixture.server), bytes, sizeof(bytes));
        assert_int_equal(net_udp_queued(fixture.client), fixture.wanted);
        assert_happens(&fixture.loop, &fixture.done);
    }
    assert_int_equal(fixture.server_got, 1000);
    assert_int_equal(net_udp_counters(fixture.client)->sent, 1000);
    assert_int_equal(net_udp_counters(fixture.client)->received_bytes, 100000);
    assert_true(fixture.batches >= 5 && fixture.batches <= 1000);
    close_pair(&fixture);
}

/* More datagrams are waiting than one wake-up may handle: the loop, and so its timers, get their turn in
 * between. */
static void a_flood_is_taken_in_shares(void **state)
{
    struct fixture fixture;
    struct net_address target;
    struct sockaddr_storage storage;
    socklen_t len;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    (void)state;
    open_pair(&fixture, address("127.0.0.1", 0), address("127.0.0.1", 0));
    target = net_udp_local(fixture.client); /* it has the large receive buffer */
    len = net_address_to_sockaddr(&target, &storage);
    for (unsigned i = 0; i < NET_UDP_RECEIVE_BUDGET + 20; i++)
        assert_int_equal(sendto(fd, "x", 1, 0, (struct sockaddr *)&storage, len), 1);
    uv_run(&fixture.loop, UV_RUN_NOWAIT);
    assert_int_equal(fixture.client_got, NET_UDP_RECEIVE_BUDGET);
    uv_run(&fixture.loop, UV_RUN_NOWAIT);
    assert_int_equal(fixture.client_got, NET_UDP_RECEIVE_BUDGET + 20);
    close(fd);
    close_pair(&fixture);
}

static void the_send_queue_is_bounded(void **state)
{
    static uint8_t large[60000];
    struct fixture fixture;
    struct net_datagram datagram = {.bytes = large, .len = sizeof(large)};
    unsigned accepted = 0;
    int r;

    (void)state;
    open_pair(&fixture, address("127.0.0.1", 0), address("127.0.0.1", 0));
    datagram.peer = net_udp_local(fixture.server);
    while ((r = net_udp_send(fixture.client, &datagram)) == 0)
        accepted++;
    assert_int_equal(r, NET_UDP_QUEUE_FULL);
    assert_int_equal(accepted, NET_UDP_QUEUE_BYTES / sizeof(large));
    assert_int_equal(net_udp_counters(fixture.client)->queue_dropped, 1);
    datagram.len = 1;
    for (; accepted < NET_UDP_QUEUE_DATAGRAMS; accepted++)
        assert_int_equal(net_udp_send(fixture.client, &datagram), 0);
    assert_int_equal(net_udp_send(fixture.client, &datagram), NET_UDP_QUEUE_FULL);
    close_pair(&fixture);
}

/* One that cannot leave (a source address that is not ours) does not hold up those behind it. */
static void a_refused_datagram_does_not_block_the_next(void **state)
{
    struct fixture fixture;
    struct net_datagram bad = {.local = address("192.0.2.1", 0), .bytes = (const uint8_t *)"bad", .len = 3};

    (void)state;
    open_pair(&fixture, address("127.0.0.1", 0), address("127.0.0.1", 0));
    bad.peer = net_udp_local(fixture.server);
    assert_int_equal(net_udp_send(fixture.client, &bad), 0);
    ask(&fixture, net_udp_local(fixture.server), "good", 4);
    assert_happens(&fixture.loop, &fixture.done);
    assert_int_equal(fixture.seen_len, 4);
    assert_int_equal(net_udp_counters(fixture.client)->send_failed, 1);
    close_pair(&fixture);
}

static void overflow_of_the_receive_buffer_is_counted(void **state)
{
    struct fixture fixture;
    struct net_udp_options options = {
        .fd = -1, .bind = address("127.0.0.1", 0), .receive_buffer_bytes = 4096};
    struct net_udp_events events = {.on_datagram = take_answer, .userdata = &fixture};
    struct sockaddr_storage storage;
    struct net_address target;
    socklen_t len;
    struct net_udp *small;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    char bytes[1000] = {0};

    (void)state;
    open_pair(&fixture, address("127.0.0.1", 0), address("127.0.0.1", 0));
    assert_int_equal(net_udp_open(&fixture.loop, &options, &events, &small), 0);
    assert_true(net_udp_receive_buffer(small) >= 4096 && net_udp_receive_buffer(small) < 65536);
    assert_true(net_udp_receive_buffer(fixture.server) > net_udp_receive_buffer(small));
    target = net_udp_local(small);
    len = net_address_to_sockaddr(&target, &storage);
    for (int i = 0; i < 100; i++)
        sendto(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&storage, len);
    assert_happens(&fixture.loop, &fixture.done);
    run_for(&fixture.loop, 10);
    /* The count comes with the next datagram that fits. */
    fixture.done = false;
    sendto(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&storage, len);
    assert_happens(&fixture.loop, &fixture.done);
    assert_true(net_udp_counters(small)->kernel_dropped > 50);
    assert_int_equal(net_udp_counters(small)->kernel_dropped + net_udp_counters(small)->received, 101);
    net_udp_close(small);
    close(fd);
    close_pair(&fixture);
}

static void close_server(void *userdata, const struct net_datagram *datagram)
{
    struct fixture *fixture = userdata;

    (void)datagram;
    fixture->server_got++;
    net_udp_close(fixture->server);
    fixture->done = true;
}

static void a_socket_may_be_closed_from_its_own_callback(void **state)
{
    struct fixture fixture;
    struct net_udp_options options = {.fd = -1, .bind = address("127.0.0.1", 0)};
    struct net_udp_events events = {.on_datagram = close_server, .userdata = &fixture};
    struct net_address target;

    (void)state;
    open_pair(&fixture, address("127.0.0.1", 0), address("127.0.0.1", 0));
    net_udp_close(fixture.server);
    assert_int_equal(net_udp_open(&fixture.loop, &options, &events, &fixture.server), 0);
    target = net_udp_local(fixture.server);
    for (int i = 0; i < 10; i++)
        ask(&fixture, target, "x", 1);
    assert_happens(&fixture.loop, &fixture.done);
    run_for(&fixture.loop, 5);
    assert_int_equal(fixture.server_got, 1);
    net_udp_close(fixture.client);
    assert_int_equal(net_loop_drain(&fixture.loop, 1000), 0);
}

static void the_path_mtu_is_the_routes(void **state)
{
    struct net_address loopback = address("127.0.0.1", 0), nowhere = address("fe80::1", 1);

    (void)state;
    assert_int_equal(net_path_mtu(&loopback, 0), NET_MTU_MAX); /* lo carries 65536, IPv4 one less */
    assert_int_equal(net_path_mtu(&loopback, 900), 900);
    assert_int_equal(net_path_mtu(&nowhere, 0), NET_MTU_FALLBACK); /* link-local without an interface */
}

static void a_taken_port_is_an_error(void **state)
{
    struct fixture fixture;
    struct net_udp_options options = {.fd = -1};
    struct net_udp_events events = {.on_datagram = take_answer, .userdata = &fixture};
    struct net_udp *other;

    (void)state;
    open_pair(&fixture, address("127.0.0.1", 0), address("127.0.0.1", 0));
    options.bind = net_udp_local(fixture.server);
    assert_int_equal(net_udp_open(&fixture.loop, &options, &events, &other), -EADDRINUSE);
    close_pair(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_leave_from_the_address_that_was_asked),
        cmocka_unit_test(ipv6_is_served_by_the_same_socket),
        cmocka_unit_test(large_and_empty_datagrams_pass),
        cmocka_unit_test(many_at_once_arrive_in_shares),
        cmocka_unit_test(a_flood_is_taken_in_shares),
        cmocka_unit_test(the_send_queue_is_bounded),
        cmocka_unit_test(a_refused_datagram_does_not_block_the_next),
        cmocka_unit_test(overflow_of_the_receive_buffer_is_counted),
        cmocka_unit_test(a_socket_may_be_closed_from_its_own_callback),
        cmocka_unit_test(the_path_mtu_is_the_routes),
        cmocka_unit_test(a_taken_port_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
