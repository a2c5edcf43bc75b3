#include "net/interfaces.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct net_address address(const char *text)
{
    struct net_address address;

    assert_int_equal(net_address_parse(text_from_string(text), 0, &address), 0);
    return address;
}

static struct net_interface interface(uint32_t index, const char *name, enum net_interface_kind kind,
                                      const char *ipv4)
{
    struct net_interface entry = {
        .index = index, .kind = kind, .up = true, .multicast = kind != NET_INTERFACE_LOOPBACK};

    snprintf(entry.name, sizeof(entry.name), "%s", name);
    if (ipv4)
        entry.ipv4[entry.ipv4_count++] = address(ipv4);
    return entry;
}

static void only_networks_are_chosen(void **state)
{
    struct net_interface entries[] = {
        interface(1, "lo", NET_INTERFACE_LOOPBACK, "127.0.0.1"),
        interface(2, "eth0", NET_INTERFACE_PLAIN, "10.0.0.1"),
        interface(3, "eth1", NET_INTERFACE_PLAIN, NULL),             /* no address */
        interface(4, "eth2", NET_INTERFACE_PLAIN, "10.2.0.1"),       /* down */
        interface(5, "wg0", NET_INTERFACE_PLAIN, "10.3.0.1"),        /* no multicast */
        interface(6, "docker0", NET_INTERFACE_BRIDGE, "172.17.0.1"), /* containers */
        interface(7, "veth1", NET_INTERFACE_VETH, "10.4.0.1"),
        interface(8, "eth3", NET_INTERFACE_PLAIN, "10.5.0.1"), /* bridge port */
        interface(9, "br0", NET_INTERFACE_BRIDGE, "10.6.0.1"), /* of a real network */
    };
    struct net_interface_list list = {entries, sizeof(entries) / sizeof(*entries)};
    struct net_multicast_choice choice;

    (void)state;
    entries[3].up = false;
    entries[4].multicast = false;
    entries[5].container_bridge = true;
    entries[7].bridge_port = true;
    net_interfaces_choose(&list, NULL, 0, &choice);
    assert_int_equal(choice.count, 3);
    assert_string_equal(choice.places[0].name, "eth0");
    assert_string_equal(choice.places[1].name, "br0");
    assert_string_equal(choice.places[2].name, "lo");
    assert_int_equal(choice.left_out, 0);
    assert_int_equal(choice.missing, 0);
}

static void there_is_a_cap_and_loopback_comes_on_top(void **state)
{
    struct net_interface entries[NET_INTERFACES_MULTICAST_CAP + 5];
    struct net_interface_list list = {entries, NET_INTERFACES_MULTICAST_CAP + 5};
    struct net_multicast_choice choice;

    (void)state;
    entries[0] = interface(1, "lo", NET_INTERFACE_LOOPBACK, "127.0.0.1");
    for (uint32_t i = 1; i < list.count; i++)
        entries[i] = interface(i + 1, "eth", NET_INTERFACE_PLAIN, "10.0.0.1");
    net_interfaces_choose(&list, NULL, 0, &choice);
    assert_int_equal(choice.count, NET_INTERFACES_MULTICAST_CAP + 1);
    assert_int_equal(choice.left_out, 4);
    assert_int_equal(choice.places[0].index, 2);
    assert_int_equal(choice.places[NET_INTERFACES_MULTICAST_CAP].index, 1);
}

static void configured_addresses_are_taken_as_they_are(void **state)
{
    struct net_interface entries[] = {
        interface(1, "lo", NET_INTERFACE_LOOPBACK, "127.0.0.1"),
        interface(2, "eth0", NET_INTERFACE_PLAIN, "10.0.0.1"),
        interface(3, "veth1", NET_INTERFACE_VETH, "10.4.0.1"),
        interface(4, "eth2", NET_INTERFACE_PLAIN, "10.2.0.1"),
    };
    struct net_interface_list list = {entries, 4};
    struct net_address outbound[] = {address("10.4.0.1"), address("10.0.0.9"), address("10.9.9.9"),
                                     address("10.0.0.1"), address("10.2.0.1")};
    struct net_multicast_choice choice;

    (void)state;
    entries[1].ipv4[entries[1].ipv4_count++] = address("10.0.0.9");
    entries[3].up = false;
    net_interfaces_choose(&list, outbound, 5, &choice);
    assert_int_equal(choice.count, 2);
    assert_string_equal(choice.places[0].name, "veth1");
    assert_string_equal(choice.places[1].name, "eth0");
    assert_true(net_address_equal(&choice.places[1].address, &outbound[1])); /* once per interface */
    assert_int_equal(choice.missing, 2); /* nobody's, and one that is down */
}

static void the_list_of_this_host_has_loopback(void **state)
{
    struct net_interface_list list;
    bool found = false;

    (void)state;
    assert_int_equal(net_interface_list_read(&list), 0);
    for (size_t i = 0; i < list.count; i++) {
        const struct net_interface *entry = &list.entries[i];

        assert_true(i == 0 || entry->index > list.entries[i - 1].index);
        if (strcmp(entry->name, "lo") == 0) {
            found = true;
            assert_int_equal(entry->kind, NET_INTERFACE_LOOPBACK);
            assert_int_equal(entry->index, 1);
        }
    }
    assert_true(found);
    net_interface_list_deinit(&list);
    net_interface_list_deinit(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_networks_are_chosen),
        cmocka_unit_test(there_is_a_cap_and_loopback_comes_on_top),
        cmocka_unit_test(configured_addresses_are_taken_as_they_are),
        cmocka_unit_test(the_list_of_this_host_has_loopback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
