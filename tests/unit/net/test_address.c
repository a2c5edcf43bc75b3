#include "net/address.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct net_address parsed(const char *text)
{
    struct net_address address;

    assert_int_equal(net_address_parse(text_from_string(text), 30000, &address), 0);
    return address;
}

static void numeric_forms_round_trip(void **state)
{
    static const struct {
        const char *text;
        const char *printed;
    } cases[] = {
        {"10.1.2.3", "10.1.2.3:30000"},
        {"10.1.2.3:80", "10.1.2.3:80"},
        {"fd00::1", "[fd00::1]:30000"},
        {"[fd00::1]", "[fd00::1]:30000"},
        {"[fd00::1]:65535", "[fd00::1]:65535"},
        {"fe80::1%lo", "[fe80::1%lo]:30000"},
        {"[fe80::1%1]:7", "[fe80::1%lo]:7"},
        {"::ffff:1.2.3.4", "1.2.3.4:30000"},
        {"[::]:1", "[::]:1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct net_address address = parsed(cases[i].text);
        char buf[NET_ADDRESS_TEXT_CAP];
        struct net_address again;

        assert_string_equal(net_address_format(&address, buf), cases[i].printed);
        assert_int_equal(net_address_parse(text_from_string(buf), 1, &again), 0);
        assert_true(net_address_equal(&address, &again));
    }
}

static void bad_forms_are_refused(void **state)
{
    static const struct {
        const char *text;
        int error;
    } cases[] = {
        {"", -EINVAL},
        {"host", -EINVAL},
        {"1.2.3", -EINVAL},
        {"1.2.3.4.5", -EINVAL},
        {"1.2.3.4:", -EINVAL},
        {"1.2.3.4:0", -ERANGE},
        {"1.2.3.4:65536", -ERANGE},
        {"1.2.3.4:8x", -EINVAL},
        {":80", -EINVAL},
        {"[]:80", -EINVAL},
        {"[fd00::1", -EINVAL},
        {"[fd00::1]80", -EINVAL},
        {"[1.2.3.4]:80", -EINVAL},
        {"fd00::1::2", -EINVAL},
        {"fe80::1%nosuchif0", -ENODEV},
        {"1111111111111111111111111111111111111111111111111111111111111111111111111", -EINVAL},
    };
    struct net_address address;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int r = net_address_parse(text_from_string(cases[i].text), 1, &address);

        if (r != cases[i].error)
            fail_msg("\"%s\": %d instead of %d", cases[i].text, r, cases[i].error);
    }
    assert_int_equal(net_address_parse(TEXT_LITERAL("1.2.3.4\0x"), 1, &address), -EINVAL);
    assert_int_equal(net_address_parse(TEXT_ABSENT, 1, &address), -EINVAL);
}

static void names_are_split_from_ports(void **state)
{
    struct text host;
    uint16_t port;

    (void)state;
    assert_int_equal(net_address_split(TEXT_LITERAL("gpu1.cluster:31000"), 30000, &host, &port), 0);
    assert_true(text_equal_string(host, "gpu1.cluster"));
    assert_int_equal(port, 31000);
    assert_int_equal(net_address_split(TEXT_LITERAL("gpu1"), 30000, &host, &port), 0);
    assert_true(text_equal_string(host, "gpu1"));
    assert_int_equal(port, 30000);
    assert_int_equal(net_address_split(TEXT_LITERAL("[fd00::1]:5"), 30000, &host, &port), 0);
    assert_true(text_equal_string(host, "fd00::1"));
    assert_int_equal(port, 5);
}

static void sockaddrs_round_trip(void **state)
{
    static const char *const texts[] = {"10.1.2.3:4", "[fd00::1]:5", "[fe80::1%lo]:6"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct net_address address = parsed(texts[i]), again;
        struct sockaddr_storage storage;
        socklen_t len = net_address_to_sockaddr(&address, &storage);

        assert_int_equal(net_address_from_sockaddr((struct sockaddr *)&storage, len, &again), 0);
        assert_true(net_address_equal(&address, &again));
        len = net_address_to_sockaddr_mapped(&address, &storage);
        assert_int_equal(storage.ss_family, AF_INET6);
        assert_int_equal(net_address_from_sockaddr((struct sockaddr *)&storage, len, &again), 0);
        assert_true(net_address_equal(&address, &again));
        for (socklen_t cut = 0; cut < sizeof(struct sockaddr_in); cut++)
            assert_int_equal(net_address_from_sockaddr((struct sockaddr *)&storage, cut, &again),
                             -EAFNOSUPPORT);
    }
}

static void sources_forget_port_and_host_half(void **state)
{
    struct net_address a = parsed("[fd00:0:0:1::2]:3"), b = parsed("[fd00:0:0:1:ffff::4]:5");
    struct net_address c = parsed("[fd00:0:0:2::2]:3"), v4 = parsed("10.0.0.1:2"),
                       other = parsed("10.0.0.2:2");
    struct net_address source_a = net_address_source(&a), source_b = net_address_source(&b);
    struct net_address source_c = net_address_source(&c);
    struct net_address source_v4 = net_address_source(&v4), source_other = net_address_source(&other);

    (void)state;
    assert_true(net_address_equal(&source_a, &source_b));
    assert_false(net_address_equal(&source_a, &source_c));
    assert_int_equal(source_v4.port, 0);
    assert_false(net_address_equal(&source_v4, &source_other));
}

static void order_and_hash_follow_equality(void **state)
{
    struct net_address a = parsed("10.0.0.1:1"), b = parsed("10.0.0.1:2"), c = parsed("10.0.0.2:1");
    struct net_address again = parsed("10.0.0.1:1");

    (void)state;
    assert_int_equal(net_address_compare(&a, &b), -1);
    assert_int_equal(net_address_compare(&b, &a), 1);
    assert_int_equal(net_address_compare(&b, &c), -1);
    assert_true(net_address_same_host(&a, &b));
    assert_false(net_address_same_host(&a, &c));
    assert_true(net_address_hash(&a, 1) == net_address_hash(&again, 1));
    assert_true(net_address_hash(&a, 1) != net_address_hash(&a, 2));
    assert_true(net_address_hash(&a, 1) != net_address_hash(&b, 1));
    assert_true(net_address_hash(&a, 1) != net_address_hash(&c, 1));
}

static void kinds_of_addresses(void **state)
{
    struct net_address loopback = parsed("127.1.2.3"), loopback6 = parsed("::1"), group = parsed("239.0.0.1"),
                       group6 = parsed("ff02::1"), any = parsed("0.0.0.0"), plain = parsed("10.0.0.1");

    (void)state;
    assert_true(net_address_is_loopback(&loopback) && net_address_is_loopback(&loopback6));
    assert_false(net_address_is_loopback(&plain));
    assert_true(net_address_is_multicast(&group) && net_address_is_multicast(&group6));
    assert_false(net_address_is_multicast(&plain));
    assert_true(net_address_is_any(&any));
    assert_false(net_address_is_any(&plain));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numeric_forms_round_trip),
        cmocka_unit_test(bad_forms_are_refused),
        cmocka_unit_test(names_are_split_from_ports),
        cmocka_unit_test(sockaddrs_round_trip),
        cmocka_unit_test(sources_forget_port_and_host_half),
        cmocka_unit_test(order_and_hash_follow_equality),
        cmocka_unit_test(kinds_of_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
