#include "net/interfaces.h"

#include "net/rtnetlink.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define READ_TRIES 4 /* a dump during which something changed is repeated */

static bool text_attribute_is(const void *bytes, size_t size, const char *wanted)
{
    return bytes && strnlen(bytes, size) == strlen(wanted) && memcmp(bytes, wanted, strlen(wanted)) == 0;
}

static enum net_interface_kind kind_of(unsigned flags, const void *info, size_t info_len)
{
    static const char *const virtual_kinds[] = {"tun", "dummy", "vxlan", "ifb"};
    size_t size = 0;
    const void *kind = info ? rtnetlink_find(info, info_len, IFLA_INFO_KIND, &size) : NULL;

    if (flags & IFF_LOOPBACK)
        return NET_INTERFACE_LOOPBACK;
    if (text_attribute_is(kind, size, "veth"))
        return NET_INTERFACE_VETH;
    if (text_attribute_is(kind, size, "bridge"))
        return NET_INTERFACE_BRIDGE;
    for (size_t i = 0; i < sizeof(virtual_kinds) / sizeof(*virtual_kinds); i++) {
        if (text_attribute_is(kind, size, virtual_kinds[i]))
            return NET_INTERFACE_VIRTUAL;
    }
    return NET_INTERFACE_PLAIN;
}

static int visit_link(void *userdata, const struct nlmsghdr *message)
{
    struct net_interface_list *list = userdata;
    const struct ifinfomsg *link = NLMSG_DATA(message);
    struct net_interface *entry = &list->entries[list->count];
    size_t info_len = 0, size = 0;
    const void *info, *slave, *name;

    if (message->nlmsg_type != RTM_NEWLINK || list->count == NET_INTERFACES_CAP ||
        message->nlmsg_len < NLMSG_LENGTH(sizeof(*link)))
        return 0;
    info = rtnetlink_find_in(message, sizeof(*link), IFLA_LINKINFO, &info_len);
    *entry = (struct net_interface){
        .index = (uint32_t)link->ifi_index,
        .kind = kind_of(link->ifi_flags, info, info_len),
        .up = (link->ifi_flags & IFF_UP) && (link->ifi_flags & IFF_RUNNING),
        .multicast = (link->ifi_flags & IFF_MULTICAST) != 0,
        .master = rtnetlink_u32_in(message, sizeof(*link), IFLA_MASTER),
    };
    name = rtnetlink_find_in(message, sizeof(*link), IFLA_IFNAME, &size);
    if (name)
        text_copy((struct text){name, size}, entry->name, sizeof(entry->name));
    slave = info ? rtnetlink_find(info, info_len, IFLA_INFO_SLAVE_KIND, &size) : NULL;
    entry->bridge_port = text_attribute_is(slave, size, "bridge");
    list->count++;
    return 0;
}

static struct net_interface *find_index(const struct net_interface_list *list, uint32_t index)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].index == index)
            return &list->entries[i];
    }
    return NULL;
}

static int visit_address(void *userdata, const struct nlmsghdr *message)
{
    const struct ifaddrmsg *header = NLMSG_DATA(message);
    struct net_interface *entry;
    const void *bytes;
    size_t size;

    if (message->nlmsg_type != RTM_NEWADDR || message->nlmsg_len < NLMSG_LENGTH(sizeof(*header)) ||
        header->ifa_family != AF_INET)
        return 0;
    entry = find_index(userdata, header->ifa_index);
    if (!entry || entry->ipv4_count == NET_INTERFACE_ADDRESSES_CAP)
        return 0;
    /* IFA_LOCAL is ours; IFA_ADDRESS is the other end's on point-to-point links. */
    bytes = rtnetlink_find_in(message, sizeof(*header), IFA_LOCAL, &size);
    if (!bytes)
        bytes = rtnetlink_find_in(message, sizeof(*header), IFA_ADDRESS, &size);
    if (bytes && size == 4) {
        struct net_address *address = &entry->ipv4[entry->ipv4_count++];

        *address = (struct net_address){.family = NET_FAMILY_IPV4};
        memcpy(address->bytes, bytes, 4);
    }
    return 0;
}

/* A bridge with a real port (or a bond, VLAN ... of real ones) joins networks; one without serves containers.
 */
