#include "net/cidr.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static bool allows(const struct net_cidr_list *list, const char *text)
{
    struct net_address address;

    assert_int_equal(net_address_parse(text_from_string(text), 0, &address), 0);
    return net_cidr_list_contains(list, &address);
}

static void ranges_end_where_they_say(void **state)
{
    static const struct {
        const char *range, *first, *last, *before, *behind;
    } cases[] = {
        {"10.0.0.0/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"},
        {"172.16.0.0/12", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"},
        {"192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.6", "192.0.2.8"},
        {"192.0.2.6/31", "192.0.2.6", "192.0.2.7", "192.0.2.5", "192.0.2.8"},
        {"fc00::/7", "fc00::", "fdff:ffff::1", "fbff::", "fe00::"},
        {"fd00::1/128", "fd00::1", "fd00::1", "fd00::", "fd00::2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct net_cidr_list list = {.count = 1};

        assert_int_equal(net_cidr_parse(text_from_string(cases[i].range), &list.entries[0], NULL), 0);
        assert_true(allows(&list, cases[i].first));
        assert_true(allows(&list, cases[i].last));
        assert_false(allows(&list, cases[i].before));
        assert_false(allows(&list, cases[i].behind));
    }
}

static void everything_and_nothing(void **state)
{
    struct net_cidr_list list = {.count = 0};
    struct net_cidr all;

    (void)state;
    assert_false(allows(&list, "10.0.0.1"));
    assert_int_equal(net_cidr_parse(TEXT_LITERAL("0.0.0.0/0"), &all, NULL), 0);
    assert_int_equal(net_cidr_list_add(&list, &all), 0);
    assert_true(allows(&list, "8.8.8.8"));
    assert_false(allows(&list, "fd00::1"));
}

static void errors_name_what_is_wrong(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "\"\" is no address range such as 10.0.0.0/8, fd00::/8 or 192.0.2.7"},
        {"login1", "\"login1\" is no address range such as 10.0.0.0/8, fd00::/8 or 192.0.2.7"},
        {"10.0.0.0:80/8", "\"10.0.0.0:80/8\" is no address range such as 10.0.0.0/8, fd00::/8 or 192.0.2.7"},
        {"10.0.0.0/", "\"10.0.0.0/\" has no prefix length between 0 and 32 behind the slash"},
        {"10.0.0.0/33", "\"10.0.0.0/33\" has no prefix length between 0 and 32 behind the slash"},
        {"fd00::/129", "\"fd00::/129\" has no prefix length between 0 and 128 behind the slash"},
        {"10.0.0.0/-1", "\"10.0.0.0/-1\" has no prefix length between 0 and 32 behind the slash"},
        {"10.0.0.1/8", "\"10.0.0.1/8\" has bits set behind its prefix: write 10.0.0.0/8"},
    };
    char why[NET_CIDR_ERROR_CAP];
    struct net_cidr cidr;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(net_cidr_parse(text_from_string(cases[i].text), &cidr, why), -EINVAL);
        assert_string_equal(why, cases[i].why);
    }
}

static void the_default_lets_in_private_networks_only(void **state)
{
    static const char *const inside[] = {"127.0.0.1",  "::1",         "10.9.8.7", "172.20.0.1", "192.168.1.1",
                                         "100.64.0.1", "169.254.1.1", "fe80::1",  "fd12::1"};
    static const char *const outside[] = {"8.8.8.8",     "100.128.0.0", "172.32.0.1",
                                          "192.169.0.1", "2001:db8::1", "0.0.0.0"};
    struct net_cidr_list list = {.count = 0};

    (void)state;
    net_cidr_list_add_default(&list);
    for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++)
        assert_true(allows(&list, inside[i]));
    for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++)
        assert_false(allows(&list, outside[i]));
}

static void own_subnets_hold_the_loopback_net(void **state)
{
    struct net_cidr_list list = {.count = 0};

    (void)state;
    assert_int_equal(net_cidr_list_add_own_subnets(&list), 0);
    assert_true(allows(&list, "127.0.0.1"));
    assert_true(allows(&list, "127.255.0.1"));
    assert_false(allows(&list, "126.0.0.1"));
}

static void a_list_has_a_cap_and_no_doubles(void **state)
{
    struct net_cidr_list list = {.count = 0};
    struct net_cidr cidr;

    (void)state;
    for (unsigned i = 0; i < NET_CIDR_LIST_CAP; i++) {
        char text[32];

        snprintf(text, sizeof(text), "10.0.%u.0/24", i);
        assert_int_equal(net_cidr_parse(text_from_string(text), &cidr, NULL), 0);
        assert_int_equal(net_cidr_list_add(&list, &cidr), 0);
        assert_int_equal(net_cidr_list_add(&list, &cidr), 0);
        assert_int_equal(list.count, i + 1);
    }
    assert_int_equal(net_cidr_parse(TEXT_LITERAL("11.0.0.0/8"), &cidr, NULL), 0);
    assert_int_equal(net_cidr_list_add(&list, &cidr), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_end_where_they_say),
        cmocka_unit_test(everything_and_nothing),
        cmocka_unit_test(errors_name_what_is_wrong),
        cmocka_unit_test(the_default_lets_in_private_networks_only),
        cmocka_unit_test(own_subnets_hold_the_loopback_net),
        cmocka_unit_test(a_list_has_a_cap_and_no_doubles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
