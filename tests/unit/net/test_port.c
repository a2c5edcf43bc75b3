#include "net/port.h"

#include "core/cleanup.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define SPAN 8u /* ports of the test's range */

static uint16_t port_of(int fd)
{
    struct sockaddr_storage storage;
    struct net_address address;
    socklen_t len = sizeof(storage);

    assert_int_equal(getsockname(fd, (struct sockaddr *)&storage, &len), 0);
    assert_int_equal(net_address_from_sockaddr((struct sockaddr *)&storage, len, &address), 0);
    return address.port;
}

static int take(int type, uint16_t port)
{
    struct net_address loopback = net_address_ipv4(INADDR_LOOPBACK, port);
    struct sockaddr_storage storage;
    socklen_t len = net_address_to_sockaddr(&loopback, &storage);
    int fd = socket(AF_INET, type, 0);

    if (bind(fd, (struct sockaddr *)&storage, len) < 0 || (type == SOCK_STREAM && listen(fd, 1) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A range of which every port is free for both protocols, at this moment, on loopback. */
static struct net_port_options free_range(void)
{
    for (uint16_t first = 20000; first < 29000; first = (uint16_t)(first + SPAN)) {
        bool free_all = true;

        for (uint16_t port = first; port < first + SPAN && free_all; port++) {
            int udp = take(SOCK_DGRAM, port), tcp = take(SOCK_STREAM, port);

            free_all = udp >= 0 && tcp >= 0;
            cleanup_close(&udp);
            cleanup_close(&tcp);
        }
        if (free_all)
            return (struct net_port_options){.bind = net_address_ipv4(INADDR_LOOPBACK, 0),
                                             .range_first = first,
                                             .range_last = (uint16_t)(first + SPAN - 1)};
    }
    fail_msg("no free range of ports on this machine");
    return (struct net_port_options){0};
}

static void close_pair(struct net_port_pair *pair)
{
    close(pair->udp_fd);
    close(pair->tcp_fd);
}

static void the_first_free_number_serves_both(void **state)
{
    struct net_port_options options = free_range();
    struct net_port_pair first, second;

    (void)state;
    assert_int_equal(net_port_open(&options, &first, NULL), 0);
    assert_int_equal(first.udp_port, options.range_first);
    assert_int_equal(first.tcp_port, options.range_first);
    assert_int_equal(port_of(first.udp_fd), options.range_first);
    assert_int_equal(port_of(first.tcp_fd), options.range_first);
    assert_false(first.first_taken);
    assert_int_equal(net_port_open(&options, &second, NULL), 0);
    assert_int_equal(second.udp_port, options.range_first + 1);
    assert_true(second.first_taken);
    close_pair(&first);
    close_pair(&second);
}

/* The number must be free for both; where none is, each takes the first free one of its own. */
static void numbers_taken_on_one_side_are_passed_over(void **state)
{
    struct net_port_options options = free_range();
    int udp = take(SOCK_DGRAM, options.range_first);
    int tcp = take(SOCK_STREAM, (uint16_t)(options.range_first + 1));
    struct net_port_pair pair;

    (void)state;
    assert_int_equal(net_port_open(&options, &pair, NULL), 0);
    assert_int_equal(pair.udp_port, options.range_first + 2);
    assert_int_equal(pair.tcp_port, options.range_first + 2);
    close_pair(&pair);
    options.range_last = (uint16_t)(options.range_first + 1);
    assert_int_equal(net_port_open(&options, &pair, NULL), 0);
    assert_int_equal(pair.udp_port, options.range_first + 1);
    assert_int_equal(pair.tcp_port, options.range_first);
    close_pair(&pair);
    close(udp);
    close(tcp);
}

static void a_full_range_and_a_taken_port_are_named(void **state)
{
    struct net_port_options options = free_range();
    struct net_port_problem problem;
    struct net_port_pair pair;
    int tcp = take(SOCK_STREAM, options.range_first), udp = take(SOCK_DGRAM, options.range_first);

    (void)state;
    options.range_last = options.range_first;
    assert_int_equal(net_port_open(&options, &pair, &problem), -EADDRINUSE);
    assert_string_equal(problem.protocol, "udp");
    assert_int_equal(problem.port, 0);
    options.udp_port = (uint16_t)(options.range_first + 1);
    options.tcp_port = options.range_first;
    assert_int_equal(net_port_open(&options, &pair, &problem), -EADDRINUSE);
    assert_string_equal(problem.protocol, "tcp");
    assert_int_equal(problem.port, options.range_first);
    /* What was bound before the failure is free again. */
    options.tcp_port = (uint16_t)(options.range_first + 1);
    assert_int_equal(net_port_open(&options, &pair, &problem), 0);
    close_pair(&pair);
    close(tcp);
    close(udp);
}

static void one_fixed_port_draws_the_other(void **state)
{
    struct net_port_options options = free_range();
    struct net_port_pair pair;
    int tcp;

    (void)state;
    options.udp_port = options.range_last;
    assert_int_equal(net_port_open(&options, &pair, NULL), 0);
    assert_int_equal(pair.udp_port, options.range_last);
    assert_int_equal(pair.tcp_port, options.range_last);
    close_pair(&pair);
    tcp = take(SOCK_STREAM, options.range_last);
    assert_int_equal(net_port_open(&options, &pair, NULL), 0);
    assert_int_equal(pair.udp_port, options.range_last);
    assert_int_equal(pair.tcp_port, options.range_first);
    close_pair(&pair);
    close(tcp);
}

static void the_holder_is_named(void **state)
{
    struct net_port_options options = free_range();
    struct net_port_pair pair;
    char holder[NET_PORT_HOLDER_CAP], expected[40];

    (void)state;
    assert_int_equal(net_port_open(&options, &pair, NULL), 0);
    snprintf(expected, sizeof(expected), "pid %d (", getpid());
    assert_non_null(strstr(net_port_holder("udp", pair.udp_port, holder), expected));
    assert_non_null(strstr(net_port_holder("tcp", pair.tcp_port, holder), expected));
    close_pair(&pair);
    assert_string_equal(net_port_holder("udp", pair.udp_port, holder), "");
}

/* A port that listens on every address is not to be had on one of them, and the other way round. */
static void every_address_conflicts_with_each(void **state)
{
    struct net_port_options options = free_range();
    struct net_port_pair pair, other;

    (void)state;
    options.udp_port = options.tcp_port = options.range_first;
    options.bind = NET_ADDRESS_NONE;
    assert_int_equal(net_port_open(&options, &pair, NULL), 0);
    options.bind = net_address_ipv4(INADDR_LOOPBACK, 0);
    assert_int_equal(net_port_open(&options, &other, NULL), -EADDRINUSE);
    close_pair(&pair);
    assert_int_equal(net_port_open(&options, &pair, NULL), 0);
    options.bind = NET_ADDRESS_NONE;
    assert_int_equal(net_port_open(&options, &other, NULL), -EADDRINUSE);
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_free_number_serves_both),
        cmocka_unit_test(numbers_taken_on_one_side_are_passed_over),
        cmocka_unit_test(a_full_range_and_a_taken_port_are_named),
        cmocka_unit_test(one_fixed_port_draws_the_other),
        cmocka_unit_test(the_holder_is_named),
        cmocka_unit_test(every_address_conflicts_with_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