static void mark_container_bridges(struct net_interface_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        list->entries[i].container_bridge = list->entries[i].kind == NET_INTERFACE_BRIDGE;
    for (size_t i = 0; i < list->count; i++) {
        const struct net_interface *port = &list->entries[i];
        struct net_interface *bridge = port->bridge_port ? find_index(list, port->master) : NULL;

        if (bridge && port->kind == NET_INTERFACE_PLAIN)
            bridge->container_bridge = false;
    }
}

static int compare_index(const void *a, const void *b)
{
    const struct net_interface *left = a, *right = b;

    return (left->index > right->index) - (left->index < right->index);
}

static int read_once(struct net_interface_list *list)
{
    int r;

    list->count = 0;
    r = rtnetlink_dump(RTM_GETLINK, AF_UNSPEC, visit_link, list);
    if (r == 0)
        r = rtnetlink_dump(RTM_GETADDR, AF_INET, visit_address, list);
    return r;
}

int net_interface_list_read(struct net_interface_list *ret_list)
{
    struct net_interface_list list = {.entries = calloc(NET_INTERFACES_CAP, sizeof(*list.entries))};
    int r = list.entries ? -EAGAIN : -ENOMEM;

    for (int i = 0; i < READ_TRIES && r == -EAGAIN; i++)
        r = read_once(&list);
    if (r < 0) {
        free(list.entries);
        return r;
    }
    qsort(list.entries, list.count, sizeof(*list.entries), compare_index);
    mark_container_bridges(&list);
    *ret_list = list;
    return 0;
}

void net_interface_list_deinit(struct net_interface_list *list)
{
    free(list->entries);
    *list = (struct net_interface_list){0};
}

/* --- The choice --- */

static void add_place(struct net_multicast_choice *choice, const struct net_interface *entry,
                      const struct net_address *address)
{
    struct net_multicast_place *place = &choice->places[choice->count++];

    *place = (struct net_multicast_place){.index = entry->index, .address = *address};
    memcpy(place->name, entry->name, sizeof(place->name));
}

static const struct net_interface *find_carrier(const struct net_interface_list *list,
                                                const struct net_address *address)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct net_interface *entry = &list->entries[i];

        for (size_t k = 0; entry->up && k < entry->ipv4_count; k++) {
            if (net_address_same_host(&entry->ipv4[k], address))
                return entry;
        }
    }
    return NULL;
}

static bool is_chosen(const struct net_multicast_choice *choice, uint32_t index)
{
    for (size_t i = 0; i < choice->count; i++) {
        if (choice->places[i].index == index)
            return true;
    }
    return false;
}

static void choose_configured(const struct net_interface_list *list, const struct net_address *outbound,
                              size_t outbound_count, struct net_multicast_choice *choice)
{
    for (size_t i = 0; i < outbound_count; i++) {
        const struct net_interface *entry = find_carrier(list, &outbound[i]);

        if (!entry)
            choice->missing++;
        else if (choice->count == NET_INTERFACES_MULTICAST_CAP)
            choice->left_out++;
        else if (!is_chosen(choice, entry->index))
            add_place(choice, entry, &outbound[i]);
    }
}

static bool is_fit(const struct net_interface *entry)
{
    return entry->up && entry->ipv4_count > 0 && entry->multicast && entry->kind != NET_INTERFACE_LOOPBACK &&
           entry->kind != NET_INTERFACE_VETH && !entry->bridge_port && !entry->container_bridge;
}

static void choose_fit(const struct net_interface_list *list, struct net_multicast_choice *choice)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct net_interface *entry = &list->entries[i];

        if (!is_fit(entry))
            continue;
        if (choice->count == NET_INTERFACES_MULTICAST_CAP)
            choice->left_out++;
        else
            add_place(choice, entry, &entry->ipv4[0]);
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct net_interface *entry = &list->entries[i];

        if (entry->kind == NET_INTERFACE_LOOPBACK && entry->up && entry->ipv4_count > 0) {
            add_place(choice, entry, &entry->ipv4[0]);
            return;
        }
    }
}

void net_interfaces_choose(const struct net_interface_list *list, const struct net_address *outbound,
                           size_t outbound_count, struct net_multicast_choice *ret_choice)
{
    *ret_choice = (struct net_multicast_choice){0};
    if (outbound_count > 0)
        choose_configured(list, outbound, outbound_count, ret_choice);
    else
        choose_fit(list, ret_choice);
}
