#include "net/peer_address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct net_address address(const char *text)
{
    struct net_address result;

    assert_int_equal(net_address_parse(text_from_string(text), 0, &result), 0);
    return result;
}

static void addresses_come_back_as_they_were(void **state)
{
    static const char *const texts[] = {"10.1.2.3:65535", "127.0.0.1:1", "[2001:db8::1]:30000",
                                        "[fe80::1%lo]:30000"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct net_address there = address(texts[i]), here = address(texts[(i + 1) % 4]);
        struct peer peer = net_peer_make(&there, &here, 1, 7);
        struct net_address there_again = net_peer_address(&peer), here_again = net_peer_local(&peer);

        assert_true(net_address_equal(&there, &there_again));
        assert_true(net_address_equal(&here, &here_again));
        assert_int_equal(peer.stream, 7);
    }
}

static void what_was_in_the_memory_does_not_matter(void **state)
{
    struct net_address a, b;
    struct peer p, q;

    (void)state;
    memset(&a, 0xff, sizeof(a));
    memset(&b, 0x00, sizeof(b));
    a.family = b.family = NET_FAMILY_IPV4;
    a.port = b.port = 4000;
    a.scope = b.scope = 0;
    memset(a.bytes, 0, sizeof(a.bytes));
    a.bytes[0] = b.bytes[0] = 10;
    p = net_peer_make(&a, &a, 1, 0);
    q = net_peer_make(&b, &b, 1, 0);
    assert_true(peer_equal(&p, &q));
    assert_true(peer_hash(&p) == peer_hash(&q));
}

static void a_host_is_one_source_whatever_its_ports(void **state)
{
    struct net_address a = address("10.1.2.3:5"), b = address("10.1.2.3:6"), c = address("10.1.2.4:5");
    struct net_address v6 = address("[2001:db8::1]:5"), same_64 = address("[2001:db8::ffff:2]:9");
    uint64_t source = net_peer_make(&a, &NET_ADDRESS_NONE, 1, 0).source;

    (void)state;
    assert_true(source == net_peer_make(&b, &NET_ADDRESS_NONE, 1, 3).source);
    assert_false(source == net_peer_make(&c, &NET_ADDRESS_NONE, 1, 0).source);
    assert_false(source == net_peer_make(&a, &NET_ADDRESS_NONE, 2, 0).source);
    assert_true(net_peer_make(&v6, &NET_ADDRESS_NONE, 1, 0).source ==
                net_peer_make(&same_64, &NET_ADDRESS_NONE, 1, 0).source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_come_back_as_they_were),
        cmocka_unit_test(what_was_in_the_memory_does_not_matter),
        cmocka_unit_test(a_host_is_one_source_whatever_its_ports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
